//! The conversation view: requests, progress, and the display of hostile and long content.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use vector_tests::binary;
use vector_tests::browser::key;
use vector_tests::past;

use super::*;

#[test]
fn approved_request_is_shown_and_changes_the_place() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::new();
    let before = fs::read(&bench.file).unwrap();
    let browser = stage.browser();
    bench.enter(&browser);
    browser.until_shown("#scroll", "No requests yet");
    browser.until_shown("#rail", "place.rbxlx");
    ask(&browser, FADE);
    browser.until_shown("#log .asked", FADE);
    browser.until("document.querySelector('#log .call[data-state=done]')");
    let card = browser.until("document.querySelector('#log [data-proposal]')?.dataset.proposal");
    let card: u64 = card.as_str().unwrap().parse().unwrap();
    browser.until_shown("#waiting", "1");
    browser.until("document.querySelector('#rail [aria-current]').dataset.state === 'waiting'");
    assert_eq!(browser.is("document.querySelector('#ask-text').value"), "");
    assert!(fs::read(&bench.file).unwrap() == before, "nothing is written before a yes");
    bench.human.approve(card).ok();
    browser.until_shown("#log .end", "Done");
    browser.until("document.querySelector('#rail [aria-current]').dataset.state === 'done'");
    browser.until("document.querySelector('#waiting').hidden");
    bench.human.until_status(card, "applied");
    let after = fs::read_to_string(&bench.file).unwrap();
    assert!(after.contains("<float name=\"Transparency\">0.5</float>"), "{after}");
}

#[test]
fn plan_is_shown_and_can_be_stopped() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::new();
    let browser = stage.browser();
    bench.enter(&browser);
    ask(&browser, GRID);
    browser.until_shown("#head .plan summary", "Plan: 0 of 10 steps");
    for _ in 1..=2 {
        let card = bench.human.card();
        browser.until(&format!("document.querySelector('#log [data-proposal=\"{card}\"]')"));
        bench.human.approve(card).ok();
    }
    bench.human.card();
    browser.click("#head button[data-verb=cancel]");
    browser.until_shown("#log .end", "Ended; not all of it was approved");
    browser.until("document.querySelector('#head [data-verb=cancel]') === null");
    let next = browser
        .until("document.querySelector('#head .plan button[data-interaction]')?.dataset.text");
    assert_eq!(next, "Continue with the next step of the plan: Create the Model Grid");
}

/// A name that a careless page would execute or misdisplay.
const HOSTILE: &str = "rename game.Workspace.Lamp to \
     \"<img src=x onerror=window.ran=1><script>window.ran=1</script>\u{202e}gnp.exe\"";

/// The containers whose content overflows; the tabs may.
const WIDER: &str = "
    return ['html', 'body', '.bar', 'main', '#rail', '#scroll', '#log', '#composer'].filter(it => {
      const element = document.querySelector(it);
      return element.scrollWidth > element.clientWidth;
    });";

#[test]
fn hostile_text_is_shown_as_text_without_overflow() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let browser = stage.browser();
    browser.look(&Look { width: 420, ..Look::default() });
    browser.prepare(
        "window.reports = [];
         addEventListener('securitypolicyviolation', it => window.reports.push(it.violatedDirective));",
    );
    bench.enter(&browser);
    ask(&browser, HOSTILE);
    browser.until("document.querySelector('#log [data-proposal]')");
    let long = "0123456789".repeat(10_000);
    browser.click("#composer [name=begins]");
    ask(&browser, &format!("{long}<b onclick=window.ran=1>"));
    browser.until("document.querySelector('#log .asked .text')?.textContent.length > 100000");
    browser.until("document.querySelectorAll('#rail [data-task]').length === 2");
    assert_eq!(browser.run(WIDER, &[]), json!([]));
    browser.is("document.querySelectorAll('#rail [data-task]')[1].click()");
    browser.until("document.querySelector('#log [data-proposal]')");
    let title = browser.text("#log [data-proposal] .title");
    assert!(title.contains("<img src=x onerror=window.ran=1>"), "{title}");
    assert_eq!(browser.run(WIDER, &[]), json!([]));
    assert_eq!(
        browser.is("document.querySelectorAll('main img, main script, main b[onclick]').length"),
        0
    );
    assert_eq!(browser.is("window.ran ?? null"), Json::Null);
    assert_eq!(browser.is("window.reports"), json!([]));
}

#[test]
fn long_conversation_loads_to_its_beginning() {
    let Some(stage) = Stage::set() else { return };
    let home = Home::new();
    // Every entry but the results of calls has a part.
    past::conversation(&ledger(&home), 1_001);
    let bench = Bench::of(home);
    let browser = stage.browser();
    bench.enter(&browser);
    browser.until_shown("#log .end", "Done");
    // Earlier parts may be loaded on scrolling up.
    browser.until(
        "document.querySelector('#scroll').scrollTo(0, 0),
         document.querySelectorAll('#log > [data-key]').length === 751",
    );
    let log = log(&browser);
    is_each_once(&log);
    let number = |key: &String| key.split('-').nth(1).unwrap().parse::<u64>().unwrap();
    assert!(log.iter().map(|(key, _)| number(key)).is_sorted(), "{log:?}");
    // For each key that moves the focus, Chromium processes every part whose `content-visibility`
    // is not `visible`, so none may remain.
    let left = "[...document.querySelectorAll('#log *')]
        .filter(it => getComputedStyle(it).contentVisibility !== 'visible').length";
    assert_eq!(browser.is(left), 0);
}

#[test]
fn every_place_format_opens_and_other_files_are_refused() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let browser = stage.browser();
    browser.expect("status of 4");
    bench.enter(&browser);
    browser.click("#rail .more summary");
    let opens = |name: &str, place: &str, says: &str| {
        browser.run("document.querySelector('#toasts').replaceChildren()", &[]);
        browser.run("document.querySelector('#open-path').value = ''", &[]);
        browser.click("#open-path");
        browser.enter(&binary::path_there(&bench.home.path().join(name)));
        browser.press(&[], &[key::ENTER]);
        browser.until_shown(place, says);
    };
    for format in Format::ALL {
        let name = format!("Another.{}", format.extension().to_uppercase());
        fs::write(bench.home.path().join(&name), places::sample(format)).unwrap();
        opens(&name, "#toasts", &format!("{name} is open"));
    }
    for name in ["notes.txt", "place.rbx"] {
        fs::write(bench.home.path().join(name), "no place").unwrap();
        opens(name, "#rail form [role=alert]", &format!("{name} is not a project"));
    }
}

#[test]
fn script_can_be_attached_by_name() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::obby();
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click("#ask-text");
    browser.press(&[], &['s', 'e', 'e', ' ', '@', 'k', 'i', 'l', 'l', 'b']);
    browser.until_shown("#mentions", "game.ServerScriptService.KillBricks");
    browser.press(&[], &[key::DOWN, key::ENTER]);
    let typed = "document.querySelector('#ask-text').value";
    browser.until(&format!("{typed} === 'see @file:game.ServerScriptService.KillBricks '"));
    assert_eq!(browser.is("document.activeElement.id"), "ask-text");
    assert_eq!(browser.is("document.querySelector('#mentions').hidden"), true);
    browser.click("[data-act=attach]");
    browser.until_shown("#mentions", "@problems");
    browser.click("#mentions [data-text='@problems']");
    browser.until(&format!("{typed}.endsWith('KillBricks @problems ')"));
    // A file and two images are attached: dropped, pasted, and one removed again.
    let paste = "const [file] = arguments; const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(atob(file.data), (c) => c.charCodeAt(0))], file.name, { type: file.type }));
        const area = document.querySelector('#ask-text');
        area.dispatchEvent(file.isDropped
            ? new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
            : new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));";
    let notes = BASE64_STANDARD.encode("blue\n");
    for (name, kind, is_dropped) in
        [("a.md", "text/markdown", true), ("notes.md", "text/markdown", false)]
    {
        let file = json!({ "name": name, "type": kind, "data": notes, "isDropped": is_dropped });
        browser.run(paste, &[file]);
        browser.until_shown("#attached", name);
    }
    browser.click("#attached [aria-label='Remove a.md']");
    assert_eq!(browser.text("#attached").trim(), "notes.md, 1 KB\n×");
    browser.click("#ask-text");
    browser.press(&[key::CONTROL], &[key::ENTER]);
    browser.until_shown("#log .asked", "@problems");
    browser.until("document.querySelector('#attached').hidden");
    let log = bench.home.run(&["log"], "").stdout;
    assert!(log.contains("attached: notes.md (5 bytes)") && !log.contains("a.md ("), "{log}");
    assert!(
        log.contains("game.ServerScriptService.KillBricks") && log.contains("problems of"),
        "{log}"
    );
}
