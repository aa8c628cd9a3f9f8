//! What was said and done in a conversation: of its events, what the script of the page makes of them as
//! they come. Of a long one its end is shown, and what is before that when it is asked for, so that no page
//! holds thousands of parts.

use std::collections::HashMap;

use maud::{Markup, PreEscaped, html};
use scene_schemas::api::Talk;

use super::item::{Change, changes};

/// How many parts are shown at once.
const PIECE: usize = 300;

/// The parts of a conversation in their order; none where one is gone.
#[derive(Default)]
struct Log {
    parts: Vec<Option<Shown>>,
    at: HashMap<String, usize>,
}

/// A part of a conversation, as far as it was told.
#[derive(Default)]
struct Shown {
    key: String,
    html: String,
    /// What is known of it since it was put, where it is a call.
    call: Option<(&'static str, String)>,
    /// The text of a message that is still coming.
    coming: String,
}

impl Log {
    fn of(talk: &Talk) -> Self {
        let mut log = Self::default();
        talk.events.iter().flat_map(changes).for_each(|change| log.apply(change));
        log
    }

    /// The part of a key, behind all others where there is none yet.
    fn part(&mut self, key: String) -> &mut Shown {
        let at = *self.at.entry(key.clone()).or_insert_with(|| {
            self.parts.push(None);
            self.parts.len() - 1
        });
        self.parts[at].get_or_insert_with(|| Shown { key, ..Shown::default() })
    }

    /// Makes of a change what the script of the page makes of it.
    fn apply(&mut self, change: Change) {
        match change {
            Change::Put { key, html } => {
                let part = self.part(key.clone());
                *part = Shown { key, html, ..Shown::default() };
            }
            Change::More { key, text } => self.part(key).coming.push_str(&text),
            Change::Drop { key } => {
                if let Some(at) = self.at.remove(&key) {
                    self.parts[at] = None;
                }
            }
            Change::Call { key, state, html } => {
                if self.at.contains_key(&key) {
                    self.part(key).call = Some((state, html));
                }
            }
            Change::Waits { .. } => {}
        }
    }

    /// The last parts before a position, and where they begin.
    fn piece(&self, end: usize) -> (impl Iterator<Item = &Shown>, usize) {
        let end = end.min(self.parts.len());
        let start = end.saturating_sub(PIECE);
        (self.parts[start..end].iter().flatten(), start)
    }
}

/// The end of a conversation, and a way to what is before it.
pub(super) fn end(talk: &Talk) -> Markup {
    let log = Log::of(talk);
    let (parts, start) = log.piece(usize::MAX);
    html! {
        (way(talk, start))
        div.log #log role="log" aria-label="Conversation" { @for part in parts { (part.html()) } }
    }
}

/// What is before a position, and a way to what is before that.
pub(super) fn before(talk: &Talk, position: usize) -> Markup {
    let log = Log::of(talk);
    let (parts, start) = log.piece(position);
    html! {
        (way(talk, start))
        @for part in parts { (part.html()) }
    }
}

fn way(talk: &Talk, start: usize) -> Markup {
    html! {
        div.before #before {
            @if start > 0 {
                button type="button" data-act="before" data-of=(talk.head.workflow.seq) data-at=(start) {
                    "Show what was before"
                }
            }
        }
    }
}

impl Shown {
    fn html(&self) -> Markup {
        html! {
            @if let Some((state, text)) = &self.call {
                (PreEscaped(called(&self.html, state, text)))
            } @else if self.coming.is_empty() {
                (PreEscaped(&self.html))
            } @else {
                article.item.said.coming data-key=(self.key) { p.text { (self.coming) } }
            }
        }
    }
}

/// A call with what is known of it.
fn called(html: &str, state: &str, text: &str) -> String {
    let html = html.replacen("data-state=\"running\"", &format!("data-state=\"{state}\""), 1);
    html.replacen("<div class=\"result\"></div>", &format!("<div class=\"result\">{text}</div>"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &str) -> Change {
        Change::Put { key: key.to_owned(), html: format!("<p>{key}</p>") }
    }

    fn keys(log: &Log, end: usize) -> Vec<&str> {
        log.piece(end).0.map(|part| part.key.as_str()).collect()
    }

    #[test]
    fn a_key_comes_again_in_its_place_and_what_goes_is_gone() {
        let mut log = Log::default();
        let more = |text: &str| Change::More { key: "c".to_owned(), text: text.to_owned() };
        for change in [put("a"), more("x<y"), put("b"), put("a"), more("!")] {
            log.apply(change);
        }
        assert_eq!(keys(&log, usize::MAX), ["a", "c", "b"]);
        let (mut parts, _) = log.piece(usize::MAX);
        assert!(parts.nth(1).unwrap().html().into_string().contains("x&lt;y!"));
        drop(parts);
        for key in ["c", "never"] {
            log.apply(Change::Drop { key: key.to_owned() });
        }
        assert_eq!(keys(&log, usize::MAX), ["a", "b"]);
        // What comes under the key of what went stands where it comes.
        log.apply(more("again"));
        assert_eq!(keys(&log, usize::MAX), ["a", "b", "c"]);
    }

    #[test]
    fn pieces_have_each_part_once() {
        let mut log = Log::default();
        let all: Vec<String> = (0..PIECE * 2 + 7).map(|n| n.to_string()).collect();
        all.iter().for_each(|key| log.apply(put(key)));
        let (mut seen, mut end) = (Vec::new(), usize::MAX);
        while end > 0 {
            let mut piece = keys(&log, end);
            piece.append(&mut seen);
            seen = piece;
            end = log.piece(end).1;
        }
        assert_eq!(seen, all);
        assert_eq!(keys(&log, 0), [""; 0]);
    }
}
