//! What a person points at in a request: files, folders, pages of the web and instances become
//! attachments, looked at when the request is made.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use scene_schemas::Fingerprint;
use scene_schemas::InstancePath;
use scene_schemas::entry::Attached;

use crate::core::luau::Finding;
use crate::core::mention::{What, find};
use crate::core::scene::Scene;
use crate::engine::check::{self, Linters, Script, settings};
use crate::engine::web;
use crate::providers::http::Cancel;

/// The longest file that is attached, in bytes: what Studio holds of a script.
const MAX_FILE: u64 = 200_000;

/// How many names of a folder are attached.
const MAX_NAMES: usize = 500;

/// How many findings are attached.
const MAX_FINDINGS: usize = 100;

/// All that is pointed at, in order. The settings of the place stand in its folder, or above it.
pub(super) fn attached(
    text: &str,
    scene: &Scene,
    folder: Option<&Path>,
) -> anyhow::Result<Vec<Attached>> {
    find(text).into_iter().map(|mention| one(&mention.what, scene, folder)).collect()
}

fn one(what: &What, scene: &Scene, beside: Option<&Path>) -> anyhow::Result<Attached> {
    match what {
        What::File(path) | What::Folder(path) if path.starts_with("game.") => instance(path, scene),
        What::File(path) => file(Path::new(path)),
        What::Folder(path) => folder(Path::new(path)),
        What::Url(address) => page(address),
        What::Problems => problems(scene, beside),
        What::Selection | What::Script => bail!(
            "@selection and @script point at what is open in Studio, and this is a file; name an \
             instance as @file:game.ServerScriptService.Main"
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

/// What `vector check` finds, but for types: the errors first.
fn problems(scene: &Scene, folder: Option<&Path>) -> anyhow::Result<Attached> {
    let settings = folder.map(settings::selene).transpose()?.flatten();
    let (linters, _) = Linters::of(settings.as_ref().map(|found| &found.settings));
    let scripts = check::scripts(scene, &[scene.root()], |_| None);
    let found = check::check(&scripts, &linters, &|| false);
    let all = scripts.iter().zip(&found);
    let mut all: Vec<(&Script, &Finding)> =
        all.flat_map(|(script, found)| found.iter().map(move |it| (script, it))).collect();
    all.sort_by_key(|(_, it)| std::cmp::Reverse(it.severity));
    let more = all.len().saturating_sub(MAX_FINDINGS) as u32;
    let line = |(script, finding): &(&Script, &Finding)| format!("{}:{finding}", script.path);
    let findings = all.iter().take(MAX_FINDINGS).map(line).collect();
    Ok(Attached::Problems { scripts: scripts.len() as u32, findings, more })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::scene::Format;

    #[test]
    fn problems_are_what_a_check_finds_the_errors_first() {
        let mut scene = Scene::empty(Format::Binary);
        for (name, text) in
            [("A", "if workspace then\nend\n"), ("B", "local = 1\n"), ("C", "print(1)\n")]
        {
            let script = scene.create(scene.root(), "Script", name);
            scene.set_source(script, text.to_owned());
        }
        let all = attached("mend @problems", &scene, None).unwrap();
        let Attached::Problems { scripts: 3, findings, more: 0 } = &all[0] else {
            panic!("{all:?}");
        };
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with("game.B:1:"), "{findings:?}");
        assert!(findings[1].starts_with("game.A:1:1: warning:"), "{findings:?}");
        assert_eq!(all[0].sentence(), "problems of 3 scripts (2 findings)");
    }

    #[test]
    fn files_and_folders_are_looked_at_and_what_is_not_there_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display().to_string();
        fs::write(folder.path().join("a.luau"), "return 1\n").unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        let scene = Scene::open_place();
        let text = format!("look at @file:{place}/a.luau and @folder:{place}");
        let all = attached(&text, &scene, None).unwrap();
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
            let error = format!("{:#}", attached(&words, &scene, None).unwrap_err());
            assert!(error.contains(said), "{error}");
        }
    }
}
