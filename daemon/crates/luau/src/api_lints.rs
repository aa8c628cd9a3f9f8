//! Lints by the facts about Roblox's API: members that instances do not have, and classes that
//! `Instance.new` and `GetService` refuse.
//!
//! Only what certainly fails is a finding: the class of the instance is known, and neither it nor a
//! class that derives from it has the member. Reading a member is never one, because a child may have
//! the name.

mod classes;
mod comments;
#[cfg(test)]
mod tests;
mod uses;

use full_moon::ast::Ast;
use rustc_hash::FxHashMap;
use scene_schemas::refusal::did_you_mean;
use selene_lib::LintVariation;
use vector_roblox_api::{ApiFacts, Member, MemberKind, TypeFacts};

use super::finding::FindingSeverity;
use classes::{
    InstanceClass, MemberTable, NamedMembers, ValueClasses, class_exists, is_not_creatable,
    is_service_class,
};
use comments::LintComments;
use uses::{ByteRange, ClassUse, MemberUse, MemberUseKind};

/// A lint of this crate, beside selene's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApiLint {
    /// A call of, or an assignment to, a member that the class does not have.
    UnknownMember,
    /// A call of what is not a method, or an assignment to what cannot be set.
    MemberUse,
    /// A class that cannot be created, or is not a service.
    Class,
}

impl ApiLint {
    const ALL: [Self; 3] = [Self::UnknownMember, Self::MemberUse, Self::Class];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::UnknownMember => "roblox_unknown_member",
            Self::MemberUse => "roblox_incorrect_member_use",
            Self::Class => "roblox_incorrect_class",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Whether selene's finding says that a comment names a lint which is one of these.
    pub(super) fn is_unknown_to_selene(code: &str, message: &str) -> bool {
        code == "invalid_lint_filter"
            && Self::ALL.iter().any(|it| message == format!("no lint named `{}` exists", it.name()))
    }
}

/// The lints of this crate with a project's settings.
#[derive(Debug, Default)]
pub(super) struct ApiLints {
    /// The lints that the settings name, and what they say.
    pub(super) variations: Vec<(ApiLint, LintVariation)>,
    /// Whether scripts are not for Roblox: the standard library is another.
    pub(super) is_off: bool,
}

#[derive(Debug)]
pub(super) struct ApiFinding {
    pub(super) severity: FindingSeverity,
    pub(super) lint: ApiLint,
    pub(super) message: String,
    pub(super) range: ByteRange,
}

impl ApiLints {
    /// The findings in a script, by its syntax tree.
    pub(super) fn find(&self, ast: &Ast, source: &str) -> Vec<ApiFinding> {
        // With these functions a script can change what a global is.
        let changes_globals = memchr::memmem::find(source.as_bytes(), b"etfenv").is_some();
        if self.is_off || changes_globals {
            return Vec::new();
        }
        let mut found = find_faults(ast, source);
        if found.is_empty() {
            return Vec::new();
        }
        let comments = LintComments::from_ast(ast, source);
        found.retain_mut(|it| {
            let given = comments.variation_at(it.lint, it.range.0);
            match given.or_else(|| self.variation(it.lint)) {
                Some(LintVariation::Allow) => return false,
                Some(LintVariation::Deny) => it.severity = FindingSeverity::Error,
                Some(LintVariation::Warn) | None => {}
            }
            true
        });
        found
    }

    fn variation(&self, lint: ApiLint) -> Option<LintVariation> {
        self.variations.iter().rev().find(|it| it.0 == lint).map(|it| it.1)
    }
}

/// What is wrong with a use.
type ApiFault = (ApiLint, String);

fn find_faults(ast: &Ast, source: &str) -> Vec<ApiFinding> {
    let uses = uses::collect_uses(ast, source);
    if uses.members.is_empty() && uses.classes.is_empty() {
        return Vec::new();
    }
    let classes = ValueClasses::from_uses(&uses);
    let mut table = MemberTable::default();
    let mut judged: FxHashMap<_, Option<ApiFault>> = FxHashMap::default();
    let mut found = Vec::new();
    let mut add = |fault: Option<ApiFault>, range: ByteRange| {
        if let Some((lint, message)) = fault {
            let severity = FindingSeverity::Warning;
            found.push(ApiFinding { severity, lint, message, range });
        }
    };
    for MemberUse { value, name, range, kind } in &uses.members {
        if let Some(class) = classes.class_of(value) {
            let judge = || judge_member(&mut table, class, name, *kind);
            add(judged.entry((class, *name, *kind)).or_insert_with(judge).clone(), *range);
        }
    }
    for ClassUse { class, range, receiver } in &uses.classes {
        match receiver {
            None if uses.names.contains_key("Instance") => {}
            None => add(judge_created(class), *range),
            Some(receiver) => {
                let of = classes.class_of(receiver);
                if of.is_some_and(|it| it.name == "DataModel") {
                    add(judge_service(class), *range);
                }
            }
        }
    }
    found
}

fn judge_member(
    table: &mut MemberTable,
    class: InstanceClass,
    name: &str,
    kind: MemberUseKind,
) -> Option<ApiFault> {
    let mut found = NamedMembers::of_class(class, name);
    // Most uses are right, so look no further than necessary.
    if is_usable(&found, kind) {
        return None;
    }
    table.add_others(&mut found, class, name);
    if found.has_undocumented || is_usable(&found, kind) {
        return None;
    }
    let class_name = class.name;
    let Some(member) = found.described.first() else {
        if found.is_in_database {
            return None;
        }
        let near = near_members(class_name, name, kind);
        let message = format!("{class_name} has no member `{name}`{near}");
        return Some((ApiLint::UnknownMember, message));
    };
    let message = match (member.kind, kind) {
        (MemberKind::Event, _) => {
            format!("`{name}` is an event of {class_name}: connect with `.{name}:Connect(...)`")
        }
        (MemberKind::Method, _) => {
            format!("`{name}` is a method of {class_name} and cannot be assigned")
        }
        (_, MemberUseKind::Assignment) => {
            let is_read_only = member.has_tag("ReadOnly");
            let why = if is_read_only { "is read-only" } else { "cannot be set by scripts" };
            format!("the property `{name}` of {class_name} {why}")
        }
        (MemberKind::Callback, MemberUseKind::Call) => {
            format!("`{name}` is a callback of {class_name}: it is assigned, not called")
        }
        (_, MemberUseKind::Call) => {
            format!("`{name}` is a property of {class_name}, not a method")
        }
    };
    Some((ApiLint::MemberUse, message))
}

/// Whether one of the members can be used in this way.
fn is_usable(found: &NamedMembers, kind: MemberUseKind) -> bool {
    match kind {
        MemberUseKind::Call => found.described.iter().any(|it| it.kind == MemberKind::Method),
        MemberUseKind::Assignment => {
            found.is_settable_in_database || found.described.iter().any(|it| may_be_assigned(it))
        }
    }
}

/// Whether a script of a game or a plugin may assign to a member.
fn may_be_assigned(member: &Member) -> bool {
    match member.kind {
        MemberKind::Callback => true,
        MemberKind::Property => member.is_writable() && !member.has_tag("NotScriptable"),
        _ => false,
    }
}

/// The similar names that can be used in this way, as a sentence; empty if there are none.
fn near_members(class: &str, name: &str, kind: MemberUseKind) -> String {
    let is_wanted = |it: &&Member| {
        !it.is_deprecated()
            && match kind {
                MemberUseKind::Call => it.kind == MemberKind::Method && it.is_readable(),
                MemberUseKind::Assignment => may_be_assigned(it),
            }
    };
    let members = ApiFacts::get().lineage(class).flat_map(|it| &it.members).filter(is_wanted);
    suggest(name, members.map(|it| it.name.as_str()))
}

fn suggest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match did_you_mean(name, known).as_str() {
        "" => String::new(),
        near => format!(".{near}"),
    }
}

fn judge_created(class: &str) -> Option<ApiFault> {
    let message = if !class_exists(class) {
        let near = near_classes(class, |it| !it.has_tag("NotCreatable"));
        format!("Roblox has no class `{class}`{near}")
    } else if is_not_creatable(class) {
        let hint = if is_service_class(class) { ": use `game:GetService`" } else { "" };
        format!("`Instance.new` cannot create a {class}{hint}")
    } else {
        return None;
    };
    Some((ApiLint::Class, message))
}

fn judge_service(class: &str) -> Option<ApiFault> {
    // Some services have a name with a space, such as "Run Service", by which old scripts get them.
    if is_service_class(class) || class.contains(' ') {
        return None;
    }
    let message = if class_exists(class) {
        format!("`{class}` is a class, but not a service")
    } else {
        let near = near_classes(class, |it| it.has_tag("Service"));
        format!("Roblox has no service `{class}`{near}")
    };
    Some((ApiLint::Class, message))
}

fn near_classes(name: &str, is_usable: impl Fn(&TypeFacts) -> bool) -> String {
    let classes = ApiFacts::get().classes.values();
    let usable = classes.filter(|it| is_usable(it) && !it.has_tag("Deprecated"));
    suggest(name, usable.map(|it| it.name.as_str()))
}
