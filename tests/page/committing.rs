//! A commit on the page: started, found again after a reload while it runs, and finished.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use vector_tests::committed::Committed;

use super::*;

/// Installs a `git` that waits for a file before it commits; returns the `PATH` for it, and that
/// file.
fn patient(home: &Home) -> (OsString, PathBuf) {
    let (folder, go) = (home.path().join("bin"), home.path().join("go"));
    fs::create_dir(&folder).unwrap();
    let path = env::var_os("PATH").unwrap();
    let found = env::split_paths(&path).map(|it| it.join("git")).find(|it| it.is_file());
    let real = found.expect("Git is installed");
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *\" commit-tree \"*) while [ ! -e '{}' ]; do sleep 0.02; done;; esac\n\
         exec '{}' \"$@\"\n",
        go.display(),
        real.display()
    );
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = [folder].into_iter().chain(env::split_paths(&path));
    (env::join_paths(path).unwrap(), go)
}

/// Fails the status requests of a commit while `window.fails` is set.
const FAILING: &str = "
    const before = window.fetch;
    window.fetch = (path, options) => window.fails && String(path).startsWith('/page/committing')
      ? Promise.reject(new TypeError('cut'))
      : before(path, options);";

#[test]
fn running_commit_is_shown_after_failed_requests_and_reload() {
    let Some(stage) = Stage::set() else { return };
    let home = Home::new();
    let Some(project) = Committed::new(home.path()) else { return };
    let (path, go) = patient(&home);
    let mut command = Command::new(binary::vector());
    command.args(["serve", "--port", "0"]).env("PATH", path);
    let daemon = Daemon::run(command, &ledger(&home));
    let human = Human::of(&daemon, &ledger(&home));
    let file = project.folder.join("src/One.luau");
    let mut bench =
        Bench { home, daemon: Some(daemon), human, file, calls: 0, variables: Vec::new() };
    let opened = bench.human.call("POST", "/api/open", &json!({ "project": project.folder })).ok();
    bench.human.ask(&opened, "replace \"1\" with \"5\" in game.ServerStorage.One");
    let card = bench.human.card();
    bench.human.approve(card).ok();
    bench.human.until("done");
    let browser = stage.browser();
    browser.prepare(FAILING);
    bench.enter(&browser);
    let session = opened["session"].as_str().unwrap();
    browser.run(&format!("location.hash = '#/commit/{session}'"), &[]);
    let branch =
        browser.until("document.querySelector('form[data-act=commit]')?.elements.branch.value");
    let is_off = "document.querySelector('form[data-act=commit] button').disabled";
    browser.run("window.fails = true", &[]);
    browser.click("form[data-act=commit] button");
    browser.until("document.querySelector('#toasts > *')");
    browser.until(&format!("!{is_off}"));
    browser.run("window.fails = false", &[]);
    browser.run_async(
        "const done = arguments[arguments.length - 1];
         import('/assets/commit.js').then(it => it.again()).then(done);",
        &[],
    );
    browser.until_shown("#committing", "Committing");
    browser.reload();
    browser.until_shown("#committing", "Committing");
    assert_eq!(browser.is(is_off), true);
    fs::write(go, "").unwrap();
    browser.until_shown("#committing", "1 file committed as");
    browser.until("!document.querySelector('form[data-act=commit]')");
    let committed = format!("{}:src/One.luau", branch.as_str().unwrap());
    assert_eq!(project.git(&["show", &committed]), "return 5");
}
