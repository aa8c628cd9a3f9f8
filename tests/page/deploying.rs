//! A deploy on the page: compared, saved, and published after the id of the place was typed.

use std::thread;
use std::time::{Duration, Instant};

use fake_cloud::{FakeCloud, Fault};

use super::store::{bench, cloud_variables};
use super::*;

/// Types a text into a field of the question that is open, and answers it.
fn answer(browser: &Browser<'_>, text: &str) {
    browser.until("document.querySelector('#dialog[open] textarea')");
    browser.run("document.querySelector('#dialog textarea').focus()", &[]);
    browser.enter(text);
    browser.until("!document.querySelector('#dialog .main').disabled");
    browser.click("#dialog .main");
    browser.until("!document.querySelector('#dialog[open]')");
}

fn fill(browser: &Browser<'_>, name: &str, text: &str) {
    let field = format!("form[data-act=deploy-target] [name={name}]");
    browser.until(&format!("document.querySelector('{field}')"));
    browser.run(&format!("document.querySelector('{field}').value = ''"), &[]);
    browser.click(&field);
    browser.enter(text);
}

/// Adds a part to the place by an approved proposal.
fn add_part(bench: &mut Bench, name: &str) {
    let args = json!({
        "className": "Part", "parentPath": "game.Workspace",
        "props": { "Name": name, "Size": [1, 1, 1], "Anchored": true },
    });
    let card = bench.propose("create_instance", &args);
    bench.human.approve(card).ok();
    bench.human.until_status(card, "applied");
}

#[test]
fn version_is_saved_and_published_after_the_id_was_typed() {
    let Some(stage) = Stage::set() else { return };
    let cloud = FakeCloud::start(Vec::new());
    cloud.add_places(30, &[40]);
    let mut bench = bench(&cloud);
    let browser = stage.browser();
    bench.enter(&browser);
    browser.until("document.querySelector('a[href^=\"#/deploy/\"]')");
    browser.click("a[href^='#/deploy/']");
    browser.until_shown("h1", "Deploy place");
    fill(&browser, "universe", "30");
    fill(&browser, "place", "40");
    browser.click("form[data-act=deploy-target] button");
    browser.until_shown("#deploy h2", "Nothing was published to this place");
    // Roblox refuses first: the place is open in Studio.
    cloud.set_open_in_studio(40, true);
    browser.expect("409 (Conflict)");
    browser.click("[data-act=save-version]");
    browser.until_shown("#toasts", "Close the place in Studio");
    assert!(cloud.place_versions(40).is_empty());
    cloud.set_open_in_studio(40, false);
    browser.click("[data-act=save-version]");
    browser.until_shown("#deploy", "Saved as version 1");
    assert_eq!(cloud.published_version(40), None);
    browser.click("[data-act=publish-version]");
    answer(&browser, "41");
    browser.until_shown("#toasts", "Nothing was published");
    assert_eq!(cloud.published_version(40), None);
    browser.click("[data-act=publish-version]");
    answer(&browser, "40");
    browser.until_shown("#deploy", "Version 1 has these contents and is published");
    assert_eq!(cloud.published_version(40), Some(1));
    // The place changes after it was shown: nothing that was not shown is uploaded.
    add_part(&mut bench, "Beacon");
    browser.reload();
    browser.until_shown("#deploy pre", "+ game.Workspace.Beacon (Part)");
    add_part(&mut bench, "Lantern");
    browser.expect("409 (Conflict)");
    browser.click("[data-act=save-version]");
    browser.until_shown("#toasts", "The place was changed after it was shown");
    assert_eq!(cloud.place_versions(40).len(), 1);
    // The way back is the contents of an earlier upload.
    browser.reload();
    browser.until_shown("#deploy pre", "+ game.Workspace.Lantern (Part)");
    browser.click("[data-act=save-version]");
    browser.until_shown("#deploy", "Saved as version 2");
    browser.click("[data-act=publish-version]");
    answer(&browser, "40");
    browser.until_shown("#deploy", "Version 2 has these contents and is published");
    browser.click(".deploy li:nth-of-type(4) a");
    browser.until_shown(".deploy", "not the place as it is now");
    browser.until_shown("#deploy pre", "- game.Workspace.Beacon (Part)");
    browser.click("[data-act=publish-version]");
    answer(&browser, "40");
    browser.until("document.querySelector('#toasts').textContent.includes('Published version 3')");
    assert_eq!(cloud.published_version(40), Some(3));
}

#[test]
fn killed_daemon_leaves_what_is_known_of_an_upload() {
    let Some(stage) = Stage::set() else { return };
    let cloud = FakeCloud::start(Vec::new());
    cloud.add_places(30, &[40]);
    let mut bench = bench(&cloud);
    bench.variables = cloud_variables(&cloud).to_vec();
    let browser = stage.browser();
    bench.enter(&browser);
    browser.until("document.querySelector('a[href^=\"#/deploy/\"]')");
    browser.click("a[href^='#/deploy/']");
    fill(&browser, "universe", "30");
    fill(&browser, "place", "40");
    browser.click("form[data-act=deploy-target] button");
    browser.until_shown("#deploy h2", "Nothing was published to this place");
    // Roblox has the version, and the daemon is killed before the answer.
    cloud.fail_at("versionType=", Fault::Silence { acts: true });
    browser.click("[data-act=save-version]");
    let limit = Instant::now() + Duration::from_mins(1);
    while cloud.place_versions(40).is_empty() {
        assert!(Instant::now() < limit, "nothing was uploaded");
        thread::sleep(Duration::from_millis(20));
    }
    browser.expect("net::ERR_");
    let port = bench.kill();
    browser.until_shown("#link", "Disconnected");
    bench.start_on(port);
    browser.until("document.querySelector('#link').dataset.state === 'here'");
    // The ids that were typed are still there, and the card says what is known.
    browser.until_shown("#deploy .bad", "was interrupted or got no answer");
    browser.until_shown(".deploy li", "Not known");
    browser.click("[data-act=save-version]");
    browser.until_shown("#deploy", "Saved as version 1");
    assert_eq!(cloud.place_versions(40).len(), 1, "the same bytes are one version");
}
