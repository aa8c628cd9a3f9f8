//! From where a picture is taken, and which part of the world is in it.
//!
//! Views have no vanishing point: what is as large looks as large, and can be measured. The numbers of
//! each are written down here, so that every machine draws the same.

use super::solid::{Mark, Solid, Solids};

/// From where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum View {
    /// From above: X to the right, Z downwards.
    Top,
    /// From the corner at +X, +Y and +Z.
    #[default]
    Iso,
    /// What Roblox calls the front: towards +Z, with X to the left.
    Front,
}

impl View {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Top, Self::Iso, Self::Front];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Top => "top",
            Self::Iso => "iso",
            Self::Front => "front",
        }
    }

    /// The view of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.name() == name)
    }

    /// What is to the right, upwards, and towards whoever looks.
    pub(super) fn axes(self) -> [[f64; 3]; 3] {
        match self {
            Self::Top => [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]],
            Self::Front => [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]],
            Self::Iso => [
                [0.707_106_78, 0.0, -0.707_106_78],
                [-0.408_248_29, 0.816_496_58, -0.408_248_29],
                [0.577_350_27, 0.577_350_27, 0.577_350_27],
            ],
        }
    }
}

/// A box of the world, in studs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Its lowest corner.
    pub low: [f32; 3],
    /// Its highest.
    pub high: [f32; 3],
}

/// No picture shows less, in studs.
const LEAST: f32 = 4.0;
/// What changes is shown with so much around it: a part of its size, and so many studs at least.
const AROUND: (f32, f32) = (0.5, 10.0);
/// One in so many may stand far away from all others, on either side.
const STRAY: usize = 50;
/// How far away that is, in the size of where the others are.
const AWAY: f32 = 4.0;
/// What is so many times as large as all that is smaller is the ground, or the sky.
const GROUND: f32 = 2.5;
/// Where fewer stand on it, more of it is shown.
const STANDING: usize = 4;
/// How much of the ground is shown around what stands on it, in the size of that; and around few.
const ROOM: (f32, f32) = (0.12, 2.0);

impl Frame {
    /// What a picture of these shows: what changes and what is around it; where nothing does, all but
    /// what is far away from the rest, or holds it. None where nothing is seen.
    pub fn of(solids: &Solids) -> Option<Self> {
        let marked: Vec<&Solid> = solids.all.iter().filter(|it| it.mark != Mark::None).collect();
        let is_marked = !marked.is_empty();
        let shown = if is_marked {
            marked
        } else {
            solids.all.iter().filter(|solid| solid.is_seen()).collect()
        };
        let frame = without_ground(without_strays(shown))?;
        let room = (frame.size() * AROUND.0).max(AROUND.1);
        Some(if is_marked { frame.widened(room) } else { frame })
    }

    /// Both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let low = [0, 1, 2].map(|axis| self.low[axis].min(other.low[axis]));
        let high = [0, 1, 2].map(|axis| self.high[axis].max(other.high[axis]));
        Self { low, high }
    }

    fn around(solid: &Solid) -> Self {
        let reach = solid.reach();
        let low = [0, 1, 2].map(|axis| solid.at[axis] - reach[axis]);
        let high = [0, 1, 2].map(|axis| solid.at[axis] + reach[axis]);
        Self { low, high }
    }

    /// With room around it, but not above and below: there is little to see.
    fn widened(self, room: f32) -> Self {
        let Self { mut low, mut high } = self;
        for axis in [0, 2] {
            low[axis] -= room;
            high[axis] += room;
        }
        Self { low, high }
    }

    /// What of it is not beside another, but for the heights.
    fn within(self, other: Self) -> Self {
        let Self { mut low, mut high } = self;
        for axis in [0, 2] {
            low[axis] = low[axis].max(other.low[axis]).min(high[axis]);
            high[axis] = high[axis].min(other.high[axis]).max(low[axis]);
        }
        Self { low, high }
    }

    /// The longest of its sides.
    pub(super) fn size(&self) -> f32 {
        let sides = [0, 1, 2].map(|axis| self.high[axis] - self.low[axis]);
        sides.into_iter().fold(LEAST, f32::max)
    }

    pub(super) fn middle(&self) -> [f32; 3] {
        [0, 1, 2].map(|axis| self.low[axis] + (self.high[axis] - self.low[axis]) / 2.0)
    }
}

/// Those that do not stand far away from nearly all others.
fn without_strays(mut solids: Vec<&Solid>) -> Vec<&Solid> {
    let strays = if solids.len() < 2 * STANDING { 0 } else { (solids.len() / STRAY).max(1) };
    if strays == 0 {
        return solids;
    }
    let mut sizes: Vec<f32> = solids.iter().map(|solid| Frame::around(solid).size()).collect();
    let middle = sizes.len() / 2;
    let usual = *sizes.select_nth_unstable_by(middle, f32::total_cmp).1;
    let core = [0, 1, 2].map(|axis| {
        let mut places: Vec<f32> = solids.iter().map(|solid| solid.at[axis]).collect();
        let low = *places.select_nth_unstable_by(strays, f32::total_cmp).1;
        let last = places.len() - 1 - strays;
        (low, *places.select_nth_unstable_by(last, f32::total_cmp).1)
    });
    let size = core.iter().map(|(low, high)| high - low).fold(usual, f32::max);
    let is_near = |solid: &&Solid| {
        let is_near = |axis: usize| {
            let (low, high) = core[axis];
            (low - AWAY * size..=high + AWAY * size).contains(&solid.at[axis])
        };
        (0..3).all(is_near)
    };
    solids.retain(is_near);
    solids
}

/// The box around those that are not the ground on which the others stand.
fn without_ground(mut solids: Vec<&Solid>) -> Option<Frame> {
    let size = |solid: &&Solid| Frame::around(solid).size();
    solids.sort_by(|one, other| size(one).total_cmp(&size(other)));
    let mut frames = solids.iter().map(|solid| Frame::around(solid));
    let first = frames.next()?;
    let mut frame = first;
    for (standing, ground) in (1..).zip(frames) {
        if ground.size() > GROUND * frame.size() {
            let room = if standing < STANDING { ROOM.1 } else { ROOM.0 };
            return Some(frame.widened(room * frame.size()).within(ground));
        }
        frame = frame.and(ground);
    }
    Some(frame)
}
