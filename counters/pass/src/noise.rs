//! What noise a compilation puts in: read once from POISE_NOISE, then asked for by `cpp/noise.cpp` and its neighbours.
//!
//! `POISE_NOISE=on`, or parts separated by semicolons: `modes=fp_add64,nop` · `k=0,1,2,4` · `level=1` ·
//! `loops=marked` or `loops=solve.c:41,matmul` · `fixed=fp_add64:8`.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::sync::OnceLock;

use crate::devices::is_for_host;
use crate::modes::{self, Assembly, DEFAULT_MODES, Input, Instructions, MODES};

/// Quantities that are measured unless others are asked for; the one without noise is always there.
const DEFAULT_K: [u32; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
/// Larger quantities would not fit the code's other limits (displacements of branches, memory of the compiler).
const MOST_K: u32 = 512;

/// `struct poise_variant` of `cpp/noise.hpp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Variant {
    mode: u32,
    k: u32,
}

/// `struct poise_loop` of `cpp/noise.hpp`.
#[repr(C)]
pub struct Loop {
    function: *const c_char,
    file: *const c_char,
    line: u32,
    level: u32,
    marked: u32,
}

/// `struct poise_assembly` of `cpp/noise.hpp`.
#[repr(C)]
pub struct AssemblyView {
    text: *const c_char,
    text_length: usize,
    constraints: *const c_char,
    constraints_length: usize,
    floats: u32,
    integers: u32,
    input: u32,
}

/// Which loops are targets.
#[derive(Debug, PartialEq, Eq)]
enum Chosen {
    /// All of the level.
    All,
    /// Those with the mark.
    Marked,
    /// Those at these places: a function's name, or file:line.
    Listed(Vec<String>),
}

/// What POISE_NOISE says.
#[derive(Debug, PartialEq, Eq)]
struct Wish {
    modes: Vec<usize>,
    variants: Vec<Variant>,
    chosen: Chosen,
    level: u32,
    fixed: bool,
}

impl Wish {
    /// Reads the value of POISE_NOISE; `None` where it asks for nothing.
    fn parse(text: &str) -> Result<Option<Self>, String> {
        if matches!(text, "" | "0" | "off") {
            return Ok(None);
        }
        let mut modes: Vec<usize> = (0..DEFAULT_MODES).collect();
        let mut quantities = DEFAULT_K.to_vec();
        let mut wish = Self { modes: vec![], variants: vec![], chosen: Chosen::All, level: 0, fixed: false };
        for part in text.split(';').map(str::trim).filter(|part| !matches!(*part, "" | "1" | "on")) {
            let (key, value) =
                part.split_once('=').ok_or_else(|| format!("\"{part}\" is not of the form name=value"))?;
            match key.trim() {
                "modes" => modes = list(value).map(mode).collect::<Result<_, _>>()?,
                "k" => quantities = list(value).map(quantity).collect::<Result<_, _>>()?,
                "level" => wish.level = value.parse().map_err(|_| format!("level \"{value}\" is no number"))?,
                "loops" if value == "marked" => wish.chosen = Chosen::Marked,
                "loops" if value == "all" => wish.chosen = Chosen::All,
                "loops" => wish.chosen = Chosen::Listed(list(value).map(str::to_owned).collect()),
                "fixed" => {
                    let (name, k) = value.split_once(':').ok_or_else(|| format!("\"{value}\" is not mode:k"))?;
                    (modes, quantities, wish.fixed) = (vec![mode(name)?], vec![quantity(k)?], true);
                }
                _ => return Err(format!("\"{key}\" is none of modes, k, level, loops and fixed")),
            }
        }
        quantities.retain(|&k| k > 0);
        quantities.sort_unstable();
        quantities.dedup();
        modes.dedup();
        let variant = |mode: usize| quantities.iter().map(move |&k| Variant { mode: mode as u32, k });
        wish.variants = modes.iter().copied().flat_map(variant).collect();
        wish.modes = modes;
        Ok(Some(wish))
    }

    fn is_target(&self, function: &str, file: &str, line: u32, level: u32, marked: bool) -> bool {
        let is_at = |place: &String| {
            place == function
                || place.rsplit_once(':').is_some_and(|(name, number)| {
                    number.parse() == Ok(line) && (file == name || file.ends_with(&format!("/{name}")))
                })
        };
        match &self.chosen {
            Chosen::All => level == self.level,
            Chosen::Marked => marked,
            Chosen::Listed(places) => level == self.level && places.iter().any(is_at),
        }
    }
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn mode(name: &str) -> Result<usize, String> {
    let known = MODES.iter().position(|&mode| mode == name);
    known.ok_or_else(|| format!("\"{name}\" is no noise mode; there are {}", MODES.join(", ")))
}

fn quantity(text: &str) -> Result<u32, String> {
    let k = text.parse().ok().filter(|&k| k <= MOST_K);
    k.ok_or_else(|| format!("\"{text}\" is no noise quantity between 0 and {MOST_K}"))
}

/// What this compilation wants. A wrong wish ends the compiler: a build that silently lacks the noise would mislead.
fn wish() -> Option<&'static Wish> {
    static WISH: OnceLock<Option<Wish>> = OnceLock::new();
    let read = || {
        Wish::parse(&std::env::var("POISE_NOISE").unwrap_or_default()).unwrap_or_else(|what| {
            eprintln!("poise: POISE_NOISE: {what}.");
            std::process::exit(1);
        })
    };
    WISH.get_or_init(read).as_ref()
}

/// Whether this compilation puts noise into loops, which it names by their functions.
pub fn is_wanted() -> bool {
    wish().is_some()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn poise_noise_wanted(triple: *const c_char) -> bool {
    // SAFETY: the caller gives a text that ends with NUL.
    wish().is_some() && is_for_host(unsafe { CStr::from_ptr(triple) })
}

#[unsafe(no_mangle)]
extern "C" fn poise_noise_is_fixed() -> bool {
    wish().is_some_and(|wish| wish.fixed)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn poise_noise_is_target(asked: *const Loop) -> bool {
    // SAFETY: the caller gives a loop whose texts end with NUL.
    unsafe {
        let text = |text: *const c_char| CStr::from_ptr(text).to_string_lossy();
        let Loop { function, file, line, level, marked } = asked.read();
        wish().is_some_and(|wish| wish.is_target(&text(function), &text(file), line, level, marked != 0))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn poise_noise_variants(variants: *mut *const Variant) -> usize {
    let all = wish().map_or(&[][..], |wish| &wish.variants);
    // SAFETY: the caller gives a place for the pointer.
    unsafe { *variants = all.as_ptr() };
    all.len()
}

#[unsafe(no_mangle)]
extern "C" fn poise_noise_modes() -> usize {
    MODES.len()
}

#[unsafe(no_mangle)]
extern "C" fn poise_noise_mode(mode: usize) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| MODES.iter().map(|&name| CString::new(name).unwrap_or_default()).collect());
    names.get(mode).map_or(c"".as_ptr(), |name| name.as_ptr())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn poise_noise_assembly(
    variant: Variant,
    triple: *const c_char,
    features: *const c_char,
    view: *mut AssemblyView,
) -> bool {
    thread_local! {
        static LAST: RefCell<Option<Assembly>> = const { RefCell::new(None) };
    }
    // SAFETY: the caller gives two texts that end with NUL.
    let (triple, features) =
        unsafe { (CStr::from_ptr(triple).to_string_lossy(), CStr::from_ptr(features).to_string_lossy()) };
    let made = Instructions::of(&triple, &features)
        .and_then(|instructions| modes::assembly(MODES.get(variant.mode as usize)?, variant.k, instructions));
    LAST.with_borrow_mut(|last| {
        *last = made;
        let Some(Assembly { text, constraints, floats, integers, input }) = last else { return false };
        let input = match input {
            Input::None => 0,
            Input::Buffer => 1,
            Input::Line => 2,
        };
        // SAFETY: the caller gives a place for the view; the texts live until the next call on this thread.
        unsafe {
            view.write(AssemblyView {
                text: text.as_ptr().cast(),
                text_length: text.len(),
                constraints: constraints.as_ptr().cast(),
                constraints_length: constraints.len(),
                floats: *floats,
                integers: *integers,
                input,
            });
        }
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_wanted_unless_asked_for() {
        assert_eq!(Wish::parse(""), Ok(None));
        assert_eq!(Wish::parse("off"), Ok(None));
        let all = Wish::parse("on").unwrap().unwrap();
        assert_eq!(all.variants.len(), 7 * 12);
        assert!(all.is_target("f", "a.c", 3, 0, false) && !all.is_target("f", "a.c", 3, 1, false));
    }

    #[test]
    fn parts_are_read_and_wrong_ones_named() {
        let wish = Wish::parse("modes=nop, fma64; k=0,4,2,4; loops=src/solve.c:41,main; level=1").unwrap().unwrap();
        let expected = [(6, 2), (6, 4), (2, 2), (2, 4)].map(|(mode, k)| Variant { mode, k });
        assert_eq!(wish.variants, expected);
        assert!(wish.is_target("f", "/home/src/solve.c", 41, 1, false) && wish.is_target("main", "", 0, 1, false));
        assert!(!wish.is_target("f", "/home/src/solve.c", 42, 1, false));
        assert!(!wish.is_target("f", "resolve.c", 41, 1, false));
        for wrong in ["modes=adds", "k=one", "k=9999", "fixed=nop", "level", "seed=1"] {
            assert!(Wish::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_fixed_build_has_one_variant() {
        let wish = Wish::parse("fixed=fp_add64:8").unwrap().unwrap();
        assert!(wish.fixed);
        assert_eq!(wish.variants, [Variant { mode: 0, k: 8 }]);
    }
}
