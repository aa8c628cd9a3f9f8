//! The bundle of the page's editor is what its sources give.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use vector_tests::requirement::Requirement;

#[test]
fn editor_is_bundled_from_its_sources() {
    let Some(packages) = env::var_os("VECTOR_EDITOR").map(PathBuf::from) else {
        return Requirement::Editor.skip("the bundle of the editor (VECTOR_EDITOR is not set)");
    };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../daemon/src/server/page");
    let folder = tempfile::tempdir().unwrap();
    let sources = folder.path().join("editor");
    fs::create_dir(&sources).unwrap();
    for name in ["editor.js", "banner.txt", "package.json"] {
        fs::copy(page.join("editor").join(name), sources.join(name)).unwrap();
    }
    symlink(packages.join("node_modules"), sources.join("node_modules")).unwrap();
    let built = Command::new("npm").args(["run", "build"]).current_dir(&sources).output().unwrap();
    assert!(built.status.success(), "{built:?}");
    let [fresh, kept] = [folder.path(), &page].map(|it| fs::read(it.join("assets/editor.js")));
    assert!(
        fresh.unwrap() == kept.unwrap(),
        "assets/editor.js is stale: run `npm ci && npm run build` in daemon/src/server/page/editor"
    );
}
