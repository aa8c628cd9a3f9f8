//! Edits to a script's requires after instances were renamed, so that each require still resolves
//! to the module it resolved to before.

use scene_schemas::text::{Position, TextEdit};
use vector_luau::index::{self, NameReplacement, find_replacements};
use vector_place::{Node, Scene};

use super::position::PositionTracker;
use super::resolve::resolve_require;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenamedInstance {
    pub node: Node,
    /// The name before the rename.
    pub old: String,
}

/// Returns the edits after which each require of a script resolves as before (`wanted`, one per
/// require). None if replacing names in paths is not enough.
pub fn correct_requires(
    scene: &Scene,
    script: Node,
    wanted: &[Option<Node>],
    renamed: &[RenamedInstance],
) -> Option<Vec<TextEdit>> {
    let source = scene.source_if_known(script)?;
    let read = index::summarize_script(&source);
    let mut done: Vec<NameReplacement> = Vec::new();
    for (number, require) in read.requires.iter().enumerate() {
        let module = (*wanted.get(number)?).filter(|it| scene.is_live(*it));
        let (Some(module), now) = (module, resolve_after(scene, script, &source, &done)?) else {
            continue;
        };
        if now.get(number) == Some(&Some(module)) {
            continue;
        }
        let on_the_way = |it: &&RenamedInstance| {
            std::iter::successors(Some(module), |at| scene.parent(*at)).any(|at| at == it.node)
        };
        let mut candidates = renamed
            .iter()
            .filter(on_the_way)
            .flat_map(|it| find_replacements(&source, require.span, &it.old, scene.name(it.node)));
        let with = candidates.find_map(|candidate| {
            let mut with = done.clone();
            with.push(candidate);
            with.sort_by_key(|it| it.span);
            let after = resolve_after(scene, script, &source, &with)?;
            // The require resolves to its module, and no other require breaks.
            let keeps = |at: usize| now[at] != wanted[at] || after[at] == wanted[at];
            (after[number] == Some(module) && (0..wanted.len()).all(keeps)).then_some(with)
        });
        done = with?;
    }
    let mut positions = PositionTracker::new(&source);
    let edit = |it: NameReplacement| {
        let (start, end) = positions.span_range(it.span);
        let [start, end] =
            [start, end].map(|it| Position { line: it.line, character: it.character });
        TextEdit { start, end, text: it.text }
    };
    (!done.is_empty()).then(|| done.into_iter().map(edit).collect())
}

/// Returns the modules that the requires resolve to after these changes; None if the number of
/// requires changed.
fn resolve_after(
    scene: &Scene,
    script: Node,
    source: &str,
    changes: &[NameReplacement],
) -> Option<Vec<Option<Node>>> {
    let (mut text, mut kept) = (String::with_capacity(source.len()), 0);
    for it in changes {
        text.push_str(source.get(kept..it.span.start as usize)?);
        text.push_str(&it.text);
        kept = it.span.end as usize;
    }
    text.push_str(source.get(kept..)?);
    let read = index::summarize_script(&text);
    let all = read.requires.iter().map(|it| resolve_require(scene, script, &it.target).ok());
    Some(all.collect())
}
