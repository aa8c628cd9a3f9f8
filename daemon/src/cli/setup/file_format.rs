//! Vector's entry in the text of a client's file, in any supported format.
//!
//! Each change is parsed again before it is written: it must have changed the entry and nothing
//! else. This module does not know which file the text belongs to.

use serde_json::{Map, Value as Json};
use vector_text_edit::json::{JsonDocument, JsonInput, JsonLayout, parse_json};

use super::clients::FileFormat;
use super::toml;

/// The name of the entry in each client.
pub(super) const SERVER_NAME: &str = "vector";

type JsonFields = Map<String, Json>;

/// The state of the entry in a text.
#[derive(Debug, PartialEq)]
pub(super) struct FoundEntry {
    /// Whether the text has a section for servers.
    pub(super) has_servers: bool,
    /// The entry with Vector's name.
    pub(super) entry: Option<Json>,
}

impl FileFormat {
    fn servers_key(self) -> &'static str {
        match self {
            Self::Json { servers, .. } | Self::Toml { servers } => servers,
        }
    }

    /// Builds the entry for a command.
    pub(super) fn build_entry(self, command: &str, args: &[String]) -> Json {
        let mut entry = Map::new();
        if matches!(self, Self::Json { says_stdio: true, .. }) {
            entry.insert("type".to_owned(), "stdio".into());
        }
        entry.insert("command".to_owned(), command.into());
        entry.insert("args".to_owned(), args.into());
        Json::Object(entry)
    }

    /// Finds the entry in a text.
    ///
    /// # Errors
    /// What is wrong with the text, as the end of a sentence.
    pub(super) fn find_entry(self, text: &str) -> Result<FoundEntry, String> {
        let (servers, _) = self.split_servers(text)?;
        let entry = servers.as_ref().and_then(|servers| servers.get(SERVER_NAME)).cloned();
        Ok(FoundEntry { has_servers: servers.is_some(), entry })
    }

    /// Returns the text with the entry. An existing entry of the same name is replaced.
    ///
    /// # Errors
    /// As for [`FileFormat::find_entry`]; or the text is written in a form that cannot be changed.
    pub(super) fn insert_entry(self, text: &str, entry: &Json) -> Result<String, String> {
        let new = match self {
            Self::Json { servers, .. } => edit_json(text, |document| {
                document.set_path(&[servers, SERVER_NAME], &entry_input(entry))
            }),
            Self::Toml { servers } => toml::remove_table(text, servers, SERVER_NAME)
                .and_then(|text| toml::add_table(&text, servers, SERVER_NAME, entry)),
        }?;
        self.verify_change(text, new, Some(entry))
    }

    /// Returns the text with the entry's fields updated. Other fields of the entry are kept.
    ///
    /// # Errors
    /// As for [`FileFormat::insert_entry`].
    pub(super) fn update_entry(self, text: &str, entry: &Json) -> Result<String, String> {
        let mut expected = self.find_entry(text)?.entry.unwrap_or_default();
        let mut new = text.to_owned();
        for (field, value) in entry.as_object().into_iter().flatten() {
            if expected.get(field) == Some(value) {
                continue;
            }
            expected[field] = value.clone();
            new = match self {
                Self::Json { servers, .. } => edit_json(&new, |document| {
                    document.set_path(&[servers, SERVER_NAME, field], &JsonInput::from(value))
                }),
                Self::Toml { servers } => toml::set_field(&new, servers, SERVER_NAME, field, value),
            }?;
        }
        self.verify_change(text, new, Some(&expected))
    }

    /// Returns the text without the entry. If the section for servers is then empty and was created
    /// by setup, it is removed as well.
    ///
    /// # Errors
    /// As for [`FileFormat::insert_entry`].
    pub(super) fn remove_entry(self, text: &str, is_place_ours: bool) -> Result<String, String> {
        let new = match self {
            Self::Json { servers, .. } => {
                edit_json(text, |document| document.remove_path(&[servers, SERVER_NAME]))
            }
            Self::Toml { servers } => toml::remove_table(text, servers, SERVER_NAME),
        }?;
        let new = self.verify_change(text, new, None)?;
        let is_empty = self.split_servers(&new)?.0.is_some_and(|servers| servers.is_empty());
        match self {
            Self::Json { servers, .. } if is_place_ours && is_empty => {
                edit_json(&new, |document| document.remove_path(&[servers]))
            }
            _ => Ok(new),
        }
    }

    /// Whether a text has no content.
    pub(super) fn is_blank(self, text: &str) -> bool {
        match self {
            Self::Json { .. } => matches!(text.trim(), "" | "{}"),
            Self::Toml { .. } => text.trim().is_empty(),
        }
    }

    /// Splits a text into its servers, if it has a section for them, and everything else.
    fn split_servers(self, text: &str) -> Result<(Option<JsonFields>, JsonFields), String> {
        let value = match self {
            Self::Json { .. } => parse_json(text)?.unwrap_or_else(|| Json::Object(Map::new())),
            Self::Toml { .. } => toml::parse_value(text)?,
        };
        let Json::Object(mut all) = value else {
            return Err("it is not an object".to_owned());
        };
        match all.remove(self.servers_key()) {
            None => Ok((None, all)),
            Some(Json::Object(servers)) => Ok((Some(servers), all)),
            Some(_) => Err(format!("its `{}` is not an object", self.servers_key())),
        }
    }

    /// Verifies that a change had exactly the expected effect.
    fn verify_change(
        self,
        before: &str,
        after: String,
        entry: Option<&Json>,
    ) -> Result<String, String> {
        let (servers, all) = self.split_servers(before)?;
        let mut servers = servers.unwrap_or_default();
        match entry {
            Some(entry) => drop(servers.insert(SERVER_NAME.to_owned(), entry.clone())),
            None => drop(servers.remove(SERVER_NAME)),
        }
        let (found, found_all) = self.split_servers(&after)?;
        if found.unwrap_or_default() == servers && found_all == all {
            Ok(after)
        } else {
            Err(format!(
                "its `{}` cannot be changed without changing other parts of the file",
                self.servers_key()
            ))
        }
    }
}

fn edit_json(
    text: &str,
    change: impl FnOnce(&mut JsonDocument) -> Result<(), String>,
) -> Result<String, String> {
    let mut document = JsonDocument::parse(text, JsonLayout::Stringified)?;
    change(&mut document)?;
    Ok(document.to_string())
}

fn entry_input(entry: &Json) -> JsonInput {
    let Json::Object(fields) = entry else { return JsonInput::from(entry) };
    let field = |(key, value): (&String, &Json)| (key.clone(), JsonInput::from(value));
    JsonInput::Object(order_fields(fields).into_iter().map(field).collect())
}

/// The fields of an entry in the conventional order.
pub(super) fn order_fields(fields: &JsonFields) -> Vec<(&String, &Json)> {
    let first = ["type", "command", "args"];
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_by_key(|(key, _)| first.iter().position(|it| it == key).unwrap_or(first.len()));
    fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const JSON: FileFormat = FileFormat::Json { servers: "servers", says_stdio: true };
    const TOML: FileFormat = FileFormat::Toml { servers: "servers" };

    #[test]
    fn inserted_entry_is_removed_without_trace() {
        for (form, text) in [
            (JSON, "{\n  // a\n  \"x\": 1\n}\n"),
            (JSON, "{ \"servers\": { \"x\": {} } }"),
            (TOML, "x = 1\n"),
            (TOML, "[servers.x]\r\na = 1\r\n"),
        ] {
            let had = form.find_entry(text).unwrap();
            let entry = form.build_entry("/bin/v", &["mcp".to_owned()]);
            let put = form.insert_entry(text, &entry).unwrap();
            let found = form.find_entry(&put).unwrap();
            assert_eq!(found, FoundEntry { has_servers: true, entry: Some(entry) });
            assert_eq!(form.remove_entry(&put, !had.has_servers).unwrap(), text);
        }
    }

    #[test]
    fn update_keeps_other_fields_of_the_entry() {
        let entry = json!({ "command": "new", "args": ["mcp"] });
        let text = "{\"servers\": {\"vector\": {\"command\": \"old\", \"env\": {}}}}";
        let put = JSON.update_entry(text, &entry).unwrap();
        let expected = "{\"command\": \"new\", \"env\": {}, \"args\": [\"mcp\"]}";
        assert_eq!(put, format!("{{\"servers\": {{\"vector\": {expected}}}}}"));
        let put =
            TOML.update_entry("[servers.vector]\ncommand = 'old'\nenv = {}\n", &entry).unwrap();
        let expected = "[servers.vector]\nargs = [\"mcp\"]\ncommand = \"new\"\nenv = {}\n";
        assert_eq!(put, expected);
    }

    #[test]
    fn inserted_entry_replaces_existing_one_entirely() {
        let entry = json!({ "command": "new" });
        for (form, text) in [
            (JSON, "{\"servers\": {\"vector\": {\"url\": \"x\", \"command\": \"y\"}}}"),
            (TOML, "[servers.vector]\nurl = 'x'\n[servers.vector.env]\nA = '1'\n"),
        ] {
            let put = form.insert_entry(text, &entry).unwrap();
            assert_eq!(form.find_entry(&put).unwrap().entry, Some(entry.clone()));
        }
    }
}
