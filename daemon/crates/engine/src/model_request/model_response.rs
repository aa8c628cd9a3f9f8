//! Converts a model's answer to a message, or to trouble that is reported to the user.
//!
//! Nothing here reads or writes the ledger.

use scene_schemas::api::{FailureKind, Setting};
use scene_schemas::entry::{Replay, Tokens};
use serde_json::json;
use vector_core::prompt::{MessageCost, ModelMessage, ToolCall};
use vector_core::workflow::ModelTrouble;
use vector_providers::answer::{
    AnswerOutcome, CalledTool, ModelAnswer, ProviderFailure, TokenUsage,
};
use vector_providers::client::ModelClient;
use vector_providers::config;
use vector_providers::failure::PAGE_KIND;
use vector_providers::http::HttpError;
use vector_providers::keys::CredentialSource;
use vector_providers::retry::MAX_RETRY_AFTER;

fn to_tokens(usage: &TokenUsage) -> Tokens {
    Tokens {
        prompt: usage.prompt,
        generated: usage.generated,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
    }
}

/// Returns the cost of an answer. If the provider reports no usage, the estimate for the request is
/// priced instead.
pub(super) fn message_cost(
    usage: Option<&TokenUsage>,
    estimate: u64,
    client: &ModelClient,
) -> MessageCost {
    let guessed = TokenUsage { prompt: estimate, ..TokenUsage::default() };
    MessageCost {
        model: client.name(),
        tokens: usage.map(to_tokens),
        dollars: client.cost_in_dollars(usage.unwrap_or(&guessed)),
        replay: None,
    }
}

/// Converts a whole answer to a message.
pub(super) fn build_message(
    answer: ModelAnswer,
    has_called: bool,
    estimate: u64,
    client: &ModelClient,
) -> ModelMessage {
    let chosen = client.chosen_model();
    let replay = answer.end.replay.clone().map(|content| {
        let (provider, model) = (chosen.service.name.clone(), chosen.model.id.clone());
        Box::new(Replay { provider, model, content })
    });
    let cost = MessageCost { replay, ..message_cost(answer.usage.as_ref(), estimate, client) };
    let declined = answer.is_declined();
    let flaw = find_flaw(&answer, has_called);
    let is_cut = answer.end.outcome == AnswerOutcome::Truncated;
    let message = Some(answer.text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
    let refusal = answer.end.refusal.clone();
    let why = || answer.end.failure.as_ref().map(|failure| failure.message.clone());
    let text = if declined { message.or(refusal).or_else(why) } else { message };
    let is_runnable = answer.end.outcome == AnswerOutcome::Ok;
    let calls = answer.calls.into_iter().filter(|_| is_runnable || is_cut);
    let calls = calls.map(|it| to_call(it, is_cut)).collect();
    ModelMessage { text, calls, is_declined: declined, flaw, cost: Some(cost) }
}

const EMPTY_MESSAGE: &str = "Your message was empty. Call a tool or write a message.";

/// Returns the flaw of an answer as a whole, as text for the model.
fn find_flaw(answer: &ModelAnswer, has_called: bool) -> Option<String> {
    let why = || answer.end.failure.as_ref().map_or("", |failure| failure.message.as_str());
    match answer.end.outcome {
        AnswerOutcome::ModelError => Some(format!(
            "The provider could not read your call ({}), so nothing was run. Call again, with \
             arguments that fit the tool's schema.",
            why()
        )),
        AnswerOutcome::Empty => Some(EMPTY_MESSAGE.to_owned()),
        // Some models end with an empty message after their last call. That means they are done.
        AnswerOutcome::Ok if answer.is_silent() && !has_called => Some(EMPTY_MESSAGE.to_owned()),
        AnswerOutcome::Truncated if answer.calls.is_empty() => Some(
            "Your message was cut off at the token limit, and nothing was run. Make it shorter, or \
             work in smaller steps."
                .to_owned(),
        ),
        AnswerOutcome::Ok if answer.end.is_limited && answer.calls.is_empty() => Some(
            "Your message was cut off at the token limit. Continue where it ended, or make it shorter."
                .to_owned(),
        ),
        _ => None,
    }
}

/// Reduces a tool name to one that every wire format accepts. Some models write `functions.NAME`.
fn clean_tool_name(name: &str) -> String {
    let name = name.rsplit('.').next().unwrap_or_default();
    let keep = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name: String = name.chars().filter(keep).take(64).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

fn to_call(called: CalledTool, is_cut: bool) -> ToolCall {
    let tool = clean_tool_name(&called.name);
    let (args, broken) = match called.args {
        Ok(args) if args.is_object() => (args, None),
        Ok(args) => (json!({ "unparsed": args }), Some("they are not an object".to_owned())),
        Err(malformed) => (json!({ "unparsed": malformed.text }), Some(malformed.why)),
    };
    let flaw = if is_cut {
        Some(format!(
            "{tool}: The message was cut off at the token limit within this call, so nothing was run. \
             Do not send the same call again: split it into several smaller calls."
        ))
    } else if called.name.is_empty() {
        Some("The call names no tool. Call one of the tools by its name.".to_owned())
    } else {
        broken.map(|why| {
            format!(
                "{tool}: The arguments cannot be read, so nothing was run: {why}. Send the call again with \
                 arguments that are one JSON object."
            )
        })
    };
    ToolCall { tool, args, id: called.id, flaw }
}

/// Returns the trouble to report when the workflow's model is not available.
pub(crate) fn missing_model(why: &str) -> ModelTrouble {
    ModelTrouble {
        code: FailureKind::Provider,
        message: why.to_owned(),
        is_retryable: true,
        hint: "Fix the problem or choose another model, then continue.".to_owned(),
        setting: Some(Setting::Model),
    }
}

pub(super) fn unreachable_trouble(error: &HttpError, client: &ModelClient) -> ModelTrouble {
    let hint = match error {
        HttpError::Unreachable { .. } if client.is_local() => {
            let address = &client.chosen_model().service.base_url;
            format!(
                "Check that the model's server runs at {address}: start it, or correct `base_url`, and try again."
            )
        }
        HttpError::Redirected { .. } | HttpError::SetupFailed(_) => {
            "Fix the setting and try again, or choose another model.".to_owned()
        }
        _ => "Check the network and try again, or choose another model.".to_owned(),
    };
    ModelTrouble {
        code: FailureKind::Provider,
        message: format!("{}: {error}.", client.name()),
        is_retryable: true,
        hint,
        setting: Some(Setting::Model),
    }
}

/// Returns the trouble to report when the provider answered with an error, or broke off.
pub(super) fn failure_trouble(failure: &ProviderFailure, client: &ModelClient) -> ModelTrouble {
    let service = &client.chosen_model().service.name;
    let status = failure.status.map_or(String::new(), |status| format!(" ({status})"));
    let (code, hint) = match failure.status {
        _ if failure.is_quota_exhausted => (
            FailureKind::PaymentRequired,
            format!("Add credit at {service} or wait, or choose another model."),
        ),
        _ if failure.is_context_overflow => (
            FailureKind::TooLarge,
            "Start a new task with less content, or choose a model with a larger window."
                .to_owned(),
        ),
        _ if failure.kind.as_deref() == Some(PAGE_KIND) => {
            let address = &client.chosen_model().service.base_url;
            let variable = config::provider_variable(service, "BASE_URL");
            let hint = format!(
                "A network that requires you to sign in can cause this: open any web page, and try \
                 again. Otherwise, {address} is not the address of {service}'s API; set it with \
                 `base_url` of the provider in models.toml or vector.toml, or with the variable \
                 {variable}."
            );
            (FailureKind::Provider, hint)
        }
        Some(401 | 403) => {
            let fix = match &client.chosen_model().credential_source {
                CredentialSource::Variable(name) => format!("Set the variable {name} again"),
                _ => format!("Set its key again with `vector key set {service}`"),
            };
            (FailureKind::Provider, format!("{fix}, or choose another model."))
        }
        Some(402) => (
            FailureKind::PaymentRequired,
            format!("Add credit at {service}, or choose another model."),
        ),
        Some(404) => (
            FailureKind::Provider,
            "Choose a model that it has; `vector models` lists the known models.".to_owned(),
        ),
        _ if failure.is_retryable => {
            let wait = failure.retry_after.filter(|wait| *wait > MAX_RETRY_AFTER);
            let wait =
                wait.map(|wait| format!("It asks you to wait {} min. ", wait.as_secs() / 60));
            let hint = format!("{}Try again, or choose another model.", wait.unwrap_or_default());
            (FailureKind::Provider, hint)
        }
        _ => (FailureKind::Provider, "Choose another model, or rephrase the request.".to_owned()),
    };
    let reason = failure.message.trim_end_matches(['.', ' ', '\n']);
    // A web page as the answer is not retried automatically, but it may be gone when the user
    // retries.
    let is_page = failure.kind.as_deref() == Some(PAGE_KIND);
    ModelTrouble {
        code,
        message: format!("{}{status}: {reason}.", client.name()),
        is_retryable: failure.is_retryable || is_page,
        hint,
        setting: Some(Setting::Model),
    }
}
