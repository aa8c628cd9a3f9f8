//! What a person points at in a request: files, folders, pages of the web and instances become
//! attachments, looked at when the request is made.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use scene_schemas::Fingerprint;
use scene_schemas::InstancePath;
use scene_schemas::entry::Attached;

use crate::core::mention::{What, find};
use crate::core::scene::Scene;
use crate::engine::web;
use crate::providers::http::Cancel;

/// The longest file that is attached, in bytes: what Studio holds of a script.
const MAX_FILE: u64 = 200_000;

/// How many names of a folder are attached.
const MAX_NAMES: usize = 500;

/// All that is pointed at, in order.
pub(super) fn attached(text: &str, scene: &Scene) -> anyhow::Result<Vec<Attached>> {
    find(text).into_iter().map(|mention| one(&mention.what, scene)).collect()
}

fn one(what: &What, scene: &Scene) -> anyhow::Result<Attached> {
    match what {
        What::File(path) | What::Folder(path) if path.starts_with("game.") => instance(path, scene),
        What::File(path) => file(Path::new(path)),
        What::Folder(path) => folder(Path::new(path)),
        What::Url(address) => page(address),
        What::Selection | What::Script | What::Problems => bail!(
            "@selection, @script and @problems point at what is open in Studio, and this is a file; name \
             an instance as @file:game.ServerScriptService.Main"
        ),
    }
}

fn instance(path: &str, scene: &Scene) -> anyhow::Result<Attached> {
    let path: InstancePath = path.parse().with_context(|| format!("@{path} is no path"))?;
    let node = super::resolve(scene, &path)?;
    Ok(Attached::Instance { target: scene.target(node), class: scene.class(node).to_owned() })
}

fn file(path: &Path) -> anyhow::Result<Attached> {
    let name = path.display();
    let length = fs::metadata(path).with_context(|| format!("@file:{name} cannot be read"))?.len();
    if length > MAX_FILE {
        bail!("@file:{name} has {length} bytes; at most {MAX_FILE} can be attached");
    }
    let bytes = fs::read(path).with_context(|| format!("@file:{name} cannot be read"))?;
    let hash = Fingerprint::of(&bytes);
    let text = String::from_utf8(bytes).ok().with_context(|| format!("@file:{name} is no text"))?;
    Ok(Attached::File { path: name.to_string(), hash, text })
}

fn folder(path: &Path) -> anyhow::Result<Attached> {
    let name = path.display().to_string();
    let entries = fs::read_dir(path).with_context(|| format!("@folder:{name} cannot be read"))?;
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| {
            let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_folder { format!("{name}/") } else { name }
        })
        .collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(MAX_NAMES) as u32;
    names.truncate(MAX_NAMES);
    Ok(Attached::Folder { path: name, names, more })
}

fn page(address: &str) -> anyhow::Result<Attached> {
    let text = web::look(address, &Cancel::new()).map_err(anyhow::Error::msg)?;
    Ok(Attached::Page { address: address.to_owned(), text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_are_looked_at_and_what_is_not_there_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display().to_string();
        fs::write(folder.path().join("a.luau"), "return 1\n").unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        let scene = Scene::open_place();
        let text = format!("look at @file:{place}/a.luau and @folder:{place}");
        let all = attached(&text, &scene).unwrap();
        assert!(matches!(&all[0], Attached::File { text, .. } if text == "return 1\n"));
        assert!(
            matches!(&all[1], Attached::Folder { names, more: 0, .. } if names == &["a.luau", "src/"])
        );
        assert!(all[0].sentence().ends_with("a.luau (9 bytes)"), "{}", all[0].sentence());
        for (words, said) in [
            (format!("@file:{place}/none"), "cannot be read"),
            ("@selection".to_owned(), "open in Studio"),
            ("@https://127.0.0.1/x".to_owned(), "127.0.0.1"),
        ] {
            let error = format!("{:#}", attached(&words, &scene).unwrap_err());
            assert!(error.contains(said), "{error}");
        }
    }
}
