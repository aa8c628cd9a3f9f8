//! Why a patch is refused, in sentences that a model can repair its patch from.

use thiserror::Error;

use super::super::nearest_text::NearestText;

/// A refused patch. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatchError {
    /// There is nothing in it that is a patch.
    #[error(
        "There is no patch in it: neither a line that begins with `@@` nor lines that begin with `+` and `-`. Send a unified diff."
    )]
    NoPatch,
    /// It has headers and no hunk.
    #[error(
        "The patch has no hunks: lines that begin with `+` and `-` are missing. Send the change itself."
    )]
    NoHunks,
    /// Its line ends are written out.
    #[error(
        "The line ends of the patch are written as `\\n`, so it is a single line. Send it with real line ends."
    )]
    EscapedTwice,
    /// Its angle brackets and ampersands are written as entities.
    #[error(
        "The patch is escaped as for XML (`{entity}`) and the script is not. Send the characters themselves."
    )]
    Entities { entity: &'static str },
    /// A kind of patch that is not read.
    #[error("This is {what}, which cannot be applied here. Send a unified diff of one script.")]
    OtherKind { what: &'static str },
    /// It is about several files.
    #[error("The patch is about several files ({}), and one patch may change one. Send one patch for each.", .names.join(", "))]
    SeveralFiles {
        /// The names in the headers.
        names: Vec<String>,
    },
    /// It is about another file.
    #[error(
        "The patch is for `{name}`, not for `{target}`. Send it to the file that it is for, or correct its header."
    )]
    OtherTarget {
        /// The name in the header.
        name: String,
        /// What was to be changed.
        target: String,
    },
    /// It creates, deletes or renames a file.
    #[error("The patch {what} a file, and a patch of a script can only change its text. {instead}")]
    NotAnUpdate {
        what: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// A line between the hunks of an envelope that means nothing.
    #[error(
        "Line {line} of the patch, `{text}`, is not understood. Between `*** Begin Patch` and `*** End Patch` come `*** Update File: NAME`, `@@`, and lines that begin with a space, `+` or `-`."
    )]
    UnknownMarker {
        /// Which line of the patch, from 1.
        line: usize,
        text: String,
    },
    /// A line of a hunk that begins with none of the signs.
    #[error(
        "Line {line} of the patch, `{text}`, begins neither with a space nor with `+` or `-`, and is not in the script. Begin each line of a hunk with one of them."
    )]
    NoSign {
        /// Which line of the patch, from 1.
        line: usize,
        text: String,
    },
    /// It ends in the middle.
    #[error("The patch is cut off: {how}. Nothing of it was applied; send all of it.")]
    CutOff { how: String },
    /// A hunk changes nothing, and so does all of it.
    #[error(
        "The patch changes nothing: what it removes is what it adds. Leave it out, or correct it."
    )]
    ChangesNothing,
    /// What a hunk puts in stands there.
    #[error(
        "Hunk {hunk} is in the script already: its resulting lines are at line {line}. Either it was applied before, or it is reversed. Read the script again."
    )]
    AlreadyThere {
        /// Which hunk, from 1.
        hunk: usize,
        /// The line number, from 1.
        line: usize,
    },
    /// A hunk fits nowhere.
    #[error(
        "Hunk {hunk} does not fit: the lines that it expects are not in the script{near}. {hint}"
    )]
    NotFound {
        /// Which hunk, from 1.
        hunk: usize,
        /// Where it was looked for.
        near: String,
        /// What stands there instead.
        hint: NearestText,
    },
    /// A hunk fits in several places.
    #[error("Hunk {hunk} fits in several places, from lines {}, and {why}. Add lines above or below until it fits one, or give the right line number.", join_numbers(.lines))]
    FitsSeveral {
        /// Which hunk, from 1.
        hunk: usize,
        /// The lines, from 1.
        lines: Vec<usize>,
        /// Why none of them was taken.
        why: &'static str,
    },
    /// A hunk fits far from where it says.
    #[error("Hunk {hunk} says line {said} and fits at line {line}, {} lines away: the script has changed since, or the number is wrong. Read the script again and make a new patch.", .said.abs_diff(*.line))]
    Stale {
        /// Which hunk, from 1.
        hunk: usize,
        /// The line in its header.
        said: usize,
        /// Where it fits, from 1.
        line: usize,
    },
    /// A hunk says nothing of where it belongs.
    #[error(
        "Hunk {hunk} only adds lines and does not say where: it has neither lines around them nor a line number. Add the line above or below."
    )]
    NoPlace {
        /// Which hunk, from 1.
        hunk: usize,
    },
    /// Two hunks change the same lines.
    #[error(
        "Hunks {first} and {second} change the same lines, at line {line}. Make one hunk of them."
    )]
    Overlap {
        /// One hunk, from 1.
        first: usize,
        second: usize,
        /// The line number, from 1.
        line: usize,
    },
    /// A hunk is indented otherwise than the script, in a way that cannot be carried over.
    #[error(
        "Hunk {hunk} fits at line {line} but for its indentation, which cannot be carried over to the lines that it adds. Copy the indentation of the script."
    )]
    Indentation {
        /// Which hunk, from 1.
        hunk: usize,
        /// Where it fits, from 1.
        line: usize,
    },
    /// It leaves code out.
    #[error(
        "The patch adds `{line}`, a placeholder for omitted code. Send the code itself; lines that stay need not be in the patch."
    )]
    Elision { line: String },
    /// A file that an envelope is about is not there, or is.
    #[error("`{name}` {what}. {instead}")]
    File {
        /// The name in the patch.
        name: String,
        /// What is wrong with it.
        what: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
}

impl PatchError {
    /// What stands there instead of what a hunk expects.
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
