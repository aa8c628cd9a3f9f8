//! Resolution of a require to a module as Roblox does it: along the tree, from the requiring
//! script.
//!
//! Nothing is executed. Modules that only exist in a running game are not resolved, and the reason
//! is reported. The rules for string paths follow Roblox's documentation of `require` (2026-08).

use vector_luau::index::{RequireTarget, RouteOrigin, RouteStep, display_name};
use vector_place::{Node, Scene};

/// Maximum number of ancestors searched. Real places are not nested deeper.
const DEEP: usize = 1_000;

/// Maximum number of siblings with the same name that are considered.
const TWINS: usize = 100;

/// The reason a require is not resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnresolvedRequire {
    /// The instance has no child of that name.
    Missing(Node, Box<str>),
    /// The path leads above `game`.
    Above,
    /// The path leads to this instance, which is not a ModuleScript.
    NotAModule(Node),
    /// This many modules have the same path.
    Several(usize),
    /// The path is computed at run time.
    Computed,
    /// It is an asset id.
    Asset(Box<str>),
    /// It starts with an alias, which is defined in `.luaurc` files.
    Alias(Box<str>),
    /// A path that starts neither with a dot nor with `@`.
    Bare(Box<str>),
}

impl UnresolvedRequire {
    /// Describes the reason for a user.
    pub fn to_sentence(&self, scene: &Scene) -> String {
        match self {
            Self::Missing(below, name) => {
                format!("{} has no child named {name:?}", scene.path(*below))
            }
            Self::Above => "the path leads above game".to_owned(),
            Self::NotAModule(node) => {
                format!("it is a {}, not a ModuleScript", scene.class(*node))
            }
            Self::Several(n) => format!("{n} modules have this path"),
            Self::Computed => "it is only known when the script runs".to_owned(),
            Self::Asset(number) => {
                format!("it is asset {number}, which is not in this place")
            }
            Self::Alias(alias) => format!("the alias {alias:?} is unknown"),
            Self::Bare(path) => format!("{path:?} does not begin with ./, ../ or @"),
        }
    }
}

/// Resolves a require of a script to a module.
pub(super) fn resolve_require(
    scene: &Scene,
    script: Node,
    what: &RequireTarget,
) -> Result<Node, UnresolvedRequire> {
    let (at, steps) = match what {
        RequireTarget::Instance(origin, way) => {
            let at = origin_of(scene, script, origin)?;
            (at, way.to_steps().into_iter().cloned().collect())
        }
        RequireTarget::Text(text) => text_path(scene, script, text)?,
        RequireTarget::Asset(number) => {
            return Err(UnresolvedRequire::Asset(display_name(number).into()));
        }
        RequireTarget::Computed => return Err(UnresolvedRequire::Computed),
    };
    let Some((last, before)) = steps.split_last() else {
        return check_module(scene, at);
    };
    let at = before.iter().try_fold(at, |at, taken| take_step(scene, at, taken))?;
    match last {
        RouteStep::Child(name) => last_child(scene, at, name),
        last => take_step(scene, at, last).and_then(|node| check_module(scene, node)),
    }
}

/// Returns all instances that a require can mean, starting with the one Roblox finds; empty if the
/// path cannot be resolved. Siblings that share the last name are all included.
pub fn possible_targets(scene: &Scene, script: Node, what: &RequireTarget) -> Vec<Node> {
    let Some((at, steps)) = require_steps(scene, script, what) else {
        return Vec::new();
    };
    let Some((last, before)) = steps.split_last() else {
        return vec![at];
    };
    let Ok(at) = before.iter().try_fold(at, |at, taken| take_step(scene, at, taken)) else {
        return Vec::new();
    };
    match last {
        RouteStep::Child(name) if scene.count_named(at, name) > 0 => (0..scene
            .count_named(at, name))
            .filter_map(|n| scene.nth_named(at, name, n))
            .take(TWINS)
            .collect(),
        last => take_step(scene, at, last).into_iter().collect(),
    }
}

/// Returns the start instance of a require's path, and its steps.
fn require_steps(
    scene: &Scene,
    script: Node,
    what: &RequireTarget,
) -> Option<(Node, Vec<RouteStep>)> {
    match what {
        RequireTarget::Instance(origin, way) => {
            let at = origin_of(scene, script, origin).ok()?;
            Some((at, way.to_steps().into_iter().cloned().collect()))
        }
        RequireTarget::Text(text) => text_path(scene, script, text).ok(),
        RequireTarget::Asset(_) | RequireTarget::Computed => None,
    }
}

fn origin_of(scene: &Scene, script: Node, origin: &RouteOrigin) -> Result<Node, UnresolvedRequire> {
    match origin {
        RouteOrigin::Script => Ok(script),
        RouteOrigin::Game => Ok(scene.root()),
        RouteOrigin::Service(name) => find_service(scene, name),
    }
}

fn find_service(scene: &Scene, name: &str) -> Result<Node, UnresolvedRequire> {
    let root = scene.root();
    let by_name = scene.find_child(root, name).filter(|it| scene.class(*it) == name);
    let by_class = || scene.children(root).find(|it| scene.class(*it) == name);
    by_name.or_else(by_class).ok_or_else(|| missing_child(root, name))
}

fn missing_child(below: Node, name: &str) -> UnresolvedRequire {
    UnresolvedRequire::Missing(below, display_name(name).into())
}

fn take_step(scene: &Scene, at: Node, step: &RouteStep) -> Result<Node, UnresolvedRequire> {
    match step {
        RouteStep::Parent => scene.parent(at).ok_or(UnresolvedRequire::Above),
        RouteStep::Child(name) => scene
            .find_child(at, name)
            .or_else(|| at_run_time(scene, at, name))
            .ok_or_else(|| missing_child(at, name)),
        RouteStep::Ancestor(name) => {
            let above = std::iter::successors(scene.parent(at), |it| scene.parent(*it));
            above.take(DEEP).find(|it| scene.name(*it) == &**name).ok_or(UnresolvedRequire::Above)
        }
    }
}

/// Returns the instance that corresponds to one created at run time: a player's containers are
/// copied from the starter containers.
fn at_run_time(scene: &Scene, at: Node, name: &str) -> Option<Node> {
    match (scene.class(at), name) {
        ("Players", "LocalPlayer") => Some(at),
        ("Players", "PlayerScripts") => {
            let starter = find_service(scene, "StarterPlayer").ok()?;
            scene.find_child(starter, "StarterPlayerScripts")
        }
        ("Players", "PlayerGui") => find_service(scene, "StarterGui").ok(),
        ("Players", "Backpack") => find_service(scene, "StarterPack").ok(),
        _ => None,
    }
}

/// Takes the last step. Among siblings of the same name, the module is meant.
fn last_child(scene: &Scene, at: Node, name: &str) -> Result<Node, UnresolvedRequire> {
    let twins = scene.count_named(at, name);
    if twins < 2 {
        return take_step(scene, at, &RouteStep::Child(name.into()))
            .and_then(|node| check_module(scene, node));
    }
    let twins = (0..twins).filter_map(|n| scene.nth_named(at, name, n));
    let modules: Vec<Node> = twins.filter(|it| is_module(scene, *it)).take(9).collect();
    match modules.as_slice() {
        [one] => Ok(*one),
        [] => take_step(scene, at, &RouteStep::Child(name.into()))
            .and_then(|node| check_module(scene, node)),
        several => Err(UnresolvedRequire::Several(several.len())),
    }
}

fn is_module(scene: &Scene, node: Node) -> bool {
    scene.class(node) == "ModuleScript"
}

fn check_module(scene: &Scene, node: Node) -> Result<Node, UnresolvedRequire> {
    if is_module(scene, node) { Ok(node) } else { Err(UnresolvedRequire::NotAModule(node)) }
}

/// Parses a string path into its start instance and steps.
fn text_path(
    scene: &Scene,
    script: Node,
    text: &str,
) -> Result<(Node, Vec<RouteStep>), UnresolvedRequire> {
    let mut segments = text.split('/');
    let first = segments.next().unwrap_or_default();
    let parent = |node| scene.parent(node).ok_or(UnresolvedRequire::Above);
    let at = match first {
        "." => parent(script)?,
        ".." => parent(script).and_then(parent)?,
        "@self" => script,
        "@game" => scene.root(),
        alias if alias.starts_with('@') => {
            return Err(UnresolvedRequire::Alias(display_name(alias).into()));
        }
        _ => return Err(UnresolvedRequire::Bare(display_name(text).into())),
    };
    let steps = segments.filter(|segment| !matches!(*segment, "" | "."));
    let steps = steps.map(|segment| match segment {
        ".." => RouteStep::Parent,
        name => RouteStep::Child(name.into()),
    });
    Ok((at, steps.collect()))
}
