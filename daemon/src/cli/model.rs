//! Model requests in the terminal: chooses the driver, shows the reply while it arrives, and passes
//! questions to the user.

use std::path::Path;

use scene_schemas::api::FailureKind;
use scene_schemas::entry::Seq;
use vector_core::tools::FetchRequest;
use vector_core::workflow::WorkflowInput;
use vector_engine::fetch::{CodeOutcome, FetchResult};
use vector_engine::model_request::ModelRequest;
use vector_engine::{ToolDriver, WorkflowRun};
use vector_providers::ProviderKind;
use vector_providers::client::{ClientEvent, load_models};
use vector_providers::http::HttpNotice;
use vector_providers::keys::SystemKeychain;

use super::interrupt;
use super::terminal::{Terminal, end_line, print_status};
use crate::tasks::fetch;

/// Chooses the driver by the user's option and the settings.
pub(super) fn choose_driver(
    home: &Path,
    project: Option<&Path>,
    requested: Option<&str>,
) -> anyhow::Result<ToolDriver> {
    let env = |name: &str| std::env::var(name).ok();
    let same = |folder: &Path| folder.canonicalize().ok() == home.canonicalize().ok();
    let project =
        project.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let project = project.filter(|folder| !same(folder));
    let models =
        load_models(home, project, requested, &env, &SystemKeychain).map_err(anyhow::Error::msg)?;
    Ok(ToolDriver::Provider(models.map_or(ProviderKind::Offline, ProviderKind::Model)))
}

/// Requests the model's next message and waits for it. Returns whether its text was already shown.
pub(super) fn ask_model(run: &mut WorkflowRun, terminal: &Terminal) -> anyhow::Result<bool> {
    let Some(prepared) = run.prepare_request()? else {
        return Ok(false);
    };
    let ModelRequest { client, request, models, .. } = &prepared;
    let mut streamed = false;
    let on_event = |event: ClientEvent| match event {
        ClientEvent::Text(text) if terminal.is_read_live() => {
            streamed |= !text.trim().is_empty();
            terminal.stream(&text);
        }
        ClientEvent::Text(_) | ClientEvent::Reasoning(_) => {}
        ClientEvent::Notice(notice) => {
            print_status(&format!("note: {}", notice_sentence(&notice, &client.name())));
        }
    };
    let cancel = interrupt::cancel_switch();
    let work = || models.block_on(client.send_request(request, &cancel, on_event));
    let answer = if terminal.is_read_live() {
        work()
    } else {
        terminal.with_spinner(&format!("Asking {}", client.name()), work)
    };
    end_line();
    run.handle_reply(&prepared, answer)?;
    Ok(streamed)
}

/// Performs a fetch for a call.
pub(super) fn fetch_for_call(
    run: &mut WorkflowRun,
    call: Seq,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    if let Some(fetch_work) = run.find_fetch(call) {
        let fetched = terminal.with_spinner(&fetch_work.title(), || {
            fetch::perform_fetch(&fetch_work, &interrupt::cancel_switch())
        });
        if let Ok(FetchResult::Run(finished)) = &fetched
            && let CodeOutcome::Run(outcome) = &finished.outcome
        {
            terminal.show_run_output(outcome);
        }
        // Without a result the call is not planned again, and cannot be applied by the mode.
        let is_check = matches!(*fetch_work.request, FetchRequest::Check(_));
        if !(is_check && interrupt::is_pressed()) {
            run.record_fetch_result(call, fetched)?;
        }
    }
    Ok(())
}

/// Describes a notice in a sentence.
pub(super) fn notice_sentence(notice: &HttpNotice, model: &str) -> String {
    match notice {
        HttpNotice::Stalled(silence) => {
            format!("no data from {model} for {} s.", silence.as_secs())
        }
        HttpNotice::Retrying { delay: after, reason, .. } => {
            let reason = reason.trim_end_matches('.');
            format!("{reason}. Retrying {model} in {:.1} s.", after.as_secs_f64())
        }
    }
}

/// Asks the user a question of the model. Returns false if there is no answer.
pub(super) fn answer_question(
    run: &mut WorkflowRun,
    call: Seq,
    terminal: &Terminal,
) -> anyhow::Result<bool> {
    let answers =
        run.workflow().and_then(|it| it.offered_answers(call)).unwrap_or_default().to_vec();
    for (at, answer) in answers.iter().enumerate() {
        terminal.show_message(&format!("  {}. {answer}", at + 1));
    }
    let text = if answers.is_empty() { "Your answer:" } else { "Your answer (a number, or text):" };
    let Some(reply) = terminal.ask_line(text)?.filter(|said| !said.is_empty()) else {
        if !interrupt::is_pressed() {
            print_status(
                "The model asked a question that was not answered. Add the answer to the request \
                 and run the command again.",
            );
        }
        return Ok(false);
    };
    let chosen = reply.parse::<usize>().ok().and_then(|n| answers.get(n.checked_sub(1)?));
    let text = chosen.cloned().unwrap_or(reply);
    run.handle_input(WorkflowInput::Asked { text, attached: Vec::new() })?;
    Ok(true)
}

/// Reports an error and asks whether to retry.
pub(super) fn ask_retry(run: &mut WorkflowRun, terminal: &Terminal) -> anyhow::Result<bool> {
    let Some(failure) = run.workflow().and_then(|it| it.conversation().trouble()).cloned() else {
        return Ok(false);
    };
    print_status(&format!("error: {} {}", failure.message, failure.hint));
    // A setting can only be corrected after this run.
    let needs_setting = failure.code == FailureKind::PaymentRequired;
    if !failure.is_retryable || needs_setting {
        return Ok(false);
    }
    // A limit was reached, and nothing has failed.
    let is_limit = failure.code == FailureKind::TooMany;
    let question = if is_limit { "Continue? [y]es [N]o" } else { "Try again? [y]es [N]o" };
    let reply = terminal.ask_line(question)?;
    let goes_on = reply.is_some_and(|it| matches!(it.to_lowercase().as_str(), "y" | "yes"));
    if goes_on {
        run.handle_input(WorkflowInput::Resume)?;
    }
    Ok(goes_on)
}
