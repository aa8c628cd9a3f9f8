//! The search for assets in the widget: results, more of them, insertion into the selection, and errors
//! in sentences.

use std::process::Command;

use fake_cloud::{FakeCloud, Fault, StoreAsset};
use studio_sim::{SharedSettings, Signals, Studio};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;

use super::assets::asset;
use super::{
    Desk, click, eval, has, object, pair, shows, studio_with, switches, until, until_shown,
    until_there, until_told,
};

/// A paired Studio, whose daemon uses this cloud, with the search for assets open.
fn desk(cloud: &FakeCloud, signals: Signals) -> Desk {
    let home = Home::new();
    let mut command = Command::new(binary::vector());
    command.args(["serve", "--port", "0"]).env("VECTOR_ROBLOX_CLOUD_URL", cloud.url());
    let daemon = Daemon::run(command, home.path());
    let settings = SharedSettings::default();
    settings.set("VectorPort", Some(daemon.port.to_string()));
    let studio = studio_with(&settings, signals, switches());
    pair(&studio, &daemon);
    until_shown(&studio, "Connected");
    click(&studio, "Assets");
    until_shown(&studio, "Insert into game.Workspace");
    Desk { home, daemon, settings, studio }
}

/// Searches for a text, in place of what is in the field.
fn search(studio: &Studio, text: &str) {
    let clear = "for _, it in game:GetService('PluginGuiService'):GetDescendants() do
        if it.Name == 'SearchText' then it.Text = '' end
    end";
    eval(studio, clear);
    studio.type_into(&object(studio, "SearchText"), text, true).unwrap();
}

/// Scrolls to an object, and clicks it.
fn click_below(studio: &Studio, name: &str) {
    let scroll = format!(
        "for _, it in game:GetService('PluginGuiService'):GetDescendants() do
            if it.Name == '{name}' then
                local page = it:FindFirstAncestor('Results')
                local most = page.AbsoluteCanvasSize.Y - page.AbsoluteWindowSize.Y
                local by = it.AbsolutePosition.Y - page.AbsolutePosition.Y - 40
                page.CanvasPosition = Vector2.new(0, math.clamp(page.CanvasPosition.Y + by, 0, most))
            end
        end"
    );
    // The rows take some frames.
    studio.run_for(1.0);
    eval(studio, &scroll);
    studio.run_for(0.2);
    click(studio, name);
}

fn oaks(count: u64) -> Vec<StoreAsset> {
    (1..=count).map(|n| StoreAsset::model(100 + n, &format!("Oak {n}"))).collect()
}

#[test]
fn asset_is_found_and_inserted_into_the_selection() {
    for signals in [Signals::Immediate, Signals::Deferred] {
        let mut assets = oaks(25);
        assets[0] = StoreAsset {
            creator: (7, "<b>somebody</b>\u{202e}".to_owned()),
            scripts: 2,
            price_cents: 499,
            ..StoreAsset::model(101, "Oak <font size='90'>")
        };
        let stranger =
            StoreAsset { is_verified: false, ..StoreAsset::model(900, "Oak of a stranger") };
        assets.push(stranger);
        let cloud = FakeCloud::start(assets);
        let desk = desk(&cloud, signals);
        let studio = &desk.studio;
        studio.register_asset("rbxassetid://101", Ok(&asset("print(1)\n")));
        search(studio, "oak");
        until_told(studio, "20 of 25 results");
        for said in ["Oak <font size='90'>", "by <b>somebody</b>\\u{202e} ✓", "4.99 USD"] {
            until_shown(studio, said);
        }
        for said in ["9 up, 1 down", "900 triangles", "⚠ 2 scripts"] {
            until_shown(studio, said);
        }

        let luau =
            "local all = {} for _, it in game:GetService('PluginGuiService'):GetDescendants() do
            if it.Name == 'Thumbnail' then table.insert(all, it.Image) end
        end return all";
        let images = || eval(studio, luau);
        until(studio, "a row for each", |_| images().as_array().unwrap().len() == 20);
        assert_eq!(images()[0], "rbxthumb://type=Asset&id=101&w=150&h=150");
        click_below(studio, "MoreAssets");
        until_told(studio, "25 of 25 results");
        until_told(studio, "Oak 25");
        assert!(studio.find_gui(|it| it.visible && it.name == "MoreAssets").is_err());
        eval(studio, "game:GetService('Selection'):Set({ workspace.Wall })");
        until_shown(studio, "Insert into game.Workspace.Wall");
        let before = studio.snapshot();
        click_below(studio, "Insert:101");
        until_there(studio, "Approve");
        until_told(
            studio,
            "It leaves out 1 script of asset 101: game.Workspace.Wall.Tree[1].Grow.",
        );
        assert_eq!(studio.snapshot(), before, "nothing is in the place before a yes");
        click(studio, "Approve");
        until_shown(studio, "Step 1: applied");
        assert_eq!(eval(studio, "return workspace.Wall:FindFirstChild('Tree') ~= nil"), true);
        assert!(studio.undo());
        assert_eq!(studio.snapshot(), before);
        click(studio, "Assets");
        until_told(studio, "25 of 25 results");
        let thumbnails =
            cloud.requests().iter().filter(|it| it.target.contains("thumbnail")).count();
        assert_eq!(thumbnails, 0, "Studio loads the thumbnails itself");
    }
}

#[test]
fn search_is_by_kind_and_by_who_made_it() {
    let audio = StoreAsset { category: "Audio", ..StoreAsset::model(31, "Rain") };
    let stranger = StoreAsset { is_verified: false, ..StoreAsset::model(32, "Rain of a stranger") };
    let cloud = FakeCloud::start(vec![audio, stranger]);
    let desk = desk(&cloud, Signals::Deferred);
    let studio = &desk.studio;
    search(studio, "rain");
    until_told(studio, "Creators that Roblox has not verified were left out.");
    click(studio, "Creators that Roblox has not verified");
    click(studio, "Search");
    until_told(studio, "Rain of a stranger");
    click(studio, "Kind:audio");
    click(studio, "Search");
    until_shown(studio, "Assets of this kind are the content of a property");
    until_told(studio, "1 of 1 results");
    assert!(!has(studio, "Insert:31"), "a sound is no instance that can be inserted");
    assert!(studio.find_gui(|it| it.text.contains("Rain of a stranger")).is_err());
}

#[test]
fn insertion_is_not_into_another_instance_than_the_one_that_is_shown() {
    let cloud = FakeCloud::start(oaks(1));
    let desk = desk(&cloud, Signals::Deferred);
    let studio = &desk.studio;
    studio.register_asset("rbxassetid://101", Ok(&asset("print(1)\n")));
    search(studio, "oak");
    until_there(studio, "Insert:101");
    eval(studio, "game:GetService('Selection'):Set({ workspace.Wall })");
    click(studio, "Insert:101");
    until_shown(studio, "The selection has changed. Press Insert again");
    until_shown(studio, "Insert into game.Workspace.Wall");
    assert!(!desk.vector(&["log", "--json"]).contains("insert_asset"), "nothing is requested");
    // The plugin sees it, but the place does not contain it.
    eval(
        studio,
        "local hidden = Instance.new('Folder')
        hidden.Name = 'Hidden'
        hidden.Parent = game:GetService('CoreGui')
        game:GetService('Selection'):Set({ hidden })",
    );
    until_shown(studio, "Insert into game.CoreGui.Hidden");
    click(studio, "Insert:101");
    until_shown(studio, "There is no `game.CoreGui.Hidden`");
    until_shown(studio, "Choose another parent, and insert the asset again.");
    assert!(has(studio, "Insert:101"), "the results are still there");
    eval(studio, "game:GetService('Selection'):Set({})");
    until_shown(studio, "Insert into game.Workspace");
    until(studio, "the default is back", |studio| !shows(studio, "game.CoreGui"));
    click(studio, "Insert:101");
    until_there(studio, "Approve");
}

#[test]
fn failure_of_a_search_is_a_sentence_and_the_results_stay() {
    let cloud = FakeCloud::start(oaks(25));
    let desk = desk(&cloud, Signals::Deferred);
    let studio = &desk.studio;
    cloud.fail_next(Fault::too_many(90));
    search(studio, "oak");
    until_told(studio, "apis.roblox.com answered 429 (Too many requests). Try again in 90 s.");
    // As often as it is tried.
    (0..3).for_each(|_| cloud.fail_next(Fault::status(503, "Down")));
    click(studio, "Search");
    until_told(
        studio,
        "apis.roblox.com answered 503 (Down). The service has a problem; try again later.",
    );
    click(studio, "Search");
    until_told(studio, "20 of 25 results");
    cloud.fail_next(Fault::too_many(90));
    click_below(studio, "MoreAssets");
    until_told(studio, "Try again in 90 s.");
    until_told(studio, "Oak 20");
    drop(cloud);
    click_below(studio, "MoreAssets");
    until_told(studio, "apis.roblox.com cannot be reached");
    until_told(studio, "Oak 20");
    let Desk { daemon, studio, .. } = &desk;
    assert_eq!(studio.errors(), Vec::<String>::new());
    let port = daemon.port;
    desk.vector(&["stop"]);
    click_below(studio, "Search");
    until_told(
        studio,
        &format!("Vector is not running: no response on port {port} of this computer."),
    );
}
