//! Parser for tool calls in a model's message.
//!
//! An argument ends at its closing tag if another argument or the end of the call follows. So a
//! value may contain tags, even its own, if they are paired or followed by other text.

use scene_schemas::refusal::did_you_mean;
use serde_json::{Map, Value as Json};

use super::arguments::{ArgumentReader, CallFault};
use super::tag::{TagStart, XmlTag, is_same_name, read_tag};
use crate::prompt::{PromptTool, ToolCall};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParsedMessage {
    /// The text before the call, or the whole text if there is no call.
    pub text_before: String,
    /// The call, or the reason that it cannot run and what to do about it.
    pub call: Option<Result<ToolCall, String>>,
    /// The tools of further calls, which are not run; at most 16.
    pub more: Vec<String>,
}

/// Maximum number of further calls named.
const MAX_MORE: usize = 16;

/// Maximum number of closing tags at which a JSON object is tried. Each try parses it from the
/// start.
pub(super) const MAX_TRIES: usize = 16;

/// Tags around arguments, or around one JSON object with all of them.
pub(super) const AROUND: [&str; 5] = ["args", "arguments", "parameters", "params", "input"];

/// Tags around a whole call as JSON, as many models were trained to write it.
const WRAPPERS: [&str; 3] = ["tool_call", "function_call", "tool_use"];

/// Sections in which a model thinks. Calls inside them are ignored.
const THOUGHTS: [&str; 3] = ["think", "thinking", "reasoning"];

/// Parses a message: the first call of one of these tools, and the text before it.
pub fn parse_message(text: &str, tools: &[PromptTool]) -> ParsedMessage {
    let reader = MessageReader { text, tools };
    let mut found =
        ParsedMessage { text_before: text.trim().to_owned(), ..ParsedMessage::default() };
    let mut at = 0;
    while let Some(opening) = reader.next(at) {
        let (name, end, args) = match reader.read_element(&opening) {
            CallElement::Mention => {
                at = opening.behind;
                continue;
            }
            CallElement::Call(end, args) => (&opening.tool.name, end, args),
        };
        if found.call.is_some() {
            found.more.push(name.clone());
        } else {
            text_before(&text[..opening.start]).clone_into(&mut found.text_before);
            let call = args.and_then(|args| {
                reader.check_ambiguity(opening.tool, end)?;
                Ok(ToolCall::new(name.clone(), Json::Object(args)))
            });
            found.call = Some(call.map_err(|why| format!("{name}: {why}")));
        }
        if found.more.len() == MAX_MORE {
            break;
        }
        at = end;
    }
    if found.call.is_none() {
        match reader.wrapped_call() {
            Some((start, call)) => {
                text_before(&text[..start]).clone_into(&mut found.text_before);
                found.call = Some(call);
            }
            None => found.call = reader.explain_unknown().map(Err),
        }
    }
    found
}

/// Returns the text before a call, without the code fence around the call.
fn text_before(text: &str) -> &str {
    let text = text.trim();
    let fences = text.lines().filter(|line| line.trim_start().starts_with("```")).count();
    let last = text.lines().next_back().unwrap_or_default().trim_start();
    if fences % 2 == 1 && last.starts_with("```") {
        return text[..text.len() - last.len()].trim();
    }
    text
}

/// A message, and the tools that it may call.
pub(super) struct MessageReader<'a> {
    pub(super) text: &'a str,
    tools: &'a [PromptTool],
}

/// A tag that may start a call.
pub(super) struct OpeningTag<'a> {
    pub(super) start: usize,
    pub(super) behind: usize,
    pub(super) tool: &'a PromptTool,
    /// The tag; None if the end of the text cuts it off.
    pub(super) tag: Option<XmlTag<'a>>,
}

enum CallElement {
    /// A tag mentioned in a sentence.
    Mention,
    /// A call: where it ends, and its arguments.
    Call(usize, Result<Map<String, Json>, String>),
}

impl<'a> MessageReader<'a> {
    pub(super) fn find_tool(&self, name: &str) -> Option<&'a PromptTool> {
        let exact = self.tools.iter().find(|tool| tool.name == name);
        exact.or_else(|| self.tools.iter().find(|tool| is_same_name(&tool.name, name)))
    }

    /// Returns the next tag of a tool that is not inside a thought, a comment or inline code.
    fn next(&self, mut at: usize) -> Option<OpeningTag<'a>> {
        while let Some(found) = self.text[at..].find(['<', '`']) {
            at += found;
            let rest = &self.text[at..];
            if let Some(length) = skipped_length(rest) {
                at += length;
                continue;
            }
            match read_tag(rest) {
                TagStart::Tag(tag) if !tag.is_closing => {
                    if let Some(tool) = self.find_tool(tag.name) {
                        let behind = at + tag.length;
                        return Some(OpeningTag { start: at, behind, tool, tag: Some(tag) });
                    }
                }
                TagStart::Cut(name, is_whole) if !rest.starts_with("</") => {
                    let begins = |tool: &&PromptTool| {
                        !is_whole && name.len() > 2 && tool.name.starts_with(name)
                    };
                    let tool = self.find_tool(name).or_else(|| self.tools.iter().find(begins));
                    if let Some(tool) = tool {
                        let behind = self.text.len();
                        return Some(OpeningTag { start: at, behind, tool, tag: None });
                    }
                }
                _ => {}
            }
            at += 1;
        }
        None
    }

    fn read_element(&self, opening: &OpeningTag<'a>) -> CallElement {
        let mut call = ArgumentReader::new(self, opening.tool);
        match call.read_call(opening) {
            Ok(None) => CallElement::Mention,
            Ok(Some(end)) => CallElement::Call(end, Ok(call.args)),
            Err(CallFault::Cut(what)) => CallElement::Call(
                self.text.len(),
                Err(format!(
                    "The message ends before the call does: {what}. It was not run. Send the \
                     complete call again, or split a long one into smaller steps."
                )),
            ),
            Err(CallFault::Malformed(what)) => {
                let close = self.find_closing(opening.behind, opening.tool);
                let end = close.map_or(self.text.len(), |(_, end)| end);
                CallElement::Call(end, Err(format!("{what} It was not run.")))
            }
        }
    }

    /// Returns the start and end of the next closing tag of the tool.
    pub(super) fn find_closing(&self, from: usize, tool: &PromptTool) -> Option<(usize, usize)> {
        self.tags_from(from).find_map(|(at, tag)| {
            (tag.is_closing && is_same_name(tag.name, &tool.name)).then_some((at, at + tag.length))
        })
    }

    pub(super) fn tags_from(&self, from: usize) -> impl Iterator<Item = (usize, XmlTag<'a>)> {
        let text = &self.text[from..];
        text.match_indices('<').filter_map(move |(at, _)| match read_tag(&text[at..]) {
            TagStart::Tag(tag) => Some((from + at, tag)),
            _ => None,
        })
    }

    /// A leftover closing tag means that an argument contained a text like the end of the call.
    fn check_ambiguity(&self, tool: &PromptTool, end: usize) -> Result<(), String> {
        let next = self.tags_from(end).find(|(_, tag)| is_same_name(tag.name, &tool.name));
        if next.is_none_or(|(_, tag)| !tag.is_closing) {
            return Ok(());
        }
        Err(format!(
            "`</{}>` occurs twice, so the end of the call is ambiguous. Put the text that \
             contains it into <![CDATA[ and ]]>. It was not run.",
            tool.name
        ))
    }

    /// Reads a call in the form that models learned elsewhere:
    /// `<tool_call>{"name": .., "arguments": ..}`.
    fn wrapped_call(&self) -> Option<(usize, Result<ToolCall, String>)> {
        let is_wrapper =
            |tag: &XmlTag<'_>| WRAPPERS.iter().any(|it| it.eq_ignore_ascii_case(tag.name));
        let (start, tag) = self.tags_from(0).find(|(at, tag)| {
            let inside = &self.text[at + tag.length..];
            is_wrapper(tag) && !tag.is_closing && inside.trim_start().starts_with('{')
        })?;
        let behind = start + tag.length;
        let ends = self
            .tags_from(behind)
            .filter(|(_, end)| end.is_closing && is_same_name(end.name, tag.name));
        let reads = ends.take(MAX_TRIES).map(|(end, _)| self.json_call(&self.text[behind..end]));
        let mut first = None;
        for read in reads {
            match read {
                Ok(call) => return Some((start, Ok(call))),
                Err(why) => first = first.or(Some(why)),
            }
        }
        let name = tag.name;
        let why = first.unwrap_or_else(|| format!("`</{name}>` is missing."));
        Some((start, Err(format!("{name}: {why} It was not run. Write the call as <tool_name>."))))
    }

    fn json_call(&self, text: &str) -> Result<ToolCall, String> {
        let json: Json = serde_json::from_str(text.trim()).map_err(|why| format!("{why}."))?;
        let name = json["name"].as_str().ok_or("`name` is missing.")?;
        let Some(tool) = self.find_tool(name) else {
            let near = did_you_mean(name, self.tools.iter().map(|tool| tool.name.as_str()));
            return Err(format!("There is no tool `{name}`.{near}"));
        };
        let args = AROUND.iter().find_map(|it| json.get(*it));
        match args {
            Some(args) if args.is_object() => Ok(ToolCall::new(tool.name.clone(), args.clone())),
            Some(_) => Err("`arguments` is not a JSON object.".to_owned()),
            None => Err("`arguments` is missing.".to_owned()),
        }
    }

    /// Returns the reason if no tool was called, but a text looks like a call.
    fn explain_unknown(&self) -> Option<String> {
        let mut is_fenced = false;
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            let begun = line.trim_start();
            is_fenced ^= begun.starts_with("```");
            let start = at + line.len() - begun.len();
            at += line.len();
            let TagStart::Tag(tag) = read_tag(begun) else { continue };
            if is_fenced || tag.is_closing || self.find_tool(tag.name).is_some() {
                continue;
            }
            let near = did_you_mean(tag.name, self.tools.iter().map(|tool| tool.name.as_str()));
            let inside = self.text[start + tag.length..].trim_start();
            let has_tags = tag.is_empty || matches!(read_tag(inside), TagStart::Tag(_));
            if has_tags && (tag.name.contains('_') || !near.is_empty()) {
                let name = tag.name;
                return Some(format!("There is no tool `{name}`.{near} Nothing was run."));
            }
        }
        None
    }
}

/// Returns the length of a part that is skipped: inline code, a comment, a thought.
fn skipped_length(text: &str) -> Option<usize> {
    if text.starts_with('`') {
        let run = text.len() - text.trim_start_matches('`').len();
        if run > 2 {
            return Some(run);
        }
        let line = text.split('\n').next().unwrap_or_default();
        let mut at = run;
        while let Some(next) = line[at..].find('`') {
            at += next;
            let length = line[at..].len() - line[at..].trim_start_matches('`').len();
            at += length;
            if length == run {
                return Some(at);
            }
        }
        return Some(run);
    }
    if let Some(length) = comment_length(text) {
        return Some(length);
    }
    let TagStart::Tag(tag) = read_tag(text) else {
        return None;
    };
    let thought = THOUGHTS.iter().find(|it| it.eq_ignore_ascii_case(tag.name))?;
    if tag.is_closing || tag.is_empty {
        return None;
    }
    let inside = &text[tag.length..];
    let end = inside.match_indices("</").find_map(|(at, _)| match read_tag(&inside[at..]) {
        TagStart::Tag(end) if end.name.eq_ignore_ascii_case(thought) => Some(at + end.length),
        _ => None,
    });
    // An unclosed thought extends to the end of the message.
    Some(end.map_or(text.len(), |end| tag.length + end))
}

/// Returns the length of a comment. Longer ones do not count, because each `<!--` starts a new
/// search.
pub(super) fn comment_length(text: &str) -> Option<usize> {
    const MAX: usize = 4096;
    let inside = text.strip_prefix("<!--")?;
    let end = inside[..inside.floor_char_boundary(MAX)].find("-->")?;
    Some("<!--".len() + end + "-->".len())
}
