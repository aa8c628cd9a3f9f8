//! Effects of pending commands on an instance that another call needs.

use scene_schemas::path::Segment;
use scene_schemas::{Command, InstancePath};

/// Describes what commands do to the instance at a path, or to one of its ancestors, as the end of
/// a sentence. None if they leave it unchanged.
pub fn describe_conflict(commands: &[Command], path: &InstancePath) -> Option<String> {
    commands.iter().find_map(|command| {
        let target = &command.target().path;
        let is_it = is_within(path, target) && is_within(target, path);
        let does = match command {
            Command::Delete { .. } => "deletes",
            Command::Move { .. } => "moves",
            Command::Set { props, .. } if props.contains_key("Name") => "renames",
            Command::Set { .. } | Command::EditScript { .. } if is_it => "changes",
            // A command over many instances neither renames nor moves them.
            _ => return None,
        };
        let what = if is_it { "it".to_owned() } else { target.to_string() };
        is_within(path, target).then(|| format!("{does} {what}"))
    })
}

/// Whether a path leads to an instance or to one of its descendants. A name without an index may
/// mean any sibling.
fn is_within(path: &InstancePath, above: &InstancePath) -> bool {
    let fits = |a: &Segment, b: &Segment| {
        a.name == b.name && (a.index.is_none() || b.index.is_none() || a.index == b.index)
    };
    let (path, above) = (&path.segments, &above.segments);
    above.len() <= path.len() && above.iter().zip(path).all(|(a, b)| fits(a, b))
}

#[cfg(test)]
mod tests {
    use scene_schemas::{InstanceId, Target};

    use super::*;

    fn delete(path: &str) -> Command {
        let target = Target { id: InstanceId("1".to_owned()), path: path.parse().unwrap() };
        Command::Delete { target, count: 1, expect: None }
    }

    #[test]
    fn deletion_conflicts_with_the_instance_and_its_descendants() {
        let commands = [delete("game.Workspace.Course[2].Hazards")];
        let asked = |path: &str| describe_conflict(&commands, &path.parse().unwrap());
        assert_eq!(asked("game.Workspace.Course[2].Hazards").as_deref(), Some("deletes it"));
        assert_eq!(asked("game.Workspace.Course.Hazards").as_deref(), Some("deletes it"));
        let below = asked("game.Workspace.Course[2].Hazards.Spinner");
        assert_eq!(below.as_deref(), Some("deletes game.Workspace.Course[2].Hazards"));
        for other in ["game", "game.Workspace.Course[2]", "game.Workspace.Course[1].Hazards"] {
            assert_eq!(asked(other), None, "{other}");
        }
    }
}
