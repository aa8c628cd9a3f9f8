//! What is near a place in the world: boxes by number, in a grid.

use rustc_hash::FxHashMap;

/// The side of a cell of the grid, in studs.
const CELL: f32 = 32.0;

/// A box in more cells than this is looked at in every search instead.
const MANY_CELLS: i64 = 64;

type Cell = [i32; 3];

/// A box along the axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bounds {
    pub low: [f32; 3],
    pub high: [f32; 3],
}

impl Bounds {
    fn meets(&self, other: &Self) -> bool {
        (0..3).all(|axis| self.low[axis] <= other.high[axis] && self.high[axis] >= other.low[axis])
    }

    /// Whether a way from `origin` along `direction` leads through the box.
    fn is_on_way(&self, origin: [f32; 3], direction: [f32; 3]) -> bool {
        let (mut enter, mut leave) = (0.0_f32, 1.0_f32);
        for axis in 0..3 {
            let (low, high) = (self.low[axis] - origin[axis], self.high[axis] - origin[axis]);
            if direction[axis] == 0.0 {
                if low > 0.0 || high < 0.0 {
                    return false;
                }
                continue;
            }
            let (one, two) = (low / direction[axis], high / direction[axis]);
            enter = enter.max(one.min(two));
            leave = leave.min(one.max(two));
        }
        // Corners are met in spite of rounding.
        enter <= leave + 1e-4
    }

    /// Returns the cells that the box is in; None if they are many.
    fn cells(&self) -> Option<impl Iterator<Item = Cell> + use<>> {
        // Positions out of reach of numbers end in the outermost cells.
        let cell = |at: f32| (at / CELL).floor().clamp(-1e9, 1e9) as i32;
        let (low, high) = (self.low.map(cell), self.high.map(cell));
        let size = |axis: usize| i64::from(high[axis]) - i64::from(low[axis]) + 1;
        let count = size(0).checked_mul(size(1))?.checked_mul(size(2))?;
        if !(1..=MANY_CELLS).contains(&count) {
            return None;
        }
        Some((low[0]..=high[0]).flat_map(move |x| {
            (low[1]..=high[1]).flat_map(move |y| (low[2]..=high[2]).map(move |z| [x, y, z]))
        }))
    }
}

/// Boxes by number.
#[derive(Debug, Default)]
pub(crate) struct BoxIndex {
    boxes: FxHashMap<u32, Bounds>,
    cells: FxHashMap<Cell, Vec<u32>>,
    /// The boxes in many cells.
    large: Vec<u32>,
}

impl BoxIndex {
    /// Sets the box of a number, in place of the one that it had.
    pub(crate) fn set(&mut self, number: u32, bounds: Bounds) {
        if self.boxes.get(&number) == Some(&bounds) {
            return;
        }
        self.remove(number);
        match bounds.cells() {
            Some(cells) => {
                for cell in cells {
                    self.cells.entry(cell).or_default().push(number);
                }
            }
            None => self.large.push(number),
        }
        self.boxes.insert(number, bounds);
    }

    pub(crate) fn remove(&mut self, number: u32) {
        let Some(bounds) = self.boxes.remove(&number) else {
            return;
        };
        let Some(cells) = bounds.cells() else {
            self.large.retain(|it| *it != number);
            return;
        };
        for cell in cells {
            if let Some(numbers) = self.cells.get_mut(&cell) {
                numbers.retain(|it| *it != number);
            }
        }
    }

    /// Returns the numbers whose boxes are on the way from `origin` along `direction`, in ascending
    /// order.
    pub(crate) fn on_way(&self, origin: [f32; 3], direction: [f32; 3]) -> Vec<u32> {
        let end: [f32; 3] = std::array::from_fn(|axis| origin[axis] + direction[axis]);
        let bounds = Bounds {
            low: std::array::from_fn(|axis| origin[axis].min(end[axis])),
            high: std::array::from_fn(|axis| origin[axis].max(end[axis])),
        };
        let is_on_way =
            |it: &u32| self.boxes.get(it).is_some_and(|bounds| bounds.is_on_way(origin, direction));
        let mut found = self.near(&bounds);
        found.retain(is_on_way);
        found
    }

    /// Returns the numbers whose boxes meet `bounds`, in ascending order.
    pub(crate) fn near(&self, bounds: &Bounds) -> Vec<u32> {
        let meets = |number: &u32| self.boxes.get(number).is_some_and(|it| it.meets(bounds));
        let mut found: Vec<u32> = match bounds.cells() {
            Some(cells) => {
                let listed = cells.filter_map(|cell| self.cells.get(&cell)).flatten();
                listed.chain(&self.large).copied().filter(|it| meets(it)).collect()
            }
            None => self.boxes.keys().copied().filter(|it| meets(it)).collect(),
        };
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn way_leads_through_the_boxes_that_its_points_are_in() {
        let mut state = 3_u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 8) % below) as f32
        };
        let mut index = BoxIndex::default();
        let all: Vec<Bounds> =
            (0..150).map(|_| bounds([next(200), next(200), next(200)], 1.0 + next(9))).collect();
        for (number, it) in (0..).zip(&all) {
            index.set(number, *it);
        }
        for _ in 0..100 {
            let origin = [next(200), next(200), next(200)];
            // Ways along axes and through planes too.
            let direction = [next(4), next(4), next(4)].map(|it| (it - 1.0) * 40.0);
            let found = index.on_way(origin, direction);
            for (number, it) in (0..).zip(&all) {
                let at =
                    |step: f32| std::array::from_fn(|axis| origin[axis] + direction[axis] * step);
                let is_in = (0..=400).any(|step| {
                    let point: [f32; 3] = at(step as f32 / 400.0);
                    it.meets(&Bounds { low: point, high: point })
                });
                let wide =
                    Bounds { low: it.low.map(|it| it - 0.1), high: it.high.map(|it| it + 0.1) };
                assert!(!is_in || found.contains(&number), "{origin:?} {direction:?} {it:?}");
                assert!(
                    !found.contains(&number) || wide.is_on_way(origin, direction),
                    "{origin:?} {direction:?} {it:?}"
                );
            }
        }
    }

    fn bounds(at: [f32; 3], half: f32) -> Bounds {
        Bounds { low: at.map(|it| it - half), high: at.map(|it| it + half) }
    }

    #[test]
    fn search_finds_what_a_look_at_all_boxes_finds() {
        let mut state = 7_u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let mut all: Vec<(u32, Bounds)> = Vec::new();
        let mut index = BoxIndex::default();
        for _ in 0..2_000 {
            let number = next(200);
            let at = [next(400), next(60), next(400)].map(|it| it as f32 - 200.0);
            let it = bounds(at, [0.5, 3.0, 40.0, 900.0][next(4) as usize]);
            all.retain(|(known, _)| *known != number);
            if next(4) == 0 {
                index.remove(number);
            } else {
                index.set(number, it);
                all.push((number, it));
            }
            let look = bounds(at, [0.0, 10.0, 5_000.0][next(3) as usize]);
            let mut expected: Vec<u32> =
                all.iter().filter(|(_, it)| it.meets(&look)).map(|(number, _)| *number).collect();
            expected.sort_unstable();
            assert_eq!(index.near(&look), expected);
        }
    }

    #[test]
    fn positions_out_of_reach_are_no_fault() {
        let mut index = BoxIndex::default();
        for (number, at) in [f32::NAN, f32::INFINITY, f32::MAX, f32::MIN].into_iter().enumerate() {
            index.set(number as u32, bounds([at; 3], 1.0));
            index.near(&bounds([at; 3], 1.0));
        }
        index.set(9, bounds([0.0; 3], 1.0));
        assert_eq!(index.near(&bounds([0.5; 3], 1.0)), [9]);
    }
}
