//! What specs do beyond the place: found in their texts and those of the modules that they require.

use std::collections::HashSet;
use std::thread;

use vector_core::code::CodeIndex;
use vector_luau::{ScanFinding, find_side_effects};
use vector_place::{Node, Scene};

use crate::tasks::deploy::{DeployError, refuse_deploy};

/// The stack of the thread, because the parser recurses.
const STACK: usize = 256 << 20;

/// A line of a script that has an effect beyond the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideEffect {
    /// The path of the script.
    pub script: String,
    pub finding: ScanFinding,
}

/// The effects beyond the place of everything that may run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SideEffects {
    /// The lines with effects, in tree order.
    pub found: Vec<SideEffect>,
    /// Whether all ModuleScripts were looked through, because some requires are only known as they run.
    pub covers_all_modules: bool,
}

impl SideEffects {
    /// Looks through scripts and the modules that they require.
    ///
    /// # Errors
    /// There is no thread for it.
    pub(super) fn find(scene: Scene, run: Vec<Node>) -> Result<Self, DeployError> {
        let failed = |why: &str| {
            refuse_deploy(format!(
                "The scripts cannot be looked through for effects beyond the place: {why}. Nothing was \
                 uploaded."
            ))
        };
        let work = move || look_through(&scene, &run);
        let started = thread::Builder::new().stack_size(STACK).spawn(work);
        let started = started.map_err(|error| failed(&error.to_string()))?;
        started.join().map_err(|_| failed("Vector failed at one of them"))
    }
}

fn look_through(scene: &Scene, run: &[Node]) -> SideEffects {
    let index = CodeIndex::new(scene);
    let mut reached: HashSet<Node> = run.iter().copied().collect();
    let mut open: Vec<Node> = run.to_vec();
    let mut covers_all_modules = false;
    while let Some(script) = open.pop() {
        let is_read = index.script_at(script).is_some_and(|it| it.parse_error.is_none());
        let requires = index.resolved_requires(script);
        covers_all_modules |= !is_read || requires.iter().any(Result::is_err);
        for required in requires.iter().flatten() {
            if reached.insert(*required) {
                open.push(*required);
            }
        }
    }
    let all = scene.descendants(scene.root());
    let read = all.filter(|it| {
        reached.contains(it) || covers_all_modules && scene.class(*it) == "ModuleScript"
    });
    let mut found = Vec::new();
    for script in read {
        let Some(text) = scene.script_text(script) else { continue };
        for finding in find_side_effects(&text) {
            found.push(SideEffect { script: scene.path(script).to_string(), finding });
        }
    }
    SideEffects { found, covers_all_modules }
}
