//! The page's login: links, codes, revocation, and what a link leaves behind in the browser.

use super::*;

#[test]
fn login_link_works_once_and_leaves_no_trace() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let browser = stage.browser();
    let link = bench.link();
    let code = link.split_once("#in=").expect("it has a code").1.to_owned();
    browser.go(&link);
    until_here(&browser);
    let address = browser.is("location.href");
    assert_eq!(address, format!("{}#/now", bench.address()));
    assert!(!browser.is("document.documentElement.outerHTML").to_string().contains(&code));
    let history = browser.cdp("Page.getNavigationHistory", serde_json::json!({}));
    let urls: Vec<&Json> =
        history["entries"].as_array().unwrap().iter().map(|it| &it["url"]).collect();
    let history = serde_json::to_string(&urls).unwrap();
    assert!(!history.contains(&code), "{history}");
    // Wherever the page keeps its token, no request carries it automatically.
    let kept = "sessionStorage.getItem('vector-token') ?? localStorage.getItem('vector-token')";
    let token = browser.is(kept);
    let token = token.as_str().expect("it has a token");
    assert!(!history.contains(token) && code != token, "{history}");
    assert_eq!(browser.is("document.cookie"), "");
    browser.reload();
    until_here(&browser);
    // A link cannot be used a second time.
    let other = stage.browser();
    other.expect("401 (Unauthorized)");
    other.go(&link);
    other.until_shown(".door [role=alert]", "This link was used already, or has expired.");
    assert_eq!(other.text("#link"), "Not connected");
}

#[test]
fn second_link_in_same_page_opens_no_second_stream() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let browser = stage.browser();
    // Counts the open streams.
    browser.prepare(
        "window.streams = 0;
         const before = window.fetch;
         window.fetch = (path, ...more) => {
           if (String(path).startsWith('/page/stream')) window.streams += 1;
           return before(path, ...more);
         };",
    );
    bench.enter(&browser);
    let link = bench.link();
    browser.run("location.hash = arguments[0]", &[link.split_once('#').unwrap().1.into()]);
    browser.until("location.hash === '#/now'");
    ask(&browser, FADE);
    browser.until("document.querySelector('#log [data-proposal]')");
    until_here(&browser);
    assert_eq!(browser.is("window.streams"), 1);
}

#[test]
fn login_code_works_once_and_wrong_code_is_reported() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let code = bench.daemon().code();
    let browser = stage.browser();
    browser.expect("401 (Unauthorized)");
    browser.go(&bench.address());
    browser.until("document.activeElement.id === 'code'");
    let wrong = if code == "123456" { "654321" } else { "123456" };
    browser.enter(wrong);
    browser.click(".door button");
    browser.until_shown(".door [role=alert]", "The code is wrong. Type the six digits that");
    // With a space, as it is printed.
    browser.enter(&format!("{} {}", &code[..3], &code[3..]));
    browser.click(".door button");
    until_here(&browser);
    assert!(!browser.is("location.href").to_string().contains(&code));
    // A code works only once.
    let other = stage.browser();
    other.expect("401 (Unauthorized)");
    other.go(&bench.address());
    other.until("document.activeElement.id === 'code'");
    other.enter(&code);
    other.click(".door button");
    other.until_shown(".door [role=alert]", "The code is wrong.");
}

#[test]
fn revoked_page_shows_the_login_at_once() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let (browser, other) = (stage.browser(), stage.browser());
    bench.enter(&browser);
    let listed = bench.human.call("GET", "/api/access", &Json::Null).ok();
    let name = listed["pages"][0]["name"].as_str().expect("it is listed").to_owned();
    bench.enter(&other);
    ask(&browser, FADE);
    browser.until("document.querySelector('#log [data-proposal]')");
    browser.expect("401 (Unauthorized)");
    let run = bench.home.run(&["sessions", "revoke", &name], "");
    assert_eq!(run.code, 0, "{}", run.stderr);
    browser.until("document.querySelector('.door')");
    assert_eq!(browser.text("#link"), "Not connected");
    assert!(!browser.text("body").contains("Baseplate"), "nothing of the place is left to see");
    assert_eq!(browser.is("sessionStorage.length + localStorage.length"), 0);
    browser.reload();
    browser.until("document.querySelector('.door')");
    // The other browser keeps its access.
    assert_eq!(other.text("#link"), "Connected");
    // The page can be entered again in the same tab.
    browser.run("location.href = arguments[0]", &[bench.link().into()]);
    until_here(&browser);
}
