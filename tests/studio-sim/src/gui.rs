//! The plugin's widgets: what the user sees in them, and the user's actions.
//!
//! An action that the user could not do, such as a click on a hidden, covered, empty or inactive
//! object, is an error with the reason.

use std::env;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mlua::{IntoLuaMulti, MultiValue, Table, Value};

use crate::studio::Studio;

/// How long a browser may take for a picture.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, PartialEq)]
pub struct Widget {
    /// The id that the plugin chose.
    pub id: String,
    /// The text of the title bar.
    pub title: String,
    /// Whether it is open.
    pub enabled: bool,
    /// Width and height in pixels.
    pub size: (f64, f64),
}

/// An object of a widget in its current state on the screen.
#[derive(Clone, Debug)]
pub struct GuiObject {
    record: Table,
    /// The class name, such as `TextButton`.
    pub class: String,
    pub name: String,
    pub path: String,
    /// The text without tags; empty if the object has none.
    pub text: String,
    /// The displayed text, which may be a text box's placeholder.
    pub shown: String,
    /// Left, top, width and height in the widget, in pixels.
    pub rect: [f64; 4],
    /// Whether any part of it is visible.
    pub visible: bool,
}

impl GuiObject {
    fn new(row: &Table) -> mlua::Result<Self> {
        Ok(Self {
            record: row.get("record")?,
            class: row.get("class")?,
            name: row.get("name")?,
            path: row.get("path")?,
            text: row.get::<Option<String>>("text")?.unwrap_or_default(),
            shown: row.get::<Option<String>>("shown")?.unwrap_or_default(),
            rect: [row.get("x")?, row.get("y")?, row.get("w")?, row.get("h")?],
            visible: row.get("visible")?,
        })
    }

    /// Whether it reacts to a click: a button or a text box.
    pub fn is_input(&self) -> bool {
        self.class.ends_with("Button") || self.class == "TextBox"
    }
}

impl Studio {
    /// The plugin's dock widgets.
    pub fn widgets(&self) -> Vec<Widget> {
        let list: Vec<Table> = self.call("widgetList", ()).unwrap_or_default();
        let widget = |row: &Table| -> mlua::Result<Widget> {
            Ok(Widget {
                id: row.get("id")?,
                title: row.get("title")?,
                enabled: row.get("enabled")?,
                size: (row.get("width")?, row.get("height")?),
            })
        };
        list.iter().filter_map(|row| widget(row).ok()).collect()
    }

    /// Every object in all widgets, in paint order.
    pub fn gui(&self) -> Vec<GuiObject> {
        let mut objects = vec![];
        for widget in self.widgets() {
            match self.call::<Vec<Table>>("guiList", widget.id) {
                Ok(rows) => {
                    objects.extend(rows.iter().filter_map(|row| GuiObject::new(row).ok()));
                }
                Err(error) => self.fault(&error),
            }
        }
        objects
    }

    /// All visible texts, in paint order.
    pub fn visible_texts(&self) -> Vec<String> {
        let seen = self.gui().into_iter().filter(|it| it.visible && !it.shown.is_empty());
        seen.map(|it| it.shown).collect()
    }

    /// The only object that satisfies `fits`, or an error with the number of matches.
    pub fn find_gui(&self, fits: impl Fn(&GuiObject) -> bool) -> Result<GuiObject, String> {
        let mut found: Vec<_> = self.gui().into_iter().filter(|it| fits(it)).collect();
        match (found.pop(), found.len()) {
            (Some(one), 0) => Ok(one),
            (None, _) => {
                Err(format!("no object fits; the texts in sight are {:?}", self.visible_texts()))
            }
            (Some(_), others) => Err(format!("{} objects fit", others + 1)),
        }
    }

    /// The only visible object with exactly this text; a button takes precedence over a label on
    /// it.
    pub fn by_text(&self, text: &str) -> Result<GuiObject, String> {
        let fits = |it: &GuiObject| it.visible && it.shown.trim() == text;
        let inputs = self.find_gui(|it| fits(it) && it.is_input());
        inputs.or_else(|_| self.find_gui(fits)).map_err(|error| format!("{text:?}: {error}"))
    }

    /// The only object of this name, visible or not.
    pub fn by_name(&self, name: &str) -> Result<GuiObject, String> {
        self.find_gui(|it| it.name == name).map_err(|error| format!("{name:?}: {error}"))
    }

    fn act(&self, action: &str, rest: impl IntoLuaMulti) -> Result<(), String> {
        let mut arguments = rest.into_lua_multi(&self.lua).map_err(|error| error.to_string())?;
        let action = self.lua.create_string(action).map_err(|error| error.to_string())?;
        arguments.push_front(Value::String(action));
        self.call::<MultiValue>("act", arguments).map(|_| ())
    }

    /// Clicks the middle of the visible part of an object.
    pub fn click(&self, it: &GuiObject) -> Result<(), String> {
        self.act("click", &it.record)
    }

    /// Clicks the only object with this text.
    pub fn click_text(&self, text: &str) -> Result<(), String> {
        self.click(&self.by_text(text)?)
    }

    /// Focuses a text box with a click, types a text at its end, and presses Return if `enter`.
    pub fn type_into(&self, it: &GuiObject, text: &str, enter: bool) -> Result<(), String> {
        self.act("type", (&it.record, text, enter))
    }

    /// Presses and releases a key of `Enum.KeyCode` on the focused or selected object.
    pub fn press_key(&self, key: &str) -> Result<(), String> {
        self.act("key", (Value::Nil, key))
    }

    /// Presses a key without releasing it, or releases it.
    pub fn hold_key(&self, key: &str, is_down: bool) -> Result<(), String> {
        self.act("hold", (Value::Nil, key, is_down))
    }

    /// Puts the cursor of the focused text box before a byte of its text, counted from 1.
    pub fn place_cursor(&self, at: usize) -> Result<(), String> {
        self.act("cursor", (Value::Nil, at))
    }

    /// Takes the focus from the text box, as a click outside of it does.
    pub fn release_focus(&self) -> Result<(), String> {
        self.act("blur", Value::Nil)
    }

    /// Selects an object with the keyboard, if it is `Selectable`; Return then activates it.
    pub fn select(&self, it: &GuiObject) -> Result<(), String> {
        self.act("select", &it.record)
    }

    /// Moves the mouse onto an object.
    pub fn hover(&self, it: &GuiObject) -> Result<(), String> {
        self.act("hover", &it.record)
    }

    /// Scrolls a `ScrollingFrame` to a position, within its content.
    pub fn scroll_to(&self, it: &GuiObject, x: f64, y: f64) -> Result<(), String> {
        self.act("scroll", (&it.record, x, y))
    }

    /// Clicks the toolbar button of this text.
    pub fn click_toolbar(&self, text: &str) -> Result<(), String> {
        self.act("button", (Value::Nil, text))
    }

    /// Triggers a plugin action by its id.
    pub fn trigger_action(&self, id: &str) -> Result<(), String> {
        self.act("action", (Value::Nil, id))
    }

    /// Clicks the close button of a widget.
    pub fn close_widget(&self, id: &str) -> Result<(), String> {
        self.act("close", (Value::Nil, id))
    }

    pub fn resize_widget(&self, id: &str, width: u32, height: u32) -> Result<(), String> {
        self.act("resize", (Value::Nil, id, width, height))
    }

    /// Every visible text of a widget, with its contrast to the background below its middle, from 1
    /// (invisible) to 21. Legible text has at least 4.5.
    pub fn contrasts(&self, id: &str) -> Result<Vec<(String, f64)>, String> {
        let rows: Vec<Table> = self.call("contrasts", id)?;
        let pair = |row: &Table| Some((row.get("text").ok()?, row.get("ratio").ok()?));
        Ok(rows.iter().filter_map(pair).collect())
    }

    /// What keeps the visible texts of a widget from being read: a text that is cut, or two that
    /// overlap. A text that ends with an ellipsis, or that can be scrolled to, is not cut.
    pub fn text_faults(&self, id: &str) -> Result<Vec<String>, String> {
        self.call("textFaults", id)
    }

    /// Prints a widget as one self-contained HTML file, with every box where the layout placed it.
    pub fn widget_html(&self, id: &str) -> Result<String, String> {
        self.call("html", id)
    }
}

/// Renders an HTML file with Chromium, which `CHROMIUM` may name; false if it is not installed.
pub fn render(html: &Path, png: &Path, size: (u32, u32)) -> Result<bool, String> {
    let named = env::var("CHROMIUM").ok();
    let usual = ["chromium", "chromium-browser", "google-chrome"].map(str::to_owned);
    for program in named.into_iter().chain(usual) {
        let started = Command::new(&program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .arg(format!("--window-size={},{}", size.0, size.1))
            .arg(format!("--screenshot={}", png.display()))
            .arg(format!("file://{}", html.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if let Ok(browser) = started {
            return ended(browser, &program).map(|()| true);
        }
    }
    Ok(false)
}

/// Waits until a browser ends, and kills one that hangs.
fn ended(mut browser: Child, program: &str) -> Result<(), String> {
    let start = Instant::now();
    loop {
        match browser.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("{program} ended with {status}")),
            None if start.elapsed() > PATIENCE => {
                let _ = browser.kill();
                let _ = browser.wait();
                return Err(format!("{program} made no picture within {PATIENCE:?}"));
            }
            None => thread::sleep(Duration::from_millis(50)),
        }
    }
}
