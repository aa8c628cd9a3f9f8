//! Pictures of the widget in both themes, narrow and wide. Every visible text must be legible, and
//! the contents of each page are recorded, so that a change is noticed. `UPDATE=1` rewrites the
//! records, and also the pictures if Chromium is installed; look at them before they are committed.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use fake_cloud::{FakeCloud, StoreAsset};
use rbx_dom_weak::ustr;
use rbx_types::Variant;
use scene_schemas::Fingerprint;
use scene_schemas::api::{PORT, VERSION};
use serde_json::{Value as Json, json};
use studio_sim::{Options, SharedSettings, Studio, Theme, gui};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;
use vector_tests::places::{self, Format};
use vector_tests::{printed, repository, vectors};

use super::agent::{Agent, answered};
use super::{click, has, load, object, until, until_shown, until_there};

const WIDGET: &str = "Vector";
const HEIGHT: u32 = 700;
/// The contrast that WCAG 2, level AA, requires of text.
const CONTRAST: f64 = 4.5;

/// A place with a script that is long enough for two hunks.
const PLACE: &str = r#"
local wall = Instance.new("Part")
wall.Name = "Wall"
wall.Parent = workspace
local main = Instance.new("Script")
main.Name = "DoorController"
local lines = { "local Players = game:GetService(\"Players\")", "" }
for n = 1, 12 do
	table.insert(lines, `local function step{n}(player: Player)`)
	table.insert(lines, `\tprint(player.Name, "{n}")`)
	table.insert(lines, "end")
	table.insert(lines, "")
end
main.Source = table.concat(lines, "\n")
main.Parent = game:GetService("ServerScriptService")
"#;

/// The recorded pages: by page, a hash, and the texts in order, so that a diff shows what is new.
const SHOWN: &str = "tests/plugin/pictures/shown.json";

/// Waits for pending responses, which take real time, and then for the widget to process them.
fn settle(studio: &Studio) {
    let (mut last, mut same) = (String::new(), 0);
    for _ in 0..60 {
        until(studio, "only the poll is under way", |studio| studio.in_flight() <= 1);
        studio.run_for(0.7);
        let now = studio.widget_html(WIDGET).unwrap();
        same = if now == last && studio.in_flight() <= 1 { same + 1 } else { 0 };
        if same == 3 {
            return;
        }
        last = now;
    }
    panic!("the widget never rests");
}

struct Album {
    theme: Theme,
    width: u32,
    /// Any free port; the pictures show the default one.
    port: u16,
    shown: BTreeMap<String, Json>,
}

/// Studio's fonts for a browser that lacks them: `VECTOR_FONTS` names a folder with the files of
/// npm's `@fontsource/source-sans-pro` and `@fontsource/inconsolata`. In other fonts, texts are wider
/// than the layout has measured, so no pictures are taken without them.
fn fonts() -> String {
    let folder = std::env::var_os("VECTOR_FONTS").expect(
        "VECTOR_FONTS names a folder with the -latin-*-normal.woff files of npm's \
         @fontsource/source-sans-pro and @fontsource/inconsolata",
    );
    let mut styles = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some((family, weight)) = name
            .strip_suffix("-normal.woff")
            .and_then(|name| name.split_once("-latin-"))
            .filter(|(_, weight)| weight.parse::<u32>().is_ok())
        else {
            continue;
        };
        let family = if family == "inconsolata" { "Inconsolata" } else { "Source Sans 3" };
        styles += &format!(
            "@font-face {{ font-family: '{family}'; font-weight: {weight}; src: url('file://{}') }}\n",
            path.display()
        );
    }
    format!("<style>{styles}</style>")
}

fn folder() -> PathBuf {
    repository::root().join("tests/plugin/pictures")
}

impl Album {
    /// Takes pictures of what an agent's calls ask of the user.
    fn take_agent_calls(&mut self, studio: &Studio, agent: &Agent) {
        let call = agent.calls("1", "playtest", json!({ "inStudio": true, "seconds": 10 }));
        assert_eq!(answered(studio, &call)["outcome"]["state"], "needs_permission");
        until_there(studio, "Permit:no");
        until_shown(studio, "Waiting for your decision");
        self.take(studio, "permission");
        click(studio, "Permit:no");
        until_shown(studio, "You did not permit it.");
        let park = json!({ "Name": "Park" });
        let park = json!({ "className": "Folder", "parentPath": "game.Workspace", "props": park });
        agent.calls("2", "create_instance", park);
        until_there(studio, "Comment");
        click(studio, "Comment");
        until_there(studio, "Comment:row:1");
        click(studio, "Comment:row:1");
        until_there(studio, "CommentText:row:1");
        studio
            .type_into(&object(studio, "CommentText:row:1"), "Put it beside the lake.", false)
            .unwrap();
        self.take(studio, "comments");
        // While a comment is not sent, the proposal cannot be approved.
        let clear = "for _, it in game:GetService('PluginGuiService'):GetDescendants() do
            if it.Name == 'CommentText:row:1' then it.Text = '' end
        end";
        studio.eval(clear).unwrap();
        click(studio, "Comment");
        until_there(studio, "Allow");
        click(studio, "Allow");
        until_there(studio, "Allow:1");
        self.take(studio, "rules-offered");
        click(studio, "Allow:1");
        until_shown(studio, "Additions within game.Workspace.Park");
        until_shown(studio, "applied. Undo in Studio");
        self.take(studio, "rules");
        for (call, name) in [("3", "Shop"), ("4", "Mine")] {
            let named = json!({ "Name": name });
            let folder =
                json!({ "className": "Folder", "parentPath": "game.Workspace", "props": named });
            answered(studio, &agent.calls(call, "create_instance", folder));
        }
        until_shown(studio, "Approve 2 steps");
        self.take(studio, "steps");
        studio.run_for(1.0);
        click(studio, "ApproveSteps");
        until(studio, "no steps", |studio| !has(studio, "ApproveSteps"));
    }

    /// Takes a picture, and asserts the contrast of every text, and that none is cut or overlaps
    /// another.
    fn take(&mut self, studio: &Studio, name: &str) {
        settle(studio);
        let theme = if self.theme == Theme::Dark { "dark" } else { "light" };
        let name = format!("{name}-{theme}-{}", self.width);
        for (text, ratio) in studio.contrasts(WIDGET).unwrap() {
            assert!(ratio >= CONTRAST, "{name}: `{text}` has a contrast of {ratio:.2}");
        }
        assert_eq!(studio.text_faults(WIDGET).unwrap(), Vec::<String>::new(), "{name}");
        let usual = |text: &str| text.replace(&self.port.to_string(), &PORT.to_string());
        let html = usual(&studio.widget_html(WIDGET).unwrap());
        let texts: Vec<_> = studio.visible_texts().iter().map(|text| usual(text)).collect();
        let hash = Fingerprint::hash_bytes(html.as_bytes()).to_string();
        if printed::updating() {
            let page = tempfile::Builder::new().suffix(".html").tempfile().unwrap();
            fs::write(page.path(), fonts() + &html).unwrap();
            fs::create_dir_all(folder()).unwrap();
            let png = folder().join(format!("{name}.png"));
            if !gui::render(page.path(), &png, (self.width, HEIGHT)).unwrap() {
                println!("skipped: no Chromium to make {}", png.display());
            }
        }
        self.shown.insert(name, json!({ "hash": hash, "texts": texts }));
    }
}

impl Album {
    /// Takes a picture of the widget in a playtest of this place.
    fn take_playtest(&mut self, edit: &Studio) {
        let size = (self.width, HEIGHT);
        let options = Options { theme: self.theme, widget_size: size, ..Options::default() };
        let studio = Studio::new(options).unwrap();
        studio.set_playing(true);
        edit.join_playtest(&studio, "server");
        load(&studio);
        until(edit, "the proposal is shown in the playtest", |edit| {
            edit.exchange_messages(&studio, "server");
            studio.step();
            super::shows(&studio, "1 proposal pending")
        });
        self.take(&studio, "playtest");
        edit.leave_playtest("server");
    }
}

/// A cloud whose Creator Store has some trees.
fn stocked_cloud() -> FakeCloud {
    let tree = |id: u64, name: &str| StoreAsset::model(id, name);
    FakeCloud::start(vec![
        StoreAsset {
            scripts: 2,
            price_cents: 499,
            ..tree(1_001, "Oak tree, with leaves that fall")
        },
        StoreAsset { votes: (48_213, 1_904), triangles: 18_240, ..tree(1_002, "Pine tree") },
        tree(1_003, "Palm tree"),
    ])
}

fn tour(theme: Theme, width: u32) -> BTreeMap<String, Json> {
    let home = Home::new();
    let cloud = stocked_cloud();
    let mut command = std::process::Command::new(binary::vector());
    command.args(["serve", "--port", "0"]).env("VECTOR_ROBLOX_CLOUD_URL", cloud.url());
    let daemon = Daemon::run(command, home.path());
    let settings = SharedSettings::default();
    settings.set("VectorPort", Some(daemon.port.to_string()));
    let size = (width, HEIGHT);
    let options =
        Options { theme, widget_size: size, settings: settings.clone(), ..Options::default() };
    let studio = Studio::new(options).unwrap();
    studio.eval(PLACE).unwrap();
    load(&studio);
    let mut album = Album { theme, width, port: daemon.port, shown: BTreeMap::new() };
    until_there(&studio, "Code");
    album.take(&studio, "pairing");
    studio.type_into(&object(&studio, "Code"), &daemon.code(), true).unwrap();
    until_shown(&studio, "Connected");
    until_there(&studio, "Ask");
    until_shown(&studio, "Asks before every change");
    album.take(&studio, "empty");
    super::ask(&studio, "set Transparency = 0.5, Material = Neon, Size = 4,1,4 on #Wall");
    until_there(&studio, "Approve");
    until_shown(&studio, "Transparency");
    until_shown(&studio, "Waiting for your decision");
    album.take(&studio, "table");
    album.take_playtest(&studio);
    click(&studio, "Approve");
    until_ended(&studio, 1);
    super::ask(&studio, "replace \"print(player.Name\" with \"warn(player.UserId\" in all scripts");
    until_there(&studio, "Approve");
    until_shown(&studio, "warn(player.UserId");
    until_shown(&studio, "Waiting for your decision");
    album.take(&studio, "diff");
    click(&studio, "Approve");
    until_ended(&studio, 2);
    studio.undo();
    until_shown(&studio, "You have undone step 2");
    album.take(&studio, "undone");
    super::ask(
        &studio,
        "replace \"local Players = game\" with \"local Players = workspace.Door and game\" in \
         game.ServerScriptService.DoorController",
    );
    until_there(&studio, "Approve");
    until_shown(&studio, "runs: 1 new error, ServerScriptService.DoorController:1");
    until_shown(&studio, "Waiting for your decision");
    album.take(&studio, "fails");
    click(&studio, "Reject");
    until(&studio, "the end", |studio| !super::shows(studio, "Stop"));
    album.take_agent_calls(&studio, &Agent::at(daemon.port, home.path()));
    let backdoor = "local all = getfenv()\nrequire(7132546)\n";
    studio.register_asset("rbxassetid://123", Ok(&super::assets::asset(backdoor)));
    super::ask(&studio, "insert asset 123 into game.Workspace");
    until_there(&studio, "Approve");
    until_shown(&studio, "requires the asset 7132546");
    until_shown(&studio, "Waiting for your decision");
    album.take(&studio, "asset");
    studio.type_into(&object(&studio, "Ask"), "Open @o", false).unwrap();
    until_shown(&studio, "game.ServerScriptService.DoorController  Script");
    album.take(&studio, "menu");
    click(&studio, "Assets");
    until_there(&studio, "SearchText");
    studio.type_into(&object(&studio, "SearchText"), "tree", true).unwrap();
    until_shown(&studio, "⚠ 2 scripts");
    album.take(&studio, "search");
    click(&studio, "Settings");
    studio.run_for(1.0);
    album.take(&studio, "settings");
    assert_eq!(studio.errors(), Vec::<String>::new());
    let options = Options { theme, widget_size: size, settings, ..Options::default() };
    let outdated = Studio::new(options).unwrap();
    outdated.load_plugin(&outdated_plugin()).unwrap();
    until_shown(&outdated, "The plugin is version 0.0.9");
    until_shown(&outdated, "Connected");
    album.take(&outdated, "update");
    album.shown
}

/// The plugin as an earlier version of Vector installed it.
fn outdated_plugin() -> Vec<u8> {
    let mut plugin = places::decode(&vector_daemon::plugin::build_plugin().unwrap());
    let schema = plugin.descendants().find(|it| it.name == "Schema").unwrap().referent();
    let source = plugin.get_by_ref_mut(schema).unwrap().properties.get_mut(&ustr("Source"));
    let Some(Variant::String(source)) = source else { panic!("the schema is a script") };
    let ours = format!("Version = {VERSION:?}");
    assert!(source.contains(&ours));
    *source = source.replace(&ours, "Version = \"0.0.9\"");
    // With the roots of the model as they are.
    places::encode(&plugin, Format::Rbxl)
}

/// Waits until a request has ended, whose step has this number.
fn until_ended(studio: &Studio, count: usize) {
    let step = format!("Step {count}: applied.");
    until(studio, "the end", |studio| {
        let texts = studio.visible_texts();
        super::shows(studio, &step)
            && texts.last().is_some_and(|last| last.starts_with("Done."))
            && !texts.iter().any(|text| text == "Stop")
    });
}

#[test]
fn widget_texts_are_legible_and_match_their_snapshot() {
    let mut shown = BTreeMap::new();
    for theme in [Theme::Dark, Theme::Light] {
        for width in [300, 420] {
            shown.extend(tour(theme, width));
        }
    }
    printed::check(SHOWN, &vectors::pretty(&json!(shown)));
}
