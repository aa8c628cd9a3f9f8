//! Finds code that is placed out of sight, and invisible characters.

use std::collections::BTreeMap;

use super::{ScanFinding, TokenKind, TokenView, statement_hash};

/// Minimum number of blank columns before code on the same line; more than a window shows.
const MIN_BLANK_COLUMNS: usize = 140;
/// Minimum number of empty lines before code: several screens.
const MIN_EMPTY_LINES: usize = 150;
/// Minimum number of characters in an overlong line, and of names in it that make it code rather
/// than a list of values.
const MIN_LONG_LINE: usize = 1_500;
const MIN_LINE_NAMES: usize = 80;
/// Minimum number of letters in a name that consists only of look-alikes.
const MIN_ALIKE_LETTERS: usize = 8;

pub(super) fn find_hidden_code(view: &TokenView<'_>, found: &mut Vec<ScanFinding>) {
    find_offscreen_code(view, found);
    find_long_lines(view, found);
    find_look_alikes(view, found);
    for (at, line) in view.source.lines().enumerate() {
        // A byte order mark does not belong to the text.
        let line = if at == 0 { line.trim_start_matches('\u{feff}') } else { line };
        let code = statement_hash::hash_text(line.trim());
        found.extend(
            describe_odd_characters(line)
                .map(|message| ScanFinding::new(at as u32 + 1, message, code)),
        );
    }
}

/// Finds code after a run of blanks or after screens of empty lines.
fn find_offscreen_code(view: &TokenView<'_>, found: &mut Vec<ScanFinding>) {
    let mut end = 0;
    for (token, at) in view.tokens.iter().zip(&view.token_lines) {
        if token.kind == TokenKind::Eof {
            break;
        }
        let between = &view.source[end..token.start as usize];
        end = token.end as usize;
        let line = between.rsplit('\n').next().unwrap_or(between);
        let columns: usize = line.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
        // The rest of the previous line and the beginning of this one do not count.
        let empty = between.split('\n').filter(|line| line.trim().is_empty()).count();
        let empty = empty.saturating_sub(2);
        let message = if columns >= MIN_BLANK_COLUMNS {
            format!("has code {columns} columns to the right, out of sight")
        } else if empty >= MIN_EMPTY_LINES {
            format!("has code behind {empty} empty lines")
        } else {
            continue;
        };
        found.push(ScanFinding::new(*at, message, line_hash(view, *at)));
    }
}

/// The hash of the code on a line, regardless of its layout.
fn line_hash(view: &TokenView<'_>, line: u32) -> u64 {
    let from = view.token_lines.partition_point(|it| *it < line);
    let to = view.token_lines.partition_point(|it| *it <= line);
    let texts: Vec<&str> = view.tokens[from..to].iter().map(|it| view.token_text(it)).collect();
    statement_hash::hash_text(&texts.join(" "))
}

fn find_long_lines(view: &TokenView<'_>, found: &mut Vec<ScanFinding>) {
    let mut names: BTreeMap<u32, usize> = BTreeMap::new();
    for (token, line) in view.tokens.iter().zip(&view.token_lines) {
        if !matches!(
            token.kind,
            TokenKind::Text | TokenKind::Number | TokenKind::Symbol(_) | TokenKind::Eof
        ) {
            *names.entry(*line).or_default() += 1;
        }
    }
    for (at, line) in view.source.lines().enumerate() {
        let is_crowded = names.get(&(at as u32 + 1)).is_some_and(|count| *count >= MIN_LINE_NAMES);
        if line.len() >= MIN_LONG_LINE && is_crowded {
            let message = format!("has {} characters of code, too long to read", line.len());
            found.push(ScanFinding::new(at as u32 + 1, message, statement_hash::hash_text(line)));
        }
    }
}

/// Finds names such as `IlIIlIlI`, as obfuscators generate them.
fn find_look_alikes(view: &TokenView<'_>, found: &mut Vec<ScanFinding>) {
    let is_alike = |name: &str| {
        name.len() >= MIN_ALIKE_LETTERS
            && name.bytes().all(|byte| b"Il1O0_".contains(&byte))
            && name.bytes().any(|byte| b"Il".contains(&byte))
    };
    let mut names = view.tokens.iter().zip(&view.token_lines);
    if let Some((token, line)) =
        names.find(|(token, _)| token.kind == TokenKind::Name && is_alike(view.token_text(token)))
    {
        let name: String = view.token_text(token).chars().take(40).collect();
        let message = format!("has names like {name}, which people cannot tell apart");
        found.push(ScanFinding::new(*line, message, 0));
    }
}

/// Describes the first suspicious character of a line: one that reorders text, or else an invisible
/// one.
pub(super) fn describe_odd_characters(line: &str) -> Option<String> {
    if line.is_ascii() {
        return None;
    }
    let code = |c: char| format!("U+{:04X}", c as u32);
    if let Some(c) = line.chars().find(|c| is_bidi_control(*c)) {
        return Some(format!("has the character {}, which shows text in another order", code(c)));
    }
    let mut last = ' ';
    for c in line.chars() {
        // Emoji flags of regions end with tag characters.
        let is_flag = matches!(last, '\u{1f3f4}' | '\u{e0000}'..='\u{e007f}');
        if is_invisible(c) && !(is_flag && matches!(c, '\u{e0000}'..='\u{e007f}')) {
            return Some(format!("has the invisible character {}", code(c)));
        }
        last = c;
    }
    None
}

/// Whether a character changes the direction in which text is displayed.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character takes no space. Joiners (U+200C, U+200D) and direction marks are excluded,
/// because ordinary writing needs them.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{e0000}'..='\u{e007f}'
    )
}
