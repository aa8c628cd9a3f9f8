//! The direction of view, and the part of the world that is shown.
//!
//! Views have no perspective, so that sizes can be compared and measured. Their numbers are written
//! out here, so that every machine draws the same picture.

use std::f64::consts::FRAC_1_SQRT_2;

use super::solid::{ChangeMark, Solid, SolidSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ViewDirection {
    /// From above: X to the right, Z downwards.
    Top,
    /// From the corner at +X, +Y and +Z.
    #[default]
    Iso,
    /// The front in Roblox's sense: looking towards +Z, with X to the left.
    Front,
}

impl ViewDirection {
    pub const ALL: [Self; 3] = [Self::Top, Self::Iso, Self::Front];

    pub fn name(self) -> &'static str {
        match self {
            Self::Top => "top",
            Self::Iso => "iso",
            Self::Front => "front",
        }
    }

    /// Parses the name of a view.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.name() == name)
    }

    /// The world directions that point right, up and towards the viewer.
    pub(super) fn axes(self) -> [[f64; 3]; 3] {
        match self {
            Self::Top => [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]],
            Self::Front => [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]],
            Self::Iso => [
                [FRAC_1_SQRT_2, 0.0, -FRAC_1_SQRT_2],
                [-0.408_248_29, 0.816_496_58, -0.408_248_29],
                [0.577_350_27, 0.577_350_27, 0.577_350_27],
            ],
        }
    }
}

/// The part of the world that a picture shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ViewFrame {
    view: ViewDirection,
    /// The range along the right axis and along the up axis, in studs.
    pub(super) extents: [(f64, f64); 2],
    /// The bounding box of what is shown.
    pub(super) bounds: WorldBox,
}

/// An axis-aligned box in the world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WorldBox {
    pub(super) low: [f32; 3],
    pub(super) high: [f32; 3],
}

/// Minimum size of what a picture shows, in studs.
const LEAST: f32 = 4.0;
/// The margin around a change: a fraction of its size, and a minimum in studs.
const AROUND: (f32, f32) = (0.5, 10.0);
/// One in this many solids may be far away from all others, on either side.
const STRAY: usize = 50;
/// How far away that is, as a multiple of the extent of the others.
const AWAY: f32 = 4.0;
/// A solid this many times as large as the bounds of all smaller ones is the ground or the sky.
const GROUND: f32 = 2.5;
/// If fewer solids than this are on the ground, more of the ground is shown.
const STANDING: usize = 4;
/// The margin of ground around the solids on it, as a multiple of their extent: for many solids,
/// and for few.
const ROOM: (f32, f32) = (0.1, 1.5);

impl ViewFrame {
    /// Frames the changes and their surroundings. Without changes, frames everything except strays
    /// and the ground or sky. Returns None if nothing is visible.
    pub fn enclose_solids(sides: &[&SolidSet], view: ViewDirection) -> Option<Self> {
        let all = || sides.iter().flat_map(|side| &side.all);
        let marked: Vec<&Solid> = all().filter(|solid| solid.mark != ChangeMark::None).collect();
        let is_marked = !marked.is_empty();
        let shown = if is_marked { marked } else { all().filter(|it| it.is_visible()).collect() };
        let (shown, around, room) = without_ground(without_strays(shown))?;
        let room = if is_marked { (around.longest_side() * AROUND.0).max(AROUND.1) } else { room };
        let seen = [0, 1].map(|axis| {
            let (low, high) = extent_along(&shown, view.axes()[axis]);
            (low - f64::from(room), high + f64::from(room))
        });
        Some(Self { view, extents: seen, bounds: around })
    }

    pub(super) fn new(view: ViewDirection, extents: [(f64, f64); 2], bounds: WorldBox) -> Self {
        Self { view, extents, bounds }
    }

    pub(super) fn view(&self) -> ViewDirection {
        self.view
    }
}

/// The range of solids along an axis.
fn extent_along(solids: &[&Solid], axis: [f64; 3]) -> (f64, f64) {
    let along =
        |place: [f32; 3]| -> f64 { (0..3).map(|at: usize| axis[at] * f64::from(place[at])).sum() };
    let mut bounds = (f64::INFINITY, f64::NEG_INFINITY);
    for solid in solids {
        let reach: f64 = solid.half.iter().map(|half| along(*half).abs()).sum();
        let at = along(solid.at);
        bounds = (bounds.0.min(at - reach), bounds.1.max(at + reach));
    }
    bounds
}

impl WorldBox {
    pub(super) fn of_solid(solid: &Solid) -> Self {
        let reach = solid.half_extents();
        let low = [0, 1, 2].map(|axis| solid.at[axis] - reach[axis]);
        let high = [0, 1, 2].map(|axis| solid.at[axis] + reach[axis]);
        Self { low, high }
    }

    fn union(self, other: Self) -> Self {
        let low = [0, 1, 2].map(|axis| self.low[axis].min(other.low[axis]));
        let high = [0, 1, 2].map(|axis| self.high[axis].max(other.high[axis]));
        Self { low, high }
    }

    /// The longest side, at least `LEAST`.
    fn longest_side(&self) -> f32 {
        let sides = [0, 1, 2].map(|axis| self.high[axis] - self.low[axis]);
        sides.into_iter().fold(LEAST, f32::max)
    }

    /// Whether this box covers another in X and Z.
    pub(super) fn is_below(&self, other: &Self) -> bool {
        let covers =
            |axis: usize| self.low[axis] <= other.low[axis] && self.high[axis] >= other.high[axis];
        covers(0) && covers(2)
    }
}

/// Removes the solids that are far away from nearly all others.
fn without_strays(mut solids: Vec<&Solid>) -> Vec<&Solid> {
    let stray_count = if solids.len() < 2 * STANDING { 0 } else { (solids.len() / STRAY).max(1) };
    if stray_count == 0 {
        return solids;
    }
    let mut sizes: Vec<f32> =
        solids.iter().map(|solid| WorldBox::of_solid(solid).longest_side()).collect();
    let middle = sizes.len() / 2;
    let usual = *sizes.select_nth_unstable_by(middle, f32::total_cmp).1;
    let core = [0, 1, 2].map(|axis| {
        let mut places: Vec<f32> = solids.iter().map(|solid| solid.at[axis]).collect();
        let low = *places.select_nth_unstable_by(stray_count, f32::total_cmp).1;
        let last = places.len() - 1 - stray_count;
        (low, *places.select_nth_unstable_by(last, f32::total_cmp).1)
    });
    let away = AWAY * core.iter().map(|(low, high)| high - low).fold(usual, f32::max);
    solids.retain(|solid| {
        let place = core.iter().zip(solid.at);
        place.into_iter().all(|((low, high), at)| (low - away..=high + away).contains(&at))
    });
    solids
}

/// Removes the ground and the sky. Returns the remaining solids, their bounds, and the margin
/// around them.
fn without_ground(mut solids: Vec<&Solid>) -> Option<(Vec<&Solid>, WorldBox, f32)> {
    let size = |solid: &&Solid| WorldBox::of_solid(solid).longest_side();
    solids.sort_by(|one, other| size(one).total_cmp(&size(other)));
    let mut around = WorldBox::of_solid(solids.first()?);
    for index in 1..solids.len() {
        let next = WorldBox::of_solid(solids[index]);
        if next.longest_side() > GROUND * around.longest_side() {
            solids.truncate(index);
            let room = if index < STANDING { ROOM.1 } else { ROOM.0 };
            return Some((solids, around, room * around.longest_side()));
        }
        around = around.union(next);
    }
    Some((solids, around, 0.0))
}
