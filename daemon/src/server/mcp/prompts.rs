//! Prompts for frequent requests, which clients offer as their own commands.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value as Json;
use vector_core::prompt::{PRESETS, RequestPreset};

pub(super) fn list_prompts() -> Vec<Prompt> {
    PRESETS.iter().map(to_prompt).collect()
}

fn to_prompt(preset: &RequestPreset) -> Prompt {
    let what = PromptArgument::new("what")
        .with_description("The subject: a path, a script or a request")
        .with_required(preset.needs_object);
    Prompt::new(preset.name, Some(preset.about), Some(vec![what]))
}

/// Returns a prompt, filled in with its argument.
pub(super) fn get_prompt(
    name: &str,
    args: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
    let what = args.and_then(|args| args.get("what")).and_then(Json::as_str).unwrap_or_default();
    let what = what.trim();
    let Some(preset) = PRESETS.iter().find(|preset| preset.name == name) else {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let message = format!("There is no prompt `{name}`; available: {}.", names.join(", "));
        return Err(ErrorData::invalid_params(message, None));
    };
    if preset.needs_object && what.is_empty() {
        let message = format!("`{name}` needs `what`: a path, a script or a request.");
        return Err(ErrorData::invalid_params(message, None));
    }
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, preset.to_request(what))])
        .with_description(preset.about))
}
