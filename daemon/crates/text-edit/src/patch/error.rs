//! The reasons why a patch is refused, as sentences from which a model can correct it.

use thiserror::Error;

use super::super::nearest_text::NearestText;

/// A refused patch. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatchError {
    #[error(
        "There is no patch in it: neither a line that begins with `@@` nor lines that begin with `+` and `-`. Send a unified diff."
    )]
    NoPatch,
    /// The patch has headers but no hunk.
    #[error(
        "The patch has no hunks: lines that begin with `+` and `-` are missing. Send the change itself."
    )]
    NoHunks,
    /// The line ends of the patch are escaped.
    #[error(
        "The line ends of the patch are written as `\\n`, so it is a single line. Send it with real line ends."
    )]
    EscapedTwice,
    /// The angle brackets and ampersands of the patch are escaped as entities.
    #[error(
        "The patch is escaped as for XML (`{entity}`) and the script is not. Send the characters themselves."
    )]
    Entities { entity: &'static str },
    /// The patch is of an unsupported kind.
    #[error("This is {what}, which cannot be applied here. Send a unified diff of one script.")]
    OtherKind { what: &'static str },
    #[error("The patch is about several files ({}), and one patch may change one. Send one patch for each.", .names.join(", "))]
    SeveralFiles {
        /// The names in the headers.
        names: Vec<String>,
    },
    #[error(
        "The patch is for `{name}`, not for `{target}`. Send it to the file that it is for, or correct its header."
    )]
    OtherTarget {
        /// The name in the header.
        name: String,
        /// The name of the file to be changed.
        target: String,
    },
    /// The patch creates, deletes or renames a file.
    #[error("The patch {what} a file, and a patch of a script can only change its text. {instead}")]
    NotAnUpdate {
        what: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// A line between the hunks of an envelope has no meaning.
    #[error(
        "Line {line} of the patch, `{text}`, is not understood. Between `*** Begin Patch` and `*** End Patch` come `*** Update File: NAME`, `@@`, and lines that begin with a space, `+` or `-`."
    )]
    UnknownMarker {
        /// The line of the patch, from 1.
        line: usize,
        text: String,
    },
    /// A line of a hunk begins with none of the signs.
    #[error(
        "Line {line} of the patch, `{text}`, begins neither with a space nor with `+` or `-`, and is not in the script. Begin each line of a hunk with one of them."
    )]
    NoSign {
        /// The line of the patch, from 1.
        line: usize,
        text: String,
    },
    /// The patch ends in the middle.
    #[error("The patch is cut off: {how}. Nothing of it was applied; send all of it.")]
    CutOff { how: String },
    #[error(
        "The patch changes nothing: what it removes is what it adds. Leave it out, or correct it."
    )]
    ChangesNothing,
    /// The resulting lines of a hunk already exist in the text.
    #[error(
        "Hunk {hunk} is in the script already: its resulting lines are at line {line}. Either it was applied before, or it is reversed. Read the script again."
    )]
    AlreadyThere {
        /// The number of the hunk, from 1.
        hunk: usize,
        /// The line number, from 1.
        line: usize,
    },
    /// A hunk fits nowhere.
    #[error(
        "Hunk {hunk} does not fit: the lines that it expects are not in the script{near}. {hint}"
    )]
    NotFound {
        /// The number of the hunk, from 1.
        hunk: usize,
        /// The part of the text that was searched.
        near: String,
        /// The nearest text that exists.
        hint: NearestText,
    },
    /// A hunk fits in several places.
    #[error("Hunk {hunk} fits in several places, from lines {}, and {why}. Add lines above or below until it fits one, or give the right line number.", join_numbers(.lines))]
    FitsSeveral {
        /// The number of the hunk, from 1.
        hunk: usize,
        /// The lines at which it fits, from 1.
        lines: Vec<usize>,
        /// The reason why none of them was chosen.
        why: &'static str,
    },
    /// A hunk fits too far from the line in its header.
    #[error("Hunk {hunk} says line {said} and fits at line {line}, {} lines away: the script has changed since, or the number is wrong. Read the script again and make a new patch.", .said.abs_diff(*.line))]
    Stale {
        /// The number of the hunk, from 1.
        hunk: usize,
        /// The line in its header.
        said: usize,
        /// The line at which it fits, from 1.
        line: usize,
    },
    /// A hunk does not specify its place.
    #[error(
        "Hunk {hunk} only adds lines and does not say where: it has neither lines around them nor a line number. Add the line above or below."
    )]
    NoPlace {
        /// The number of the hunk, from 1.
        hunk: usize,
    },
    #[error(
        "Hunks {first} and {second} change the same lines, at line {line}. Make one hunk of them."
    )]
    Overlap {
        /// The numbers of the hunks, from 1.
        first: usize,
        second: usize,
        /// The line number, from 1.
        line: usize,
    },
    /// A hunk is indented differently from the script, in a way that cannot be applied to its added
    /// lines.
    #[error(
        "Hunk {hunk} fits at line {line} but for its indentation, which cannot be carried over to the lines that it adds. Copy the indentation of the script."
    )]
    Indentation {
        /// The number of the hunk, from 1.
        hunk: usize,
        /// The line at which it fits, from 1.
        line: usize,
    },
    /// The patch contains a placeholder for omitted code.
    #[error(
        "The patch adds `{line}`, a placeholder for omitted code. Send the code itself; lines that stay need not be in the patch."
    )]
    Elision { line: String },
    /// A file named in an envelope is missing, or already exists.
    #[error("`{name}` {what}. {instead}")]
    File {
        /// The name in the patch.
        name: String,
        /// What is wrong with the file.
        what: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
}

impl PatchError {
    /// Returns the nearest text that exists, if a hunk was not found.
    pub fn nearest(&self) -> Option<&NearestText> {
        match self {
            Self::NotFound { hint, .. } => Some(hint),
            _ => None,
        }
    }
}

fn join_numbers(lines: &[usize]) -> String {
    let shown: Vec<_> = lines.iter().take(8).map(ToString::to_string).collect();
    let more = if lines.len() > 8 { " and more" } else { "" };
    format!("{}{more}", shown.join(", "))
}
