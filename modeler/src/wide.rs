//! Loops that use the widest vectors the processor has.

/// Compiles a loop for wider vectors too and takes those that the processor has. The order of additions within a
/// candidate is the same in all, and so is every bit of the result.
macro_rules! wide {
    ($(#[$doc:meta])* $visible:vis fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)]
        $visible fn $name($($argument: $kind),*) $(-> $result)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn plain($($argument: $kind),*) $(-> $result)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl")]
                #[allow(clippy::too_many_arguments)]
                fn widest($($argument: $kind),*) $(-> $result)? {
                    plain($($argument),*)
                }
                #[target_feature(enable = "avx2")]
                #[allow(clippy::too_many_arguments)]
                fn wider($($argument: $kind),*) $(-> $result)? {
                    plain($($argument),*)
                }
                if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                    // SAFETY: the processor has what the function was compiled for.
                    return unsafe { widest($($argument),*) };
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has what the function was compiled for.
                    return unsafe { wider($($argument),*) };
                }
            }
            plain($($argument),*)
        }
    };
}

pub(crate) use wide;
