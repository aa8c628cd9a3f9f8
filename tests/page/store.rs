//! The Creator Store: search, thumbnails from the daemon, and an asset that becomes a proposal.

use fake_cloud::{API_KEY, FakeCloud, Fault, StoreAsset};
use rbx_dom_weak::{InstanceBuilder, WeakDom};

use super::*;

/// A picture of one pixel.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\r\xefF\xb8\0\0\0\0IEND\xaeB`\x82";

/// A model with two scripts.
fn model() -> Vec<u8> {
    let script = |name: &str| {
        let text = format!("print('{name}')\n");
        InstanceBuilder::new("Script").with_name(name).with_property("Source", text)
    };
    let model = InstanceBuilder::new("Model").with_name("Oak").with_child(script("One"));
    let model = model.with_child(script("Two")).with_child(InstanceBuilder::new("Part"));
    let workspace = InstanceBuilder::new("Workspace").with_child(model);
    let game = WeakDom::new(InstanceBuilder::new("DataModel").with_child(workspace));
    places::encode(&game, Format::Rbxm)
}

/// A daemon that serves a sample place and uses a cloud.
pub(super) fn bench(cloud: &FakeCloud) -> Bench {
    let home = Home::new();
    let file = home.path().join("place.rbxlx");
    fs::write(&file, places::sample(Format::Rbxlx)).unwrap();
    let mut command = std::process::Command::new(binary::vector());
    command.args(["serve", "--port", "0", "--place"]).arg(&file);
    command.envs(cloud_variables(cloud));
    let daemon = Daemon::run(command, &ledger(&home));
    let human = Human::of(&daemon, &ledger(&home));
    Bench { home, daemon: Some(daemon), human, file, calls: 0, variables: Vec::new() }
}

/// The variables of a daemon that uses a cloud, with its keys.
pub(super) fn cloud_variables(cloud: &FakeCloud) -> [(&'static str, String); 4] {
    [
        ("VECTOR_ROBLOX_CLOUD_URL", cloud.url()),
        ("ROBLOX_ASSETS_API_KEY", API_KEY.to_owned()),
        ("ROBLOX_PUBLISH_API_KEY", API_KEY.to_owned()),
        ("ROBLOX_VERIFY_API_KEY", API_KEY.to_owned()),
    ]
}

pub(super) fn search(browser: &Browser<'_>, text: &str) {
    browser.until("document.querySelector('.store [name=text]')");
    browser.run("document.querySelector('.store [name=text]').value = ''", &[]);
    browser.click(".store [name=text]");
    browser.enter(text);
    browser.click(".store form button.main");
}

/// The number of assets whose thumbnail is in this state.
fn in_state(state: &str) -> String {
    format!("document.querySelectorAll('.asset [data-state={state}]').length")
}

#[test]
fn asset_is_found_shown_and_inserted() {
    let Some(stage) = Stage::set() else { return };
    let oak = StoreAsset {
        creator: (7, "<b>somebody</b>".to_owned()),
        scripts: 2,
        ..StoreAsset::model(20, "Oak <img src=x onerror=alert(1)>")
    };
    let hidden = StoreAsset { is_verified: false, ..StoreAsset::model(23, "Oak of a stranger") };
    let others = [21, 22].map(|id| StoreAsset::model(id, &format!("Oak {id}")));
    let cloud = FakeCloud::start([vec![oak, hidden], others.to_vec()].concat());
    cloud.show(20, PIXEL.to_vec());
    cloud.set_thumbnail_state(21, "Blocked");
    cloud.show(22, b"<html>not a picture</html>".to_vec());
    cloud.deliver(20, model());
    let bench = bench(&cloud);
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=store]");
    browser.until_shown(".store .empty h2", "Search Roblox's Creator Store");
    search(&browser, "oak");
    browser.until("document.querySelectorAll('.asset').length === 3");
    let first = browser.text(".asset");
    for said in [
        "Oak <img src=x onerror=alert(1)>",
        "by <b>somebody</b> ✓",
        "free",
        "900 triangles",
        "2 scripts",
    ] {
        assert!(first.contains(said), "{said} is not in {first}");
    }
    browser.expect("404 (Not Found)");
    browser.until(&format!("{} === 1 && {} === 2", in_state("there"), in_state("missing")));
    let missing =
        browser.is("[...document.querySelectorAll('.asset .why')].map((it) => it.textContent)");
    assert!(
        missing[1].as_str().unwrap().contains("Roblox does not show this thumbnail"),
        "{missing}"
    );
    assert!(missing[2].as_str().unwrap().contains("is not a picture"), "{missing}");
    browser.click(".store [name=any]");
    browser.click(".store form button.main");
    browser.until("document.querySelectorAll('.asset').length === 4");
    browser.click(".asset [data-act=insert-asset]");
    browser.until_shown("#log .card .title", "Insert asset 20");
    let shown = bench.human.call("GET", "/api/proposals", &Json::Null).ok();
    let card = shown["proposals"][0]["seq"].as_u64().unwrap();
    browser.run("location.hash = arguments[0]", &[format!("#/proposals/{card}").into()]);
    browser.until_shown("section.script h3", "left out");
    assert_eq!(browser.is("document.querySelectorAll('[data-act=whole-script]').length"), 0);
    browser.until("document.querySelector('#one .proposal[data-seen]')");
    browser.run(
        "document.querySelector('[data-act=keep-script]').scrollIntoView({ block: 'center' })",
        &[],
    );
    browser.click("[data-act=keep-script]");
    browser.until_shown("main", "It inserts 1 script of asset 20");
    browser.until(
        "document.querySelector('#one .proposal').dataset.of !== arguments[0]"
            .replace("arguments[0]", &format!("'{card}'"))
            .as_str(),
    );
    // It begins in a sandbox, which can be lifted and set again.
    let choice = "document.querySelector('[data-act=sandbox]')";
    for (is_sandboxed, said) in [(true, "run in the sandbox"), (false, ""), (true, "has no effect")]
    {
        browser.until(&format!("{choice}?.checked === {is_sandboxed}"));
        let has_sandbox =
            "document.querySelector('main').textContent.includes('run in the sandbox')";
        browser.until(&format!("{has_sandbox} === {is_sandboxed}"));
        browser.until_shown("main", said);
        browser.until("document.querySelector('#one .proposal[data-seen]')");
        browser.run(&format!("{choice}.scrollIntoView({{ block: 'center' }})"), &[]);
        if said != "has no effect" {
            browser.click("[data-act=sandbox]");
        }
    }
    let sent = cloud.requests();
    assert!(sent.iter().filter(|it| it.has_key).count() == 1, "{sent:?}");
    cloud.fail_next(Fault::too_many(90));
    browser.click(".tabs [data-page=store]");
    browser.expect("429");
    browser.until_shown(".sheet .empty h1", "Try again in 90 s");
}

/// A model with a script, a part and a picture, which is asset 7.
fn painted_model() -> Vec<u8> {
    let texture = rbx_types::ContentId::from("rbxassetid://7");
    let decal = InstanceBuilder::new("Decal").with_name("Face").with_property("Texture", texture);
    let script = InstanceBuilder::new("Script").with_property("Source", "print(1)\n");
    let model = InstanceBuilder::new("Model").with_name("Oak");
    let model = model.with_children([decal, script, InstanceBuilder::new("Part")]);
    let workspace = InstanceBuilder::new("Workspace").with_child(model);
    let game = WeakDom::new(InstanceBuilder::new("DataModel").with_child(workspace));
    places::encode(&game, Format::Rbxm)
}

#[test]
fn content_that_does_not_load_is_shown_after_the_scripts() {
    let Some(stage) = Stage::set() else { return };
    let cloud = FakeCloud::start(vec![StoreAsset::model(20, "Oak")]);
    cloud.show(20, PIXEL.to_vec());
    cloud.deliver(20, painted_model());
    cloud.withhold(7, 403);
    let bench = bench(&cloud);
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=store]");
    search(&browser, "oak");
    browser.until("document.querySelectorAll('.asset').length === 1");
    browser.click(".asset [data-act=insert-asset]");
    browser.until_shown("#log .card .title", "Insert asset 20");
    let shown = bench.human.call("GET", "/api/proposals", &Json::Null).ok();
    let card = shown["proposals"][0]["seq"].as_u64().unwrap();
    browser.run("location.hash = arguments[0]", &[format!("#/proposals/{card}").into()]);
    browser.until_shown("#one .warnings li:last-child", "is private or restricted");
    browser.until_shown("#one .warnings li:last-child", "Oak.Face: Its ");
    let names = browser
        .is("[...document.querySelectorAll('#one .warnings b')].map((it) => it.textContent)");
    assert_eq!(names, serde_json::json!(["Scripts", "Content"]));
    let twice = browser.is("document.querySelectorAll('#one .warnings [data-twice]').length");
    assert_eq!(twice, 0);
}

/// Types the parent of what is inserted, in place of what is in the field.
fn type_parent(browser: &Browser<'_>, path: &str) {
    browser.run("document.querySelector('.target [name=parent]').value = ''", &[]);
    browser.click(".target [name=parent]");
    browser.enter(path);
}

/// Chooses the place whose name ends so.
fn choose_place(browser: &Browser<'_>, end: &str) {
    let choose = "const field = document.querySelector('.target [name=place]');
        field.value = [...field.options].find((it) => it.text.endsWith(arguments[0])).value;
        field.dispatchEvent(new Event('change', { bubbles: true }));";
    browser.run(choose, &[end.into()]);
}

const PARENT: &str = "document.querySelector('.target [name=parent]').value";

#[test]
fn parent_of_an_asset_is_chosen_and_a_wrong_one_loses_nothing() {
    let Some(stage) = Stage::set() else { return };
    let cloud = FakeCloud::start(vec![StoreAsset::model(20, "Oak")]);
    cloud.show(20, PIXEL.to_vec());
    cloud.deliver(20, model());
    let mut bench = bench(&cloud);
    let file = bench.home.path().join("tree.rbxm");
    fs::write(&file, places::sample(Format::Rbxm)).unwrap();
    bench.human.open(&file).ok();
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=store]");
    search(&browser, "oak");
    browser.until("document.querySelectorAll('.asset').length === 1");
    choose_place(&browser, "place.rbxlx");
    assert_eq!(browser.is(PARENT), "game.Workspace");
    choose_place(&browser, "tree.rbxm");
    assert_eq!(browser.is(PARENT), "game", "a model has no Workspace");
    browser.click("[data-act=insert-asset]");
    browser.until_shown("#log .card .title", "Insert asset 20");
    let mut inserted = || {
        let card = bench.human.card();
        bench.human.shown(card)["proposal"]["preview"]["rows"][0]["path"].clone()
    };
    assert_eq!(inserted(), "game.Oak");
    browser.click(".tabs [data-page=store]");
    browser.until("document.querySelectorAll('.asset').length === 1");
    assert_eq!(browser.is(PARENT), "game", "the place is still chosen");
    // Without a parent, the daemon chooses the same.
    type_parent(&browser, " ");
    browser.click("[data-act=insert-asset]");
    browser.until_shown("#log .card .title", "Insert asset 20");
    assert_eq!(inserted(), "game.Oak");
    browser.click(".tabs [data-page=store]");
    browser.until("document.querySelectorAll('.asset').length === 1");
    choose_place(&browser, "place.rbxlx");
    type_parent(&browser, "game.ServerScriptService.Nowhere");
    browser.expect("404 (Not Found)");
    browser.click("[data-act=insert-asset]");
    browser.until_shown(".toast", "There is no `game.ServerScriptService.Nowhere`");
    browser.until_shown(".toast", "Nothing was inserted. Choose another parent");
    assert_eq!(browser.is(PARENT), "game.ServerScriptService.Nowhere", "the text is still there");
    // A name that is misspelt below the Workspace makes no model of that name.
    type_parent(&browser, "game.Workspace.Towr");
    browser.click("[data-act=insert-asset]");
    browser.until_shown(".toast", "There is no `game.Workspace.Towr`");
    type_parent(&browser, "Workspace");
    browser.click("[data-act=insert-asset]");
    browser.until_shown(".toast", "\"Workspace\" is not a path: paths begin with `game`");
    assert_eq!(browser.is("document.querySelectorAll('.asset').length"), 1);
    type_parent(&browser, "replicated");
    let option = "document.querySelector('#parents option[value=\"game.ReplicatedStorage\"]')";
    browser.until(option);
    type_parent(&browser, "game.ReplicatedStorage");
    search(&browser, "oak");
    browser.until("document.querySelectorAll('.asset').length === 1");
    assert_eq!(browser.is(PARENT), "game.ReplicatedStorage", "a search keeps the parent");
    browser.click("[data-act=insert-asset]");
    browser.until_shown("#log .card .title", "Insert asset 20");
    assert_eq!(inserted(), "game.ReplicatedStorage.Oak");
}

#[test]
fn asset_whose_id_the_page_cannot_hold_is_not_mistaken_for_another() {
    let Some(stage) = Stage::set() else { return };
    // A number of JavaScript holds whole numbers below 2 to the power of 53.
    let (held, too_large) = ((1 << 53) - 1, (1 << 53) + 1);
    let cloud = FakeCloud::start(vec![
        StoreAsset::model(held, "Oak with 16 digits"),
        StoreAsset::model(too_large, "Oak beyond"),
        StoreAsset::model(too_large - 1, "Oak before"),
    ]);
    for id in [held, too_large, too_large - 1] {
        cloud.show(id, PIXEL.to_vec());
        cloud.deliver(id, model());
    }
    let bench = bench(&cloud);
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=store]");
    search(&browser, "oak");
    browser.until("document.querySelectorAll('.asset').length === 3");
    browser.click(&format!("[data-act=insert-asset][data-asset='{too_large}']"));
    browser.until_shown(".toast", &format!("vector assets insert PLACE {too_large}"));
    browser.click(&format!("[data-act=insert-asset][data-asset='{held}']"));
    browser.until_shown("#log .card .title", &format!("Insert asset {held}"));
    let downloads = |id: u64| {
        let wanted = format!("assetId/{id}");
        cloud.requests().iter().filter(|it| it.target.ends_with(&wanted)).count()
    };
    assert_eq!([held, too_large, too_large - 1].map(downloads), [1, 0, 0]);
}

#[test]
fn three_hundred_results_are_painted_from_the_cache() {
    let Some(stage) = Stage::set() else { return };
    let assets = (1..=300).map(|id| StoreAsset::model(id, &format!("Oak {id}"))).collect();
    let cloud = FakeCloud::start(assets);
    (1..=300).for_each(|id| cloud.show(id, PIXEL.to_vec()));
    let bench = bench(&cloud);
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=store]");
    search(&browser, "oak");
    for shown in (50..=300).step_by(50) {
        browser.until(&format!("document.querySelectorAll('.asset').length === {shown}"));
        browser.run("document.querySelector('[data-act=more-assets]')?.click()", &[]);
    }
    let page_requests = || {
        let sent = cloud.requests();
        sent.iter().filter(|it| it.target.contains("thumbnails.roblox.com")).count()
    };
    assert_eq!(page_requests(), 6, "the thumbnails of a page are asked for together");
    browser.until(&format!("{} >= 20", in_state("there")));
    let until_loaded = "const done = arguments[arguments.length - 1];
        const headers = { Authorization: `Bearer ${localStorage.getItem('vector-token')}` };
        const ids = [...document.querySelectorAll('.asset img')].map((it) => it.dataset.thumbnail);
        Promise.all(ids.map(async (id) => (await fetch(`/api/assets/${id}/thumbnail`, { headers })).blob()))
            .then(() => done());";
    browser.run_async(until_loaded, &[]);
    // All of them again, from the daemon's memory, until they are painted.
    let paint = "const done = arguments[arguments.length - 1];
        const ids = [...document.querySelectorAll('.asset img')].map((it) => it.dataset.thumbnail);
        const token = localStorage.getItem('vector-token');
        const from = performance.now();
        const ask = async (some) => {
            const headers = { Authorization: `Bearer ${token}` };
            const answer = await fetch(`/page/thumbnails?text=${some.join(',')}`, { headers });
            const each = /value=\"(\\d+)\" data-type=\"([^\"]+)\" data-bytes=\"([^\"]+)\"/g;
            await Promise.all([...(await answer.text()).matchAll(each)].map(async ([, value, type, data]) => {
                const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
                const image = document.querySelector(`img[data-thumbnail='${value}']`);
                image.src = URL.createObjectURL(new Blob([bytes], { type }));
                await image.decode();
            }));
        };
        Promise.all([0, 1, 2, 3, 4, 5].map((n) => ask(ids.slice(n * 50, n * 50 + 50))))
            .then(() => requestAnimationFrame(() => done(performance.now() - from)));";
    let milliseconds = browser.run_async(paint, &[]);
    eprintln!("300 thumbnails: {milliseconds} ms from the cache");
    let loaded = cloud.requests().iter().filter(|it| it.target.contains("tr.rbxcdn.com")).count();
    assert_eq!(loaded, 300, "each is loaded once");
}
