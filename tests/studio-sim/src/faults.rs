//! Faults that a test injects, and answers that only a test can give.

use mlua::{Table, Value};
use serde_json::Value as Json;
use vector_runtime::json;

use crate::options::Permission;
use crate::studio::Studio;

/// The fate of a request that is about to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The connection is refused.
    Refuse,
    /// The request is answered, and the answer is lost.
    Lose,
    /// The request arrives twice.
    Double,
    /// Studio closes the plugin just before the request is sent.
    Kill,
}

impl Studio {
    fn set(&self, table: &str, key: &str, value: impl mlua::IntoLua) {
        if let Err(error) = self.table(table).set(key, value) {
            self.fault(&error.to_string());
        }
    }

    fn set_below(&self, key: &str, below: &str, value: impl mlua::IntoLua) {
        let faults = self.table("faults");
        let table = faults.get::<Option<Table>>(key).ok().flatten();
        let table = table.map_or_else(|| self.lua.create_table(), Ok);
        let set = table.and_then(|table| {
            table.set(below, value)?;
            faults.set(key, table)
        });
        if let Err(error) = set {
            self.fault(&error.to_string());
        }
    }

    /// Stops the script that makes one of the plugin's writes, after `skip` others, as if it had run
    /// for too long: neither it nor what it calls continues. Counts as [`Studio::kill_at_write`].
    pub fn stop_at_write(&self, skip: u32) {
        self.set("faults", "stopAtWrite", skip);
    }

    /// Gives the place an id and a name, as publishing does.
    pub fn publish(&self, place_id: u64, name: &str) {
        if let Err(error) = self.call::<()>("publish", (place_id, name)) {
            self.fault(&error);
        }
    }

    /// Makes the next `TryBeginRecording` return nil.
    pub fn refuse_next_recording(&self) {
        self.set("faults", "refuseRecording", true);
    }

    /// Starts or ends a playtest: `RunService:IsEdit()` is false during it, and nothing can be
    /// recorded.
    pub fn set_playing(&self, playing: bool) {
        self.set("options", "playing", playing);
    }

    /// The playtest that the plugin started and that has not ended: its mode, `Play` or `Run`.
    pub fn started_test(&self) -> Option<String> {
        let test: Option<Table> = self.engine.get("startedTest").ok();
        test?.get("mode").ok()
    }

    /// Makes this window a DataModel of the playtest that `edit` runs: its server, or a client.
    pub fn play_test(&self, edit: &Self, is_server: bool) {
        self.set_playing(true);
        self.set("options", "side", if is_server { "Server" } else { "Client" });
        let test: Option<Table> = edit.engine.get("startedTest").ok();
        let args = test.and_then(|test| test.get::<Option<String>>("args").ok().flatten());
        self.set("options", "testArgs", args);
    }

    /// Runs a script of the game in this DataModel of a playtest.
    pub fn run_game_script(&self, path: &str) {
        match self.find(path) {
            Some(record) => self.expect_call("runGameScript", record),
            None => self.fault(&format!("there is no script {path}")),
        }
    }

    /// Ends the playtest of this window if `server` has ended it. Returns whether it has.
    pub fn follow_test_end(&self, server: &Self) -> bool {
        let ended: Option<Table> = server.engine.get("endedTest").ok();
        let Some(ended) = ended else {
            return false;
        };
        self.end_test(ended.get("value").ok().flatten());
        true
    }

    /// Ends the playtest that the plugin started, with what its server gave, as JSON; None if the
    /// user ended it.
    pub fn end_test(&self, value: Option<String>) {
        self.expect_call("testEnded", value);
    }

    /// Connects the plugin's copies here and in a DataModel of the playtest that this window runs,
    /// named `id`.
    pub fn join_playtest(&self, test: &Self, id: &str) {
        self.expect_call("connectPlugin", (id, "Test"));
        test.expect_call("connectPlugin", ("edit", "Edit"));
    }

    /// Ends the connections of [`Studio::join_playtest`].
    pub fn leave_playtest(&self, id: &str) {
        self.expect_call("disconnectPlugin", id);
    }

    /// Carries the messages between the plugin's copies of [`Studio::join_playtest`].
    pub fn exchange_messages(&self, test: &Self, id: &str) {
        for text in self.take_messages(id) {
            test.expect_call("receiveMessage", ("edit", text));
        }
        for text in test.take_messages("edit") {
            self.expect_call("receiveMessage", (id, text));
        }
    }

    fn take_messages(&self, to: &str) -> Vec<String> {
        let sent = self.table("outgoing");
        let (mut taken, mut kept) = (Vec::new(), Vec::new());
        for message in sent.sequence_values::<Table>().filter_map(Result::ok) {
            match (message.get::<String>(1), message.get::<String>(2)) {
                (Ok(target), Ok(text)) if target == to => taken.push(text),
                _ => kept.push(message),
            }
        }
        let cleared = sent.clear().and_then(|()| kept.into_iter().try_for_each(|it| sent.push(it)));
        if let Err(error) = cleared {
            self.fault(&error.to_string());
        }
        taken
    }

    /// Changes the user's permission for the plugin's HTTP requests.
    pub fn set_http(&self, permission: Permission) {
        self.set("options", "http", permission.name());
        self.set("dialogs", "http", false);
    }

    /// Changes the user's permission for the plugin's script changes.
    pub fn set_script_writes(&self, permission: Permission) {
        self.set("options", "scriptWrites", permission.name());
        self.set("dialogs", "scriptWrites", false);
    }

    /// Whether Studio shows the dialog that asks whether the plugin may change scripts.
    pub fn asks_for_script_writes(&self) -> bool {
        self.table("dialogs").get("scriptWrites").unwrap_or_default()
    }

    /// Simulates the user typing while the next `UpdateSourceAsync` of this script runs its
    /// callback: the script then has this text, and the callback is called again.
    pub fn move_editor_on(&self, path: &str, text: &str) {
        self.set_below("editorMoves", path, text);
    }

    /// Makes every `UpdateSourceAsync` of this script fail with this message; None ends the fault.
    pub fn fail_update_source(&self, path: &str, message: Option<&str>) {
        self.set_below("updateSource", path, message);
    }

    /// Makes the plugin's writes to this property fail, in one class or in all. Attributes are
    /// specified as `@Name`, tags as `#Name`.
    pub fn fail_writes(&self, property: &str, class: Option<&str>) {
        match class {
            Some(class) => self.set_below("writes", property, class),
            None => self.set_below("writes", property, true),
        }
    }

    /// Ends the faults of [`Studio::fail_writes`].
    pub fn allow_writes(&self) {
        self.set("faults", "writes", Value::Nil);
    }

    /// Sets the fate of a request whose address contains `path`, after `skip` other such requests.
    pub fn on_request(&self, path: &str, skip: u32, answer: Answer) {
        let kind = match answer {
            Answer::Refuse => "refuse",
            Answer::Lose => "lose",
            Answer::Double => "double",
            Answer::Kill => "kill",
        };
        let faults = self.table("faults");
        let add = || {
            let entry = self.lua.create_table()?;
            entry.set("path", path)?;
            entry.set("after", skip)?;
            entry.set("kind", kind)?;
            let list = faults.get::<Option<Table>>("http")?;
            let list = list.map_or_else(|| self.lua.create_table(), Ok)?;
            list.push(entry)?;
            faults.set("http", list)
        };
        if let Err(error) = add() {
            self.fault(&error.to_string());
        }
    }

    /// Closes the plugin just before one of its writes, after `skip` others: of a property, a
    /// parent, an attribute, a tag or a script's text, inside or outside the place. Writes to a
    /// widget's contents do not count.
    pub fn kill_at_write(&self, skip: u32) {
        self.set("faults", "killAtWrite", skip);
    }

    /// Registers the result of `game:GetObjects(url)` and `InsertService:LoadAsset`: the bytes of a
    /// model file, or the error that they raise.
    pub fn register_asset(&self, url: &str, asset: Result<&[u8], &str>) {
        let key = format!("asset {url}");
        match asset {
            Ok(bytes) => match self.lua.create_buffer(bytes) {
                Ok(buffer) => self.set("answers", &key, buffer),
                Err(error) => self.fault(&error.to_string()),
            },
            Err(message) => self.set("answers", &key, message),
        }
    }

    /// Chooses a file in the dialog that is open, or that is opened next; None cancels it.
    pub fn choose_file(&self, file: Option<(&str, &[u8])>) {
        let (name, bytes) = file.unzip();
        let contents = self.lua.create_buffer(bytes.unwrap_or_default());
        let chosen = contents
            .map_err(|error| error.to_string())
            .and_then(|contents| self.call::<()>("chooseFile", (name, contents)));
        if let Err(error) = chosen {
            self.fault(&error);
        }
    }

    /// Registers the result of a method that the simulator cannot know, such as
    /// `MarketplaceService.GetProductInfo`. `{"error": ".."}` is raised as an error.
    pub fn register_answer(&self, method: &str, answer: &Json) {
        match json::to_luau(&self.lua, answer) {
            Ok(value) => self.set("answers", method, value),
            Err(error) => self.fault(&error.to_string()),
        }
    }

    /// Simulates the user typing in the editor: into the script, or into a draft of it.
    pub fn edit_script(&self, path: &str, text: &str, draft: bool) {
        match self.find(path) {
            Some(record) => {
                if let Err(error) = self.call::<()>("editAsUser", (record, text, draft)) {
                    self.fault(&error);
                }
            }
            None => self.fault(&format!("there is no script {path}")),
        }
    }

    /// Opens or closes a script in the editor, as the user would.
    pub fn open_script(&self, path: &str, open: bool) {
        let function = if open { "openDocument" } else { "closeDocument" };
        match self.find(path) {
            Some(record) => {
                if let Err(error) = self.call::<Value>(function, record) {
                    self.fault(&error);
                }
            }
            None => self.fault(&format!("there is no script {path}")),
        }
    }
}
