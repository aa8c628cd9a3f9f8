//! Finds and reads the project settings beside a place: `selene.toml` and `stylua.toml`.
//!
//! Their meaning is up to the core. A project may be untrusted: only regular files are read, and
//! links that lead out of the folder are refused, because an error in a settings file is shown with
//! its text.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use vector_files::disk::canonical_path;
use vector_luau::{LintSettings, library_names};

/// The size limit of a settings file in bytes.
const MAX_SIZE: usize = 256 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSettings<T> {
    pub file: PathBuf,
    pub settings: T,
}

/// Finds the `selene.toml` of a folder: in it, or in the nearest folder above.
///
/// # Errors
/// The file exists but cannot be read.
pub fn find_selene_settings(folder: &Path) -> io::Result<Option<FoundSettings<LintSettings>>> {
    let Some((file, text)) = find_upwards(folder, &["selene.toml"])? else {
        return Ok(None);
    };
    let directory = file.parent().unwrap_or(Path::new("."));
    let mut found = LintSettings { text, ..LintSettings::default() };
    for name in library_names(&found.text) {
        // A library name must not lead out of the folder.
        let is_plain = !name.contains(['/', '\\', ':']) && name != "..";
        if !is_plain {
            continue;
        }
        for ending in ["yml", "yaml"] {
            let file = directory.join(format!("{name}.{ending}"));
            // A library that is not a file or may not be read is reported as missing.
            if let Ok(text) = read_inside(directory, &file) {
                found.libraries.insert(name, text);
                break;
            }
        }
    }
    Ok(Some(FoundSettings { file, settings: found }))
}

/// Finds the `stylua.toml` of a folder: in it, or in the nearest folder above.
///
/// # Errors
/// The file exists but cannot be read.
pub fn find_stylua_settings(folder: &Path) -> io::Result<Option<FoundSettings<String>>> {
    let found = find_upwards(folder, &["stylua.toml", ".stylua.toml"])?;
    Ok(found.map(|(file, settings)| FoundSettings { file, settings }))
}

fn find_upwards(folder: &Path, names: &[&str]) -> io::Result<Option<(PathBuf, String)>> {
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    let real = canonical_path(folder)?;
    for folder in real.ancestors() {
        for name in names {
            let file = folder.join(name);
            if file.is_file() {
                return read_inside(folder, &file).map(|text| Some((file, text)));
            }
        }
    }
    Ok(None)
}

/// Reads a regular file in `folder`, which must be a canonical path.
fn read_inside(folder: &Path, file: &Path) -> io::Result<String> {
    let wrong = |why: &str| {
        let why = format!("{}: {why}", file.display());
        io::Error::new(io::ErrorKind::InvalidData, why)
    };
    let named = |why: io::Error| io::Error::new(why.kind(), format!("{}: {why}", file.display()));
    let real = canonical_path(file).map_err(named)?;
    if !real.starts_with(folder) {
        return Err(wrong("it is a link to a file outside its folder; put the file itself there"));
    }
    if !fs::metadata(&real).map_err(named)?.is_file() {
        return Err(wrong("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let opened = File::open(&real).map_err(named)?;
    opened.take(MAX_SIZE as u64 + 1).read_to_end(&mut bytes).map_err(named)?;
    if bytes.len() > MAX_SIZE {
        return Err(wrong(&format!("it is larger than {MAX_SIZE} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_settings_file_is_used() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/b");
        fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| home.path().canonicalize().unwrap().join(name);
        fs::write(home.path().join("selene.toml"), "std = \"roblox+testez\"").unwrap();
        fs::write(home.path().join("testez.yml"), "globals: {}").unwrap();
        let found = find_selene_settings(&folder).unwrap().unwrap();
        assert_eq!(found.file, at("selene.toml"));
        assert_eq!(found.settings.libraries["testez"], "globals: {}");
        fs::write(folder.join("selene.toml"), "std = \"../roblox\"").unwrap();
        let found = find_selene_settings(&folder).unwrap().unwrap();
        assert_eq!((found.file, found.settings.libraries.len()), (at("a/b/selene.toml"), 0));
        fs::write(home.path().join("a/.stylua.toml"), "column_width = 80").unwrap();
        assert_eq!(find_stylua_settings(&folder).unwrap().unwrap().settings, "column_width = 80");
        fs::write(folder.join("stylua.toml"), [0xff, 0xfe]).unwrap();
        let why = find_stylua_settings(&folder).unwrap_err().to_string();
        assert!(why.contains("stylua.toml"), "{why}");
    }

    #[test]
    fn oversized_settings_file_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path();
        fs::write(folder.join("stylua.toml"), "#".repeat(MAX_SIZE)).unwrap();
        assert_eq!(find_stylua_settings(folder).unwrap().unwrap().settings.len(), MAX_SIZE);
        fs::write(folder.join("stylua.toml"), "#".repeat(MAX_SIZE + 1)).unwrap();
        let why = find_stylua_settings(folder).unwrap_err().to_string();
        assert!(why.contains("is larger than 262144 bytes"), "{why}");
    }

    #[cfg(unix)]
    #[test]
    fn links_leading_out_of_the_folder_are_not_read() {
        use std::os::unix::fs::symlink;
        use std::os::unix::net::UnixListener;

        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("project");
        fs::create_dir(&folder).unwrap();
        fs::write(home.path().join("secret"), "- a secret").unwrap();
        fs::write(folder.join("selene.toml"), "std = \"a+b+c+d\"").unwrap();
        symlink("../secret", folder.join("a.yml")).unwrap();
        symlink("/dev/zero", folder.join("b.yml")).unwrap();
        let _socket = UnixListener::bind(folder.join("c.yml")).unwrap();
        fs::write(folder.join("own"), "globals: {}").unwrap();
        symlink("own", folder.join("d.yml")).unwrap();
        let found = find_selene_settings(&folder).unwrap().unwrap().settings.libraries;
        assert_eq!(found.keys().collect::<Vec<_>>(), ["d"], "a link within the folder is none out");
        symlink("../secret", folder.join("stylua.toml")).unwrap();
        let why = find_stylua_settings(&folder).unwrap_err().to_string();
        assert!(why.contains("outside its folder") && !why.contains("a secret"), "{why}");
    }
}
