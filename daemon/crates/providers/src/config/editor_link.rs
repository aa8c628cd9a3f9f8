//! Links that open a file in the user's editor: the address of an editor that registers a scheme,
//! or a command.

use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The editors that are known by name, with their addresses.
const EDITORS: [(&str, &str); 6] = [
    ("vscode", "vscode://file{file}:{line}"),
    ("vscode-insiders", "vscode-insiders://file{file}:{line}"),
    ("vscodium", "vscodium://file{file}:{line}"),
    ("cursor", "cursor://file{file}:{line}"),
    ("windsurf", "windsurf://file{file}:{line}"),
    ("zed", "zed://file{file}:{line}"),
];

/// Characters of a path that an address may contain.
const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b':').remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// How files are opened in an editor, with places for `{file}` and `{line}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorTemplate {
    /// An address with the scheme of an editor.
    Url(String),
    /// A program and its arguments.
    Command(Vec<String>),
}

/// How a file is opened at a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorLink {
    Url(String),
    /// A program and its arguments. The program is not empty.
    Command(String, Vec<String>),
}

impl Default for EditorTemplate {
    fn default() -> Self {
        Self::Url(EDITORS[0].1.to_owned())
    }
}

impl FromStr for EditorTemplate {
    type Err = String;

    /// Parses the name of an editor, an address or a command.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some((_, url)) = EDITORS.iter().find(|(name, _)| *name == text) {
            return Ok(Self::Url((*url).to_owned()));
        }
        if !text.contains("{file}") {
            let names: Vec<&str> = EDITORS.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "it must be one of {}, or an address or a command with {{file}}, and with {{line}} \
                 if it takes one",
                names.join(", ")
            ));
        }
        Ok(match text.split_once("://") {
            Some((scheme, _)) if !scheme.contains(char::is_whitespace) => {
                if ["javascript", "data", "http", "https"].contains(&scheme) {
                    return Err(format!("{scheme}:// opens no editor"));
                }
                Self::Url(text.to_owned())
            }
            _ => Self::Command(text.split_whitespace().map(str::to_owned).collect()),
        })
    }
}

impl EditorTemplate {
    /// Returns the link to a line of a file. The file's path is absolute.
    pub fn link(&self, file: &str, line: u32) -> EditorLink {
        let line = line.to_string();
        match self {
            Self::Url(url) => EditorLink::Url(fill(url, &address_path(file), &line)),
            Self::Command(parts) => {
                let mut parts = parts.iter().map(|part| fill(part, file, &line));
                EditorLink::Command(parts.next().unwrap_or_default(), parts.collect())
            }
        }
    }
}

/// Returns the address of a file.
pub fn file_address(file: &str) -> String {
    format!("file://{}", address_path(file))
}

/// Returns an absolute path as a part of an address.
fn address_path(file: &str) -> String {
    // A path on Windows begins with its drive.
    let file = file.replace('\\', "/");
    let root = if file.starts_with('/') { "" } else { "/" };
    format!("{root}{}", utf8_percent_encode(&file, PATH))
}

/// Fills in a template. The line goes first, because a file's name may contain anything.
fn fill(template: &str, file: &str, line: &str) -> String {
    template.replace("{line}", line).replace("{file}", file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_addresses_and_commands_are_filled_in() {
        let link =
            |template: &str, file: &str| template.parse::<EditorTemplate>().unwrap().link(file, 7);
        let url = |text: &str| EditorLink::Url(text.to_owned());
        assert_eq!(
            link("cursor", "/home/me/my game/a%b.luau"),
            url("cursor://file/home/me/my%20game/a%25b.luau:7")
        );
        assert_eq!(link("vscode", "C:\\game\\a.luau"), url("vscode://file/C:/game/a.luau:7"));
        assert_eq!(
            link("idea://open?file={file}&line={line}", "/a.luau"),
            url("idea://open?file=/a.luau&line=7")
        );
        assert_eq!(
            link("subl {file}:{line}", "/my game/a.luau"),
            EditorLink::Command("subl".to_owned(), vec!["/my game/a.luau:7".to_owned()])
        );
        // A file name is never read as a template.
        assert_eq!(
            link("code -g {file}", "/{line}.luau"),
            EditorLink::Command(
                "code".to_owned(),
                vec!["-g".to_owned(), "/{line}.luau".to_owned()]
            )
        );
        for wrong in ["", "emacs", "code", "javascript://{file}", "https://a/{file}"] {
            assert!(wrong.parse::<EditorTemplate>().is_err(), "{wrong}");
        }
    }
}
