//! What `cpp/` adds to LLVM's C interface, and the way back from it. The C++ part is a library for each LLVM, held inside
//! the plugin; the one of the compiler that has loaded the plugin is loaded when it starts.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::OnceLock;

use llvm_sys::prelude::{LLVMBasicBlockRef, LLVMMetadataRef, LLVMModuleRef, LLVMTypeRef, LLVMValueRef};

/// The libraries, by `build.rs`.
mod libraries {
    include!(concat!(env!("OUT_DIR"), "/libraries.rs"));
}

/// LLVM's `FunctionAnalysisManager`.
#[repr(C)]
pub struct Analyses {
    opaque: [u8; 0],
}

/// A function as debug information describes it; the texts live as long as LLVM's context.
#[repr(C)]
pub struct Source {
    /// The linker's name, or the source's where debug information lacks that.
    pub name: *const c_char,
    /// Its length.
    pub name_length: usize,
    /// Source file.
    pub file: *const c_char,
    /// Its length.
    pub file_length: usize,
    /// The folder that the file's path begins in.
    pub folder: *const c_char,
    /// Its length.
    pub folder_length: usize,
    /// Source line.
    pub line: u32,
}

/// The functions of the C++ part that is loaded.
static TABLE: OnceLock<Table> = OnceLock::new();

/// Declares functions of the C++ part, each as a member of [`Table`] and as a function that calls it.
macro_rules! declare {
    ($($(#[$meta:meta])* fn $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {
        /// Addresses of the functions.
        struct Table {
            $($name: unsafe extern "C" fn($($kind),*) $(-> $result)?,)*
        }

        impl Table {
            /// The functions of a loaded library.
            unsafe fn of(library: *mut c_void) -> Result<Self, String> {
                // SAFETY: the library was compiled from ../cpp, where the functions have these types.
                unsafe { Ok(Self { $($name: std::mem::transmute::<
                    *mut c_void, unsafe extern "C" fn($($kind),*) $(-> $result)?
                >(symbol(library, concat!(stringify!($name), "\0"))?),)* }) }
            }
        }

        $($(#[$meta])*
        pub unsafe fn $name($($argument: $kind),*) $(-> $result)? {
            // SAFETY: the caller's promise. LLVM calls nothing of ours before the plugin has said what it is.
            unsafe { (TABLE.get().expect("the C++ part is loaded first").$name)($($argument),*) }
        })*
    };
}

declare! {
    /// Adds the pass to the compiler's pipeline, and to `opt` by the name `poise-count`.
    fn poise_register(builder: *mut c_void);
    /// Adds noise injection to the pipeline, and to `opt` by the name `poise-noise`.
    fn poise_register_noise(builder: *mut c_void);
    /// Whether control can come back to a block that it left.
    fn poise_has_cycle(function: LLVMValueRef) -> bool;
    /// Estimated executions of an edge, relative to others in the function.
    fn poise_edge_frequency(analyses: *mut Analyses, block: LLVMBasicBlockRef, successor: c_uint) -> u64;
    /// Whether a declared function is one of the C or C++ library's.
    fn poise_is_library(analyses: *mut Analyses, function: LLVMValueRef) -> bool;
    /// Whether an instruction calls a function, inline assembly and intrinsics aside.
    fn poise_is_call(instruction: LLVMValueRef) -> bool;
    /// Whether control may leave the instruction for good.
    fn poise_may_not_return(instruction: LLVMValueRef) -> bool;
    /// Whether the instruction is a call that must stay the last thing before a return.
    fn poise_is_musttail(instruction: LLVMValueRef) -> bool;
    /// Whether the instruction calls setjmp or the like.
    fn poise_returns_twice(instruction: LLVMValueRef) -> bool;
    /// Whether a function's calls of itself reach its own code, and that can be moved into another function.
    fn poise_can_divide(function: LLVMValueRef) -> bool;
    /// Whether an instruction is a call of exactly this function.
    fn poise_calls(instruction: LLVMValueRef, function: LLVMValueRef) -> bool;
    /// Whether what is called by a function's name is that function of this module.
    fn poise_is_exact(function: LLVMValueRef) -> bool;
    /// Gives a function's name and all who use it to a new function and gives that, which calls `enter` with `region`, the function, and `leave`.
    fn poise_divide(function: LLVMValueRef, region: LLVMValueRef, enter: LLVMValueRef, leave: LLVMValueRef) -> LLVMValueRef;
    /// A phi without incoming values at the start of a block.
    fn poise_phi(block: LLVMBasicBlockRef, kind: LLVMTypeRef) -> LLVMValueRef;
    /// Gives a call another callee of the same type.
    fn poise_call_instead(call: LLVMValueRef, callee: LLVMValueRef);
    /// Lets a function write memory.
    fn poise_widen_function(function: LLVMValueRef);
    /// Gives each loop, where possible, a block before it, from which alone it is entered, and blocks behind it that are entered from it alone.
    fn poise_part_loops(analyses: *mut Analyses, function: LLVMValueRef);
    /// Replaces accumulators of loops by closed forms where possible; may erase any of the phis.
    fn poise_close(analyses: *mut Analyses, function: LLVMValueRef, phis: *const LLVMValueRef, count: usize);
    /// Calls `inlined` with `site` and what an accumulator holds, where `left`, which chooses between nothing and that, chooses nothing.
    fn poise_tell(left: LLVMValueRef, site: LLVMValueRef, inlined: LLVMValueRef);
    /// Calls `back` with `here` before an instruction, if `strays` holds.
    fn poise_go_back(strays: LLVMValueRef, at: LLVMValueRef, here: LLVMValueRef, back: LLVMValueRef);
    /// Lets a call write memory.
    fn poise_widen_call(instruction: LLVMValueRef);
    /// The functions that an instruction was inlined from, outermost first, at most `room` of them; gives their number.
    fn poise_inlined_from(instruction: LLVMValueRef, functions: *mut LLVMMetadataRef, room: usize) -> usize;
    /// Whether an instruction has a place in the source.
    fn poise_has_location(instruction: LLVMValueRef) -> bool;
    /// The first instruction of a block before which code may be inserted, that does something.
    fn poise_first(block: LLVMBasicBlockRef) -> LLVMValueRef;
    /// Name and source of a function that debug information describes.
    fn poise_describe(function: LLVMMetadataRef, source: *mut Source);
}

/// Instruments a module; the C++ pass calls it. A panic here ends the compiler, as its own internal errors do.
#[unsafe(no_mangle)]
extern "C" fn poise_instrument(module: LLVMModuleRef, analyses: *mut Analyses) -> bool {
    // SAFETY: LLVM gives a valid module and its analyses, which live during the call.
    unsafe { crate::module::instrument(module, analyses) }
}

/// Loads the C++ part for the LLVM of this process.
///
/// # Errors
/// Says in one line which LLVM this is and which have a C++ part here, or why it cannot be loaded.
pub fn load() -> Result<(), String> {
    if TABLE.get().is_some() {
        return Ok(());
    }
    let major = host();
    let Some((_, bytes)) = libraries::LIBRARIES.iter().find(|(built, _)| Some(*built) == major) else {
        return Err(mismatch(major));
    };
    let library = open(bytes).map_err(|what| format!("the plugin's part for this LLVM cannot be loaded: {what}"))?;
    // SAFETY: the library was just loaded and stays so.
    let table = unsafe { Table::of(library)? };
    register_assembly_parsers();
    // Should another thread have been faster, its table is the same.
    let _ = TABLE.set(table);
    Ok(())
}

/// The major version of the LLVM in this process; `None` before 16, where nothing tells it.
fn host() -> Option<u32> {
    type Version = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint);
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the function has this type since it exists; asking the linker by name lets the plugin load where it does not.
    unsafe {
        let address = libc::dlsym(libc::RTLD_DEFAULT, c"LLVMGetVersion".as_ptr());
        if address.is_null() {
            return None;
        }
        std::mem::transmute::<*mut c_void, Version>(address)(&mut major, &mut minor, &mut patch);
    }
    Some(major)
}

/// Registers what reads assembly in this LLVM, where it is: clang does so itself; flang does not, and would end at the first
/// instruction of noise.
fn register_assembly_parsers() {
    for name in [c"LLVMInitializeX86AsmParser", c"LLVMInitializeAArch64AsmParser"] {
        // SAFETY: these functions of LLVM take and return nothing, and may be called again.
        unsafe {
            let address = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
            if !address.is_null() {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn()>(address)();
            }
        }
    }
}

fn mismatch(major: Option<u32>) -> String {
    let (this, install) = match major {
        Some(major) => (format!("LLVM {major}"), format!("or install llvm-{major}-dev and build Counterpoise again")),
        None => ("older than LLVM 16".to_owned(), "as older ones cannot be served".to_owned()),
    };
    format!(
        "this compiler is {this}, and the plugin was built for LLVM {}: use a compiler of these, {install}.",
        libraries::VERSIONS
    )
}

/// Loads a library that is in memory, by a file that has no name.
fn open(bytes: &[u8]) -> Result<*mut c_void, String> {
    // SAFETY: the name is a string; the descriptor is new and owned by the file from here on.
    let mut file = unsafe {
        let descriptor: c_int = libc::memfd_create(c"poise".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(format!("memfd_create: {}", std::io::Error::last_os_error()));
        }
        File::from_raw_fd(descriptor)
    };
    file.write_all(bytes).map_err(|error| error.to_string())?;
    let path = format!("/proc/self/fd/{}\0", file.as_raw_fd());
    // SAFETY: the path ends with NUL; the library's initialisers are those of C++ alone.
    let library = unsafe { libc::dlopen(path.as_ptr().cast(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() { Err(trouble()) } else { Ok(library) }
}

/// The address of a function in a loaded library; `name` ends with NUL.
unsafe fn symbol(library: *mut c_void, name: &str) -> Result<*mut c_void, String> {
    // SAFETY: the caller gives a loaded library and a string.
    let address = unsafe { libc::dlsym(library, name.as_ptr().cast::<c_char>()) };
    if address.is_null() { Err(trouble()) } else { Ok(address) }
}

/// What the dynamic linker says went wrong last.
fn trouble() -> String {
    // SAFETY: the linker gives null or a string that lives until its next call on this thread.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { "unknown reason".to_owned() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}
