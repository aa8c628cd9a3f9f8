//! `vector chat`: a conversation in the terminal about one place, one task after another.
//!
//! Each message becomes a separate task that follows the tasks before it: what they read, said and
//! decided is known. The ledger stores the conversation, so that it can be continued later.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use scene_schemas::api::SpendingLimits;
use scene_schemas::entry::InteractionMode;
use vector_core::prompt::{BUILD, EXPLAIN, FIX};
use vector_engine::conversation;
use vector_engine::model_request;
use vector_engine::recover_place;
use vector_engine::task_estimate::{estimate_task, route_task};
use vector_engine::{ToolDriver, UserRequest, WorkflowRun};
use vector_ledger::Ledger;
use vector_providers::ProviderKind;

use super::call_log::CallLog;
use super::chat_prompt::ChatPrompt;
use super::edit::{decide_all, entry_listener};
use super::estimate::confirm_estimate;
use super::file_mentions::FileMentions;
use super::place_arg::{PlaceArg, read_mentions};
use super::review_requirement::{NO_REVIEWER, is_review_required};
use super::terminal::{Terminal, print_status};
use super::{DecideArgs, ExitStatus, interrupt, model, session_chat};
use crate::daemon::settings_store::load_settings;

/// Chat with a model about a place, and decide on what it proposes.
#[derive(Debug, Args)]
#[command(after_help = "\
Within the conversation:
  /plan TEXT      make a plan, without changes
  /ask TEXT       answer a question, without changes
  /build          carry out the plan
  /fix TEXT       find and fix a problem
  /explain TEXT   explain something
  /model NAME     use another model from now on
  /clear          begin a new conversation
  /quit           end the chat; the next `vector chat` of this place continues the conversation

Tab completes commands and what is typed after @, such as instances and files.
Ctrl-C stops the answer, or the task at its card; at the prompt it ends the chat.

Exit codes: 0 ended by you, 1 failed, 2 usage.")]
pub(super) struct ChatArgs {
    /// The place or model: .rbxl, .rbxlx, .rbxm or .rbxmx
    #[arg(required_unless_present_any = ["session", "project"])]
    place: Option<PathBuf>,
    /// A Rojo project instead: its file or its folder
    #[arg(long, value_name = "PATH", conflicts_with = "place")]
    project: Option<PathBuf>,
    /// A place that is open in the daemon, by its name; without a name, the only open one
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    #[arg(conflicts_with_all = ["place", "project", "model"])]
    session: Option<String>,
    /// The model: PROVIDER/MODEL, PROVIDER or offline [default: from the settings]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Begin a new conversation
    #[arg(long)]
    new: bool,
    /// Let the model give parts of a task to workers, which do them at the same time
    #[arg(long)]
    workers: bool,
    /// Do not play the game to find out whether a change brings new errors
    #[arg(long, conflicts_with = "session")]
    no_play: bool,
    #[command(flatten)]
    decide: DecideArgs,
}

/// A parsed line of input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChatInput {
    Ask(String, InteractionMode),
    Model(String),
    Clear,
    Help,
    Quit,
    Nothing,
    Unknown(String),
}

/// The commands, as they can be completed.
pub(super) const COMMANDS: [&str; 9] =
    ["plan", "ask", "build", "fix", "explain", "model", "clear", "help", "quit"];

pub(super) const HELP: &str =
    "/plan /ask /build /fix /explain /model /clear /quit; `vector help chat` explains them.";

/// The message for an unknown command.
pub(super) fn unknown_command(name: &str) -> String {
    format!("Unknown command /{name}, or its text is missing; /help lists all commands.")
}

/// Parses a line of input.
pub(super) fn parse_input(line: &str) -> ChatInput {
    let line = line.trim();
    if line.is_empty() {
        return ChatInput::Nothing;
    }
    let Some(command) = line.strip_prefix('/') else {
        return ChatInput::Ask(line.to_owned(), InteractionMode::Act);
    };
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let rest = rest.trim();
    match (name, rest.is_empty()) {
        ("plan", false) => ChatInput::Ask(rest.to_owned(), InteractionMode::Plan),
        ("ask", false) => ChatInput::Ask(rest.to_owned(), InteractionMode::Ask),
        ("build", _) => ChatInput::Ask(BUILD.to_request(rest), InteractionMode::Act),
        ("fix", _) => ChatInput::Ask(FIX.to_request(rest), InteractionMode::Act),
        ("explain", false) => ChatInput::Ask(EXPLAIN.to_request(rest), InteractionMode::Ask),
        ("model", false) => ChatInput::Model(rest.to_owned()),
        ("clear" | "new", true) => ChatInput::Clear,
        ("help" | "?", _) => ChatInput::Help,
        ("quit" | "exit" | "q", true) => ChatInput::Quit,
        _ => ChatInput::Unknown(name.to_owned()),
    }
}

pub(super) fn run(args: &ChatArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    match &args.session {
        None if args.workers => anyhow::bail!(
            "workers need a place that the daemon has open: run `vector open` with it, then `vector \
             chat --session --workers`"
        ),
        None => {
            let at = PlaceArg::from_args(args.place.as_deref(), args.project.as_deref())?;
            chat_in_file(args, at, home)
        }
        session @ Some(_) => {
            let name = session.as_deref().filter(|name| !name.is_empty());
            let begin = session_chat::ChatBegin { is_new: args.new, workers: args.workers };
            session_chat::chat_in_session(home, name, begin, &args.decide)
        }
    }
}

fn chat_in_file(args: &ChatArgs, at: PlaceArg<'_>, home: &Path) -> anyhow::Result<ExitStatus> {
    interrupt::install_handler();
    let ledger = Arc::new(Ledger::open(home)?);
    let terminal = Terminal::for_command(args.decide.json);
    let mut requested_model = args.model.clone();
    let mut driver = model::choose_driver(home, at.settings_folder(), requested_model.as_deref())?;
    let target = at.open_target(&terminal, None, false)?.0.place();
    if args.new {
        conversation::clear_conversation(&ledger, &target, model_request::unix_millis())?;
    }
    let goes_on =
        conversation::last_task(&ledger, &target, model_request::unix_millis())?.is_some();
    let how = if goes_on {
        "This continues the previous conversation; /clear begins a new one."
    } else {
        ""
    };
    print_status(&format!("{} answers. Type /help for commands. {how}", driver.name()));
    if is_review_required(home, at.settings_folder())? {
        print_status(&format!("note: {NO_REVIEWER}"));
    }
    let source = FileMentions::new(at, &ledger, &target);
    let mut prompt = ChatPrompt::new(&terminal, &source)?;
    loop {
        let Some(line) = prompt.read()? else {
            return Ok(ExitStatus::Done);
        };
        match parse_input(&line) {
            ChatInput::Nothing => {}
            ChatInput::Quit => return Ok(ExitStatus::Done),
            ChatInput::Help => print_status(HELP),
            ChatInput::Unknown(name) => print_status(&unknown_command(&name)),
            ChatInput::Clear => {
                conversation::clear_conversation(&ledger, &target, model_request::unix_millis())?;
                print_status("Started a new conversation.");
            }
            ChatInput::Model(name) => {
                match model::choose_driver(home, at.settings_folder(), Some(&name)) {
                    Ok(new) => {
                        driver = new;
                        requested_model = Some(name);
                        print_status(&format!("{} answers from now on.", driver.name()));
                    }
                    Err(error) => print_status(&format!("error: {error:#}")),
                }
            }
            ChatInput::Ask(goal, interaction) => {
                let limits = load_settings(home).limits;
                let task = ChatTask { args, at, goal, interaction, limits };
                if let Err(error) = task.run(&ledger, driver, &terminal, home) {
                    print_status(&format!("error: {error:#}"));
                }
                driver =
                    model::choose_driver(home, at.settings_folder(), requested_model.as_deref())?;
            }
        }
    }
}

struct ChatTask<'a> {
    args: &'a ChatArgs,
    at: PlaceArg<'a>,
    goal: String,
    interaction: InteractionMode,
    limits: SpendingLimits,
}

impl ChatTask<'_> {
    fn run(
        self,
        ledger: &Arc<Ledger>,
        driver: ToolDriver,
        terminal: &Terminal,
        home: &Path,
    ) -> anyhow::Result<()> {
        let Self { args, at, goal, interaction, limits } = self;
        for notice in recover_place(ledger, &at.ledger_file()?)? {
            print_status(&format!("note: {notice}"));
        }
        let (target, scene) = at.open_target(terminal, None, false)?;
        let place = target.place();
        let follows = match &driver {
            ToolDriver::Provider(ProviderKind::Model(_)) => {
                conversation::last_task(ledger, &place, model_request::unix_millis())?
            }
            _ => conversation::find_plan(ledger, &place, &goal, interaction)?,
        };
        let attached = read_mentions(&goal, &scene, at.settings_folder(), ledger)?;
        let user_request =
            UserRequest { goal, attached, interaction, follows, ..UserRequest::default() };
        let driver = route_task(&scene, &user_request, driver);
        model_request::check_images(&driver, &user_request.attached).map_err(anyhow::Error::msg)?;
        model_request::check_first_message(&driver, &user_request).map_err(anyhow::Error::msg)?;
        if let ToolDriver::Provider(ProviderKind::Model(_)) = &driver {
            let estimate = estimate_task(&scene, &user_request, &driver);
            if !confirm_estimate(terminal, &estimate)? {
                return Ok(());
            }
        }
        let (mode, json) = (args.decide.mode(), args.decide.json);
        let calls = CallLog::default();
        let listener = entry_listener(json, &calls);
        let mut run =
            WorkflowRun::start(ledger, (target, scene), user_request, driver, mode, listener)?;
        run.set_play_check(!args.no_play);
        run.set_review_required(is_review_required(home, at.settings_folder())?);
        run.set_spending_limits(limits, terminal.can_ask());
        decide_all(&mut run, &args.decide, terminal, &calls, false, home)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chat_input_is_parsed_as_task_or_command() {
        let ask = |text: &str, interaction| ChatInput::Ask(text.to_owned(), interaction);
        assert_eq!(parse_input(" make it red "), ask("make it red", InteractionMode::Act));
        assert_eq!(parse_input("/plan a farm"), ask("a farm", InteractionMode::Plan));
        assert_eq!(parse_input("/ask  why? "), ask("why?", InteractionMode::Ask));
        assert_eq!(parse_input("/build"), ask(BUILD.text, InteractionMode::Act));
        assert_eq!(parse_input("/fix"), ask(FIX.text, InteractionMode::Act));
        assert_eq!(
            parse_input("/explain Main"),
            ask(&EXPLAIN.to_request("Main"), InteractionMode::Ask)
        );
        assert_eq!(parse_input("/model openai"), ChatInput::Model("openai".to_owned()));
        assert_eq!(parse_input("/clear"), ChatInput::Clear);
        assert_eq!(parse_input("/plan"), ChatInput::Unknown("plan".to_owned()));
        assert_eq!(parse_input("/nope x"), ChatInput::Unknown("nope".to_owned()));
        assert_eq!(parse_input("  "), ChatInput::Nothing);
    }
}
