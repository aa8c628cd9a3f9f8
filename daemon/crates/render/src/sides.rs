//! A place before and after a change, seen from one place.

use scene_schemas::refusal::{Refusal, refuse};

use super::compare::compare;
use super::draw::{Rest, draw_side};
use super::png::Picture;
use super::solid::Solids;
use super::view::{Frame, View};

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum When {
    /// As it is before.
    Before,
    /// As it is with it.
    #[default]
    After,
}

impl When {
    /// The side of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "before" => Some(Self::Before),
            "after" => Some(Self::After),
            _ => None,
        }
    }
}

/// A place before and after a change. What differs is marked in both.
#[derive(Debug, Clone, PartialEq)]
pub struct Sides {
    before: Solids,
    after: Solids,
}

impl Sides {
    /// Both, with what differs marked; none where nothing does. They have to be of one scene.
    pub fn of(mut before: Solids, mut after: Solids) -> Option<Self> {
        compare(&mut before, &mut after);
        (before.is_marked() || after.is_marked()).then_some(Self { before, after })
    }

    /// One of them.
    pub fn side(&self, when: When) -> &Solids {
        match when {
            When::Before => &self.before,
            When::After => &self.after,
        }
    }

    /// Draws one of them. Both show the same part of the world, and what does not change looks the same in both.
    ///
    /// # Errors
    /// There is nothing to see.
    pub fn draw(&self, when: When, view: View, size: (u32, u32)) -> Result<Picture, Refusal> {
        match Frame::of(&[&self.before, &self.after], view) {
            Some(frame) => Ok(draw_side(self.side(when), size, frame, Rest::Pale)),
            None => refuse!("There is nothing to see: no part stands there."),
        }
    }
}
