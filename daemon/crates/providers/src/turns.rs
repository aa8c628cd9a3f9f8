//! Converts a prompt to alternating messages, the common basis of all wire encodings.
//!
//! Several wires reject two messages of one side in a row, so these are joined here. Nothing here
//! is specific to a wire.

use std::borrow::Cow;
use std::collections::BTreeSet;

use scene_schemas::entry::{AttachmentSnapshot, Image, ImageFormat};
use serde_json::{Value as Json, json};
use vector_core::prompt::{CallOutcome, ModelPrompt, PromptTurn, picture_data, without_picture};

use super::catalogue::CatalogueModel;
use super::request::SentImages;

/// A message of one side.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PromptMessage<'a> {
    /// A message to the model: the result of its call, then images and texts.
    Person { tool_result: Option<ToolResult<'a>>, images: Vec<&'a Image>, texts: Vec<Cow<'a, str>> },
    /// A message of the model: texts, then a call.
    Model { texts: Vec<&'a str>, call: Option<ModelCall<'a>> },
}

/// A call made by the model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelCall<'a> {
    /// The provider's id, or one that Vector assigned.
    pub(super) id: String,
    pub(super) tool: &'a str,
    pub(super) args: &'a Json,
    /// The data to replay. Only set if this model made the call.
    pub(super) replay: Option<&'a Json>,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolResult<'a> {
    pub(super) id: String,
    pub(super) tool: &'a str,
    pub(super) outcome: &'a CallOutcome,
    /// The picture in the result, as a base64 PNG. Only the last picture of the conversation is
    /// set, and only for models with vision.
    pub(super) picture: Option<&'a str>,
}

impl ToolResult<'_> {
    /// Returns the outcome as text, for wires that can express nothing else.
    pub(super) fn to_text(&self) -> String {
        match self.outcome {
            CallOutcome::Done(Json::String(text)) => text.clone(),
            CallOutcome::Done(value) => self.without_picture(value).to_string(),
            CallOutcome::Refused(why) => format!("Refused: {why}"),
        }
    }

    /// Returns the outcome as text, for wires that mark a refusal separately.
    pub(super) fn to_plain_text(&self) -> String {
        match self.outcome {
            CallOutcome::Refused(why) => why.clone(),
            CallOutcome::Done(_) => self.to_text(),
        }
    }

    /// Returns the outcome as an object, for wires that only accept objects.
    pub(super) fn to_object(&self) -> Json {
        match self.outcome {
            CallOutcome::Done(value) => json!({ "result": self.without_picture(value) }),
            CallOutcome::Refused(why) => json!({ "error": why }),
        }
    }

    /// Returns an answer without its picture.
    fn without_picture<'a>(&self, answer: &'a Json) -> Cow<'a, Json> {
        without_picture(answer, self.picture.is_some())
    }

    pub(super) fn is_refused(&self) -> bool {
        matches!(self.outcome, CallOutcome::Refused(_))
    }
}

/// Builds the conversation as alternating messages, beginning with the user.
pub(super) fn build_messages<'a>(
    prompt: &'a ModelPrompt,
    model: &CatalogueModel,
) -> Vec<PromptMessage<'a>> {
    let mut texts: Vec<Cow<'_, str>> = prompt.earlier.iter().map(Cow::from).collect();
    if !prompt.goal.is_empty() {
        texts.push(Cow::from(prompt.goal.as_str()));
    }
    texts.extend(prompt.context_text().map(Cow::from));
    if !model.has_vision && prompt.images().next().is_some() {
        texts.push(Cow::from("(Vector: the images are not sent to you.)"));
    }
    let mut left_out = prompt.images().count().saturating_sub(sent_images(model));
    let mut is_sent = |_: &&Image| {
        let is_sent = left_out == 0;
        left_out = left_out.saturating_sub(1);
        is_sent
    };
    let attached = prompt.attached.iter().filter_map(AttachmentSnapshot::image);
    let images = attached.filter(&mut is_sent).collect();
    let mut sides = vec![PromptMessage::Person { tool_result: None, images, texts }];
    let turns = prompt.turns.iter().enumerate().filter(|_| model.has_vision);
    let seen = turns.rev().find_map(|(index, turn)| Some((index, turn_picture(turn)?)));
    let mut ids = BTreeSet::new();
    for (index, turn) in prompt.turns.iter().enumerate() {
        match turn {
            // Several wires reject an empty text.
            PromptTurn::Asked(text) | PromptTurn::Said(text) if text.trim().is_empty() => {}
            PromptTurn::Asked(text) => match sides.last_mut() {
                Some(PromptMessage::Person { texts, .. }) => texts.push(Cow::from(text.as_str())),
                _ => sides.push(user_text(text.as_str())),
            },
            PromptTurn::Image(image) if !is_sent(&image) => {}
            PromptTurn::Image(image) => {
                if let Some(PromptMessage::Person { images, .. }) = sides.last_mut() {
                    images.push(image);
                } else {
                    let (tool_result, texts) = (None, Vec::new());
                    sides.push(PromptMessage::Person { tool_result, images: vec![image], texts });
                }
            }
            PromptTurn::Said(text) => match sides.last_mut() {
                Some(PromptMessage::Model { texts, .. }) => texts.push(text),
                _ => sides.push(PromptMessage::Model { texts: vec![text], call: None }),
            },
            PromptTurn::Called { id, tool, args, outcome, replay } => {
                let given = id.as_deref().map(clean_call_id).filter(|id| ids.insert(id.clone()));
                // Wires reject two calls with the same id, so the later one gets a new id. Its
                // replay is dropped, because it contains the old id.
                let is_given = given.is_some() || id.is_none();
                let own = (index..).map(|n| format!("call_{n}"));
                let id = given.or_else(|| own.into_iter().find(|id| ids.insert(id.clone())));
                let id = id.unwrap_or_default();
                let replay = replay
                    .as_ref()
                    .filter(|_| is_given)
                    .filter(|replay| replay.provider == model.provider && replay.model == model.id);
                let content = replay.map(|replay| &replay.content);
                let made = ModelCall { id: id.clone(), tool, args, replay: content };
                match sides.last_mut() {
                    Some(PromptMessage::Model { call, .. }) => *call = Some(made),
                    _ => sides.push(PromptMessage::Model { texts: vec![], call: Some(made) }),
                }
                let picture = seen.filter(|(at, _)| *at == index).map(|(_, picture)| picture);
                let result = Some(ToolResult { id, tool, outcome, picture });
                sides.push(PromptMessage::Person {
                    tool_result: result,
                    images: Vec::new(),
                    texts: Vec::new(),
                });
            }
        }
    }
    if let Some(PromptMessage::Model { .. }) = sides.last() {
        // Several wires would continue a conversation that ends with the model's message as an
        // unfinished sentence.
        sides.push(user_text("Go on."));
    }
    if let Some(now) = &prompt.now {
        match sides.last_mut() {
            Some(PromptMessage::Person { texts, .. }) => texts.push(Cow::from(now)),
            _ => sides.push(user_text(now)),
        }
    }
    sides
}

fn user_text(text: &str) -> PromptMessage<'_> {
    PromptMessage::Person { tool_result: None, images: Vec::new(), texts: vec![Cow::from(text)] }
}

/// Returns the address that holds an image itself.
pub(super) fn image_url(format: ImageFormat, data: &str) -> String {
    format!("data:image/{};base64,{data}", format.as_str())
}

/// Maximum number of images in a request: the newest ones. Providers limit number and size.
const MAX_IMAGES: usize = 8;

/// Returns the number and the size of all images that a model is sent.
pub(super) fn measure_images(prompt: &ModelPrompt, model: &CatalogueModel) -> SentImages {
    let mut sent = SentImages::default();
    for message in build_messages(prompt, model) {
        let PromptMessage::Person { tool_result, images, .. } = message else { continue };
        let picture = tool_result.and_then(|result| result.picture);
        for data in images.iter().map(|image| image.data.as_str()).chain(picture) {
            sent.count += 1;
            sent.bytes += data.len();
        }
    }
    sent
}

/// Returns how many images of the user a model is sent at most.
pub(super) fn sent_images(model: &CatalogueModel) -> usize {
    if model.has_vision { MAX_IMAGES } else { 0 }
}

/// Returns the picture in a turn's result.
fn turn_picture(turn: &PromptTurn) -> Option<&str> {
    match turn {
        PromptTurn::Called { outcome: CallOutcome::Done(answer), .. } => picture_data(answer),
        _ => None,
    }
}

/// Returns the last block of a message that the next request repeats, for wires with cache marks.
/// Only the text for the current moment comes after it.
pub(super) fn last_cacheable_block<'a>(
    prompt: &ModelPrompt,
    blocks: &'a mut [Json],
) -> Option<&'a mut Json> {
    let behind = usize::from(prompt.now.is_some());
    let last = blocks.len().checked_sub(1 + behind)?;
    blocks.get_mut(last)
}

/// Restricts an id to characters that every wire accepts.
fn clean_call_id(id: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    id.chars().map(keep).collect()
}

/// Merges the replayed blocks of a message with its known content. The blocks keep their order. Of
/// the calls, only the one that was executed is kept.
///
/// `is_call` identifies the wire's call blocks, `is_same_call` the executed one among them, and
/// `is_text` its texts. Missing content is added: texts before the call, the call last.
pub(super) fn replay_blocks(
    replay: Option<&Json>,
    texts: Vec<Json>,
    call: Option<Json>,
    is: &ReplayedBlocks,
) -> Vec<Json> {
    let kept = match replay {
        Some(Json::Array(blocks)) => blocks.as_slice(),
        Some(Json::Object(map)) => ["content", "parts", "output"]
            .iter()
            .find_map(|key| map.get(*key)?.as_array())
            .map_or(&[][..], Vec::as_slice),
        _ => &[],
    };
    let has_text = kept.iter().any(|block| (is.is_text)(block));
    let taken = kept.iter().position(|block| {
        call.as_ref().is_some_and(|call| (is.is_call)(block) && (is.is_same_call)(block, call))
    });
    let mut blocks: Vec<Json> = Vec::with_capacity(kept.len() + texts.len() + 1);
    for (index, block) in kept.iter().enumerate() {
        if Some(index) == taken && !has_text {
            blocks.extend(texts.iter().cloned());
        }
        if !(is.is_call)(block) || Some(index) == taken {
            blocks.push(block.clone());
        }
    }
    if taken.is_none() {
        if !has_text {
            blocks.extend(texts);
        }
        blocks.extend(call);
    }
    blocks
}

/// The block types of a wire.
#[allow(clippy::struct_field_names, reason = "each field is a predicate")]
pub(super) struct ReplayedBlocks {
    pub(super) is_call: fn(&Json) -> bool,
    /// A text that is not a thought.
    pub(super) is_text: fn(&Json) -> bool,
    /// Whether a block is the given call.
    pub(super) is_same_call: fn(&Json, &Json) -> bool,
}

#[cfg(test)]
mod tests {
    use vector_core::prompt::Replay;

    use super::*;

    fn called(id: Option<&str>, tool: &str, replay: Option<Replay>) -> PromptTurn {
        PromptTurn::Called {
            id: id.map(str::to_owned),
            tool: tool.to_owned(),
            args: json!({}),
            outcome: CallOutcome::Done(json!(1)),
            replay,
        }
    }

    fn replay(provider: &str, model: &str) -> Replay {
        let (provider, model) = (provider.to_owned(), model.to_owned());
        Replay { provider, model, content: json!(["x"]) }
    }

    #[test]
    fn consecutive_messages_of_one_side_are_merged() {
        let prompt = ModelPrompt {
            goal: "g".to_owned(),
            turns: vec![
                PromptTurn::Asked("h".to_owned()),
                PromptTurn::Said(" ".to_owned()),
                PromptTurn::Asked("i".to_owned()),
                PromptTurn::Said("s".to_owned()),
                called(Some("id|1"), "a", None),
                PromptTurn::Asked("more".to_owned()),
                called(None, "b", None),
            ],
            ..ModelPrompt::default()
        };
        let model = CatalogueModel::new_unlisted("anthropic", "m");
        let sides = build_messages(&prompt, &model);
        let shapes: Vec<String> = sides
            .iter()
            .map(|side| match side {
                PromptMessage::Person { tool_result: told, texts, .. } => {
                    format!("person {:?} {texts:?}", told.as_ref().map(|told| &told.id))
                }
                PromptMessage::Model { texts, call } => {
                    format!("model {texts:?} {:?}", call.as_ref().map(|call| &call.id))
                }
            })
            .collect();
        let expected = [
            r#"person None ["g", "h", "i"]"#,
            r#"model ["s"] Some("id_1")"#,
            r#"person Some("id_1") ["more"]"#,
            r#"model [] Some("call_6")"#,
            r#"person Some("call_6") []"#,
        ];
        assert_eq!(shapes, expected);
    }

    #[test]
    fn replay_is_sent_only_to_the_same_model() {
        let model = CatalogueModel::new_unlisted("anthropic", "m");
        for (provider, name, goes) in
            [("anthropic", "m", true), ("bedrock", "m", false), ("anthropic", "n", false)]
        {
            let turns = vec![called(None, "a", Some(replay(provider, name)))];
            let prompt = ModelPrompt { turns, ..ModelPrompt::default() };
            let sides = build_messages(&prompt, &model);
            let PromptMessage::Model { call: Some(call), .. } = &sides[1] else {
                panic!("{sides:?}")
            };
            assert_eq!(call.replay.is_some(), goes, "{provider} {name}");
        }
    }

    #[test]
    fn replay_keeps_block_order_and_only_the_answered_call() {
        let is = ReplayedBlocks {
            is_call: |block| block.get("call").is_some(),
            is_text: |block| block.get("text").is_some(),
            is_same_call: |block, call| block["call"] == call["call"],
        };
        let call = || Some(json!({"call": 2}));
        let text = || vec![json!({"text": "t"})];
        let run =
            |replay: Option<Json>| Json::from(replay_blocks(replay.as_ref(), text(), call(), &is));
        assert_eq!(run(None), json!([{"text": "t"}, {"call": 2}]));
        let thought = json!([{"thought": "a"}]);
        assert_eq!(run(Some(thought)), json!([{"thought": "a"}, {"text": "t"}, {"call": 2}]));
        let whole =
            json!([{"thought": "a"}, {"text": "u"}, {"call": 2, "signature": "s"}, {"call": 3}]);
        let kept = json!([{"thought": "a"}, {"text": "u"}, {"call": 2, "signature": "s"}]);
        assert_eq!(run(Some(whole)), kept);
        let parts = json!({"parts": [{"call": 2, "signature": "s"}]});
        assert_eq!(run(Some(parts)), json!([{"text": "t"}, {"call": 2, "signature": "s"}]));
    }
}
