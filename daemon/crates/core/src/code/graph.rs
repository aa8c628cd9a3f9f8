//! The require graph of scripts, from given scripts on.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};
use vector_place::Node;

use super::CodeIndex;

/// The direction in which requires are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GraphDirection {
    Requires,
    RequiredBy,
    /// Both directions, each from the given scripts.
    #[default]
    Both,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequireGraph {
    /// The scripts, nearest first, each with its distance in requires.
    pub scripts: Vec<(Node, u32)>,
    /// The require cycles, each once, in the order of requiring.
    pub cycles: Vec<Vec<Node>>,
}

/// Builds the graph of scripts within `depth` requires of the given ones.
pub fn build_graph(
    index: &CodeIndex,
    from: &[Node],
    direction: GraphDirection,
    depth: u32,
) -> RequireGraph {
    let mut away: FxHashMap<Node, u32> = FxHashMap::default();
    let mut scripts: Vec<(Node, u32)> = Vec::new();
    let ways: &[bool] = match direction {
        GraphDirection::Requires => &[true],
        GraphDirection::RequiredBy => &[false],
        GraphDirection::Both => &[true, false],
    };
    for forward in ways {
        let mut seen: FxHashSet<Node> = from.iter().copied().collect();
        let mut open: VecDeque<(Node, u32)> = from.iter().map(|node| (*node, 0)).collect();
        while let Some((node, steps)) = open.pop_front() {
            if away.insert(node, steps).is_none() {
                scripts.push((node, steps));
            }
            if steps == depth {
                continue;
            }
            let next = if *forward {
                index.required_modules(node)
            } else {
                index.required_by(node).to_vec()
            };
            open.extend(next.into_iter().filter(|it| seen.insert(*it)).map(|it| (it, steps + 1)));
        }
    }
    scripts.sort_by_key(|(_, steps)| *steps);
    let cycles = find_cycles(index, &scripts);
    RequireGraph { scripts, cycles }
}

/// A script on the current DFS path, with its requires that are not visited yet.
type OpenScript = (Node, std::vec::IntoIter<Node>);

/// Finds the require cycles among scripts (Tarjan's strongly connected components, without
/// recursion).
fn find_cycles(index: &CodeIndex, scripts: &[(Node, u32)]) -> Vec<Vec<Node>> {
    let within: FxHashSet<Node> = scripts.iter().map(|(node, _)| *node).collect();
    let mut numbers: FxHashMap<Node, (usize, usize)> = FxHashMap::default();
    let mut rings = Vec::new();
    let mut waiting: Vec<Node> = Vec::new();
    let mut is_waiting: FxHashSet<Node> = FxHashSet::default();
    for (root, _) in scripts {
        let mut path: Vec<OpenScript> = Vec::new();
        let mut next = Some(*root).filter(|it| !numbers.contains_key(it));
        loop {
            if let Some(node) = next.take() {
                let number = numbers.len();
                numbers.insert(node, (number, number));
                waiting.push(node);
                is_waiting.insert(node);
                path.push((node, index.required_modules(node).into_iter()));
            }
            let Some((node, requires)) = path.last_mut() else { break };
            let node = *node;
            if let Some(required) = requires.find(|it| within.contains(it)) {
                match numbers.get(&required).copied() {
                    None => next = Some(required),
                    Some((number, _)) if is_waiting.contains(&required) => {
                        lower_link(&mut numbers, node, number);
                    }
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            let (number, low) = numbers.get(&node).copied().unwrap_or_default();
            if let Some((above, _)) = path.last() {
                lower_link(&mut numbers, *above, low);
            }
            if number == low {
                let at = waiting.iter().rposition(|it| *it == node).unwrap_or_default();
                let ring = waiting.split_off(at);
                for it in &ring {
                    is_waiting.remove(it);
                }
                if ring.len() > 1 || index.required_modules(node).contains(&node) {
                    rings.push(ring_of(index, &ring));
                }
            }
        }
    }
    rings.sort();
    rings
}

fn lower_link(numbers: &mut FxHashMap<Node, (usize, usize)>, node: Node, to: usize) {
    if let Some((_, low)) = numbers.get_mut(&node) {
        *low = to.min(*low);
    }
}

/// Returns a shortest cycle through the first module of a component.
fn ring_of(index: &CodeIndex, component: &[Node]) -> Vec<Node> {
    let Some(start) = component.iter().min().copied() else {
        return Vec::new();
    };
    let within: FxHashSet<Node> = component.iter().copied().collect();
    let mut before: FxHashMap<Node, Node> = FxHashMap::default();
    let mut open = VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for next in index.required_modules(node).into_iter().filter(|it| within.contains(it)) {
            if next == start {
                let mut ring: Vec<Node> =
                    std::iter::successors(Some(node), |it| before.get(it).copied()).collect();
                ring.reverse();
                return ring;
            }
            if let Entry::Vacant(new) = before.entry(next) {
                new.insert(node);
                open.push_back(next);
            }
        }
    }
    component.to_vec()
}
