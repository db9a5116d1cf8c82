//! QEMU's functions that the plugin calls, found by name in the QEMU that loaded it. Only what all versions of the interface
//! from 1 to 5 have alike is used, so that one library serves them all.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// The newest version of the interface that is known, of QEMU 10.
pub const NEWEST: c_int = 5;

/// What QEMU knows this plugin by.
pub type Id = u64;

/// Declares [`Api`] with a field for each function, named as QEMU names it.
macro_rules! api {
    ($($(#[$about:meta])* $name:ident: $symbol:literal fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// QEMU's functions.
        pub struct Api {
            $($(#[$about])* pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Api {
            /// The functions of the QEMU that runs in this process.
            ///
            /// # Errors
            /// The name of the first that is not there.
            pub fn find() -> Result<Self, &'static str> {
                Ok(Self { $($name: {
                    let address = symbol($symbol).ok_or(stringify!($name))?;
                    // SAFETY: the symbol is QEMU's function of this name, whose type is that of the field in all versions.
                    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(address) }
                },)* })
            }
        }
    };
}

/// A callback on a virtual processor.
pub type OnProcessor = extern "C" fn(Id, c_uint);
/// A callback after a system call: processor, the call's number and what it returned.
pub type OnSystemCall = extern "C" fn(Id, c_uint, i64, i64);
/// A callback when a block is translated.
pub type OnTranslation = extern "C" fn(Id, *mut c_void);
/// A callback when a block is executed.
pub type OnExecution = extern "C" fn(c_uint, *mut c_void);
/// A callback when memory is accessed: processor, what kind of access, address, data.
pub type OnAccess = extern "C" fn(c_uint, u32, u64, *mut c_void);
/// A callback at the end.
pub type AtExit = extern "C" fn(Id, *mut c_void);

api! {
    /// Asks to be called when a thread of the guest ends.
    on_exit_of_processor: c"qemu_plugin_register_vcpu_exit_cb" fn(Id, OnProcessor);
    /// Asks to be called after system calls.
    on_system_call: c"qemu_plugin_register_vcpu_syscall_ret_cb" fn(Id, OnSystemCall);
    /// Asks to be called when a block is translated.
    on_translation: c"qemu_plugin_register_vcpu_tb_trans_cb" fn(Id, OnTranslation);
    /// Asks to be called when this block is executed.
    on_execution: c"qemu_plugin_register_vcpu_tb_exec_cb" fn(*mut c_void, OnExecution, c_int, *mut c_void);
    /// Asks to be called when this instruction reads (1), writes (2) or does either (3).
    on_access: c"qemu_plugin_register_vcpu_mem_cb" fn(*mut c_void, OnAccess, c_int, c_int, *mut c_void);
    /// Asks to be called when the guest ends.
    at_exit: c"qemu_plugin_register_atexit_cb" fn(Id, AtExit, *mut c_void);
    /// Number of instructions of a block.
    instructions: c"qemu_plugin_tb_n_insns" fn(*const c_void) -> usize;
    /// One of them.
    instruction: c"qemu_plugin_tb_get_insn" fn(*const c_void, usize) -> *mut c_void;
    /// The guest's address of an instruction.
    address: c"qemu_plugin_insn_vaddr" fn(*const c_void) -> u64;
    /// Where the instruction is in this process.
    memory: c"qemu_plugin_insn_haddr" fn(*const c_void) -> *const u8;
    /// Its length in bytes.
    length: c"qemu_plugin_insn_size" fn(*const c_void) -> usize;
    /// The bytes of an access of this kind, as a power of two.
    size: c"qemu_plugin_mem_size_shift" fn(c_uint) -> c_uint;
}

/// A symbol of this process.
pub fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a NUL.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// The beginning of what QEMU tells when it loads a plugin.
#[repr(C)]
pub struct Info {
    /// Name of the guest's instruction set, such as `x86_64`.
    pub target: *const c_char,
    /// Oldest and newest version of the interface that it serves.
    pub versions: [c_int; 2],
    /// Whether it emulates a whole machine.
    pub is_system: bool,
}
