//! The glob rules of a project file: which files are ignored, and how others are read.
//!
//! A glob is relative to the folder of the project file. `*` also matches `/`, as in the crate that
//! both Rojo and this module use.

use std::path::{Path, PathBuf};

use globset::{Glob, GlobMatcher};
use serde_json::Value as Json;

use super::middleware::FileMiddleware;

/// A glob of `globIgnorePaths`.
#[derive(Debug, Clone)]
pub(super) struct IgnoreGlob {
    base: PathBuf,
    glob: GlobMatcher,
    /// Whether the glob re-includes what an earlier glob ignores.
    is_negated: bool,
}

impl IgnoreGlob {
    /// Parses a glob. A leading `!` negates it; a leading `\!` is a literal `!`.
    ///
    /// # Errors
    /// Fails if the glob is invalid.
    pub(super) fn new(text: &str, base: &Path) -> Result<Self, String> {
        let (is_negated, glob) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None if text.starts_with(r"\!") => (false, &text[1..]),
            None => (false, text),
        };
        Ok(Self { base: base.to_owned(), glob: compile_glob(glob, "globIgnorePaths")?, is_negated })
    }
}

impl PartialEq for IgnoreGlob {
    fn eq(&self, other: &Self) -> bool {
        self.base == other.base
            && self.glob.glob() == other.glob.glob()
            && self.is_negated == other.is_negated
    }
}

/// Whether a path is ignored. The last glob that matches it decides.
pub(super) fn is_ignored(rules: &[IgnoreGlob], path: &Path) -> bool {
    let matches = |rule: &&IgnoreGlob| {
        path.strip_prefix(&rule.base).is_ok_and(|suffix| rule.glob.is_match(suffix))
    };
    rules.iter().rev().find(matches).is_some_and(|rule| !rule.is_negated)
}

/// A rule of `syncRules`.
#[derive(Debug, Clone)]
pub(super) struct SyncRule {
    base: PathBuf,
    include: GlobMatcher,
    exclude: Option<GlobMatcher>,
    suffix: Option<String>,
    pub(super) middleware: FileMiddleware,
}

impl SyncRule {
    /// Parses a rule.
    ///
    /// # Errors
    /// Fails if the rule lacks `pattern` or `use`, if a glob is invalid, or if Rojo does not know
    /// the `use`.
    pub(super) fn from_json(json: &Json, base: &Path) -> Result<Self, String> {
        let text = |field: &str| json.get(field).and_then(Json::as_str);
        let (Some(pattern), Some(usage)) = (text("pattern"), text("use")) else {
            return Err("a rule of `syncRules` needs the texts `pattern` and `use`".to_owned());
        };
        let Some(middleware) = FileMiddleware::from_name(usage) else {
            return Err(format!("Rojo does not know the `use` {usage:?} of a rule of `syncRules`"));
        };
        Ok(Self {
            base: base.to_owned(),
            include: compile_glob(pattern, "syncRules")?,
            exclude: text("exclude").map(|glob| compile_glob(glob, "syncRules")).transpose()?,
            suffix: text("suffix").map(str::to_owned),
            middleware,
        })
    }

    /// Whether the rule applies to a file.
    pub(super) fn matches(&self, path: &Path) -> bool {
        path.strip_prefix(&self.base).is_ok_and(|suffix| {
            self.include.is_match(suffix)
                && !self.exclude.as_ref().is_some_and(|glob| glob.is_match(suffix))
        })
    }

    /// Returns the name of the instance for a file with this name.
    pub(super) fn instance_name<'a>(&self, file_name: &'a str) -> &'a str {
        match &self.suffix {
            Some(suffix) => file_name.strip_suffix(suffix.as_str()).unwrap_or(file_name),
            None => super::middleware::file_stem(file_name),
        }
    }
}

impl PartialEq for SyncRule {
    fn eq(&self, other: &Self) -> bool {
        let exclude = |rule: &Self| rule.exclude.as_ref().map(|glob| glob.glob().clone());
        self.base == other.base
            && self.include.glob() == other.include.glob()
            && exclude(self) == exclude(other)
            && self.suffix == other.suffix
            && self.middleware == other.middleware
    }
}

fn compile_glob(glob: &str, field: &str) -> Result<GlobMatcher, String> {
    match Glob::new(glob) {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(format!("`{field}` has a glob that cannot be read: {error}")),
    }
}
