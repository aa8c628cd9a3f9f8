//! Comments of a person on proposals: how they reach the model, what it says it did about each, and
//! which proposal is its new version.

use std::collections::BTreeMap;

use scene_schemas::InstancePath;
use scene_schemas::comment::{Comment, CommentReply, CommentSide, CommentSubject};
use scene_schemas::entry::{Entry, Seq};
use scene_schemas::proposal::{DiffLine, Proposal};
use scene_schemas::refusal::{Refusal, refuse};

use super::decide::find_pending;
use super::dependencies::withdraw_later;
use super::{PendingProposal, Workflow};
use crate::prompt::CHANGES_ASKED;
use crate::rule::written_paths;

/// The maximum number of comments on a proposal.
const MAX_COMMENTS: usize = 200;
/// The maximum length of a comment or a reply, in bytes.
const MAX_TEXT: usize = 10_000;

/// The comments on the proposals of a task.
#[derive(Debug, Default)]
pub(super) struct TaskComments {
    /// By the proposal that they are on.
    reviews: BTreeMap<Seq, Review>,
}

#[derive(Debug)]
struct Review {
    comments: Vec<Comment>,
    /// The replies by the number of the comment, from 1.
    replies: BTreeMap<u32, String>,
    /// The position from which a new version is expected.
    since: Seq,
    /// The proposal that the model made instead.
    revision: Option<Seq>,
}

impl TaskComments {
    pub(super) fn add(&mut self, seq: Seq, proposal: Seq, comments: &[Comment]) {
        let (comments, replies) = (comments.to_vec(), BTreeMap::new());
        self.reviews.insert(proposal, Review { comments, replies, since: seq, revision: None });
    }

    pub(super) fn add_replies(&mut self, proposal: Seq, replies: &[CommentReply]) {
        if let Some(review) = self.reviews.get_mut(&proposal) {
            review.replies.extend(replies.iter().map(|it| (it.comment, it.text.clone())));
        }
    }
}

impl Workflow {
    /// Notes that a new proposal is the new version of an older one that was commented on: the first
    /// one after the comments that changes something of what it changed.
    pub(super) fn note_revision(&mut self, seq: Seq, call: Seq, proposal: &Proposal) {
        // A part of a new version, or its replanned form, is the new version then.
        let before = proposal.replaces.or(proposal.from);
        let mut reviews = self.comments.reviews.values_mut();
        if let Some(review) = reviews.find(|it| it.revision.is_some() && it.revision == before) {
            review.revision = Some(seq);
            return;
        }
        let paths = written_paths(&proposal.commands);
        let proposals = &self.proposals;
        let is_about = |old: &Seq| {
            let old = proposals.get(old).map(|it| written_paths(&it.proposal.commands));
            old.is_some_and(|old| !old.is_disjoint(&paths))
        };
        let open = self.comments.reviews.iter_mut().rev();
        let mut open = open.filter(|(_, it)| it.revision.is_none() && it.since < call);
        if let Some((_, review)) = open.find(|(old, _)| is_about(old)) {
            review.revision = Some(seq);
        }
    }

    /// Returns the comments on a proposal, each with the reply to it.
    pub fn comments_on(&self, proposal: Seq) -> impl Iterator<Item = (&Comment, Option<&str>)> {
        let review = self.comments.reviews.get(&proposal).into_iter();
        review.flat_map(|review| {
            let numbered = (1..).zip(&review.comments);
            numbered.map(|(number, it)| (it, review.replies.get(&number).map(String::as_str)))
        })
    }

    /// Returns the new version that the model made of a proposal that was commented on.
    pub fn revision_of(&self, proposal: Seq) -> Option<Seq> {
        self.comments.reviews.get(&proposal)?.revision
    }

    /// Returns the proposal that was commented on and of which this one is the new version.
    pub fn commented_version_of(&self, proposal: Seq) -> Option<Seq> {
        let reviews = self.comments.reviews.iter();
        reviews.rev().find(|(_, it)| it.revision == Some(proposal)).map(|(old, _)| *old)
    }

    /// Returns the proposal with the newest comments, unless all of them are answered.
    fn unanswered_review(&self) -> Option<Seq> {
        let (proposal, review) = self.comments.reviews.iter().max_by_key(|(_, it)| it.since)?;
        (review.replies.len() < review.comments.len()).then_some(*proposal)
    }

    /// Returns the comments on a proposal as the model reads them. None if there are none.
    pub(super) fn comments_text(&self, proposal: Seq) -> Option<String> {
        let review = self.comments.reviews.get(&proposal)?;
        let mut text = CHANGES_ASKED.to_owned();
        for (number, Comment { on, text: comment }) in (1..).zip(&review.comments) {
            let quote = match on.quote().trim() {
                "" => String::new(),
                quote => format!(" (`{quote}`)"),
            };
            text.push_str(&format!("\n#{number} On {}{quote}: {comment}", on.describe()));
        }
        text.push_str("\nNothing was changed. Propose a new version. ");
        text.push_str(if self.agent_name().is_some() {
            "Then call proposal_status with `replies`: for each comment, in order, what you did."
        } else {
            "Begin the message with a line for each comment that says what you did, such as \
             `#1: renamed it`."
        });
        Some(text)
    }
}

/// Decides on comments, which ask for a new version of a proposal.
pub(super) fn comment_on_proposal(
    workflow: &Workflow,
    proposal: Seq,
    comments: Vec<Comment>,
) -> Result<Vec<Entry>, Refusal> {
    let pending = find_pending(workflow, proposal)?;
    let comments: Vec<Comment> =
        comments.into_iter().map(|comment| with_quote(comment, pending)).collect();
    if comments.iter().all(|it| it.text.trim().is_empty()) {
        return refuse!("There is no comment. Write at least one, or reject the proposal.");
    }
    if comments.len() > MAX_COMMENTS {
        return refuse!("There are {} comments; at most {MAX_COMMENTS} are sent.", comments.len());
    }
    if let Some(long) = comments.iter().find(|it| it.text.len() > MAX_TEXT) {
        return refuse!(
            "The comment on {} has {} bytes; at most {MAX_TEXT} are sent.",
            long.on.describe(),
            long.text.len()
        );
    }
    let count = match comments.len() {
        1 => "1 comment".to_owned(),
        count => format!("{count} comments"),
    };
    let reason = Some(format!("Changes were asked for, with {count}."));
    let mut entries =
        vec![Entry::Commented { proposal, comments }, Entry::Rejected { proposal, reason }];
    entries.extend(withdraw_later(workflow, proposal));
    Ok(entries)
}

/// Adds the text of the line that a comment is about.
fn with_quote(mut comment: Comment, pending: &PendingProposal) -> Comment {
    if let CommentSubject::Line { path, side, line, quote } = &mut comment.on {
        let text = line_text(&pending.proposal, path, *side, *line);
        text.unwrap_or_default().clone_into(quote);
    }
    comment
}

pub(super) fn line_text<'a>(
    proposal: &'a Proposal,
    path: &InstancePath,
    side: CommentSide,
    line: u32,
) -> Option<&'a str> {
    let script = proposal.preview.scripts.iter().find(|it| it.path == *path)?;
    script.hunks.iter().find_map(|hunk| {
        let mut number = match side {
            CommentSide::Before => hunk.old_start,
            CommentSide::After => hunk.new_start,
        };
        let own = hunk.lines.iter().filter_map(|it| match (it, side) {
            (DiffLine::Context(text), _)
            | (DiffLine::Added(text), CommentSide::After)
            | (DiffLine::Removed(text), CommentSide::Before) => Some(text.as_str()),
            (DiffLine::Added(_), CommentSide::Before)
            | (DiffLine::Removed(_), CommentSide::After) => None,
        });
        own.into_iter().find(|_| {
            number += 1;
            number - 1 == line
        })
    })
}

/// Decides on the replies of an agent, one for each comment, in order.
pub(super) fn answer_comments(
    workflow: &Workflow,
    proposal: Seq,
    replies: Vec<String>,
) -> Result<Vec<Entry>, Refusal> {
    let Some(review) = workflow.comments.reviews.get(&proposal) else {
        return refuse!("Proposal {proposal} has no comments to reply to.");
    };
    if replies.len() > review.comments.len() {
        return refuse!(
            "There are {} replies to the {} comments on proposal {proposal}.",
            replies.len(),
            review.comments.len()
        );
    }
    let replies = (1..).zip(replies).map(|(comment, text)| CommentReply { comment, text });
    let replies: Vec<CommentReply> = replies.filter(|it| !it.text.trim().is_empty()).collect();
    let answered = (!replies.is_empty()).then_some(Entry::CommentsAnswered { proposal, replies });
    Ok(answered.into_iter().collect())
}

/// Returns the replies to comments in a message of a model: its lines `#N: …`.
pub(super) fn replies_in_message(workflow: &Workflow, message: &str) -> Option<Entry> {
    let proposal = workflow.unanswered_review()?;
    let known = workflow.comments.reviews.get(&proposal)?.comments.len();
    let replies: Vec<CommentReply> = message.lines().filter_map(reply_of_line).collect();
    let fit = replies.into_iter().filter(|it| it.comment as usize <= known);
    let replies: Vec<CommentReply> = fit.collect();
    (!replies.is_empty()).then_some(Entry::CommentsAnswered { proposal, replies })
}

fn reply_of_line(line: &str) -> Option<CommentReply> {
    let line = line.trim_start_matches(['-', '*', ' ', '`']);
    let (number, text) = line.strip_prefix('#')?.split_once(':')?;
    let comment = number.trim_end_matches('*').parse().ok().filter(|number| *number > 0)?;
    let text = text.trim_matches(['*', ' ', '`']).to_owned();
    (!text.is_empty()).then_some(CommentReply { comment, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_as_models_write_them() {
        let reply = |line: &str| reply_of_line(line).map(|it| (it.comment, it.text));
        assert_eq!(reply("#1: renamed it"), Some((1, "renamed it".to_owned())));
        assert_eq!(reply("- **#2:** kept, it is read"), Some((2, "kept, it is read".to_owned())));
        assert_eq!(reply("`#3: done`"), Some((3, "done".to_owned())));
        for none in ["#0: no", "# Heading: text", "#1", "1: no", "#4:", "see #1: it"] {
            assert_eq!(reply(none), None, "{none}");
        }
    }
}
