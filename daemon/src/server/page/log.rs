//! The parts of a conversation: the latest ones are shown, and earlier ones on request.

use std::collections::HashMap;
use std::ops::Range;

use maud::{Markup, PreEscaped, html};
use scene_schemas::api::ConversationView;

use super::item::{PageChange, changes_of_event};

/// The number of parts that are shown at once.
const PAGE: usize = 150;

/// The parts of a conversation, in order.
#[derive(Debug, Default)]
pub(super) struct ConversationLog {
    parts: Vec<LogPart>,
    /// The index of the part with a key.
    index_by_key: HashMap<String, usize>,
}

#[derive(Debug)]
struct LogPart {
    key: String,
    html: String,
    /// The state and the result of a call, if they are known.
    call: Option<(&'static str, String)>,
    /// The text of a message that is still arriving.
    streaming_text: String,
    /// Whether the part was removed.
    is_gone: bool,
}

impl ConversationLog {
    pub(super) fn from_talk(talk: &ConversationView) -> Self {
        let mut log = Self::default();
        for change in talk.events.iter().flat_map(changes_of_event) {
            log.apply(change);
        }
        log
    }

    /// Applies a change in the same way as the page's script.
    fn apply(&mut self, change: PageChange) {
        match change {
            PageChange::Put { key, html } => self.part_mut(key).html = html,
            PageChange::More { key, text } => self.part_mut(key).streaming_text.push_str(&text),
            PageChange::Drop { key } => {
                if let Some(at) = self.index_by_key.remove(&key) {
                    self.parts[at].is_gone = true;
                }
            }
            PageChange::Call { key, state, html } => {
                if let Some(at) = self.index_by_key.get(&key) {
                    self.parts[*at].call = Some((state, html));
                }
            }
            PageChange::Waits { .. } => {}
        }
    }

    /// Returns the part with a key, and appends it if there is none.
    fn part_mut(&mut self, key: String) -> &mut LogPart {
        let at = *self.index_by_key.entry(key.clone()).or_insert_with(|| {
            let (html, coming) = (String::new(), String::new());
            self.parts.push(LogPart {
                key,
                html,
                call: None,
                streaming_text: coming,
                is_gone: false,
            });
            self.parts.len() - 1
        });
        &mut self.parts[at]
    }

    /// Renders the last parts before `end`, and a button for earlier ones.
    pub(super) fn render_before(&self, end: Option<usize>) -> Markup {
        let Range { start, end } = page_range(end.unwrap_or(usize::MAX).min(self.parts.len()));
        html! {
            @if start > 0 {
                button.earlier type="button" data-act="earlier" data-before=(start) { "Earlier" }
            }
            @for part in self.parts[start..end].iter().filter(|part| !part.is_gone) { (part.render()) }
        }
    }
}

/// Returns the range of the parts that are shown before `end`.
fn page_range(end: usize) -> Range<usize> {
    end.saturating_sub(PAGE)..end
}

impl LogPart {
    fn render(&self) -> Markup {
        html! {
            @if let Some((state, text)) = &self.call {
                (PreEscaped(with_call_state(&self.html, state, text)))
            } @else if self.streaming_text.is_empty() {
                (PreEscaped(&self.html))
            } @else {
                article.item.said.coming data-key=(self.key) { p.text { (self.streaming_text) } }
            }
        }
    }
}

/// Inserts the state and the result into a call.
fn with_call_state(html: &str, state: &str, text: &str) -> String {
    let html = html.replacen("data-state=\"running\"", &format!("data-state=\"{state}\""), 1);
    html.replacen("<div class=\"result\"></div>", &format!("<div class=\"result\">{text}</div>"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &str) -> PageChange {
        PageChange::Put { key: key.to_owned(), html: format!("<p data-key=\"{key}\"></p>") }
    }

    fn shown(log: &ConversationLog, end: Option<usize>) -> Vec<String> {
        let html = log.render_before(end).into_string();
        let keys = html.split("data-key=\"").skip(1);
        keys.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
    }

    #[test]
    fn repeated_key_keeps_position_and_dropped_key_is_removed() {
        let mut log = ConversationLog::default();
        for change in [
            put("a"),
            PageChange::More { key: "c".to_owned(), text: "x<y".to_owned() },
            put("b"),
            put("a"),
            PageChange::More { key: "c".to_owned(), text: "!".to_owned() },
        ] {
            log.apply(change);
        }
        assert_eq!(shown(&log, None), ["a", "c", "b"]);
        assert!(log.render_before(None).into_string().contains("x&lt;y!"));
        log.apply(PageChange::Drop { key: "c".to_owned() });
        log.apply(PageChange::Drop { key: "never".to_owned() });
        assert_eq!(shown(&log, None), ["a", "b"]);
        // A removed key that returns is appended at the end.
        log.apply(PageChange::More { key: "c".to_owned(), text: "again".to_owned() });
        assert_eq!(shown(&log, None), ["a", "b", "c"]);
    }

    #[test]
    fn paging_shows_each_item_once() {
        let mut log = ConversationLog::default();
        let all: Vec<String> = (0..PAGE * 2 + 7).map(|n| n.to_string()).collect();
        for key in &all {
            log.apply(put(key));
        }
        let (mut seen, mut end) = (Vec::new(), None);
        loop {
            let mut page = shown(&log, end);
            page.append(&mut seen);
            seen = page;
            let html = log.render_before(end).into_string();
            let Some(before) = html.split("data-before=\"").nth(1) else { break };
            end = before.split('"').next().unwrap().parse().ok();
        }
        assert_eq!(seen, all);
        assert_eq!(shown(&log, Some(0)), [""; 0]);
        assert_eq!(shown(&log, Some(usize::MAX)), all[PAGE + 7..]);
    }
}
