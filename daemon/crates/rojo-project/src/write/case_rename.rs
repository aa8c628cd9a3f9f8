//! Paths of one step that differ only by case, as when `a` is renamed to `A`.
//!
//! On a case-insensitive file system, both are the same file, and either name finds it. The listing
//! of the parent folder shows which of the two names the file really has.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The paths of a step that differ from another path of the step only by case.
#[derive(Debug, Default)]
pub(super) struct CaseVariants(BTreeSet<PathBuf>);

impl CaseVariants {
    /// Collects the variants among these paths and the folders above them.
    pub(super) fn from_paths<'p>(paths: impl Iterator<Item = &'p Path>) -> Self {
        let mut seen: BTreeSet<&Path> = BTreeSet::new();
        let mut spelled: BTreeMap<String, Vec<&Path>> = BTreeMap::new();
        for path in paths {
            for part in path.ancestors().take_while(|part| seen.insert(part)) {
                spelled.entry(part.to_string_lossy().to_lowercase()).or_default().push(part);
            }
        }
        let twins = spelled.into_values().filter(|all| all.len() > 1).flatten();
        Self(twins.map(Path::to_owned).collect())
    }

    /// Whether an entry found at a path really has this exact name.
    pub(super) fn has_exact_name(&self, path: &Path) -> bool {
        self.is_exactly_listed(path, |folder| {
            let entries = folder.read_dir().into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name()).collect()
        })
    }

    /// Like [`CaseVariants::has_exact_name`], with a given function to list a folder.
    fn is_exactly_listed(&self, path: &Path, list: impl Fn(&Path) -> Vec<OsString>) -> bool {
        // Only path components with a variant are ambiguous. Check each of them in the listing of
        // its parent.
        let doubtful = path.ancestors().filter(|part| self.0.contains(*part));
        doubtful
            .filter_map(|part| part.parent().zip(part.file_name()))
            .all(|(folder, name)| list(folder).iter().any(|entry| entry == name))
    }

    /// Whether a folder with exactly this name exists.
    pub(super) fn is_folder(&self, path: &Path) -> bool {
        path.is_dir() && self.has_exact_name(path)
    }
}

/// Whether an entry with exactly this name exists.
pub(super) fn is_present(path: &Path) -> bool {
    path.exists()
        && path.parent().zip(path.file_name()).is_none_or(|(folder, name)| {
            let entries = folder.read_dir().into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name()).any(|entry| entry == name)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twins(paths: &[&str]) -> CaseVariants {
        CaseVariants::from_paths(paths.iter().map(Path::new))
    }

    /// Lists a file system that is case-insensitive but preserves case.
    fn list<'a>(names: &'a [&str]) -> impl Fn(&Path) -> Vec<OsString> + 'a {
        |folder| {
            let is_in = |name: &&&str| {
                let above = Path::new(name).parent().unwrap().to_string_lossy().to_lowercase();
                above == folder.to_string_lossy().to_lowercase()
            };
            let inside = names.iter().filter(is_in);
            inside.map(|name| Path::new(name).file_name().unwrap().to_owned()).collect()
        }
    }

    #[test]
    fn only_the_listed_case_variant_exists() {
        let twins = twins(&["src/a.luau", "src/A.luau", "src/b.luau"]);
        for (there, other) in [("src/a.luau", "src/A.luau"), ("src/A.luau", "src/a.luau")] {
            let disk = [there, "src/B.luau"];
            assert!(twins.is_exactly_listed(Path::new(there), list(&disk)));
            assert!(!twins.is_exactly_listed(Path::new(other), list(&disk)));
            // No other path of the step is a variant of this one, so any match counts.
            assert!(twins.is_exactly_listed(Path::new("src/b.luau"), list(&disk)));
        }
    }

    #[test]
    fn files_match_by_the_case_of_their_folder() {
        let twins = twins(&["src/box/b.luau", "src/Box/b.luau"]);
        let disk = ["src/box", "src/box/b.luau"];
        for (path, is_so) in
            [("src/box", true), ("src/box/b.luau", true), ("src/Box/b.luau", false)]
        {
            assert_eq!(twins.is_exactly_listed(Path::new(path), list(&disk)), is_so, "{path}");
        }
        assert!(twins.is_exactly_listed(Path::new("src"), list(&disk)));
    }

    #[test]
    fn only_paths_differing_by_case_are_variants() {
        assert_eq!(twins(&["src/a", "src/b", "src/a", "SRC2/a"]).0, BTreeSet::new());
        let found = twins(&["src/Ä.luau", "src/ä.luau"]).0;
        assert_eq!(found, ["src/Ä.luau", "src/ä.luau"].map(PathBuf::from).into());
    }
}
