//! What a grid or a farm shall be like: its sizes and options, and their limits.
//!
//! The parts that it is made of are not known here.

use scene_schemas::InstancePath;

use super::language::{Complaint, Request, Sentence};
use super::values::Look;
use super::words::{self, is_one_of};

/// A grid, or a farm.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    /// Along the Z axis.
    pub(super) rows: u32,
    /// Along the X axis.
    pub(super) columns: u32,
    /// The Model's name.
    pub(super) name: String,
    /// The Model's parent.
    pub(super) parent: InstancePath,
    /// A cell's size in studs.
    pub(super) size: [f64; 3],
    /// Between the centres of two neighbours, in studs.
    pub(super) spacing: f64,
    /// The centre.
    pub(super) at: [f64; 3],
    /// How a cell looks.
    pub(super) look: Look,
}

const GRID_MAX: u32 = 50;
const FARM_MAX: u32 = 40;
/// The longest edge of a part in Roblox, in studs.
const EDGE_MAX: f64 = 2048.0;
/// The shortest one.
const EDGE_MIN: f64 = 0.001;
/// Farther out, single precision no longer holds fractions of a stud.
const FAR: f64 = 1_000_000.0;

/// The options as they were written. One that stands twice is refused.
#[derive(Default)]
pub(super) struct Options {
    pub(super) name: Option<String>,
    pub(super) parent: Option<InstancePath>,
    pub(super) size: Option<[f64; 3]>,
    spacing: Option<f64>,
    pub(super) at: Option<[f64; 3]>,
}

pub(super) fn read_grid(sentence: Sentence<'_>) -> Result<Request, Complaint> {
    let keywords = ["named", "called", "in", "at", "size", "spacing"];
    let ((rows, columns), rest) = size(&sentence, GRID_MAX)?;
    let words = words::words(rest);
    let (look, options) = words.split_at(first_option(&words, &keywords));
    let look = match look.split_first() {
        Some((of, [])) if is_one_of(of, &["of"]) => {
            return Err(Complaint::new(of, "what the grid is made of is missing"));
        }
        Some((of, rest)) if is_one_of(of, &["of"]) => Look::read(rest)?,
        _ => Look::read(look)?,
    };
    let options = Options::read(options, &keywords)?;
    let size = options.size.unwrap_or([4.0, 1.0, 4.0]);
    Ok(Request::Grid(Shape {
        rows,
        columns,
        name: options.name.unwrap_or_else(|| "Grid".to_owned()),
        parent: options.parent.unwrap_or_else(workspace),
        size,
        spacing: options.spacing.unwrap_or(size[0].max(size[2]) + 2.0),
        at: options.at.unwrap_or([0.0, size[1] / 2.0, 0.0]),
        look,
    }))
}

pub(super) fn read_farm(sentence: Sentence<'_>) -> Result<Request, Complaint> {
    let ((rows, columns), rest) = size(&sentence, FARM_MAX)?;
    let options = Options::read(&words::words(rest), &["named", "called", "in", "at"])?;
    Ok(Request::Farm(Shape {
        rows,
        columns,
        name: options.name.unwrap_or_else(|| "Farm".to_owned()),
        parent: options.parent.unwrap_or_else(workspace),
        size: [4.0, 1.0, 4.0],
        spacing: 4.0,
        at: options.at.unwrap_or([0.0, 0.5, 0.0]),
        look: Look { colour: Some("#694028".to_owned()), material: Some("Ground") },
    }))
}

fn workspace() -> InstancePath {
    InstancePath::root().child("Workspace", None)
}

/// The rows and columns, which stand once: before the word or behind it.
fn size<'a>(sentence: &Sentence<'a>, max: u32) -> Result<((u32, u32), &'a str), Complaint> {
    let behind = words::take_size(sentence.rest);
    let ((rows, columns), rest) = match (sentence.size, behind) {
        (Some(size), None) => (size, sentence.rest),
        (None, Some(found)) => found,
        (Some(_), Some(_)) => {
            return Err(Complaint::new(sentence.rest, "the size stands there twice"));
        }
        (None, None) => {
            let why = "its rows and columns are missing; write for example `3x3`";
            return Err(Complaint::new(sentence.rest, why));
        }
    };
    if [rows, columns].iter().all(|n| (1..=max).contains(n)) {
        return Ok(((rows, columns), rest));
    }
    let why = format!("it may be from 1x1 to {max}x{max}; build a larger one in pieces");
    // Over the largest number the digits are lost, so they are not repeated either.
    let part = match rows.max(columns) {
        u32::MAX => "the size".to_owned(),
        _ => format!("{rows}x{columns}"),
    };
    Err(Complaint::new(&part, why))
}

fn first_option(words: &[&str], keywords: &[&str]) -> usize {
    words.iter().position(|word| is_one_of(word, keywords)).unwrap_or(words.len())
}

impl Options {
    pub(super) fn read(mut words: &[&str], keywords: &[&str]) -> Result<Self, Complaint> {
        let mut options = Self::default();
        while let Some((keyword, rest)) = words.split_first() {
            if !is_one_of(keyword, keywords) {
                let why = format!("`{}` may follow here", keywords.join("`, `"));
                return Err(Complaint::new(keyword, why));
            }
            // The word behind the keyword is its value, even where it is a keyword itself.
            let end = match rest {
                [] => return Err(Complaint::new(keyword, "its value is missing")),
                [_, more @ ..] => 1 + first_option(more, keywords),
            };
            let twice = options.take(keyword, &rest[..end].join(" "))?;
            if twice {
                return Err(Complaint::new(keyword, "it stands there twice"));
            }
            words = &rest[end..];
        }
        Ok(options)
    }

    /// Reads one option, and says whether it was there before.
    fn take(&mut self, keyword: &str, text: &str) -> Result<bool, Complaint> {
        Ok(match keyword.to_ascii_lowercase().as_str() {
            "in" | "into" | "inside" | "under" => self.parent.replace(words::path(text)?).is_some(),
            "at" => self.at.replace(vector(text, &[','], -FAR..=FAR)?).is_some(),
            "size" => {
                let size = vector(text, &[',', 'x', 'X', '×'], EDGE_MIN..=EDGE_MAX)?;
                self.size.replace(size).is_some()
            }
            "spacing" => self.spacing.replace(spacing(text)?).is_some(),
            _ => self.name.replace(words::name(text)?).is_some(),
        })
    }
}

fn spacing(text: &str) -> Result<f64, Complaint> {
    words::number(text).filter(|n| (EDGE_MIN..=EDGE_MAX).contains(n)).ok_or_else(|| {
        let why = format!("a spacing is a number from {EDGE_MIN} to {EDGE_MAX} studs");
        Complaint::new(text, why)
    })
}

/// Three numbers between any of the signs.
fn vector(
    text: &str,
    signs: &[char],
    range: std::ops::RangeInclusive<f64>,
) -> Result<[f64; 3], Complaint> {
    let inside = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let numbers: Vec<f64> = inside
        .split(signs)
        .map_while(|piece| words::number(piece.trim()))
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
            Err(Complaint::new(text, why))
        }
    }
}
