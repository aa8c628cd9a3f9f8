//! A change of thousands of instances, read to its end and decided in part.

use rbx_dom_weak::{InstanceBuilder, WeakDom, ustr};
use rbx_types::Variant;

use super::decided::until_current;
use super::*;

const PARTS: usize = 2_300;

fn place() -> Vec<u8> {
    let parts = (0..PARTS).map(|n| {
        let part = InstanceBuilder::new("Part").with_name(format!("Part{n}"));
        part.with_property("Transparency", 0.25_f32)
    });
    let workspace = InstanceBuilder::new("Workspace").with_children(parts);
    let root = InstanceBuilder::new("DataModel").with_child(workspace);
    places::encode(&WeakDom::new(root), Format::Rbxl)
}

/// The numbers of the parts that are as they were.
fn unchanged(bench: &Bench) -> Vec<String> {
    let dom = places::decode(&fs::read(&bench.file).unwrap());
    let is_old = |properties: &rbx_dom_weak::UstrMap<Variant>| {
        properties.get(&ustr("Transparency")) == Some(&Variant::Float32(0.25))
    };
    let old = dom.descendants().filter(|it| it.class == "Part" && is_old(&it.properties));
    old.map(|it| it.name.clone()).collect()
}

/// Clicks an element in the middle of the window, where the buttons for the decision do not cover it.
fn click(browser: &Browser<'_>, selector: &str) {
    let to_middle = "document.querySelector(arguments[0]).scrollIntoView({ block: 'center' })";
    browser.run(to_middle, &[json!(selector)]);
    browser.click(selector);
}

#[test]
fn instances_beyond_the_preview_are_loaded_and_left_out() {
    let Some(stage) = Stage::set() else { return };
    let home = Home::new();
    let file = home.path().join("place.rbxl");
    fs::write(&file, place()).unwrap();
    let mut bench = Bench::at(home, file);
    let args = json!({ "selector": "Part", "props": { "Transparency": 0.5 } });
    let proposal = bench.propose("set_properties", &args);
    let browser = stage.browser();
    bench.enter(&browser);
    browser.run(&format!("location.hash = '#/proposals/{proposal}'"), &[]);
    until_current(&browser, proposal);
    browser.until_shown("#approve", "Approve");
    click(&browser, "#one button[data-act=more-rows]");
    browser.until("document.querySelector('#one input[data-part=\"m0.2299\"]')");
    assert_eq!(browser.is("document.querySelector('#one button[data-act=more-rows]')"), Json::Null);
    for part in ["m0.5", "m0.2299"] {
        click(&browser, &format!("#one input[data-part=\"{part}\"]"));
    }
    browser.until_shown("#approve", "Approve 2298 of 2300");
    // The choice stays when the list of rows is rendered again.
    browser.reload();
    until_current(&browser, proposal);
    browser.until_shown("#approve", "Approve 2298 of 2300");
    assert_eq!(browser.is("document.querySelector('input[data-part=\"m0.5\"]').checked"), false);
    browser.click("#one button[data-act=approve]");
    let chosen = bench.human.successor(proposal);
    bench.human.until_status(chosen, "applied");
    assert_eq!(unchanged(&bench), ["Part5", "Part2299"]);
}
