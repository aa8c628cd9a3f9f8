//! Rules of a task: what a person allowed for the rest of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::Fingerprint;
use crate::path::InstancePath;
use crate::proposal::Class;

/// What a person allowed for the rest of one task. Proposals that it covers are approved without
/// asking, but for those that need a second confirmation, that change a large part of the place, that
/// insert scripts of an asset, or with which scripts fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRule {
    /// The most destructive class that it covers.
    pub class: Class,
    /// What it is limited to.
    pub scope: RuleScope,
}

/// What a rule is limited to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RuleScope {
    /// The task, and nothing else.
    Task {},
    /// Changes to an instance and its descendants.
    Within {
        /// The path of the instance.
        path: InstancePath,
    },
    /// Edits of the texts of some scripts.
    Scripts {
        /// The paths of the scripts.
        paths: Vec<InstancePath>,
    },
    /// The same change as another proposal, to whatever instances.
    Equal {
        /// A hash over the commands without the instances that they address.
        change: Fingerprint,
        /// The title of that proposal.
        title: String,
    },
    /// Something that a person had erased since. The rule covers nothing.
    Erased {},
}

/// The maximum number of scripts that the text of a rule names.
const NAMED: usize = 3;

impl TaskRule {
    /// Returns what the rule allows, as the end of a sentence.
    pub fn describe(&self) -> String {
        match (&self.scope, self.class) {
            (RuleScope::Task {}, Class::Destructive) => "the rest of this task".to_owned(),
            (RuleScope::Task {}, class) => format!("{} of this task", kinds_of(class)),
            (RuleScope::Within { path }, class) => format!("{} within {path}", kinds_of(class)),
            (RuleScope::Scripts { paths }, _) => format!("edits of {}", name_scripts(paths)),
            (RuleScope::Equal { title, .. }, _) => format!("changes equal to “{title}”"),
            (RuleScope::Erased {}, _) => "something that was erased since".to_owned(),
        }
    }
}

fn kinds_of(class: Class) -> &'static str {
    match class {
        Class::Additive => "additions",
        Class::Modifying => "additions and changes",
        Class::Destructive => "additions, changes and deletions",
    }
}

fn name_scripts(paths: &[InstancePath]) -> String {
    let mut names: Vec<String> = paths.iter().take(NAMED).map(ToString::to_string).collect();
    match paths.len().saturating_sub(NAMED) {
        0 => {}
        1 => names.push("1 more script".to_owned()),
        more => names.push(format!("{more} more scripts")),
    }
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => "no script".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_is_described_in_few_words() {
        let check = |class, scope, text: &str| {
            assert_eq!(TaskRule { class, scope }.describe(), text);
        };
        let path = |name: &str| format!("game.Workspace.{name}").parse::<InstancePath>().unwrap();
        let scripts = |count: usize| {
            let paths = (0..count).map(|at| path(&format!("S{at}"))).collect();
            RuleScope::Scripts { paths }
        };
        check(Class::Destructive, RuleScope::Task {}, "the rest of this task");
        check(Class::Additive, RuleScope::Task {}, "additions of this task");
        let within = || RuleScope::Within { path: path("Farm") };
        check(Class::Additive, within(), "additions within game.Workspace.Farm");
        check(Class::Modifying, within(), "additions and changes within game.Workspace.Farm");
        check(Class::Modifying, scripts(1), "edits of game.Workspace.S0");
        check(Class::Modifying, scripts(2), "edits of game.Workspace.S0 and game.Workspace.S1");
        let many = "edits of game.Workspace.S0, game.Workspace.S1, game.Workspace.S2 and 4 more \
                    scripts";
        check(Class::Modifying, scripts(7), many);
    }
}
