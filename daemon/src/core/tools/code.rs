//! What the tools that find their way in code have in common: how a name is pointed at, and how places
//! in scripts are told.

use scene_schemas::{Bounded, InstancePath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::args;
use crate::core::code::{self, Found, Index, Position, Positions, Symbol};
use crate::core::luau::index::Span;
use crate::core::proposal::text_of;
use crate::core::refusal::{Refusal, refuse};
use crate::core::scene::{Node, Scene};

/// Longer lines are cut, in bytes.
const LINE: usize = 200;

/// A place in a script, from 0; characters count as in UTF-16.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    line: Bounded<0, 10_000_000>,
    character: Bounded<0, 100_000_000>,
}

/// The script of a path, and the byte of a place in it.
pub(super) fn pointed(
    scene: &Scene,
    path: &InstancePath,
    place: Place,
) -> Result<(Node, u32), Refusal> {
    let node = scene.resolve(path)?;
    let text = text_of(scene, node, path)?;
    let at = Position { line: place.line.get() as u32, character: place.character.get() as u32 };
    match code::byte_at(&text, at) {
        Some(byte) => Ok((node, byte)),
        None => refuse!(
            "{path} has {} lines, and line {} (from 0) is behind them. read_script shows it.",
            text.lines().count(),
            at.line
        ),
    }
}

/// What stands at a place of a script.
pub(super) fn symbol(
    index: &Index,
    scene: &Scene,
    (node, byte): (Node, u32),
) -> Result<Symbol, Refusal> {
    code::symbol(index, scene, node, byte).ok_or_else(|| {
        let text = scene.source(node).unwrap_or_default();
        let mut positions = Positions::new(&text);
        let line = args::cut(positions.line(byte).trim(), LINE).to_owned();
        let at = positions.of(byte);
        Refusal(format!(
            "No name stands at line {}, character {} of {} (both from 0): {line:?}. Point at a name, or \
             give `name` instead.",
            at.line,
            at.character,
            scene.path(node)
        ))
    })
}

/// Where something stands, as JSON.
pub(super) fn range(positions: &mut Positions<'_>, span: Span) -> Json {
    let (start, end) = positions.range(span);
    json!({ "start": start, "end": end })
}

/// The line that a byte stands in, cut.
pub(super) fn line<'a>(positions: &Positions<'a>, byte: u32) -> &'a str {
    args::cut(positions.line(byte).trim(), LINE)
}

/// A definition as JSON.
pub(super) fn told(scene: &Scene, found: &Found) -> Json {
    let text = scene.source(found.node).unwrap_or_default();
    let mut positions = Positions::new(&text);
    let mut told = json!({
        "path": scene.path(found.node),
        "name": found.name,
        "range": range(&mut positions, found.span),
        "position": positions.of(found.named.start),
        "text": line(&positions, found.named.start),
    });
    if let Some(kind) = found.kind {
        told["kind"] = json!(kind);
    }
    if !found.is_certain {
        told["certain"] = false.into();
    }
    told
}
