//! File names for instances, from class and `RunContext`. Only names that every system can hold and
//! that Rojo reads as intended are used.

use std::path::Path;

use scene_schemas::refusal::{Refusal, refuse};

use crate::middleware::{FileMiddleware, INIT_FILES, ScriptKind};

/// Names that Windows reserves for devices.
const DEVICE_NAMES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// The maximum length of a name in bytes, which leaves room for suffixes.
const MAX_NAME_BYTES: usize = 200;

/// Checks that every file system can hold a name.
///
/// # Errors
/// Fails if some file system cannot.
pub(super) fn check_name(name: &str) -> Result<(), Refusal> {
    let stem = name.split('.').next().unwrap_or(name).to_lowercase();
    let is_device = DEVICE_NAMES.iter().any(|device| {
        let rest = stem.strip_prefix(device);
        let is_numbered = device.ends_with('m') || *device == "lpt";
        rest.is_some_and(|rest| match rest.as_bytes() {
            [] => !(*device == "com" || *device == "lpt"),
            [b'1'..=b'9'] => is_numbered,
            _ => false,
        })
    });
    let why = if name.is_empty() {
        "is empty"
    } else if name.contains(['/', '\\', ':', '*', '?', '"', '<', '>', '|']) {
        "has one of / \\ : * ? \" < > |"
    } else if name.contains(|it: char| it.is_control()) {
        "has a control character"
    } else if name.ends_with(['.', ' ']) || name.starts_with(' ') {
        "begins or ends with a space, or ends with a dot"
    } else if is_device {
        "is kept for a device by Windows"
    } else if name.len() > MAX_NAME_BYTES {
        "is too long"
    } else {
        return Ok(());
    };
    refuse!(
        "No file can be called {name:?} on every system, because the name {why}; choose another name."
    )
}

/// Returns the part of a script's file name between the instance name and `.lua` or `.luau`.
pub(super) fn kind_suffix(script: ScriptKind) -> &'static str {
    match script {
        ScriptKind::Server => ".server",
        ScriptKind::Client => ".client",
        ScriptKind::Plugin => ".plugin",
        _ => "",
    }
}

/// Returns the kind of script whose file yields a class, preferably with a given `RunContext`. None
/// if no file yields that class.
pub(super) fn script_kind(
    class: &str,
    run_context: u32,
    emit_legacy_scripts: bool,
) -> Option<ScriptKind> {
    let kinds = [ScriptKind::Server, ScriptKind::Client, ScriptKind::Plugin, ScriptKind::Module];
    let of_class =
        kinds.into_iter().filter(|kind| kind.class_and_context(emit_legacy_scripts).0 == class);
    let of_class: Vec<ScriptKind> = of_class.collect();
    let exact = of_class
        .iter()
        .find(|kind| kind.class_and_context(emit_legacy_scripts).1 == Some(run_context));
    exact.or(of_class.first()).copied()
}

/// Whether Rojo, by its default rules, reads a file with this name as a script of this kind with
/// this instance name.
pub(super) fn is_read_as(file_name: &str, script: ScriptKind, name: &str) -> bool {
    !INIT_FILES.iter().any(|(init, _)| *init == file_name)
        && FileMiddleware::from_file_name(file_name) == Some((FileMiddleware::Script(script), name))
}

/// Returns the part of a file name after the instance name.
pub(super) fn name_suffix<'a>(file: &'a Path, name: &str) -> Option<&'a str> {
    file.file_name()?.to_str()?.strip_prefix(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_invalid_on_any_system_are_refused() {
        for name in
            ["", "a/b", "a:b", "a.", " a", "CON", "nul.server", "com1", "a\n", &"a".repeat(300)]
        {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        for name in ["a", "a.b", "Console", "com", "ä b", ".hidden", "common"] {
            assert!(check_name(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn script_kind_follows_class_and_run_context() {
        let check = |class: &str, run_context, legacy, expected: Option<ScriptKind>| {
            assert_eq!(
                script_kind(class, run_context, legacy),
                expected,
                "{class} {run_context} {legacy}"
            );
        };
        check("Script", 0, true, Some(ScriptKind::Server));
        check("Script", 2, true, Some(ScriptKind::Server));
        check("Script", 3, true, Some(ScriptKind::Plugin));
        check("LocalScript", 0, true, Some(ScriptKind::Client));
        check("ModuleScript", 0, true, Some(ScriptKind::Module));
        check("Script", 1, false, Some(ScriptKind::Server));
        check("Script", 2, false, Some(ScriptKind::Client));
        check("LocalScript", 0, false, None);
        assert!(is_read_as("a.luau", ScriptKind::Module, "a"));
        assert!(!is_read_as("a.server.luau", ScriptKind::Module, "a.server"));
        assert!(!is_read_as("init.luau", ScriptKind::Module, "init"));
    }
}
