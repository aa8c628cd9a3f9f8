//! Comments on a proposal, written in the user's editor below the lines that they are about.

use scene_schemas::comment::{Comment, CommentSubject};
use scene_schemas::proposal::Proposal;
use vector_core::proposal::commentable_lines;
use vector_core::safe_line::safe_line;

use super::editor::{edit_text, keep_text};
use super::error_sentence;
use super::terminal::print_status;

/// What a line with a comment begins with. No line of a preview begins with it.
const MARK: &str = ">>";

const HEAD: &str = "Write each comment below what it is about, on lines that begin with >>
A comment up here is about the whole proposal. Save and close the editor to send the comments.
";

/// Lets the user write comments. None if there are none.
pub(super) fn write_comments(proposal: &Proposal) -> Option<WrittenComments> {
    let lines = template_lines(proposal);
    let mut template = HEAD.to_owned();
    for (line, _) in &lines {
        template.extend([line.as_str(), "\n"]);
    }
    let text = match edit_text(&template, ".diff") {
        Ok(text) => text,
        Err(error) => {
            print_status(&error_sentence(&error));
            return None;
        }
    };
    let comments = read_comments(&lines, &text);
    if comments.is_empty() {
        print_status("There are no comments: a comment is a line that begins with >>.");
        return None;
    }
    Some(WrittenComments { text, comments })
}

/// Comments, with the whole text that the user wrote.
#[derive(Debug)]
pub(super) struct WrittenComments {
    text: String,
    pub(super) comments: Vec<Comment>,
}

impl WrittenComments {
    /// Keeps the text in a file if the comments could not be sent, and says where it is.
    pub(super) fn keep(&self) {
        keep_text(&self.text, "comments", ".diff");
    }
}

fn template_lines(proposal: &Proposal) -> Vec<(String, CommentSubject)> {
    let lines = commentable_lines(&proposal.preview).into_iter();
    lines.map(|(line, on)| (safe_line(&line).into_owned(), on)).collect()
}

/// Reads the comments in a text: each is about the line of the preview above it.
fn read_comments(lines: &[(String, CommentSubject)], text: &str) -> Vec<Comment> {
    let mut comments: Vec<Comment> = Vec::new();
    let (mut next, mut on, mut continues) = (0, CommentSubject::Proposal {}, false);
    for line in text.lines() {
        let Some(comment) = line.strip_prefix(MARK) else {
            continues = false;
            if let Some(found) = lines[next..].iter().position(|(known, _)| known == line) {
                on = lines[next + found].1.clone();
                next += found + 1;
            }
            continue;
        };
        let comment = comment.trim();
        match comments.last_mut() {
            Some(last) if continues => {
                last.text.push('\n');
                last.text.push_str(comment);
            }
            _ => comments.push(Comment { on: on.clone(), text: comment.to_owned() }),
        }
        continues = true;
    }
    comments.retain(|it| !it.text.trim().is_empty());
    comments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_about_the_line_above_them() {
        let at = |line: u32| CommentSubject::Line {
            path: "game.Workspace.Main".parse().unwrap(),
            side: scene_schemas::comment::CommentSide::After,
            line,
            quote: String::new(),
        };
        let lines: Vec<(String, CommentSubject)> = [(" a", 1), ("+b", 2), (" a", 3), ("+b", 4)]
            .map(|(text, line)| (text.to_owned(), at(line)))
            .to_vec();
        let text =
            format!("{HEAD}>> all of it\n a\n+b\n>> why?\n>> really\n a\n>>\n+b\n>> and this");
        let read = read_comments(&lines, &text);
        let found: Vec<_> = read.iter().map(|it| (it.on.clone(), it.text.as_str())).collect();
        assert_eq!(
            found,
            [
                (CommentSubject::Proposal {}, "all of it"),
                (at(2), "why?\nreally"),
                (at(4), "and this"),
            ]
        );
        // Lines that the user changed or deleted are skipped.
        let read = read_comments(&lines, "+b, changed\n+b\n>> this\n");
        assert_eq!(read, [Comment { on: at(2), text: "this".to_owned() }]);
    }
}
