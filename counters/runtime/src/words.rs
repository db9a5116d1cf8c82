//! Words of each thread's own that are reached without a call, as instrumented code reaches them: symbols of the initial-exec
//! model, at a constant distance from the thread pointer.

/// Defines such a symbol of so many bytes, all zero in a new thread and aligned to its size.
macro_rules! define {
    ($symbol:literal, $bytes:literal) => {
        std::arch::global_asm!(
            // Both assemblers take `%` here; `@` begins a comment in some dialects.
            ".pushsection .tbss,\"awT\",%nobits",
            concat!(".globl ", $symbol),
            concat!(".type ", $symbol, ", %object"),
            concat!(".size ", $symbol, ", ", $bytes),
            concat!(".balign ", $bytes),
            concat!($symbol, ":"),
            concat!(".zero ", $bytes),
            ".popsection",
        );
    };
}

/// The address of the calling thread's own.
macro_rules! address {
    ($symbol:literal) => {{
        let address;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: reads the thread pointer and the symbol's offset from it, both constant in a thread.
        unsafe {
            std::arch::asm!(
                "mov {0}, qword ptr fs:[0]",
                concat!("add {0}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                out(reg) address,
                options(pure, nomem, nostack)
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            std::arch::asm!(
                "mrs {0}, tpidr_el0",
                concat!("adrp {1}, :gottprel:", $symbol),
                concat!("ldr {1}, [{1}, :gottprel_lo12:", $symbol, "]"),
                "add {0}, {0}, {1}",
                out(reg) address,
                out(reg) _,
                options(pure, nomem, nostack)
            );
        }
        address
    }};
}

pub(crate) use {address, define};
