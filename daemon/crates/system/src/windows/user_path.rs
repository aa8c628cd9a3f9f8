//! The user's PATH, which Windows keeps in the registry.

use std::io;
use std::path::Path;

use windows_registry::{CURRENT_USER, Type};

const KEY: &str = "Environment";
const VALUE: &str = "Path";

/// Takes a folder off the user's PATH. References to other variables in it are kept.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    let key = CURRENT_USER.options().read().write().open(KEY)?;
    let Ok(value) = key.get_value(VALUE) else { return Ok(()) };
    let kind = value.ty();
    let path = String::try_from(value)?;
    let Some(kept) = without(&path, &folder.display().to_string()) else { return Ok(()) };
    match kind {
        Type::ExpandString => key.set_expand_string(VALUE, kept)?,
        _ => key.set_string(VALUE, kept)?,
    }
    Ok(())
}

/// A PATH without a folder. None if the folder is not on it.
fn without(path: &str, folder: &str) -> Option<String> {
    let plain = |entry: &str| entry.trim_end_matches('\\').to_lowercase();
    let is_other = |entry: &&str| plain(entry) != plain(folder);
    let kept: Vec<&str> = path.split(';').filter(is_other).collect();
    (kept.len() < path.split(';').count()).then(|| kept.join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_taken_off_a_path_and_others_stay() {
        let vector = r"C:\Users\a\AppData\Local\Programs\Vector";
        let path = format!(r"%HOME%\bin;{vector}\;;C:\Tools");
        assert_eq!(without(&path, vector).as_deref(), Some(r"%HOME%\bin;;C:\Tools"));
        assert_eq!(without(&vector.to_uppercase(), vector).as_deref(), Some(""));
        assert_eq!(without(r"C:\Programs\Vector2", vector), None);
    }
}
