//! Statistics of what a task created: the number of parts, and whether a script gives them
//! behaviour.

use std::collections::BTreeSet;

use scene_schemas::proposal::{DiffLine, Proposal};
use scene_schemas::{Command, InstancePath, Value};
use vector_place::reflection::{is_a, is_service};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreationStats {
    /// The number of new instances of any `BasePart` class.
    pub parts: usize,
    /// Whether a script was created or changed that belongs to one of the parts: it is inside the
    /// part or an ancestor of it, or its new text names one of these.
    pub has_behaviour: bool,
}

/// Counts what applied proposals created.
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
    let has_behaviour = proposals.flat_map(|it| it.preview.changed_scripts()).any(|script| {
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

/// Returns the names in a path that a script would use: all except the service.
fn words_of(path: &InstancePath) -> Vec<String> {
    let names = path.segments.iter().map(|segment| &segment.name);
    names
        .enumerate()
        .filter(|(at, name)| *at > 0 || !is_service(name))
        .map(|(_, it)| it.clone())
        .collect()
}

/// Whether a line contains a name as a whole word.
fn has_word(line: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty()
        && line.match_indices(name).any(|(at, _)| {
            !line[..at].ends_with(is_part) && !line[at + name.len()..].starts_with(is_part)
        })
}
