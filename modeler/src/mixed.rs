//! Numbers spread evenly over all, to tell things apart by.

/// A bijection in which each bit of `x` changes about half of the result's (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014: the step and the finaliser of SplitMix64).
pub(crate) fn mixed(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
