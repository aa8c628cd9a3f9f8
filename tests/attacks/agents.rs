//! x
pub(super) const ATTACKS: &[super::Attack] = &[];
