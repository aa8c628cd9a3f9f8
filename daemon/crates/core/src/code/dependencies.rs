//! The scripts around the selected ones: what they require, and who requires them, step by step.
//!
//! Only the modules that a selected script needs, and the users of what may be changed, are
//! followed. The users of a module that a selected script merely requires are left out: everybody
//! requires a signal library.

use rustc_hash::FxHashSet;
use vector_place::Node;

use super::{CodeIndex, SelectionReason};

/// The most modules that are followed from one script in one step, so that one script with very
/// many requires does not crowd out those of others.
const REQUIRES: usize = 16;
/// The same for the users of one module.
const USERS: usize = 8;

/// A script that depends on a selected one, or on which a selected one depends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DependentScript {
    pub(super) node: Node,
    pub(super) reason: SelectionReason,
}

/// Returns the dependencies of some scripts in both directions, the nearest first, without the
/// scripts themselves. At each distance the required modules come before the users, and both are in
/// the order of the scripts that lead to them. At most `most` are returned.
pub(super) fn close_over(index: &CodeIndex, sources: &[Node], most: usize) -> Vec<DependentScript> {
    let mut known: FxHashSet<Node> = sources.iter().copied().collect();
    let mut found: Vec<DependentScript> = Vec::new();
    let (mut requires, mut users) = (sources.to_vec(), sources.to_vec());
    while found.len() < most && !(requires.is_empty() && users.is_empty()) {
        let begin = found.len();
        for from in &requires {
            let modules = index.required_modules(*from).into_iter().take(REQUIRES);
            for node in modules.map(|it| index.reexported_module(it)) {
                if known.insert(node) {
                    let reason = SelectionReason::RequiredBy(*from);
                    found.push(DependentScript { node, reason });
                }
            }
        }
        let between = found.len();
        for from in &users {
            for node in index.required_by(*from).iter().take(USERS) {
                if known.insert(*node) {
                    let reason = SelectionReason::Requires(*from);
                    found.push(DependentScript { node: *node, reason });
                }
            }
        }
        let nodes = |all: &[DependentScript]| all.iter().map(|it| it.node).collect();
        (requires, users) = (nodes(&found[begin..between]), nodes(&found[between..]));
    }
    found.truncate(most);
    found
}

#[cfg(test)]
mod tests {
    use vector_place::Scene;

    use super::super::tests::place;
    use super::*;

    fn module(requires: &[&str]) -> String {
        let all: Vec<String> =
            requires.iter().map(|it| format!("require(script.Parent.{it})\n")).collect();
        format!("{}return {{}}", all.concat())
    }

    /// A chain `A -> B -> C -> D`, its users, and a library that everybody requires.
    fn chain() -> Scene {
        let all = [
            ("A", module(&["B", "Lib"])),
            ("B", module(&["C", "Lib"])),
            ("C", module(&["D"])),
            ("D", module(&["A"])),
            ("Lib", module(&[])),
            ("Stranger", module(&["Lib"])),
            ("User", module(&["A"])),
            ("UserOfUser", module(&["User"])),
        ];
        let all = all.map(|(name, text)| (format!("ReplicatedStorage/{name}"), text));
        let all: Vec<_> =
            all.iter().map(|(path, text)| (path.as_str(), "ModuleScript", text.as_str())).collect();
        place(&all)
    }

    #[track_caller]
    fn check(scene: &Scene, from: &[&str], most: usize, expected: &[&str]) {
        let at = |name: &&str| {
            scene.resolve(&format!("game.ReplicatedStorage.{name}").parse().unwrap()).unwrap()
        };
        let sources: Vec<Node> = from.iter().map(at).collect();
        let told = |it: &DependentScript| {
            let sentence = it.reason.to_sentence(|node| scene.path(node));
            format!("{} {}", scene.name(it.node), sentence.replace("game.ReplicatedStorage.", ""))
        };
        let found: Vec<String> =
            close_over(&CodeIndex::new(scene), &sources, most).iter().map(told).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn dependencies_come_by_distance_in_both_directions() {
        let scene = chain();
        let all = [
            "B required by A",
            "Lib required by A",
            "D requires A",
            "User requires A",
            "C required by B",
            "UserOfUser requires User",
        ];
        check(&scene, &["A"], 100, &all);
        check(&scene, &["A"], 3, &all[..3]);
        check(&scene, &[], 100, &[]);
        // The users of a library do not depend on each other.
        check(&scene, &["Stranger"], 100, &["Lib required by Stranger"]);
    }
}
