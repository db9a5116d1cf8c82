//! Which names a specification may give to programs, functions and parameters, so that generated programs compile in
//! every language and their symbols interpose nothing.

/// Keywords and alternative tokens of C++ and C. Fortran's are reserved nowhere, and its names are checked by
/// [`same_in_fortran`].
const KEYWORDS: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class \
    compl concept const const_cast consteval constexpr constinit continue co_await co_return co_yield char8_t decltype \
    default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long \
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register \
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch template this \
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq";

/// Names at global scope in generated programs, and of what `main` has where it calls the functions.
const GENERATED: &str = "bench bench_main main std Parameters read_arguments sizes_fit argc argv ranks all parameters memory \
    length start failures";
/// How names of what `main` has for each message begin; a number follows.
const NUMBERED: &str = "elements";

/// Arguments of generated programs and members beside the parameters.
const MEMBERS: &str = "rank ranks verify timing sign odd mask arrays messages around before after";

/// Macros of the C library's headers that look like functions or variables.
const MACROS: &str = "assert linux unix errno stdin stdout stderr EOF NULL";

/// Types of the C library that generated programs use.
const TYPES: &str = "clock_t int32_t int64_t uint32_t size_t";

/// Functions and variables that glibc's libc and libm export.
const LIBRARY: &str = include_str!("reserved_names.txt");

/// Names of Fortran have up to 63 characters, a few of which generated programs add.
const LONGEST: usize = 50;

/// Whether Fortran takes two names for the same: it knows no case.
pub fn same_in_fortran(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// Whether a `what` (program, function, parameter) may be called `name`; the error says why not.
pub fn check(name: &str, what: &str) -> Result<(), String> {
    let is = |list: &str| list.split_ascii_whitespace().any(|word| word == name);
    let digits = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit());
    let is_numbered = name.strip_prefix(NUMBERED).is_some_and(digits);
    let shape = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let why = if !shape {
        "is no C identifier; expected a letter, then letters, digits and `_`"
    } else if name.len() > LONGEST || name.contains("__") {
        "is longer than 50 characters or holds `__`, which C++ reserves"
    } else if is(KEYWORDS) {
        "is a keyword of C or C++"
    } else if is(MACROS) || (what == "function" && (is(LIBRARY) || is(TYPES))) {
        "is a name of the C library"
    } else if (is(GENERATED) || is_numbered) && what == "function"
        || what == "parameter" && MEMBERS.split(' ').any(|member| same_in_fortran(member, name))
    {
        "is a name that generated programs use"
    } else if ["MPI_", "PMPI_", "OMPI_", "ompi_", "poise_", "POISE_", "bench_", "BENCH_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
    {
        "begins with a prefix that MPI or a measurement runtime uses"
    } else {
        return Ok(());
    };
    Err(format!("{what} name `{name}` {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_with_the_reason() {
        for (name, what, why) in [
            ("", "function", "no C identifier"),
            ("2fast", "function", "no C identifier"),
            ("_low", "function", "no C identifier"),
            ("a-b", "function", "no C identifier"),
            ("größe", "function", "no C identifier"),
            ("a__b", "function", "holds `__`"),
            ("while", "parameter", "keyword"),
            ("restrict", "function", "keyword of C or C++"),
            ("select", "function", "C library"),
            ("gamma", "function", "C library"),
            ("errno", "parameter", "C library"),
            ("Parameters", "function", "generated programs use"),
            ("verify", "parameter", "generated programs use"),
            ("Mask", "parameter", "generated programs use"),
            ("bench_main", "program", "prefix"),
            ("MPI_Bcast", "function", "prefix"),
        ] {
            let error = check(name, what).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        for (name, what) in [
            ("nested", "function"),
            ("sequential", "function"),
            ("n", "parameter"),
            ("gamma", "parameter"),
            ("f000", "function"),
            // No keyword of Fortran is in the way of a name.
            ("subroutine", "function"),
            ("matmul", "function"),
            ("integer", "parameter"),
        ] {
            assert_eq!(check(name, what), Ok(()));
        }
    }
}
