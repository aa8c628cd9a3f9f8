//! Plans the change of one client's file.
//!
//! It sees only the file's text, and neither reads nor writes files.

use std::path::{Path, PathBuf};

use scene_schemas::Fingerprint;
use serde::Serialize;
use serde_json::Value as Json;

use super::clients::{FileFormat, McpClient};
use super::setup_record::{TextSplice, WrittenEntry};

/// The effect of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChangeOutcome {
    /// There was no entry before.
    Added,
    /// Vector's entry was different.
    Updated,
    /// A foreign entry was replaced, because the user requested it.
    Replaced,
    /// The entry was already correct.
    Unchanged,
    Removed,
    /// There was no entry to remove.
    Nothing,
    /// A foreign entry was kept.
    Foreign,
}

/// The planned change of a file.
#[derive(Debug, PartialEq)]
pub(super) struct FileChange {
    pub(super) outcome: ChangeOutcome,
    /// The new text. None if the file should not exist.
    pub(super) text: Option<String>,
    /// The record of the entry after the change.
    pub(super) written: Option<WrittenEntry>,
}

/// A client's file, and what is known about it.
#[derive(Debug)]
pub(super) struct ClientTarget<'a> {
    pub(super) client: McpClient,
    /// The path at which the client looks for the file.
    pub(super) file: &'a Path,
    /// None if the file does not exist.
    pub(super) text: Option<&'a str>,
    /// The folders that would have to be created.
    pub(super) missing: Vec<PathBuf>,
    /// The record of the last change by setup.
    pub(super) written: Option<&'a WrittenEntry>,
    pub(super) entry: Json,
    /// Whether a foreign entry may be replaced or removed.
    pub(super) force: bool,
}

impl ClientTarget<'_> {
    fn format(&self) -> FileFormat {
        self.client.file_format()
    }

    /// Whether an entry has all wanted fields, and possibly more.
    fn has_wanted_fields(&self, entry: &Json) -> bool {
        let mut fields = self.entry.as_object().into_iter().flatten();
        fields.all(|(field, value)| entry.get(field) == Some(value))
    }

    /// Whether an entry was written by setup, even if fields were added to it.
    fn is_ours(&self, entry: &Json) -> bool {
        self.written.is_some_and(|written| entry.get("command") == written.entry.get("command"))
    }

    /// Plans the installation of the entry.
    ///
    /// # Errors
    /// What is wrong with the file, as the end of a sentence.
    pub(super) fn plan_install(self) -> Result<FileChange, String> {
        let (mark, text) = split_bom(self.text.unwrap_or_default());
        let found = self.format().find_entry(text)?;
        let (outcome, new) = match &found.entry {
            None => (ChangeOutcome::Added, self.format().insert_entry(text, &self.entry)?),
            Some(entry) if self.has_wanted_fields(entry) => {
                let text = self.text.map(str::to_owned);
                let written = self.written.cloned();
                return Ok(FileChange { outcome: ChangeOutcome::Unchanged, text, written });
            }
            Some(entry) if self.is_ours(entry) => {
                (ChangeOutcome::Updated, self.format().update_entry(text, &self.entry)?)
            }
            Some(_) if self.force => {
                (ChangeOutcome::Replaced, self.format().insert_entry(text, &self.entry)?)
            }
            Some(entry) => return Err(describe_foreign(entry)),
        };
        let new = format!("{mark}{new}");
        let earlier = self.written.filter(|_| outcome == ChangeOutcome::Updated);
        let before = match earlier {
            Some(written) => restore_text(self.format(), written, self.text.unwrap_or_default())?,
            None => self.text.map(str::to_owned),
        };
        let replaced = found.entry.filter(|_| outcome == ChangeOutcome::Replaced);
        let made_file = before.is_none().then_some(self.missing);
        let written = WrittenEntry {
            client: self.client,
            file: self.file.to_owned(),
            entry: self.entry,
            replaced: earlier.map_or(replaced, |earlier| earlier.replaced.clone()),
            made_place: !found.has_servers || self.written.is_some_and(|it| it.made_place),
            made_file: earlier.map_or(made_file, |earlier| earlier.made_file.clone()),
            left: Fingerprint::hash_bytes(new.as_bytes()),
            back: TextSplice::between(&new, before.as_deref().unwrap_or_default()),
        };
        Ok(FileChange { outcome, text: Some(new), written: Some(written) })
    }

    /// Plans the removal of the entry.
    ///
    /// # Errors
    /// What is wrong with the file, as the end of a sentence.
    pub(super) fn plan_removal(self) -> Result<FileChange, String> {
        let change = |outcome, text| Ok(FileChange { outcome, text, written: None });
        let Some(text) = self.text else {
            return change(ChangeOutcome::Nothing, None);
        };
        let (mark, body) = split_bom(text);
        let found = self.format().find_entry(body)?.entry;
        let is_foreign = |entry: &Json| !self.is_ours(entry) && !self.has_wanted_fields(entry);
        if found.as_ref().is_some_and(is_foreign) {
            if !self.force {
                return change(ChangeOutcome::Foreign, Some(text.to_owned()));
            }
            let body = self.format().remove_entry(body, false)?;
            return change(ChangeOutcome::Removed, Some(format!("{mark}{body}")));
        }
        let new = match self.written {
            Some(written) => restore_text(self.format(), written, text)?,
            None => Some(format!("{mark}{}", self.format().remove_entry(body, false)?)),
        };
        let is_same = new.as_deref() == Some(text);
        change(if is_same { ChangeOutcome::Nothing } else { ChangeOutcome::Removed }, new)
    }
}

/// Restores the text from before setup's change. If it was changed since, only the entry is
/// removed.
fn restore_text(
    form: FileFormat,
    written: &WrittenEntry,
    text: &str,
) -> Result<Option<String>, String> {
    if Fingerprint::hash_bytes(text.as_bytes()) == written.left {
        let before = written.back.apply(text);
        if written.made_file.is_some() || before.is_some() {
            return Ok(before.filter(|_| written.made_file.is_none()));
        }
    }
    let (mark, body) = split_bom(text);
    let has_entry = form.find_entry(body)?.entry.is_some();
    let body = match &written.replaced {
        Some(other) if has_entry => form.insert_entry(body, other)?,
        _ => form.remove_entry(body, written.made_place)?,
    };
    let is_left_over = written.made_file.is_some() && form.is_blank(&body);
    Ok((!is_left_over).then(|| format!("{mark}{body}")))
}

/// Splits off the UTF-8 byte order mark that some editors write.
fn split_bom(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

fn describe_foreign(entry: &Json) -> String {
    let args = entry["args"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let line: Vec<&str> = entry["command"].as_str().into_iter().chain(args).collect();
    let what = if line.is_empty() { String::new() } else { format!(" (`{}`)", line.join(" ")) };
    format!(
        "it has an entry `vector`{what} that setup did not write; rename it, or use --force to \
         replace it"
    )
}

#[cfg(test)]
mod tests {
    use proptest::bool;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::json;

    use super::*;

    fn target<'a>(
        client: McpClient,
        text: Option<&'a str>,
        written: Option<&'a WrittenEntry>,
    ) -> ClientTarget<'a> {
        let entry = client.file_format().build_entry("/bin/vector", &["mcp".to_owned()]);
        let (file, missing) = (Path::new("file"), vec![]);
        ClientTarget { client, file, text, missing, written, entry, force: false }
    }

    const JSON: [&str; 12] = [
        "",
        "{}",
        "{}\n",
        "\u{feff}{}\r\n",
        "{ }",
        "// mine\n{\n\n  \"x\": 1, // one\n\n}\n",
        "{\"x\":{\"y\":[1,2]}}",
        "{\"SERVERS\":{}}",
        "{\r\n\t\"SERVERS\": {\r\n\t}\r\n}",
        "{\n    \"SERVERS\": {\n        \"other\": { \"command\": \"x\" }, // last\n    },\n}",
        "{\"a\": 1,\n \"SERVERS\": {\"other\": {\"command\": \"x\"}},\n \"b\": \"\u{1f600}\"}\n\n",
        "{ \"a\": 1 /* one */ }",
    ];

    const TOML: [&str; 7] = [
        "",
        "\u{feff}model = \"x\"\r\n",
        "model = \"x\" # no line end",
        "[mcp_servers.other]\ncommand = \"x\"\n",
        "[mcp_servers]\n\n[mcp_servers.other]\ncommand = \"x\"\n\n[tui]\n# end\n",
        "mcp_servers.other.command = 'x'\n",
        "\n\n",
    ];

    fn texts(client: McpClient) -> Vec<Option<String>> {
        let texts: Vec<String> = match client.file_format() {
            FileFormat::Json { servers, .. } => {
                JSON.map(|text| text.replace("SERVERS", servers)).into()
            }
            FileFormat::Toml { .. } => TOML.map(str::to_owned).into(),
        };
        texts.into_iter().map(Some).chain([None]).collect()
    }

    #[test]
    fn install_and_removal_restore_the_same_bytes() {
        for client in McpClient::all() {
            for text in texts(*client) {
                let put = target(*client, text.as_deref(), None).plan_install().unwrap();
                assert_eq!(put.outcome, ChangeOutcome::Added);
                let (new, written) = (put.text.as_deref(), put.written.as_ref());
                let again = target(*client, new, written).plan_install().unwrap();
                assert_eq!(again.outcome, ChangeOutcome::Unchanged);
                assert_eq!((again.text.as_deref(), again.written.as_ref()), (new, written));
                let taken = target(*client, new, written).plan_removal().unwrap();
                assert_eq!((taken.outcome, taken.text), (ChangeOutcome::Removed, text.clone()));
            }
        }
    }

    #[test]
    fn new_command_updates_our_entry() {
        for client in McpClient::all() {
            for text in texts(*client) {
                let put = target(*client, text.as_deref(), None).plan_install().unwrap();
                let mut other = target(*client, put.text.as_deref(), put.written.as_ref());
                other.entry = client.file_format().build_entry("/opt/vector", &["mcp".to_owned()]);
                let wanted = other.entry.clone();
                let put = other.plan_install().unwrap();
                assert_eq!(put.outcome, ChangeOutcome::Updated);
                let new = put.text.clone().unwrap();
                assert_eq!(
                    client.file_format().find_entry(split_bom(&new).1).unwrap().entry,
                    Some(wanted)
                );
                let taken =
                    target(*client, Some(&new), put.written.as_ref()).plan_removal().unwrap();
                assert_eq!(taken.text, text);
            }
        }
    }

    #[test]
    fn removal_from_a_changed_file_drops_only_our_entry() {
        for client in McpClient::all() {
            for text in texts(*client) {
                let put = target(*client, text.as_deref(), None).plan_install().unwrap();
                let changed = match client.file_format() {
                    FileFormat::Toml { .. } => format!("{}# later\n", put.text.unwrap()),
                    FileFormat::Json { .. } => {
                        let new = put.text.unwrap();
                        let end = new.rfind('}').unwrap();
                        format!("{}/* later */{}", &new[..end], &new[end..])
                    }
                };
                let taken =
                    target(*client, Some(&changed), put.written.as_ref()).plan_removal().unwrap();
                assert_eq!(taken.outcome, ChangeOutcome::Removed);
                let left = taken.text.unwrap();
                assert!(left.contains("later"), "{left}");
                let value =
                    |text: &str| client.file_format().find_entry(split_bom(text).1).unwrap();
                assert_eq!(value(&left), value(text.as_deref().unwrap_or_default()), "{left}");
            }
        }
    }

    #[test]
    fn empty_file_is_removed_if_install_created_it() {
        let put = target(McpClient::Cursor, None, None).plan_install().unwrap();
        let printed =
            serde_json::from_str::<Json>(put.text.as_deref().unwrap()).unwrap().to_string();
        let taken =
            target(McpClient::Cursor, Some(&printed), put.written.as_ref()).plan_removal().unwrap();
        assert_eq!((taken.outcome, taken.text), (ChangeOutcome::Removed, None));
    }

    #[test]
    fn foreign_entry_is_replaced_only_by_force_and_restored() {
        for (client, text) in [
            (
                McpClient::Cursor,
                "{\"mcpServers\": {\"vector\": {\"command\": \"npx\", \"args\": [\"v\"]}}}",
            ),
            (
                McpClient::Codex,
                "[mcp_servers.vector]\nurl = 'x'\n\n[mcp_servers.vector.env]\nA = '1'\n",
            ),
        ] {
            let refused = target(client, Some(text), None).plan_install().unwrap_err();
            assert!(refused.contains("--force"), "{refused}");
            let left = target(client, Some(text), None).plan_removal().unwrap();
            assert_eq!((left.outcome, left.text.as_deref()), (ChangeOutcome::Foreign, Some(text)));
            let put = ClientTarget { force: true, ..target(client, Some(text), None) }
                .plan_install()
                .unwrap();
            assert_eq!(put.outcome, ChangeOutcome::Replaced);
            let (new, written) = (put.text.unwrap(), put.written.as_ref());
            let taken = target(client, Some(&new), written).plan_removal().unwrap();
            assert_eq!(taken.text.as_deref(), Some(text));
            let changed = format!("{new}\n");
            let taken =
                target(client, Some(&changed), written).plan_removal().unwrap().text.unwrap();
            assert_eq!(
                client.file_format().find_entry(&taken),
                client.file_format().find_entry(text)
            );
        }
        let refused = describe_foreign(&json!({ "command": "npx", "args": ["v"] }));
        assert!(refused.contains("`npx v`"), "{refused}");
    }

    #[test]
    fn fields_added_to_our_entry_survive_updates_until_removal() {
        let put = target(McpClient::Cursor, Some("{}"), None).plan_install().unwrap();
        let env = "\"env\": {\"A\": \"1\"},\n      \"command\"";
        let changed = put.text.unwrap().replace("\"command\"", env);
        let written = put.written.as_ref();
        let same = target(McpClient::Cursor, Some(&changed), written).plan_install().unwrap();
        assert_eq!(same.outcome, ChangeOutcome::Unchanged);
        let mut other = target(McpClient::Cursor, Some(&changed), written);
        other.entry["command"] = json!("/opt/vector");
        let put = other.plan_install().unwrap();
        assert_eq!(put.text.as_deref(), Some(&*changed.replace("/bin/vector", "/opt/vector")));
        let taken = target(McpClient::Cursor, put.text.as_deref(), put.written.as_ref())
            .plan_removal()
            .unwrap();
        assert_eq!(taken.text.as_deref(), Some("{}"));
    }

    /// White space, a comment, or nothing.
    fn gap() -> impl Strategy<Value = &'static str> {
        select(
            &["", "", " ", "\n", "\r\n  ", "\t", "// c, {\n", "/* \u{1f600} } */", "/*\n*/ "][..],
        )
    }

    fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        let keys = &["x", "\u{e9}\u{1f600}", "mcpServers", "vector", "a\\\"}"][..];
        let entry = (select(keys), value, [gap(), gap(), gap()])
            .prop_map(|(key, value, [a, b, c])| format!("\"{key}\"{a}:{b}{value}{c}"));
        let entries = vec((entry, gap()), 0..4);
        (gap(), entries, bool::weighted(0.3)).prop_map(|(gap, entries, ends_with_comma)| {
            let mut text = format!("{{{gap}");
            let count = entries.len();
            for (at, (entry, gap)) in entries.into_iter().enumerate() {
                text += &entry;
                if at + 1 < count || ends_with_comma {
                    text += &format!(",{gap}");
                }
            }
            text + "}"
        })
    }

    fn any_json() -> impl Strategy<Value = String> {
        let scalar = select(&["1.5e3", "\"\u{1f600} // {\"", "null"][..]).prop_map(str::to_owned);
        let value = prop_oneof![3 => scalar, 1 => gap().prop_map(|gap| format!("[1,{gap}2]"))];
        let value = value.prop_recursive(3, 24, 4, object);
        (gap(), object(value), gap())
            .prop_map(|(before, object, after)| before.to_owned() + &object + after)
    }

    fn any_toml() -> impl Strategy<Value = String> {
        let lines = &[
            "x = 1",
            "'\u{e9}' = [ # c\n1 ]",
            "[a]",
            "[mcp_servers.o]",
            "[mcp_servers]",
            "# c",
            "",
            "",
            "s = \"\"\"\n[x]\n\"\"\"",
            "mcp_servers.p.q = 1",
            "[[t]]",
            "[mcp_servers.vector]",
            "command = 'v'",
            "[mcp_servers.vector.env]",
            "  y = {}",
        ][..];
        let end = || select(&["\n", "\n", "\r\n"][..]);
        let line = (select(lines), end()).prop_map(|(line, end)| line.to_owned() + end);
        (vec(line, 0..8), end())
            .prop_map(|(lines, end)| lines.concat().trim_end_matches(['\r', '\n']).to_owned() + end)
    }

    fn removal_restores_the_bytes(client: McpClient, text: &str) -> Result<(), TestCaseError> {
        let put = ClientTarget { force: true, ..target(client, Some(text), None) }.plan_install();
        // Not a document of this format.
        let put = put.map_err(TestCaseError::reject)?;
        let (new, written) = (put.text.as_deref(), put.written.as_ref());
        let taken = target(client, new, written).plan_removal().unwrap();
        prop_assert_eq!(taken.text.as_deref(), Some(text));
        let changed = format!("{}\n", new.unwrap());
        let taken = target(client, Some(&changed), written).plan_removal().unwrap().text.unwrap();
        prop_assert_eq!(
            client.file_format().find_entry(&taken),
            client.file_format().find_entry(text),
            "{}\n{}",
            text,
            taken
        );
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 2_000,
            max_global_rejects: 20_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn removal_restores_the_bytes_of_any_json(text in any_json()) {
            removal_restores_the_bytes(McpClient::Cursor, &text)?;
        }

        #[test]
        fn removal_restores_the_bytes_of_any_toml(text in any_toml()) {
            removal_restores_the_bytes(McpClient::Codex, &text)?;
        }
    }
}
