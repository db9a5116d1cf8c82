//! Names of regions for people: linker names demangled, argument lists left out where nothing else tells two apart.

use std::collections::{BTreeMap, BTreeSet};

use poise_profile::{Profile, Region, RegionKind};

/// The name that each region of a set of profiles is shown by.
pub(crate) struct Names {
    /// By linker name: functions of which several share it within one profile are told apart by their place.
    shown: BTreeMap<String, String>,
    /// Linker names that several regions of one profile have, such as those of static functions.
    shared: BTreeSet<String>,
    /// Linker names of functions that are called in some places and inlined in others.
    partly_inlined: BTreeSet<String>,
}

impl Names {
    /// Chooses names that are different for different regions. The choice depends on the set of regions alone.
    pub fn of<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Self {
        let mut linker_names = BTreeMap::new();
        let mut shared = BTreeSet::new();
        let (mut called, mut inlined) = (BTreeSet::new(), BTreeSet::new());
        for profile in profiles {
            let mut here = BTreeMap::new();
            for region in &profile.regions {
                linker_names.insert(region.name.as_str(), region.kind);
                let place = (region.file.as_str(), region.line);
                if *here.entry(region.name.as_str()).or_insert(place) != place {
                    shared.insert(region.name.clone());
                }
                let group = if region.kind == RegionKind::Inlined { &mut inlined } else { &mut called };
                group.insert(region.name.as_str());
            }
        }
        let partly_inlined = called.intersection(&inlined).map(|&name| name.to_owned()).collect();
        let mut shown = BTreeMap::new();
        let forms = linker_names.into_iter().map(|(name, kind)| (name, forms(name, kind))).collect::<Vec<_>>();
        let mut users = BTreeMap::new();
        for (form, text) in forms.iter().flat_map(|(_, own)| own.iter().enumerate()) {
            *users.entry((form, text.as_str())).or_insert(0) += 1;
        }
        for (name, own) in &forms {
            let is_unique = |&form: &usize| users[&(form, own[form].as_str())] == 1;
            let form = (0..own.len()).find(is_unique).unwrap_or(own.len() - 1);
            shown.insert((*name).to_owned(), own[form].clone());
        }
        Self { shown, shared, partly_inlined }
    }

    /// The name to show `region` by.
    pub fn show(&self, region: &Region) -> String {
        let name = self.shown.get(&region.name).unwrap_or(&region.name);
        let name = &match region.kind == RegionKind::Inlined && self.partly_inlined.contains(&region.name) {
            true => format!("{name} (inlined)"),
            false => name.clone(),
        };
        if self.shared.contains(&region.name) && !region.file.is_empty() {
            return format!("{name} ({}:{})", region.file, region.line);
        }
        name.clone()
    }
}

/// A function's linker name as people know it, where nothing must be told apart from it.
pub(crate) fn demangled(linker_name: &str) -> String {
    let [short, ..] = forms(linker_name, RegionKind::Function);
    short
}

/// A name in its forms from the shortest to the one that is never ambiguous.
fn forms(linker_name: &str, kind: RegionKind) -> [String; 3] {
    if matches!(kind, RegionKind::Function | RegionKind::Inlined) && is_mangled(linker_name) {
        if let Ok(symbol) = cpp_demangle::Symbol::new(linker_name) {
            let options = cpp_demangle::DemangleOptions::new;
            let short = symbol.demangle_with_options(&options().no_params().no_return_type());
            let full = symbol.demangle_with_options(&options().no_return_type());
            if let (Ok(short), Ok(full)) = (short, full) {
                let exact = format!("{full} [{linker_name}]");
                return match is_rust(linker_name) {
                    true => rust(linker_name),
                    false => [short, full, exact],
                };
            }
        }
        return rust(linker_name);
    }
    [linker_name.to_owned(), linker_name.to_owned(), linker_name.to_owned()]
}

/// Whether a linker name begins as those that C++ and Rust make, with the underscore or two that some systems put before
/// it. Demanglers also read types, as which C's `a` and `f` would be `signed char` and `float`.
fn is_mangled(linker_name: &str) -> bool {
    let bare = linker_name.trim_start_matches('_');
    (1..=4).contains(&(linker_name.len() - bare.len())) && bare.starts_with(['Z', 'R'])
}

/// Whether a name that follows C++'s rules is one of Rust's older scheme, which ends in a hash.
fn is_rust(linker_name: &str) -> bool {
    let hash = linker_name.strip_suffix('E').and_then(|n| n.rsplit_once("17h")).map(|(_, hash)| hash);
    hash.is_some_and(|h| h.len() == 16 && h.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn rust(linker_name: &str) -> [String; 3] {
    match rustc_demangle::try_demangle(linker_name) {
        Ok(name) => [format!("{name:#}"), name.to_string(), linker_name.to_owned()],
        Err(_) => [linker_name.to_owned(), linker_name.to_owned(), linker_name.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, file: &str, line: u32) -> Region {
        Region { name: name.into(), file: file.into(), line, kind: RegionKind::Function }
    }

    /// The names shown for the regions of one profile.
    fn shown(regions: &[Region]) -> Vec<String> {
        let profile = Profile { regions: regions.to_vec(), ..Profile::default() };
        let names = Names::of([&profile]);
        regions.iter().map(|r| names.show(r)).collect()
    }

    #[test]
    fn argument_lists_are_shown_only_where_they_tell_overloads_apart() {
        // As c++filt 2.40 prints them.
        let overloaded = [function("_ZN4grid5solveEi", "a.cc", 1), function("_ZN4grid5solveEd", "a.cc", 9)];
        assert_eq!(shown(&overloaded), ["grid::solve(int)", "grid::solve(double)"]);
        assert_eq!(shown(&overloaded[..1]), ["grid::solve"]);
    }

    #[test]
    fn inlined_functions_are_named_as_such_where_they_are_called_too() {
        let inlined = Region { kind: RegionKind::Inlined, ..function("solve", "a.c", 3) };
        assert_eq!(shown(std::slice::from_ref(&inlined)), ["solve"]);
        assert_eq!(shown(&[function("solve", "a.c", 3), inlined]), ["solve", "solve (inlined)"]);
    }

    #[test]
    fn names_that_are_not_mangled_stay() {
        let mpi = Region { name: "MPI_Allreduce".into(), file: String::new(), line: 0, kind: RegionKind::Mpi };
        assert_eq!(shown(&[function("main", "a.c", 3), mpi]), ["main", "MPI_Allreduce"]);
    }

    #[test]
    fn short_names_of_c_are_no_types() {
        let names = ["a", "f", "Pc", "St", "Z1f", "RNvC6_123foo3bar", "_Zed", "_a"];
        let regions = names.map(|name| function(name, "a.c", 1));
        assert_eq!(shown(&regions), names);
    }

    #[test]
    fn rust_names_lose_their_hash() {
        assert_eq!(
            shown(&[function("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "", 0)]),
            ["core::fmt::Write::write_fmt"]
        );
        assert_eq!(shown(&[function("_RNvC6_123foo3bar", "", 0)]), ["123foo::bar"]);
    }

    #[test]
    fn static_functions_of_one_name_are_told_apart_by_place() {
        let statics = [function("init", "a.c", 3), function("init", "b.c", 7)];
        assert_eq!(shown(&statics), ["init (a.c:3)", "init (b.c:7)"]);
    }

    #[test]
    fn constructors_that_demangle_to_the_same_text_stay_apart() {
        let constructors = [function("_ZN1AC1Ev", "a.cc", 1), function("_ZN1AC2Ev", "a.cc", 1)];
        let names = shown(&constructors);
        assert_ne!(names[0], names[1]);
        assert!(names[0].starts_with("A::A"), "{names:?}");
    }
}
