//! Canonical instance paths, such as `game.Workspace["My.Part"].Wall[2]`: `game`, then segments.
//!
//! A bare segment is `.` and `[A-Za-z_][A-Za-z0-9_]*`; any other name is a JSON string in brackets.
//! `[n]` selects the nth sibling of that name, from 1. A model file has its roots where a place has
//! its services. This module does not resolve paths to instances.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The canonical path of an instance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct InstancePath {
    /// The segments below `game`, from the top down. Empty for `game` itself.
    pub segments: Vec<Segment>,
}

/// One step of a path, from a parent to its child.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Segment {
    /// The instance's name, unescaped.
    pub name: String,
    /// Index among the siblings of that name, from 1. None if the name is unique among them.
    pub index: Option<u32>,
}

/// The error for text that is not a valid path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct PathError {
    text: String,
    problem: &'static str,
    at: usize,
}

impl PathError {
    fn sentence(&self) -> String {
        let Self { text, problem, at } = self;
        if *problem == NO_ROOT {
            return format!("{text:?} is not a path: {NO_ROOT}, as in game.Workspace");
        }
        format!(
            "{text:?} is not a path: {problem} at character {at}; write, for example, {EXAMPLE}"
        )
    }
}

/// The problem reported for the most frequent mistake.
const NO_ROOT: &str = "paths begin with `game`";

const EXAMPLE: &str = r#"game.Workspace["My.Part"].Wall[2]"#;
const ROOT: &str = "game";

impl InstancePath {
    /// Returns the path of `game` itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns the path of a child.
    #[must_use]
    pub fn child(&self, name: &str, index: Option<u32>) -> Self {
        let mut segments = Vec::with_capacity(self.segments.len() + 1);
        segments.extend_from_slice(&self.segments);
        segments.push(Segment { name: name.to_owned(), index });
        Self { segments }
    }

    /// Returns the path of the parent. None for `game`.
    pub fn parent(&self) -> Option<Self> {
        let (_, front) = self.segments.split_last()?;
        Some(Self { segments: front.to_vec() })
    }

    /// Returns the last name of the path; `game` for the root.
    pub fn name(&self) -> &str {
        self.segments.last().map_or(ROOT, |segment| &segment.name)
    }

    /// Returns the last name for a sentence; see [`quote_name`].
    pub fn quoted_name(&self) -> Cow<'_, str> {
        quote_name(self.name())
    }

    /// Whether this is the path of an instance or of one of its descendants.
    pub fn is_within(&self, ancestor: &Self) -> bool {
        self.segments.starts_with(&ancestor.segments)
    }
}

/// Returns a name for a sentence: in quotes if a path writes it in brackets, because it could be
/// taken for other words.
pub fn quote_name(name: &str) -> Cow<'_, str> {
    if is_bare(name) {
        return name.into();
    }
    serde_json::to_string(name).unwrap_or_default().into()
}

/// Whether a name can be written without brackets.
fn is_bare(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

impl fmt::Display for InstancePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ROOT)?;
        self.segments.iter().try_for_each(|segment| segment.fmt(f))
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_bare(&self.name) {
            write!(f, ".{}", self.name)?;
        } else {
            let quoted = serde_json::to_string(&self.name).map_err(|_| fmt::Error)?;
            write!(f, "[{quoted}]")?;
        }
        self.index.map_or(Ok(()), |n| write!(f, "[{n}]"))
    }
}

impl FromStr for InstancePath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let fail = |problem, rest: &str| PathError {
            text: text.to_owned(),
            problem,
            at: text[..text.len() - rest.len()].chars().count() + 1,
        };
        let Some(mut rest) = text.strip_prefix(ROOT) else {
            return Err(fail(NO_ROOT, text));
        };
        let mut segments = Vec::new();
        while !rest.is_empty() {
            let (name, behind) = take_name(rest).map_err(|problem| fail(problem, rest))?;
            let (index, behind) = take_index(behind).map_err(|problem| fail(problem, behind))?;
            segments.push(Segment { name: name.into_owned(), index });
            rest = behind;
        }
        Ok(Self { segments })
    }
}

/// Splits `.Name` or `["Any name"]` off the front.
fn take_name(text: &str) -> Result<(Cow<'_, str>, &str), &'static str> {
    if let Some(rest) = text.strip_prefix('.') {
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        if !is_bare(name) {
            return Err("a name that is not a plain word must be in brackets and quotes");
        }
        return Ok((Cow::Borrowed(name), behind));
    }
    let Some(rest) = text.strip_prefix('[') else {
        return Err("`.` or `[` must follow");
    };
    let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    let Some(Ok(name)) = strings.next() else {
        return Err("a JSON string must follow `[`");
    };
    let behind = &rest[strings.byte_offset()..];
    let behind = behind.strip_prefix(']').ok_or("`]` is missing")?;
    Ok((Cow::Owned(name), behind))
}

/// Splits `[n]` off the front, if present.
fn take_index(text: &str) -> Result<(Option<u32>, &str), &'static str> {
    let Some(rest) = text.strip_prefix('[').filter(|rest| !rest.starts_with('"')) else {
        return Ok((None, text));
    };
    let (digits, behind) = rest.split_once(']').ok_or("`]` is missing")?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err("brackets must contain a sibling's number or a quoted name");
    }
    match digits.parse() {
        Ok(0) | Err(_) => Err("a sibling's number must be from 1 to 4294967295"),
        Ok(n) => Ok((Some(n), behind)),
    }
}

impl Serialize for InstancePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for InstancePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for InstancePath {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("InstancePath")
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^game" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, names: &[(&str, Option<u32>)]) {
        let path: InstancePath = text.parse().unwrap();
        let got: Vec<_> =
            path.segments.iter().map(|segment| (segment.name.as_str(), segment.index)).collect();
        assert_eq!(got, names);
        assert_eq!(path.to_string(), text);
    }

    #[test]
    fn paths_round_trip() {
        check("game", &[]);
        check("game.Workspace", &[("Workspace", None)]);
        check(r#"game["My.Part"].Wall[2]"#, &[("My.Part", None), ("Wall", Some(2))]);
        check(r#"game["a\"]b"][3]["7"]"#, &[("a\"]b", Some(3)), ("7", None)]);
        check(r#"game[""]"#, &[("", None)]);
        check(r#"game["Größe"]"#, &[("Größe", None)]);
    }

    #[track_caller]
    fn refuse(text: &str, said: &str) {
        let error = text.parse::<InstancePath>().unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }

    #[test]
    fn invalid_paths_are_refused_with_the_reason() {
        refuse("Workspace", "paths begin with `game`, as in game.Workspace");
        refuse("game.", "plain word");
        refuse("game..A", "plain word");
        refuse("game.A b", "`.` or `[` must follow at character 7");
        refuse("game.A[0]", "from 1");
        refuse("game.A[x]", "quoted name");
        refuse("game[\"A\"", "`]` is missing");
        refuse("game[\"A", "JSON string");
        refuse("game.A[99999999999]", "from 1");
    }
}
