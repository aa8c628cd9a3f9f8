//! A place before and after a change, drawn from the same viewpoint.

use scene_schemas::refusal::{Refusal, refuse};

use super::compare::mark_changes;
use super::draw::{UnmarkedStyle, draw_side};
use super::png::Picture;
use super::solid::SolidSet;
use super::view::{ViewDirection, ViewFrame};

/// The side of a before/after comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeSide {
    Before,
    #[default]
    After,
}

impl ChangeSide {
    /// Parses the name of a side.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "before" => Some(Self::Before),
            "after" => Some(Self::After),
            _ => None,
        }
    }
}

/// A place before and after a change. Solids that differ are marked on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct BeforeAfter {
    before: SolidSet,
    after: SolidSet,
}

impl BeforeAfter {
    /// Compares two states of the same scene and marks what differs. Returns None if nothing does.
    pub fn from_solids(mut before: SolidSet, mut after: SolidSet) -> Option<Self> {
        mark_changes(&mut before, &mut after);
        (before.is_marked() || after.is_marked()).then_some(Self { before, after })
    }

    pub fn side_of(&self, when: ChangeSide) -> &SolidSet {
        match when {
            ChangeSide::Before => &self.before,
            ChangeSide::After => &self.after,
        }
    }

    /// Draws one side. Both sides show the same part of the world, and what does not change looks
    /// the same on both.
    ///
    /// # Errors
    /// There is nothing to draw.
    pub fn draw_side(
        &self,
        when: ChangeSide,
        view: ViewDirection,
        size: (u32, u32),
    ) -> Result<Picture, Refusal> {
        match ViewFrame::enclose_solids(&[&self.before, &self.after], view) {
            Some(frame) => Ok(draw_side(self.side_of(when), size, frame, UnmarkedStyle::Pale)),
            None => refuse!("There is nothing to render: no parts."),
        }
    }
}
