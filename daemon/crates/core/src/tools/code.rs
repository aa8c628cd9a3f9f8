//! Shared code of the code navigation tools: resolving a position to a symbol, and formatting of
//! source ranges.

use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{BoundedNumber, InstancePath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_luau::index::ByteSpan;
use vector_place::{Node, Scene, count_noun};

use crate::code::{self, CodeIndex, FoundDefinition, PositionTracker, Symbol, TextPosition};
use crate::proposal::text_of;

/// Maximum bytes of a line or a path; longer ones are truncated.
const LINE: usize = 200;
const PATH: usize = 1_000;
/// Maximum bytes of the list in an answer.
const ANSWER: usize = 30_000;

/// A zero-based position in a script; characters are UTF-16 code units.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptPosition {
    line: BoundedNumber<0, 10_000_000>,
    character: BoundedNumber<0, 100_000_000>,
}

/// Resolves a path and a position to the script and a byte of its text.
pub(super) fn resolve_position(
    scene: &Scene,
    path: &InstancePath,
    place: ScriptPosition,
) -> Result<(Node, u32), Refusal> {
    let node = scene.resolve(path)?;
    let text = text_of(scene, node, path)?;
    let at =
        TextPosition { line: place.line.get() as u32, character: place.character.get() as u32 };
    match code::byte_at(&text, at) {
        Some(byte) => Ok((node, byte)),
        None => refuse!(
            "{path} has {}; there is no line {} (zero-based). read_script shows the text.",
            count_noun(text.lines().count(), "line", "lines"),
            at.line
        ),
    }
}

/// Returns the symbol at a position of a script.
pub(super) fn symbol_at(
    index: &CodeIndex,
    scene: &Scene,
    node: Node,
    byte: u32,
) -> Result<Symbol, Refusal> {
    code::symbol_at(index, scene, node, byte).ok_or_else(|| {
        let text = scene.script_text(node).unwrap_or_default();
        let mut positions = PositionTracker::new(&text);
        let line = positions.excerpt(byte, LINE);
        let at = positions.position_of(byte);
        Refusal(format!(
            "There is no name at line {}, character {} of {} (both zero-based): {line:?}. Point at \
             a name, or give `name` instead.",
            at.line,
            at.character,
            path_text(scene, node)
        ))
    })
}

/// Formats a span as a JSON range.
pub(super) fn range_json(positions: &mut PositionTracker<'_>, span: ByteSpan) -> Json {
    let (start, end) = positions.span_range(span);
    json!({ "start": start, "end": end })
}

/// Returns the line of a byte, truncated.
pub(super) fn line_text(positions: &PositionTracker<'_>, byte: u32) -> String {
    positions.excerpt(byte, LINE)
}

/// Formats a path, truncated if it is longer than any realistic path.
pub(super) fn path_text(scene: &Scene, node: Node) -> String {
    truncate_text(scene.path(node).to_string())
}

/// Truncates a text to the maximum length of a path.
pub(super) fn truncate_text(mut text: String) -> String {
    if text.len() > PATH {
        text.truncate(text.floor_char_boundary(PATH));
        text.push('…');
    }
    text
}

/// The remaining size of an answer, which keeps it readable for a model.
pub(super) struct AnswerBudget(usize);

impl AnswerBudget {
    /// Creates the budget of a whole answer.
    pub(super) fn new() -> Self {
        Self(ANSWER)
    }

    /// Creates the budget of one part of an answer.
    pub(super) fn share(part: usize) -> Self {
        Self(ANSWER / part)
    }

    /// Consumes the size of an element. Returns whether it fits.
    pub(super) fn try_take(&mut self, value: &Json) -> bool {
        let bytes = value.to_string().len() + 1;
        let fits = bytes <= self.0;
        self.0 = self.0.saturating_sub(bytes);
        fits
    }
}

/// Formats a definition as JSON.
pub(super) fn definition_json(scene: &Scene, found: &FoundDefinition) -> Json {
    let text = scene.script_text(found.node).unwrap_or_default();
    let mut positions = PositionTracker::new(&text);
    let mut definition = json!({
        "path": path_text(scene, found.node),
        "name": found.name,
        "range": range_json(&mut positions, found.span),
        "position": positions.position_of(found.name_span.start),
        "text": line_text(&positions, found.name_span.start),
    });
    if let Some(kind) = found.kind {
        definition["kind"] = json!(kind);
    }
    if !found.is_certain {
        definition["certain"] = false.into();
    }
    definition
}
