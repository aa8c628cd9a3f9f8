//! Parses the shape of a grid or a farm: its sizes and options, and their limits.
//!
//! It does not know the parts that a shape is made of.

use scene_schemas::InstancePath;

use super::language::{LanguageError, ParsedSentence, PlannerRequest};
use super::values::PartLook;
use super::words::{self, is_one_of};

/// The shape of a grid or a farm.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GridShape {
    /// Along the Z axis.
    pub(super) rows: u32,
    /// Along the X axis.
    pub(super) columns: u32,
    pub(super) name: String,
    pub(super) parent: InstancePath,
    /// The size of a cell in studs.
    pub(super) size: [f64; 3],
    /// The distance between the centres of adjacent cells, in studs.
    pub(super) spacing: f64,
    pub(super) center: [f64; 3],
    pub(super) look: PartLook,
}

const GRID_MAX: u32 = 50;
const FARM_MAX: u32 = 40;
/// The longest edge of a part in Roblox, in studs.
const EDGE_MAX: f64 = 2048.0;
const EDGE_MIN: f64 = 0.001;
/// Beyond this, single precision cannot represent fractions of a stud.
const MAX_COORDINATE: f64 = 1_000_000.0;

/// The options as written. An option that occurs twice is refused.
#[derive(Default)]
pub(super) struct ShapeOptions {
    pub(super) name: Option<String>,
    pub(super) parent: Option<InstancePath>,
    pub(super) size: Option<[f64; 3]>,
    spacing: Option<f64>,
    pub(super) position: Option<[f64; 3]>,
}

pub(super) fn read_grid(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    let keywords = ["named", "called", "in", "at", "size", "spacing"];
    let ((rows, columns), rest) = parse_size(&sentence, GRID_MAX)?;
    let words = words::split_words(rest);
    let (look, options) = words.split_at(find_first_option(&words, &keywords));
    let look = match look.split_first() {
        Some((of, [])) if is_one_of(of, &["of"]) => {
            return Err(LanguageError::new(of, "the parts of the grid are missing after `of`"));
        }
        Some((of, rest)) if is_one_of(of, &["of"]) => PartLook::parse_noun_phrase(rest)?,
        _ => PartLook::parse_noun_phrase(look)?,
    };
    let options = ShapeOptions::parse_options(options, &keywords)?;
    let size = options.size.unwrap_or([4.0, 1.0, 4.0]);
    Ok(PlannerRequest::Grid(GridShape {
        rows,
        columns,
        name: options.name.unwrap_or_else(|| "Grid".to_owned()),
        parent: options.parent.unwrap_or_else(workspace_path),
        size,
        spacing: options.spacing.unwrap_or(size[0].max(size[2]) + 2.0),
        center: options.position.unwrap_or([0.0, size[1] / 2.0, 0.0]),
        look,
    }))
}

pub(super) fn read_farm(sentence: ParsedSentence<'_>) -> Result<PlannerRequest, LanguageError> {
    let ((rows, columns), rest) = parse_size(&sentence, FARM_MAX)?;
    let options =
        ShapeOptions::parse_options(&words::split_words(rest), &["named", "called", "in", "at"])?;
    Ok(PlannerRequest::Farm(GridShape {
        rows,
        columns,
        name: options.name.unwrap_or_else(|| "Farm".to_owned()),
        parent: options.parent.unwrap_or_else(workspace_path),
        size: [4.0, 1.0, 4.0],
        spacing: 4.0,
        center: options.position.unwrap_or([0.0, 0.5, 0.0]),
        look: PartLook { colour: Some("#694028".to_owned()), material: Some("Ground") },
    }))
}

fn workspace_path() -> InstancePath {
    InstancePath::root().child("Workspace", None)
}

/// Returns the rows and columns, which must be given once: before the noun or after it.
fn parse_size<'a>(
    sentence: &ParsedSentence<'a>,
    max: u32,
) -> Result<((u32, u32), &'a str), LanguageError> {
    let behind = words::take_size(sentence.rest);
    let ((rows, columns), rest) = match (sentence.size, behind) {
        (Some(size), None) => (size, sentence.rest),
        (None, Some(found)) => found,
        (Some(_), Some(_)) => {
            return Err(LanguageError::new(sentence.rest, "the size is given twice"));
        }
        (None, None) => {
            let why = "its rows and columns are missing; write, for example, `3x3`";
            return Err(LanguageError::new(sentence.rest, why));
        }
    };
    if [rows, columns].iter().all(|n| (1..=max).contains(n)) {
        return Ok(((rows, columns), rest));
    }
    let why = format!("the size must be from 1x1 to {max}x{max}; build a larger one in pieces");
    // A number beyond `u32::MAX` was clamped, so its digits cannot be repeated.
    let part = match rows.max(columns) {
        u32::MAX => "the size".to_owned(),
        _ => format!("{rows}x{columns}"),
    };
    Err(LanguageError::new(&part, why))
}

fn find_first_option(words: &[&str], keywords: &[&str]) -> usize {
    words.iter().position(|word| is_one_of(word, keywords)).unwrap_or(words.len())
}

impl ShapeOptions {
    pub(super) fn parse_options(
        mut words: &[&str],
        keywords: &[&str],
    ) -> Result<Self, LanguageError> {
        let mut options = Self::default();
        while let Some((keyword, rest)) = words.split_first() {
            if !is_one_of(keyword, keywords) {
                let why = format!("only `{}` can follow here", keywords.join("`, `"));
                return Err(LanguageError::new(keyword, why));
            }
            // The word after the keyword is its value, even if it is a keyword itself.
            let end = match rest {
                [] => return Err(LanguageError::new(keyword, "its value is missing")),
                [_, more @ ..] => 1 + find_first_option(more, keywords),
            };
            let is_repeated = options.take_option(keyword, &rest[..end].join(" "))?;
            if is_repeated {
                return Err(LanguageError::new(keyword, "it is given twice"));
            }
            words = &rest[end..];
        }
        Ok(options)
    }

    /// Reads one option. Returns whether it was given before.
    fn take_option(&mut self, keyword: &str, text: &str) -> Result<bool, LanguageError> {
        Ok(match keyword.to_ascii_lowercase().as_str() {
            "in" | "into" | "inside" | "under" => {
                self.parent.replace(words::parse_path(text)?).is_some()
            }
            "at" => self
                .position
                .replace(parse_vector(text, &[','], -MAX_COORDINATE..=MAX_COORDINATE)?)
                .is_some(),
            "size" => {
                let size = parse_vector(text, &[',', 'x', 'X', '×'], EDGE_MIN..=EDGE_MAX)?;
                self.size.replace(size).is_some()
            }
            "spacing" => self.spacing.replace(parse_spacing(text)?).is_some(),
            _ => self.name.replace(words::parse_name(text)?).is_some(),
        })
    }
}

fn parse_spacing(text: &str) -> Result<f64, LanguageError> {
    words::parse_finite_number(text).filter(|n| (EDGE_MIN..=EDGE_MAX).contains(n)).ok_or_else(
        || {
            let why = format!("a spacing is a number from {EDGE_MIN} to {EDGE_MAX} studs");
            LanguageError::new(text, why)
        },
    )
}

/// Parses three numbers that any of these signs separate.
fn parse_vector(
    text: &str,
    signs: &[char],
    range: std::ops::RangeInclusive<f64>,
) -> Result<[f64; 3], LanguageError> {
    let inside = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let numbers: Vec<f64> = inside
        .split(signs)
        .map_while(|piece| words::parse_finite_number(piece.trim()))
        .filter(|n| range.contains(n))
        .collect();
    let pieces = inside.split(signs).count();
    match numbers[..] {
        [x, y, z] if pieces == 3 => Ok([x, y, z]),
        _ => {
            let why = format!(
                "three numbers from {} to {} with commas between them are expected",
                range.start(),
                range.end()
            );
            Err(LanguageError::new(text, why))
        }
    }
}
