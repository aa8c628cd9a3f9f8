//! What a task has made: parts that may have to behave, and whether a script is about them.

use std::collections::BTreeSet;

use scene_schemas::proposal::{DiffLine, Proposal};
use scene_schemas::{Command, InstancePath, Value};
use vector_place::reflection::{is_a, is_service};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreationStats {
    /// Parts, of whatever form.
    pub parts: usize,
    /// Whether a script was made or changed that is about one of them: it stands in the part or in
    /// what holds it, or what was written names one of these.
    pub has_behaviour: bool,
}

/// Tells what proposals that were applied have made.
pub fn count_creations<'a>(proposals: impl Iterator<Item = &'a Proposal> + Clone) -> CreationStats {
    let (mut parts, mut names) = (Vec::new(), BTreeSet::new());
    for command in proposals.clone().flat_map(|it| &it.commands) {
        if let Command::Create { parent, class, name, props, .. } = command
            && is_a(class, "BasePart")
        {
            let path = parent.path.child(name, None);
            names.extend(words_of(&path));
            if let Some(Some(Value::Tags(tags))) = props.get("Tags") {
                names.extend(tags.iter().cloned());
            }
            parts.push(path);
        }
    }
    let has_behaviour = proposals.flat_map(|it| &it.preview.scripts).any(|script| {
        let holder = script.path.parent();
        let is_held = holder.is_some_and(|holder| {
            let is_own = |part: &InstancePath| {
                part.segments.starts_with(&holder.segments)
                    || holder.segments.starts_with(&part.segments)
            };
            !words_of(&holder).is_empty() && parts.iter().any(is_own)
        });
        let written = script.hunks.iter().flat_map(|hunk| &hunk.lines);
        is_held
            || written.into_iter().any(|line| match line {
                DiffLine::Added(text) => names.iter().any(|name| has_word(text, name)),
                DiffLine::Context(_) | DiffLine::Removed(_) => false,
            })
    });
    CreationStats { parts: parts.len(), has_behaviour }
}

/// The names in a path by which a script would call it: all but the service's.
fn words_of(path: &InstancePath) -> Vec<String> {
    let names = path.segments.iter().map(|segment| &segment.name);
    names
        .enumerate()
        .filter(|(at, name)| *at > 0 || !is_service(name))
        .map(|(_, it)| it.clone())
        .collect()
}

/// Whether a line has a name as a whole word.
fn has_word(line: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty()
        && line.match_indices(name).any(|(at, _)| {
            !line[..at].ends_with(is_part) && !line[at + name.len()..].starts_with(is_part)
        })
}
