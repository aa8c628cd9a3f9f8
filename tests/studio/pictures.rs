//! The widget as a person sees it: in both themes, narrow and wide. Every text in sight can be read, and
//! `UPDATE=1` makes the pictures anew, where Chromium is, for somebody to look at.

use std::fs;
use std::path::PathBuf;

use scene_schemas::api::PORT;
use studio_sim::{Options, SharedSettings, Studio, Theme, gui};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;
use vector_tests::{printed, repository};

use super::{click, has, load, object, until, until_shown, until_there};

const WIDGET: &str = "Vector";
const HEIGHT: u32 = 700;
/// What the accessibility guidelines (WCAG 2, AA) ask of text.
const CONTRAST: f64 = 4.5;

/// A script that is long enough for two hunks.
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

/// Lets everything arrive that is on its way: until nothing changes any more.
fn settle(studio: &Studio) {
    let (mut last, mut same) = (String::new(), 0);
    for _ in 0..60 {
        studio.run_for(0.7);
        let now = studio.widget_html(WIDGET).unwrap();
        same = if now == last { same + 1 } else { 0 };
        if same == 8 {
            return;
        }
        last = now;
    }
    panic!("the widget never rests");
}

struct Album {
    theme: Theme,
    width: u32,
    /// Any free one; the pictures show the usual one.
    port: u16,
}

/// Studio's fonts for a browser that does not have them: `VECTOR_FONTS` names a folder with the files of
/// npm's `@fontsource/source-sans-pro` and `@fontsource/inconsolata`. Without them texts are wider than
/// the layout has measured.
fn fonts() -> String {
    let Some(folder) = std::env::var_os("VECTOR_FONTS") else {
        println!("VECTOR_FONTS is not set: the pictures have other fonts than Studio.");
        return String::new();
    };
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
    /// Takes a picture, and looks whether everything can be read.
    fn take(&self, studio: &Studio, name: &str) {
        settle(studio);
        let theme = if self.theme == Theme::Dark { "dark" } else { "light" };
        let name = format!("{name}-{theme}-{}", self.width);
        for (text, ratio) in studio.contrasts(WIDGET).unwrap() {
            assert!(ratio >= CONTRAST, "{name}: `{text}` has a contrast of {ratio:.2}");
        }
        if printed::updating() {
            let html = studio.widget_html(WIDGET).unwrap();
            let html = html.replace(&self.port.to_string(), &PORT.to_string());
            let page = tempfile::Builder::new().suffix(".html").tempfile().unwrap();
            fs::write(page.path(), fonts() + &html).unwrap();
            fs::create_dir_all(folder()).unwrap();
            let png = folder().join(format!("{name}.png"));
            if !gui::render(page.path(), &png, (self.width, HEIGHT)).unwrap() {
                println!("skipped: no Chromium to make {}", png.display());
            }
        }
    }
}

fn tour(theme: Theme, width: u32) {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    let settings = SharedSettings::default();
    settings.set("VectorPort", Some(daemon.port.to_string()));
    let size = (width, HEIGHT);
    let options = Options { theme, widget_size: size, settings, ..Options::default() };
    let studio = Studio::new(options).unwrap();
    studio.eval(PLACE).unwrap();
    load(&studio);
    let album = Album { theme, width, port: daemon.port };
    until_there(&studio, "Code");
    album.take(&studio, "pairing");
    studio.type_into(&object(&studio, "Code"), &daemon.code(), true).unwrap();
    until_shown(&studio, "Connected");
    until_there(&studio, "Ask");
    album.take(&studio, "empty");
    super::ask(&studio, "set Transparency = 0.5, Material = Neon, Size = 4,1,4 on #Wall");
    until_there(&studio, "Approve");
    until_shown(&studio, "Transparency");
    album.take(&studio, "table");
    click(&studio, "Approve");
    until_shown(&studio, "Done.");
    super::ask(&studio, "replace \"print(player.Name\" with \"warn(player.UserId\" in all scripts");
    until_there(&studio, "Approve");
    until_shown(&studio, "warn(player.UserId");
    album.take(&studio, "diff");
    click(&studio, "Approve");
    until(&studio, "done twice", |studio| !has(studio, "Approve") && super::shows(studio, "Done."));
    studio.undo();
    until_shown(&studio, "undone");
    album.take(&studio, "undone");
    click(&studio, "Settings");
    studio.run_for(1.0);
    album.take(&studio, "settings");
    assert_eq!(studio.errors(), Vec::<String>::new());
}

#[test]
fn everything_in_the_widget_can_be_read() {
    for theme in [Theme::Dark, Theme::Light] {
        for width in [300, 420] {
            tour(theme, width);
        }
    }
}
