//! Merge conflicts that are decided on the page, and the resulting file.

use vector_place::Scene;
use vector_tests::browser::key;
use vector_tests::forked;

use super::*;

fn bench() -> Bench {
    let home = Home::new();
    let arena = forked::merge(&home, home.path());
    Bench::at(home, arena)
}

/// The selector of the conflict whose text contains `about`.
fn of(browser: &Browser<'_>, about: &str) -> String {
    let found = browser.is(&format!(
        "[...document.querySelectorAll('article.conflict')].find((it) => it.innerText.includes('{about}')).dataset.key"
    ));
    format!("article[data-key='{}']", found.as_str().unwrap())
}

#[test]
fn conflicts_are_decided_in_three_columns() {
    let Some(stage) = Stage::set() else { return };
    let bench = bench();
    let browser = stage.browser();
    bench.enter(&browser);
    browser.until_shown("#rail", "0 of 4 conflicts decided");
    browser.click("#rail a[href='#/merges']");
    browser.until_shown("main .merge", "arena.rbxlx");
    assert_eq!(browser.is("document.title"), "Merge conflicts · Vector");
    let script = of(&browser, "ModuleScript");
    let text = browser.text(&script);
    for part in
        ["Base", "Ours", "Theirs", "local SPEED = 16", "local SPEED = 20", "local SPEED = 24"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    browser.click(&format!("{} input[value=theirs]", of(&browser, "Transparency")));
    browser.until_shown("main", "1 of 4 conflicts decided");
    // Choosing a hunk does not decide the script; the choice stays when the rest is decided.
    browser.click(&format!("{script} .part:nth-of-type(1) input[value=both]"));
    browser.click(&format!("{} input[value=theirs]", of(&browser, "moved by both")));
    browser.until_shown("main", "2 of 4 conflicts decided");
    assert_eq!(
        browser.is(&format!("document.querySelector(\"{script} input:checked\").value")),
        "both"
    );
    browser.click(&format!("{script} .part:nth-of-type(2) input[value=edited]"));
    browser.click(&format!("{script} .part:nth-of-type(2) textarea"));
    browser.press(&[key::CONTROL], &['a']);
    browser.enter("return 3");
    assert_eq!(browser.is("document.querySelector('[data-say=write]').disabled"), true);
    browser.click(&format!("{script} .part:nth-of-type(2) button"));
    browser.until_shown("main", "3 of 4 conflicts decided");
    browser.click(&format!("{} input[value=ours]", of(&browser, "deleted by")));
    browser.until_shown("main", "4 of 4 conflicts decided");
    browser.click("[data-say=write]");
    browser.until_shown("#toasts", "is merged");
    browser.until_shown("main", "No merge has open conflicts");
    let scene = Scene::decode(&fs::read(&bench.file).unwrap()).unwrap();
    let node = scene.resolve(&"game.ReplicatedStorage.Steps".parse().unwrap()).unwrap();
    let source = scene.script_text(node).unwrap();
    assert!(source.starts_with("local SPEED = 20\nlocal SPEED = 24\n"), "{source}");
    assert!(source.ends_with("\nreturn 3"), "{source}");
    assert!(scene.resolve(&"game.Workspace.South.Floor".parse().unwrap()).is_ok());
    assert!(scene.resolve(&"game.Workspace.Lobby.Lamp".parse().unwrap()).is_ok());
}

#[test]
fn merge_takes_one_side_or_the_file_as_is() {
    let Some(stage) = Stage::set() else { return };
    let bench = bench();
    let before = fs::read(&bench.file).unwrap();
    let browser = stage.browser();
    bench.enter(&browser);
    browser.run("location.hash = '#/merges'", &[]);
    browser.click("[data-act=decide-open][data-say=theirs]");
    browser.until_shown("main", "4 of 4 conflicts decided");
    // A decision elsewhere is shown when the page is displayed again.
    browser.click("[data-say=as_is]");
    browser.until_shown("#dialog", "Keep the file as it is?");
    browser.press(&[], &[key::ESCAPE]);
    browser.until("!document.querySelector('#dialog').open");
    browser.click("[data-say=as_is]");
    browser.until("document.querySelector('#dialog button.danger').disabled === false");
    browser.click("#dialog button.danger");
    browser.until_shown("main", "No merge has open conflicts");
    assert!(fs::read(&bench.file).unwrap() == before);
}
