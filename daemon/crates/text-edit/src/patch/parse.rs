//! Parsing of a patch into files and hunks.
//!
//! Unified diffs and the envelope (`*** Begin Patch`) are parsed by the same rules, because models
//! mix them. The line counts in headers are only hints where a hunk ends, because they are often
//! wrong.

use std::borrow::Cow;

use super::super::whitespace::strip_invisible;
use super::PatchError;
use super::clean::{CleanPatch, PatchLine};

/// The sign of a line in a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineSign {
    Context,
    Removed,
    Added,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HunkLine<'a> {
    pub(super) sign: LineSign,
    pub(super) text: &'a str,
    /// The line number in the patch, from 1.
    pub(super) number: usize,
    /// Whether the line has no sign, and so counts as context.
    pub(super) is_bare: bool,
    /// Whether `\ No newline at end of file` follows.
    pub(super) has_no_newline: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PatchHunk<'a> {
    /// The start line in the header, from 1; None if the header has none.
    pub(super) start: Option<usize>,
    /// The numbers of lines before and after the change, as the header says.
    pub(super) header_counts: Option<(usize, usize)>,
    /// A line above the hunk.
    pub(super) anchor: Option<&'a str>,
    /// Whether the patch says that the file ends after the hunk.
    pub(super) is_at_end: bool,
    /// Whether the last line may be cut off, because nothing follows it.
    pub(super) is_open: bool,
    pub(super) lines: Vec<HunkLine<'a>>,
}

impl PatchHunk<'_> {
    fn count_lines_without(&self, sign: LineSign) -> usize {
        self.lines.iter().filter(|line| line.sign != sign).count()
    }

    /// Returns the actual numbers of lines before and after the change.
    pub(super) fn line_counts(&self) -> (usize, usize) {
        (self.count_lines_without(LineSign::Added), self.count_lines_without(LineSign::Removed))
    }

    fn has_changes(&self) -> bool {
        self.lines.iter().any(|line| line.sign != LineSign::Context)
    }
}

/// The action of a patch on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileAction {
    Update,
    Add,
    Delete,
}

/// The part of a patch that concerns one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilePatch<'a> {
    /// The names before and after the change; None if no header has one.
    pub(super) old: Option<Cow<'a, str>>,
    pub(super) new: Option<Cow<'a, str>>,
    pub(super) action: FileAction,
    /// The new name of a file that is renamed.
    pub(super) renamed_to: Option<&'a str>,
    pub(super) hunks: Vec<PatchHunk<'a>>,
}

impl<'a> FilePatch<'a> {
    fn new(old: Option<Cow<'a, str>>, new: Option<Cow<'a, str>>, action: FileAction) -> Self {
        Self { old, new, action, renamed_to: None, hunks: Vec::new() }
    }

    fn with_name(name: &'a str, action: FileAction) -> Self {
        let name = Some(Cow::Borrowed(name.trim()));
        Self::new(name.clone(), name, action)
    }

    /// Returns the name in the headers; the new one if there are two.
    pub(super) fn name(&self) -> Option<&str> {
        let names = [&self.new, &self.old];
        names.into_iter().flatten().map(|name| &**name).find(|name| *name != "/dev/null")
    }
}

/// Parses a patch into its files.
pub(super) fn parse_patch<'a>(clean: &CleanPatch<'a>) -> Result<Vec<FilePatch<'a>>, PatchError> {
    let mut parser = PatchParser {
        lines: &clean.lines,
        at: 0,
        next_signed: 0,
        files: Vec::new(),
        is_enveloped: false,
        is_ended: false,
        is_cut: false,
    };
    parser.run()?;
    if parser.is_cut {
        return Err(PatchError::CutOff { how: "its last hunk has no lines".to_owned() });
    }
    if clean.is_open {
        check_last_hunk(&mut parser.files)?;
    }
    if parser.is_enveloped && !parser.is_ended {
        return Err(PatchError::CutOff { how: "`*** End Patch` is missing".to_owned() });
    }
    let mut files = parser.files;
    if files.is_empty() {
        files.extend(parse_headerless(&clean.lines));
    }
    if files.is_empty() {
        let why = if parser.is_enveloped { PatchError::NoHunks } else { PatchError::NoPatch };
        return Err(why);
    }
    Ok(files)
}

/// Refuses a patch without a final line end whose last hunk is shorter than its header says.
fn check_last_hunk(files: &mut [FilePatch<'_>]) -> Result<(), PatchError> {
    let Some(hunk) = files.last_mut().and_then(|file| file.hunks.last_mut()) else {
        return Ok(());
    };
    hunk.is_open = true;
    let Some(counts) = hunk.header_counts else {
        return Ok(());
    };
    let (old, new) = hunk.line_counts();
    if old >= counts.0 && new >= counts.1 {
        return Ok(());
    }
    let how = format!(
        "its last hunk says {} lines before and {} after, has {old} and {new}, and its last line \
         has no end",
        counts.0, counts.1
    );
    Err(PatchError::CutOff { how })
}

/// Parses a patch that consists only of lines with signs, as a single hunk.
fn parse_headerless<'a>(lines: &[PatchLine<'a>]) -> Option<FilePatch<'a>> {
    let mut hunk = PatchHunk {
        start: None,
        header_counts: None,
        anchor: None,
        is_at_end: false,
        is_open: false,
        lines: vec![],
    };
    for line in lines {
        let line = parse_line(*line)?;
        hunk.lines.push(line);
    }
    let blank = |line: &HunkLine<'_>| line.text.is_empty() && line.is_bare;
    while hunk.lines.last().is_some_and(blank) {
        hunk.lines.pop();
    }
    let lead = hunk.lines.iter().take_while(|line| blank(line)).count();
    hunk.lines.drain(..lead);
    // A lone file name is the remainder of a patch, not a hunk.
    if lines.first().is_some_and(|line| line.text.starts_with("--- "))
        && hunk.lines.iter().all(|line| line.sign == LineSign::Removed)
    {
        return None;
    }
    let has_content =
        |line: &HunkLine<'_>| line.sign == LineSign::Added || !line.text.trim().is_empty();
    if !hunk.has_changes() || !hunk.lines.iter().any(has_content) {
        return None;
    }
    let mut file = FilePatch::new(None, None, FileAction::Update);
    file.hunks.push(hunk);
    Some(file)
}

/// Parses a line by its sign. An empty line is a blank line of context.
fn parse_line(line: PatchLine<'_>) -> Option<HunkLine<'_>> {
    let (sign, text, is_bare) = match line.text.as_bytes().first() {
        None => (LineSign::Context, "", true),
        Some(b' ') => (LineSign::Context, &line.text[1..], false),
        Some(b'-') => (LineSign::Removed, &line.text[1..], false),
        Some(b'+') => (LineSign::Added, &line.text[1..], false),
        Some(_) => return None,
    };
    Some(HunkLine { sign, text, number: line.number, is_bare, has_no_newline: false })
}

struct PatchParser<'p, 'a> {
    lines: &'p [PatchLine<'a>],
    at: usize,
    /// The next line with a sign or a hunk header, as cached by `is_hunk_over`.
    next_signed: usize,
    files: Vec<FilePatch<'a>>,
    is_enveloped: bool,
    is_ended: bool,
    /// Whether the patch ends right after a hunk header.
    is_cut: bool,
}

/// Parses the `path` of `--- path<tab>time`.
fn parse_header_name(header: &str) -> Cow<'static, str> {
    let header = strip_invisible(header);
    let name = header.split('\t').next().unwrap_or_default().trim();
    // Some tools separate the time by spaces.
    let dated = name.split_once("  ").map_or(name, |(name, _)| name);
    let name = dated.trim_matches('"');
    let name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
    Cow::Owned(name.to_owned())
}

impl<'a> PatchParser<'_, 'a> {
    fn peek_text(&self, ahead: usize) -> Option<&'a str> {
        self.lines.get(self.at + ahead).map(|line| line.text)
    }

    fn has_prefix(&self, ahead: usize, with: &str) -> bool {
        self.peek_text(ahead).is_some_and(|line| strip_invisible(line).starts_with(with))
    }

    fn run(&mut self) -> Result<(), PatchError> {
        while let Some(line) = self.lines.get(self.at).copied() {
            if self.parse_marker(line)? {
                if self.is_ended {
                    return Ok(());
                }
            } else if let Some(header) = strip_invisible(line.text).strip_prefix("@@") {
                if header.starts_with('@') {
                    return Err(PatchError::OtherKind { what: "a combined diff of a merge" });
                }
                self.at += 1;
                self.parse_hunk(parse_hunk_header(line.text));
            } else if self.is_bare_hunk() {
                self.parse_hunk(HunkHeader::default());
            } else {
                self.parse_file_header(line)?;
                self.at += 1;
            }
        }
        Ok(())
    }

    /// Whether a hunk without a header follows the names of its file.
    fn is_bare_hunk(&self) -> bool {
        let is_first = self.files.last().is_some_and(|file| {
            file.hunks.is_empty() && file.action == FileAction::Update && file.name().is_some()
        });
        is_first && !self.is_name_pair(0) && self.has_signed_line()
    }

    fn has_signed_line(&self) -> bool {
        self.peek_text(0).is_some_and(|line| line.starts_with([' ', '+', '-']))
    }

    /// Whether two lines name a file before and after the change.
    fn is_name_pair(&self, ahead: usize) -> bool {
        self.has_prefix(ahead, "--- ") && self.has_prefix(ahead + 1, "+++ ")
    }

    fn parse_file_header(&mut self, line: PatchLine<'a>) -> Result<(), PatchError> {
        let seen = strip_invisible(line.text);
        let open = |file: &&mut FilePatch<'a>| file.hunks.is_empty();
        if let Some(names) = seen.strip_prefix("diff --git ") {
            let name = names.rsplit_once(' ').map(|(_, name)| parse_header_name(name));
            self.files.push(FilePatch::new(name.clone(), name, FileAction::Update));
        } else if let Some(name) = seen.strip_prefix("Index: ") {
            let name = Some(parse_header_name(name));
            self.files.push(FilePatch::new(name.clone(), name, FileAction::Update));
        } else if let Some(old) = seen.strip_prefix("--- ")
            && (self.is_name_pair(0) || self.has_prefix(1, "@@"))
        {
            let old = Some(parse_header_name(old));
            let new = self.peek_text(1).filter(|_| self.is_name_pair(0));
            let new = new.and_then(|new| {
                Some(parse_header_name(strip_invisible(new).strip_prefix("+++ ")?))
            });
            self.at += usize::from(new.is_some());
            match self.files.last_mut().filter(open) {
                Some(file) => (file.old, file.new) = (old, new),
                None => self.files.push(FilePatch::new(old, new, FileAction::Update)),
            }
        } else if let Some(new) = seen.strip_prefix("+++ ") {
            let new = Some(parse_header_name(new));
            match self.files.last_mut().filter(open) {
                Some(file) => file.new = new,
                None => self.files.push(FilePatch::new(None, new, FileAction::Update)),
            }
        } else if seen.starts_with("deleted file mode ") {
            if let Some(file) = self.files.last_mut() {
                file.action = FileAction::Delete;
            }
        } else if seen.starts_with("rename from ") || seen.starts_with("copy from ") {
            return Err(PatchError::NotAnUpdate {
                what: "renames",
                instead: "Use rename_instance or move_instance for that.",
            });
        } else if seen.starts_with("GIT binary patch") || seen.starts_with("Binary files ") {
            return Err(PatchError::OtherKind { what: "a binary patch" });
        } else if seen.starts_with("***************") {
            return Err(PatchError::OtherKind { what: "a context diff" });
        }
        Ok(())
    }

    /// Parses a line of the envelope. Returns false if the line is not one.
    fn parse_marker(&mut self, line: PatchLine<'a>) -> Result<bool, PatchError> {
        let Some(marker) = envelope_marker(line.text) else {
            return Ok(false);
        };
        self.at += 1;
        if marker == "Begin Patch" {
            self.is_enveloped = true;
        } else if marker == "End Patch" {
            self.is_ended = true;
        } else if let Some(name) = marker.strip_prefix("Update File:") {
            self.files.push(FilePatch::with_name(name, FileAction::Update));
            // The first hunk of a file may lack a header.
            if self
                .peek_text(0)
                .is_some_and(|line| line.is_empty() || line.starts_with(['+', '-', ' ']))
                && self.peek_text(0).and_then(envelope_marker).is_none()
            {
                self.parse_hunk(HunkHeader::default());
            }
        } else if let Some(name) = marker.strip_prefix("Delete File:") {
            self.files.push(FilePatch::with_name(name, FileAction::Delete));
        } else if let Some(name) = marker.strip_prefix("Add File:") {
            self.files.push(FilePatch::with_name(name, FileAction::Add));
            self.parse_hunk(HunkHeader::default());
        } else if let Some(name) = marker.strip_prefix("Move to:") {
            if let Some(file) = self.files.last_mut() {
                file.renamed_to = Some(name.trim());
            }
        } else if marker == "End of File" {
            let hunk = self.files.last_mut().and_then(|file| file.hunks.last_mut());
            if let Some(hunk) = hunk {
                hunk.is_at_end = true;
            }
        } else if self.is_enveloped {
            let text = line.text.to_owned();
            return Err(PatchError::UnknownMarker { line: line.number, text });
        } else {
            self.at -= 1;
            return Ok(false);
        }
        Ok(true)
    }

    fn parse_hunk(&mut self, header: HunkHeader<'a>) {
        let HunkHeader { start, counts, anchor } = header;
        let mut hunk = PatchHunk {
            start,
            header_counts: counts,
            anchor,
            is_at_end: false,
            is_open: false,
            lines: Vec::new(),
        };
        // The numbers of lines so far.
        let (mut old, mut new) = (0, 0);
        while let Some(line) = self.lines.get(self.at).copied() {
            let is_full = counts.is_some_and(|counts| old >= counts.0 && new >= counts.1);
            // Two lines that look like file names may be a removed comment and its replacement.
            let has_room = counts.is_some_and(|counts| old < counts.0 && new < counts.1);
            if self.is_hunk_end(line.text, is_full, has_room) {
                break;
            }
            self.at += 1;
            if line.text.starts_with("\\ ") {
                if let Some(last) = hunk.lines.last_mut() {
                    last.has_no_newline = true;
                }
            } else if let Some(line) = parse_line(line) {
                old += usize::from(line.sign != LineSign::Added);
                new += usize::from(line.sign != LineSign::Removed);
                hunk.lines.push(line);
            } else if is_full || is_prose(line.text) && self.is_hunk_over() {
                break;
            } else {
                let PatchLine { number, text } = line;
                let sign = LineSign::Context;
                hunk.lines.push(HunkLine {
                    sign,
                    text,
                    number,
                    is_bare: true,
                    has_no_newline: false,
                });
                (old, new) = (old + 1, new + 1);
            }
        }
        if self.files.is_empty() {
            self.files.push(FilePatch::new(None, None, FileAction::Update));
        }
        self.is_cut = hunk.lines.is_empty() && self.at >= self.lines.len();
        if let Some(file) = self.files.last_mut()
            && !hunk.lines.is_empty()
        {
            file.hunks.push(hunk);
        }
    }

    /// Whether a line belongs to what follows a hunk.
    fn is_hunk_end(&self, line: &str, is_full: bool, has_room: bool) -> bool {
        let seen = strip_invisible(line);
        seen.starts_with("@@")
            || seen.starts_with("diff --git ")
            || seen.starts_with("Index: ")
            || envelope_marker(line).is_some()
            || self.is_name_pair(0) && (is_full || !has_room && self.has_prefix(2, "@@"))
            // The signature separator of a mail.
            || is_full && line == "-- "
    }

    /// Whether no line with a sign precedes the next header.
    fn is_hunk_over(&mut self) -> bool {
        if self.next_signed < self.at {
            let rest = &self.lines[self.at..];
            let is_signed = |line: &PatchLine<'_>| {
                line.text.starts_with(['+', '-', ' ']) || line.text.starts_with("@@")
            };
            self.next_signed = self.at + rest.iter().position(is_signed).unwrap_or(rest.len());
        }
        self.lines.get(self.next_signed).is_none_or(|line| line.text.starts_with('@'))
    }
}

/// Returns the text after `*** ` in a line of the envelope.
fn envelope_marker(line: &str) -> Option<&str> {
    let marker = line.trim().strip_prefix("*** ")?.trim();
    let known = ["Begin Patch", "End Patch", "End of File"];
    let named = ["Update File:", "Add File:", "Delete File:", "Move to:"];
    let is_named = named.iter().any(|start| marker.starts_with(start));
    let is_other = line.starts_with("*** ") && marker.contains(" File:");
    (known.contains(&marker) || is_named || is_other).then_some(marker)
}

/// Whether a line looks like prose rather than code.
fn is_prose(line: &str) -> bool {
    let words = line.split_whitespace().count();
    let first = line.chars().next().is_some_and(char::is_uppercase);
    first && words >= 4 && !line.contains(['=', '(', ')', '{', '}', '[', ']', ';'])
}

#[derive(Debug, Default)]
struct HunkHeader<'a> {
    start: Option<usize>,
    counts: Option<(usize, usize)>,
    anchor: Option<&'a str>,
}

/// Parses `@@ -1,2 +3,4 @@ anything`, and forms of it with less information.
fn parse_hunk_header(line: &str) -> HunkHeader<'_> {
    let behind =
        line.trim_start_matches(|c| c == '@' || super::super::whitespace::is_invisible(c)).trim();
    let seen = strip_invisible(behind);
    let numbers = seen.split("@@").next().unwrap_or_default();
    if let Some((old, new)) = parse_ranges(numbers) {
        // Line 0 is valid for an empty range only.
        let start = Some(old.0).filter(|start| *start > 0 || old.1 == Some(0));
        let counts = Some((old.1.unwrap_or(1), new.1.unwrap_or(1)));
        return HunkHeader { start, counts, anchor: None };
    }
    let anchor = behind.trim_end_matches('@').trim();
    let has_text = anchor.chars().any(char::is_alphabetic) && !anchor.starts_with('-');
    HunkHeader {
        anchor: Some(anchor).filter(|_| has_text && !anchor.contains("@@")),
        ..HunkHeader::default()
    }
}

type HeaderRange = (usize, Option<usize>);

fn parse_ranges(numbers: &str) -> Option<(HeaderRange, HeaderRange)> {
    let mut fields = numbers.split_whitespace();
    // No file has more lines than a `u32` can count.
    let number = |digits: &str| digits.parse::<u32>().ok().map(|number| number as usize);
    let range = |field: &str, sign| {
        let numbers_text = field.strip_prefix(sign)?.trim_end_matches(',');
        match numbers_text.split_once(',') {
            Some((start, count)) => Some((number(start)?, Some(number(count)?))),
            None => Some((number(numbers_text)?, None)),
        }
    };
    Some((range(fields.next()?, '-')?, range(fields.next()?, '+')?))
}
