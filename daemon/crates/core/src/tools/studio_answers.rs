//! Formatting of Studio's answers to queries of tools for the model.

use scene_schemas::InstanceId;
use scene_schemas::api::{Document, PluginAnswer};
use scene_schemas::refusal::{Refusal, refuse};
use serde_json::{Value as Json, json};
use vector_place::Scene;

use crate::play::describe_output;

/// Returns the answer to a call whose tool queried Studio.
///
/// # Errors
/// Studio could not answer.
pub fn describe_answer(scene: &Scene, answer: &PluginAnswer) -> Result<Json, Refusal> {
    if let Some(output) = describe_output(scene, answer) {
        return Ok(output);
    }
    Ok(match answer {
        PluginAnswer::ActiveScript { script: None } => json!({ "script": null }),
        PluginAnswer::ActiveScript { script: Some(script) } => document_json(scene, script),
        PluginAnswer::Selection { ids, count } => {
            let selected: Vec<Json> =
                ids.iter().filter_map(|id| instance_json(scene, id)).collect();
            json!({ "selection": selected, "count": count })
        }
        PluginAnswer::Documents { documents } => {
            let documents: Vec<Json> =
                documents.iter().map(|it| document_json(scene, it)).collect();
            json!({ "documents": documents })
        }
        PluginAnswer::Revealed {} => json!({ "shown": true }),
        PluginAnswer::Failed { reason } => return refuse!("{reason}"),
        PluginAnswer::Properties { .. }
        | PluginAnswer::Sources { .. }
        | PluginAnswer::Output { .. }
        | PluginAnswer::Played { .. }
        | PluginAnswer::PlaytestEnds {}
        | PluginAnswer::Asset { .. } => {
            return refuse!("Studio's answer does not match the request. Call the tool again.");
        }
    })
}

fn instance_json(scene: &Scene, id: &InstanceId) -> Option<Json> {
    let node = scene.by_id(id).filter(|node| scene.is_live(*node))?;
    Some(json!({ "path": scene.path(node), "class": scene.class(node) }))
}

fn document_json(scene: &Scene, document: &Document) -> Json {
    let mut entry = instance_json(scene, &document.id).unwrap_or_else(|| json!({}));
    entry["isDirty"] = document.is_dirty.into();
    for (name, text) in [("text", &document.text), ("selected", &document.selected)] {
        if let Some(text) = text {
            entry[name] = text.as_str().into();
        }
    }
    entry
}
