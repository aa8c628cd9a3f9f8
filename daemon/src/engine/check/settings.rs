//! The settings of a project that stand beside a place: where they are found, and read.
//!
//! What they mean is the core's business.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::core::luau::{LintSettings, libraries};

/// Bytes of a file of settings that are read; nobody writes more.
const MAX_SIZE: u64 = 4 << 20;

/// A file of settings that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<T> {
    /// Where.
    pub file: PathBuf,
    /// What it says.
    pub settings: T,
}

/// The `selene.toml` of a folder: in it, or in the nearest one above.
///
/// # Errors
/// It is there and cannot be read.
pub fn selene(folder: &Path) -> io::Result<Option<Found<LintSettings>>> {
    let Some((file, text)) = upwards(folder, &["selene.toml"])? else {
        return Ok(None);
    };
    let beside = file.parent().unwrap_or(Path::new("."));
    let mut found = LintSettings { text, ..LintSettings::default() };
    for name in libraries(&found.text) {
        // A name is no way out of the folder.
        let is_plain = !name.contains(['/', '\\', ':']) && name != "..";
        let text = ["yml", "yaml"].iter().find_map(|ending| {
            let file = beside.join(format!("{name}.{ending}"));
            if is_plain { read(&file).ok() } else { None }
        });
        if let Some(text) = text {
            found.libraries.insert(name, text);
        }
    }
    Ok(Some(Found { file, settings: found }))
}

/// The `stylua.toml` of a folder: in it, or in the nearest one above.
///
/// # Errors
/// It is there and cannot be read.
pub fn stylua(folder: &Path) -> io::Result<Option<Found<String>>> {
    let found = upwards(folder, &["stylua.toml", ".stylua.toml"])?;
    Ok(found.map(|(file, settings)| Found { file, settings }))
}

fn upwards(folder: &Path, names: &[&str]) -> io::Result<Option<(PathBuf, String)>> {
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    let real = fs::canonicalize(folder)?;
    for folder in real.ancestors() {
        for name in names {
            let file = folder.join(name);
            if file.is_file() {
                return read(&file).map(|text| Some((file, text)));
            }
        }
    }
    Ok(None)
}

fn read(file: &Path) -> io::Result<String> {
    let named = |why: io::Error| io::Error::new(why.kind(), format!("{}: {why}", file.display()));
    let size = fs::metadata(file).map_err(named)?.len();
    if size > MAX_SIZE {
        let why = format!("{} has {size} bytes; settings have {MAX_SIZE} at most", file.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    fs::read_to_string(file).map_err(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_file_counts() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/b");
        fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| home.path().canonicalize().unwrap().join(name);
        fs::write(home.path().join("selene.toml"), "std = \"roblox+testez\"").unwrap();
        fs::write(home.path().join("testez.yml"), "globals: {}").unwrap();
        let found = selene(&folder).unwrap().unwrap();
        assert_eq!(found.file, at("selene.toml"));
        assert_eq!(found.settings.libraries["testez"], "globals: {}");
        fs::write(folder.join("selene.toml"), "std = \"../roblox\"").unwrap();
        let found = selene(&folder).unwrap().unwrap();
        assert_eq!((found.file, found.settings.libraries.len()), (at("a/b/selene.toml"), 0));
        fs::write(home.path().join("a/.stylua.toml"), "column_width = 80").unwrap();
        assert_eq!(stylua(&folder).unwrap().unwrap().settings, "column_width = 80");
        fs::write(folder.join("stylua.toml"), [0xff, 0xfe]).unwrap();
        let why = stylua(&folder).unwrap_err().to_string();
        assert!(why.contains("stylua.toml"), "{why}");
    }
}
