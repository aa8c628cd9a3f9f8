//! Reads the fields of a JSON object and reports problems with them.
//!
//! This module does not know which fields a type has.

use std::fmt::Display;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json};

/// A problem with a field, and the path to it below the typed object. Each caller prepends its step
/// to the path.
pub(super) struct FieldProblem {
    path: String,
    what: ProblemKind,
}

pub(super) enum ProblemKind {
    Missing,
    Unknown,
    Wrong { want: String, got: String },
}

pub(super) type FieldResult<T> = Result<T, FieldProblem>;

impl FieldProblem {
    pub(super) fn wrong_type<T>(want: impl Display, got: &Json) -> FieldResult<T> {
        Err(Self {
            path: String::new(),
            what: ProblemKind::Wrong { want: want.to_string(), got: excerpt_json(got) },
        })
    }

    pub(super) fn at_field(name: &str, what: ProblemKind) -> Self {
        Self { path: name.to_owned(), what }
    }

    /// Prepends one step to the path of the problem.
    pub(super) fn within_step(mut self, step: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
        self
    }

    pub(super) fn sentence(&self, kind: &str) -> String {
        let path = &self.path;
        let n = if kind.starts_with(['A', 'E', 'I', 'O']) { "n" } else { "" };
        match &self.what {
            ProblemKind::Missing => format!("a{n} {kind} needs the field `{path}`"),
            ProblemKind::Unknown => format!("a{n} {kind} has no field `{path}`"),
            ProblemKind::Wrong { want, got } if path.is_empty() => {
                format!("a{n} {kind} must be {want}, got {got}")
            }
            ProblemKind::Wrong { want, got } => {
                format!("the field `{path}` of a{n} {kind} must be {want}, got {got}")
            }
        }
    }
}

/// Returns the first 60 characters of the JSON, for messages.
pub(super) fn excerpt_json(json: &Json) -> String {
    let text = json.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// An object's fields. Each field is taken once, and no field may be left over.
pub(super) struct ObjectFields(pub(super) Map<String, Json>);

impl ObjectFields {
    pub(super) fn from_json(json: Json) -> FieldResult<Self> {
        match json {
            Json::Object(fields) => Ok(Self(fields)),
            other => FieldProblem::wrong_type("an object", &other),
        }
    }

    pub(super) fn has_field(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn take_field<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Json) -> FieldResult<T>,
    ) -> FieldResult<T> {
        let json = self
            .0
            .remove(name)
            .ok_or_else(|| FieldProblem::at_field(name, ProblemKind::Missing))?;
        read(json).map_err(|problem| problem.within_step(name))
    }

    pub(super) fn end_with<T>(self, value: T) -> FieldResult<T> {
        match self.0.into_iter().next() {
            None => Ok(value),
            Some((name, _)) => Err(FieldProblem::at_field(&name, ProblemKind::Unknown)),
        }
    }
}

pub(super) fn read_double(json: Json) -> FieldResult<f64> {
    match &json {
        Json::Number(number) => number.as_f64(),
        Json::String(name) => parse_non_finite(name),
        _ => None,
    }
    .map_or_else(|| FieldProblem::wrong_type("a number, \"inf\", \"-inf\" or \"nan\"", &json), Ok)
}

pub(super) fn parse_non_finite(name: &str) -> Option<f64> {
    match name {
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        "nan" => Some(f64::NAN),
        _ => None,
    }
}

/// Reads a double that is not finite. A finite one is a plain JSON number; accepting it here would
/// give it a second canonical text.
pub(super) fn read_non_finite(json: Json) -> FieldResult<f64> {
    json.as_str().and_then(parse_non_finite).map_or_else(
        || {
            FieldProblem::wrong_type(
                "\"inf\", \"-inf\" or \"nan\" (a finite one is a plain number)",
                &json,
            )
        },
        Ok,
    )
}

pub(super) fn read_single(json: Json) -> FieldResult<f32> {
    if let Some(double) = json.as_f64() {
        let single = double as f32;
        if single.is_infinite() {
            return FieldProblem::wrong_type("a number that fits into 32 bits", &json);
        }
        return Ok(single);
    }
    read_double(json).map(|double| double as f32)
}

/// Integer types that are read from JSON numbers, with their limits for the message.
pub(super) trait IntegerKind: TryFrom<i64> {
    const LIMITS: &'static str;
}

impl IntegerKind for u8 {
    const LIMITS: &'static str = "0 to 255";
}
impl IntegerKind for u16 {
    const LIMITS: &'static str = "0 to 65535";
}
impl IntegerKind for i16 {
    const LIMITS: &'static str = "-32768 to 32767";
}
impl IntegerKind for i32 {
    const LIMITS: &'static str = "-2147483648 to 2147483647";
}
impl IntegerKind for u32 {
    const LIMITS: &'static str = "0 to 4294967295";
}

pub(super) fn read_integer<T: IntegerKind>(json: Json) -> FieldResult<T> {
    json.as_i64().and_then(|number| T::try_from(number).ok()).map_or_else(
        || FieldProblem::wrong_type(format_args!("a whole number from {}", T::LIMITS), &json),
        Ok,
    )
}

pub(super) fn read_byte(json: Json) -> FieldResult<u8> {
    read_integer(json)
}

/// Reads a 64-bit integer from a string, because neither JavaScript nor Luau can read one exactly
/// from a number.
pub(super) fn read_integer_text<T: std::str::FromStr + Display>(json: Json) -> FieldResult<T> {
    json.as_str()
        .and_then(|text| text.parse::<T>().ok().filter(|n| n.to_string() == text))
        .map_or_else(
            || FieldProblem::wrong_type("a whole number of 64 bits, written as a string", &json),
            Ok,
        )
}

pub(super) fn read_text(json: Json) -> FieldResult<String> {
    match json {
        Json::String(text) => Ok(text),
        other => FieldProblem::wrong_type("a string", &other),
    }
}

pub(super) fn read_bytes(json: Json) -> FieldResult<Vec<u8>> {
    json.as_str()
        .and_then(|text| STANDARD.decode(text).ok())
        .map_or_else(|| FieldProblem::wrong_type("bytes in base64", &json), Ok)
}

pub(super) fn read_list<T>(
    json: Json,
    read: impl Fn(Json) -> FieldResult<T>,
) -> FieldResult<Vec<T>> {
    match json {
        Json::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(index, item)| {
                read(item).map_err(|problem| problem.within_step(&format!("[{index}]")))
            })
            .collect(),
        other => FieldProblem::wrong_type("a list", &other),
    }
}

pub(super) fn read_array<const N: usize, T>(
    json: Json,
    read: impl Fn(Json) -> FieldResult<T>,
) -> FieldResult<[T; N]> {
    match json {
        Json::Array(items) if items.len() == N => {
            let items = read_list(Json::Array(items), read)?;
            items.try_into().map_err(|_| FieldProblem::at_field("", ProblemKind::Missing))
        }
        other => FieldProblem::wrong_type(format_args!("a list of {N} numbers"), &other),
    }
}
