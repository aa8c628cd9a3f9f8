//! Implicit targets: resolves the instance of a call that omits its path, before the tool runs.

use scene_schemas::InstancePath;
use scene_schemas::proposal::{ImplicitTarget, ImplicitTargetReason};
use scene_schemas::refusal::{Refusal, refuse};
use serde_json::{Map, Value as Json};
use vector_place::StudioSelection;

use super::{DefaultTarget, ToolSpec};
use crate::planning_scene::PlanningScene;

/// The instance that a call without a path refers to.
enum ImplicitInstance {
    One(ImplicitTarget),
    /// Not a single instance: this many are selected in Studio. 0 if the selection is empty or not
    /// known, or the selected instance is gone.
    Many(u32),
    /// The place is a file, which has no selection.
    File,
}

impl DefaultTarget {
    /// Returns the argument, the arguments that replace it, and whether it defaults to
    /// game.Workspace in the end.
    fn argument_names(self) -> Option<(&'static str, &'static [&'static str], bool)> {
        match self {
            Self::Nothing => None,
            Self::Path => Some(("path", &["path", "paths", "selector"], false)),
            Self::Parent => Some(("parentPath", &["parentPath"], false)),
            Self::ParentOrWorkspace => Some(("parentPath", &["parentPath", "path"], true)),
        }
    }

    /// Marks the argument as optional in a schema.
    pub(super) fn mark_optional(self, schema: &mut Map<String, Json>) {
        let Some((argument, _, or_workspace)) = self.argument_names() else {
            return;
        };
        if let Some(Json::Array(required)) = schema.get_mut("required") {
            required.retain(|name| name != argument);
            if required.is_empty() {
                schema.remove("required");
            }
        }
        let or = if or_workspace { ", else game.Workspace" } else { "" };
        let note = format!("Default: selection{or}");
        if let Some(Json::Object(own)) =
            schema.get_mut("properties").and_then(|properties| properties.get_mut(argument))
        {
            let about = own.get("description").and_then(Json::as_str);
            let about = about.map_or_else(|| note.clone(), |about| format!("{about} {note}"));
            own.insert("description".to_owned(), about.into());
        }
    }
}

/// Returns the arguments with the default filled in, and the instance that was filled in.
///
/// # Errors
/// An argument is missing, and its default is unknown.
pub(super) fn fill_default(
    tool: &ToolSpec,
    mut args: Json,
    scene: &PlanningScene,
) -> Result<(Json, Option<ImplicitTarget>), Refusal> {
    if args.is_null() {
        args = Json::Object(Map::new());
    }
    let (Some((argument, instead, or_workspace)), Some(map)) =
        (tool.own.argument_names(), args.as_object_mut())
    else {
        return Ok((args, None));
    };
    if instead.iter().any(|name| map.get(*name).is_some_and(|given| !given.is_null())) {
        return Ok((args, None));
    }
    let default_target = match implicit_instance(scene)? {
        ImplicitInstance::One(default_target) => default_target,
        _ if or_workspace => workspace_or_top(scene)?,
        ImplicitInstance::File => {
            let others = if instead.len() > 1 { ", `paths` or a `selector`" } else { "" };
            return refuse!(
                "`{argument}` is missing: give a path{others}. A selected instance is used instead \
                 only when a place is open in Studio."
            );
        }
        ImplicitInstance::Many(count) => {
            let selected = match count {
                0 => "nothing is".to_owned(),
                n => format!("{n} instances are"),
            };
            return refuse!(
                "`{argument}` is missing, and {selected} selected in Studio. Select exactly one \
                 instance, or give a path."
            );
        }
    };
    map.insert(argument.to_owned(), default_target.target.path.to_string().into());
    Ok((args, Some(default_target)))
}

/// Returns the Workspace; in a file of a model, which has none, the top.
///
/// # Errors
/// The place is open in Studio, and its Workspace is not known.
fn workspace_or_top(scene: &PlanningScene) -> Result<ImplicitTarget, Refusal> {
    let path = InstancePath::root().child("Workspace", None);
    match scene.target_by_path(&path) {
        Ok(target) => Ok(ImplicitTarget { target, by: ImplicitTargetReason::Workspace }),
        Err(refusal) if scene.is_open_in_studio() => Err(refusal),
        Err(_) => {
            let target = scene.target_by_path(&InstancePath::root())?;
            Ok(ImplicitTarget { target, by: ImplicitTargetReason::Top })
        }
    }
}

/// Returns the instance that a call without a path refers to. An unknown selection is recorded as
/// missing, so that the call is replanned once it is known.
///
/// # Errors
/// The implicit target no longer exists.
fn implicit_instance(scene: &PlanningScene) -> Result<ImplicitInstance, Refusal> {
    if !scene.is_open_in_studio() {
        return Ok(ImplicitInstance::File);
    }
    if let Some(ImplicitTarget { target, by }) = scene.implicit_target() {
        let node = scene.by_id(&target.id).filter(|node| scene.is_live(*node));
        let Some(node) = node.or_else(|| scene.resolve(&target.path).ok()) else {
            return refuse!(
                "{}, which was meant where the path was left out, is gone. Ask for it again.",
                target.path
            );
        };
        let target = scene.target(node);
        return Ok(ImplicitInstance::One(ImplicitTarget { target, by: *by }));
    }
    Ok(match scene.selection() {
        StudioSelection::One(node) => ImplicitInstance::One(ImplicitTarget {
            target: scene.target(node),
            by: ImplicitTargetReason::Selected,
        }),
        StudioSelection::Many(count) => ImplicitInstance::Many(count),
    })
}
