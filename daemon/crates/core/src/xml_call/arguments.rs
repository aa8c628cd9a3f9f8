//! Parser for the arguments of one call: each in its own tag, all in one JSON object, or as
//! attributes.

use scene_schemas::refusal::did_you_mean;
use serde_json::{Map, Value as Json};

use super::read::{AROUND, MAX_TRIES, MessageReader, OpeningTag, comment_length};
use super::tag::{TagStart, XmlTag, is_same_name, read_tag};
use super::typed::{self, RawArgument};
use crate::prompt::PromptTool;

/// The reason a call is invalid.
pub(super) enum CallFault {
    /// The text ends inside the call.
    Cut(String),
    /// The call is malformed.
    Malformed(String),
}

/// The reader of one call's arguments.
pub(super) struct ArgumentReader<'r, 'a> {
    reader: &'r MessageReader<'a>,
    tool: &'a PromptTool,
    pub(super) args: Map<String, Json>,
    /// The open tag around the arguments.
    around: Option<&'a str>,
}

impl<'r, 'a> ArgumentReader<'r, 'a> {
    pub(super) fn new(reader: &'r MessageReader<'a>, tool: &'a PromptTool) -> Self {
        Self { reader, tool, args: Map::new(), around: None }
    }

    /// Reads a call after its opening tag. Returns where it ends; None if the tag is only mentioned
    /// in a sentence.
    pub(super) fn read_call(
        &mut self,
        opening: &OpeningTag<'a>,
    ) -> Result<Option<usize>, CallFault> {
        let Some(tag) = &opening.tag else {
            return Err(self.truncated_call(&format!("`<{}>`", self.tool.name)));
        };
        for (name, value) in &tag.attributes {
            let text = typed::decode_entities(value).unwrap_or_else(|| (*value).to_owned());
            self.put_argument(name, &RawArgument { text, is_exact: true })?;
        }
        if tag.is_empty {
            return Ok(Some(opening.behind));
        }
        let mut at = opening.behind;
        let mut is_first = true;
        loop {
            at = self.past_blanks(at);
            let rest = &self.reader.text[at..];
            match read_tag(rest) {
                _ if rest.trim_matches(['`', '\n', '\r', ' ']).is_empty() => {
                    return Err(self.truncated_call(&format!("`</{}>`", self.tool.name)));
                }
                TagStart::Cut(..) => return Err(self.truncated_call("a tag")),
                TagStart::Tag(tag) if tag.is_closing && is_same_name(tag.name, &self.tool.name) => {
                    return match self.around {
                        Some(_) => Err(self.stray_text(at)),
                        None => Ok(Some(at + tag.length)),
                    };
                }
                TagStart::Tag(tag) if tag.is_closing && self.is_open(&tag) => {
                    self.around = None;
                    at += tag.length;
                }
                TagStart::Tag(tag) if !tag.is_closing && self.find_property(tag.name).is_some() => {
                    at = self.read_argument(at, &tag)?;
                }
                TagStart::Tag(tag) if self.is_around(&tag) => at = self.read_all(at, &tag)?,
                _ if is_first && rest.starts_with('{') => {
                    return self.read_bare_object(at).map(Some);
                }
                _ if is_first && self.is_mention(opening, at) => return Ok(None),
                _ => return Err(self.stray_text(at)),
            }
            is_first = false;
        }
    }

    fn truncated_call(&self, what: &str) -> CallFault {
        CallFault::Cut(format!("it breaks off at {what} of `{}`", self.tool.name))
    }

    fn past_blanks(&self, mut at: usize) -> usize {
        loop {
            let rest = self.reader.text[at..].trim_start();
            at = self.reader.text.len() - rest.len();
            match comment_length(rest) {
                Some(length) => at += length,
                None => return at,
            }
        }
    }

    fn schema_properties(&self) -> impl Iterator<Item = (&'a String, &'a Json)> + use<'a> {
        self.tool.schema["properties"].as_object().into_iter().flatten()
    }

    /// Returns the name of an argument as spelled in the schema, and its schema.
    fn find_property(&self, name: &str) -> Option<(&'a String, &'a Json)> {
        let exact = self.schema_properties().find(|(known, _)| *known == name);
        exact.or_else(|| self.schema_properties().find(|(known, _)| is_same_name(known, name)))
    }

    fn is_around(&self, tag: &XmlTag<'_>) -> bool {
        let known = AROUND.iter().any(|it| it.eq_ignore_ascii_case(tag.name));
        known && !tag.is_closing && !tag.is_empty && self.around.is_none()
    }

    fn is_open(&self, tag: &XmlTag<'_>) -> bool {
        self.around.is_some_and(|around| around.eq_ignore_ascii_case(tag.name))
    }

    /// Reads one argument. Returns where it ends.
    fn read_argument(&mut self, at: usize, tag: &XmlTag<'a>) -> Result<usize, CallFault> {
        let behind = at + tag.length;
        if tag.is_empty {
            self.put_argument(tag.name, &RawArgument { text: String::new(), is_exact: false })?;
            return Ok(behind);
        }
        let (raw, end) = self.read_value(behind, tag.name)?;
        self.put_argument(tag.name, &raw)?;
        Ok(end)
    }

    fn put_argument(&mut self, name: &str, raw: &RawArgument) -> Result<(), CallFault> {
        let Some((name, schema)) = self.find_property(name) else {
            return Err(CallFault::Malformed(format!(
                "`{name}` is not an argument.{}",
                self.describe_parameters(name)
            )));
        };
        let required = self.tool.schema["required"].as_array();
        let is_needed = required.is_some_and(|all| all.iter().any(|it| it.as_str() == Some(name)));
        let value = typed::read_value(raw, schema, is_needed)
            .map_err(|why| CallFault::Malformed(format!("`{name}` {why}.")))?;
        self.insert_value(name.clone(), value)
    }

    fn insert_value(&mut self, name: String, value: Json) -> Result<(), CallFault> {
        if self.args.contains_key(&name) {
            let what = format!("`{name}` is given twice; a list is one JSON list.");
            return Err(CallFault::Malformed(what));
        }
        self.args.insert(name, value);
        Ok(())
    }

    /// Describes the tool's parameters after an unknown name.
    fn describe_parameters(&self, name: &str) -> String {
        let names: Vec<&str> = self.schema_properties().map(|(name, _)| name.as_str()).collect();
        let near = did_you_mean(name, names.iter().copied());
        if names.is_empty() {
            return " The tool takes none.".to_owned();
        }
        format!("{near} The tool takes {}.", names.join(", "))
    }

    /// Reads `<args>`: arguments in their own tags, or one JSON object.
    fn read_all(&mut self, at: usize, tag: &XmlTag<'a>) -> Result<usize, CallFault> {
        let behind = at + tag.length;
        let inside = self.reader.text[behind..].trim_start();
        if inside.starts_with('<') && !is_cdata(inside) {
            self.around = Some(tag.name);
            return Ok(behind);
        }
        let (raw, end) = self.read_value(behind, tag.name)?;
        self.insert_object(&raw)
            .map_err(|why| CallFault::Malformed(format!("`{}` {why}.", tag.name)))??;
        Ok(end)
    }

    fn insert_object(&mut self, raw: &RawArgument) -> Result<Result<(), CallFault>, String> {
        let schema = serde_json::json!({ "type": "object" });
        let Json::Object(map) = typed::read_value(raw, &schema, true)? else {
            return Err("is not a JSON object".to_owned());
        };
        Ok(map.into_iter().try_for_each(|(name, value)| self.insert_value(name, value)))
    }

    /// Reads a JSON object between the tags of the tool. Returns where the call ends.
    fn read_bare_object(&mut self, at: usize) -> Result<usize, CallFault> {
        let mut from = at;
        let mut first = None;
        for _ in 0..MAX_TRIES {
            let Some((start, end)) = self.reader.find_closing(from, self.tool) else { break };
            let raw = RawArgument { text: self.reader.text[at..start].to_owned(), is_exact: false };
            match self.insert_object(&raw) {
                Ok(read) => return read.map(|()| end),
                Err(why) => first = first.or(Some(why)),
            }
            from = end;
        }
        match first {
            Some(why) => Err(CallFault::Malformed(format!("Its content {why}."))),
            None => Err(self.truncated_call("the arguments")),
        }
    }

    /// Whether the tag is only mentioned in a sentence: text follows, and the call is not closed
    /// before another tool's tag.
    fn is_mention(&self, opening: &OpeningTag<'_>, at: usize) -> bool {
        let mut tags = self.reader.tags_from(at);
        let next =
            tags.find_map(|(_, tag)| self.reader.find_tool(tag.name).map(|tool| (tool, tag)));
        if let Some((tool, tag)) = next {
            return !(tag.is_closing && tool.name == self.tool.name);
        }
        let line_before = self.reader.text[..opening.start].rsplit('\n').next().unwrap_or_default();
        let is_alone = self.reader.text[opening.behind..at].contains('\n');
        !(line_before.trim().is_empty() && is_alone)
    }

    /// Returns the fault for text in place of an argument.
    fn stray_text(&self, at: usize) -> CallFault {
        let rest = &self.reader.text[at..];
        let shown: String = rest.chars().take(40).collect();
        match read_tag(rest) {
            TagStart::Tag(tag) if !tag.is_closing && self.reader.find_tool(tag.name).is_none() => {
                CallFault::Malformed(format!(
                    "`{}` is not an argument.{}",
                    tag.name,
                    self.describe_parameters(tag.name)
                ))
            }
            TagStart::Tag(_) => CallFault::Malformed(format!(
                "`</{}>` is missing before `{shown}`.",
                self.around.unwrap_or(&self.tool.name)
            )),
            _ => CallFault::Malformed(format!(
                "`{shown}` is outside of an argument. Write <name>value</name>.{}",
                self.describe_parameters("")
            )),
        }
    }

    /// Reads the value between the tags of an argument, and where it ends.
    fn read_value(&self, at: usize, name: &str) -> Result<(RawArgument, usize), CallFault> {
        let text = self.reader.text;
        let begun = text[at..].trim_start();
        if is_cdata(begun) {
            return self.read_cdata(text.len() - begun.len() + CDATA.len(), name);
        }
        let raw = |start: usize| RawArgument { text: text[at..start].to_owned(), is_exact: false };
        let (mut depth, mut first, mut loose) = (1, None, None);
        for (start, tag) in
            self.reader.tags_from(at).filter(|(_, tag)| is_same_name(tag.name, name))
        {
            let end = start + tag.length;
            match (tag.is_closing, depth) {
                (false, _) if !tag.is_empty => depth += 1,
                (false, _) => {}
                (true, 1) if self.is_end(end) => return Ok((raw(start), end)),
                (true, 1) => loose = loose.or(Some(end)),
                (true, _) => {
                    depth -= 1;
                    first = first.or_else(|| self.is_end(end).then_some((start, end)));
                }
            }
        }
        let Some((start, end)) = first else {
            return Err(self.unclosed_argument(at, name, loose));
        };
        if self.reader.find_closing(at, self.tool).is_some_and(|(close, _)| close < start) {
            return Err(self.unclosed_argument(at, name, None));
        }
        Ok((raw(start), end))
    }

    /// Returns the fault for an unclosed argument: the text is cut off, or other text follows its
    /// closing tag.
    fn unclosed_argument(&self, at: usize, name: &str, loose: Option<usize>) -> CallFault {
        if let Some(end) = loose {
            return self.stray_text(self.past_blanks(end));
        }
        if self.reader.find_closing(at, self.tool).is_none() {
            return self.truncated_call(&format!("`<{name}>`"));
        }
        CallFault::Malformed(format!(
            "`<{name}>` is not closed by `</{name}>` before `</{0}>`. If the text contains such \
             tags, put it into <![CDATA[ and ]]>.",
            self.tool.name
        ))
    }

    fn read_cdata(&self, at: usize, name: &str) -> Result<(RawArgument, usize), CallFault> {
        let text = self.reader.text;
        let mut is_closed = false;
        for (end, _) in text[at..].match_indices("]]>") {
            let behind = self.past_blanks(at + end + 3);
            is_closed |= behind < text.len();
            let TagStart::Tag(tag) = read_tag(&text[behind..]) else { continue };
            if tag.is_closing && is_same_name(tag.name, name) && self.is_end(behind + tag.length) {
                let text = text[at..at + end].replace("]]><![CDATA[", "");
                return Ok((RawArgument { text, is_exact: true }, behind + tag.length));
            }
        }
        if is_closed && self.reader.find_closing(at, self.tool).is_some() {
            let what = format!("`<{name}><![CDATA[` is not closed by `]]></{name}>`.");
            return Err(CallFault::Malformed(what));
        }
        Err(self.truncated_call(&format!("`<{name}>`")))
    }

    /// Whether an argument can end here: another part of the call follows, or the text ends.
    fn is_end(&self, at: usize) -> bool {
        let rest = &self.reader.text[self.past_blanks(at)..];
        match read_tag(rest) {
            TagStart::Tag(tag) if tag.is_closing => {
                is_same_name(tag.name, &self.tool.name)
                    || AROUND.iter().any(|it| it.eq_ignore_ascii_case(tag.name))
            }
            TagStart::Tag(tag) => {
                self.find_property(tag.name).is_some()
                    || self.is_around(&tag)
                    || self.reader.find_tool(tag.name).is_some()
            }
            TagStart::Cut(..) => true,
            TagStart::Text => rest.trim_matches(['`', '\n', '\r', ' ']).is_empty(),
        }
    }
}

const CDATA: &str = "<![CDATA[";

fn is_cdata(text: &str) -> bool {
    text.get(..CDATA.len()).is_some_and(|it| it.eq_ignore_ascii_case(CDATA))
}
