//! Approval policy: which proposals are applied without the user's approval, by the mode the user
//! chose, and which may be approved together.

use scene_schemas::proposal::{Class, Mode, Proposal};

/// The most operations, and the most changed lines, of a small step.
const STEP_OPERATIONS: usize = 20;
const STEP_LINES: u32 = 40;

/// Whether the mode approves a proposal automatically. Stale proposals are replanned before and
/// never get here.
pub fn can_auto_approve(mode: Mode, proposal: &Proposal) -> bool {
    if needs_second_confirmation(proposal) {
        return false;
    }
    match mode {
        Mode::Confirm => false,
        Mode::Auto => proposal.class == Class::Additive && is_unremarkable(proposal),
        Mode::Dangerous => true,
    }
}

/// Whether it is a small step, which may be decided together with others of its task: it deletes
/// nothing, changes little, names its instances, and has no warnings and no new errors. Large changes
/// have a warning.
pub fn is_small_step(proposal: &Proposal) -> bool {
    let changed = proposal.preview.scripts.iter().map(|it| it.added.saturating_add(it.removed));
    let lines = changed.fold(0, u32::saturating_add);
    let is_small = proposal.operation_count() <= STEP_OPERATIONS && lines <= STEP_LINES;
    let is_explicit = proposal.implicit_target.is_none();
    is_small && is_explicit && proposal.class != Class::Destructive && is_unremarkable(proposal)
}

fn is_unremarkable(proposal: &Proposal) -> bool {
    proposal.warnings.is_empty() && !proposal.has_new_errors()
}

/// Whether the user must confirm the approval a second time.
pub fn needs_second_confirmation(proposal: &Proposal) -> bool {
    proposal.warnings.iter().any(|warning| warning.kind.needs_second_confirmation())
}

#[cfg(test)]
mod tests {
    use scene_schemas::Fingerprint;
    use scene_schemas::proposal::{Preview, Warning, WarningKind};

    use super::*;

    fn check(class: Class, warning: Option<WarningKind>, through: [bool; 3]) {
        let proposal = Proposal {
            title: String::new(),
            class,
            commands: Vec::new(),
            base: Fingerprint(String::new()),
            patch_id: Fingerprint(String::new()),
            preview: Preview::default(),
            warnings: warning
                .into_iter()
                .map(|kind| Warning { kind, text: String::new() })
                .collect(),
            after: Vec::new(),
            reads: Vec::new(),
            implicit_target: None,
            files: None,
            from: None,
            reverts: Vec::new(),
            replaces: None,
            runs: None,
            changed_files: Vec::new(),
            made_by: None,
        };
        let modes = [Mode::Confirm, Mode::Auto, Mode::Dangerous];
        assert_eq!(modes.map(|mode| can_auto_approve(mode, &proposal)), through);
    }

    #[test]
    fn auto_approval_depends_on_mode_class_and_warnings() {
        check(Class::Additive, None, [false, true, true]);
        check(Class::Additive, Some(WarningKind::Name), [false, false, true]);
        check(Class::Modifying, None, [false, false, true]);
        check(Class::Destructive, None, [false, false, true]);
        check(Class::Additive, Some(WarningKind::Security), [false, false, false]);
        check(Class::Modifying, Some(WarningKind::Fuzzy), [false, false, false]);
    }
}
