//! A conversation from the terminal about a place that is open in Studio. The daemon runs it, and
//! the plugin shows the same.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use scene_schemas::api::{
    Chat, Event, OfferedMention, OfferedMentions, OfferedPermission, PermissionDecision, RouteId,
    SessionId, Sessions, WorkflowStarted, WorkflowView,
};
use scene_schemas::entry::{Finish, InteractionMode, Seq};
use scene_schemas::permission::PermissionAnswer;
use scene_schemas::tier::TaskEstimate;

use super::call_log::is_talk_tool;
use super::chat::{ChatInput, HELP, parse_input, unknown_command};
use super::chat_prompt::{ChatPrompt, MentionSource, SUGGESTION_TIME, WANTED_TIME};
use super::daemon_client::{DaemonClient, RouteRequest};
use super::estimate::confirm_estimate;
use super::handover::hand_over_keys;
use super::remote_review::{ExtraKeys, RemoteReview};
use super::session_choice::choose_session;
use super::style::{PaintKind, terminal_line};
use super::terminal::{Terminal, print_status};
use super::{DecideArgs as How, ExitStatus, interrupt};

/// Duration of a long poll, in seconds: the longest delay before Ctrl-C takes effect.
const HOLD: u32 = 1;

const KEYS: ExtraKeys = ExtraKeys {
    prompt: "[y]es [n]o [r]ule [c]omment [s]plit [e]dit [m]odel, Enter to decide later",
    help: "  Enter  leave it pending: decide in Studio, on the page, or with `vector review`",
};

/// How the requests of a conversation begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChatBegin {
    /// Whether the first one begins a new conversation.
    pub(super) is_new: bool,
    /// Whether the model may give parts of a task to workers.
    pub(super) workers: bool,
}

/// Runs a conversation in an open place until the user ends it.
pub(super) fn chat_in_session(
    home: &Path,
    named: Option<&str>,
    ChatBegin { is_new, workers }: ChatBegin,
    how: &How,
) -> anyhow::Result<ExitStatus> {
    let daemon = DaemonClient::connect(home)?;
    hand_over_keys(home);
    interrupt::install_handler();
    let terminal = Terminal::for_command(how.json);
    let mut begins = is_new;
    print_status(
        "The page shows the same conversation, and so does the widget if the place is open in \
         Studio. Type /help for commands.",
    );
    let source = SessionMentions { daemon: &daemon, named, session: RefCell::default() };
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
            ChatInput::Model(_) => print_status(
                "To choose the model of a session, use the settings of the page or of the widget in \
                 Studio.",
            ),
            ChatInput::Clear => {
                begins = true;
                print_status("Started a new conversation.");
            }
            ChatInput::Ask(text, interaction) => {
                let session = SessionChat { daemon: &daemon, terminal: &terminal, how, workers };
                match session.run_task(named, text, interaction, begins) {
                    Ok(()) => begins = false,
                    Err(error) => print_status(&format!("error: {error:#}")),
                }
            }
        }
    }
}

/// The mentions of a place that the daemon has open.
struct SessionMentions<'a> {
    daemon: &'a DaemonClient,
    named: Option<&'a str>,
    /// The session of the current prompt.
    session: RefCell<Option<SessionId>>,
}

impl MentionSource for SessionMentions<'_> {
    fn offer(&self, typed: &str, wanted: bool) -> Option<Vec<OfferedMention>> {
        let time = if wanted { WANTED_TIME } else { SUGGESTION_TIME };
        let mut known = self.session.borrow_mut();
        let session = if let Some(session) = known.clone() {
            session
        } else {
            let request = RouteRequest::new(RouteId::Sessions).with_timeout(time);
            let Sessions { sessions } = self.daemon.call(&request).ok()?;
            known.insert(choose_session(sessions, self.named).ok()?.session).clone()
        };
        let request = RouteRequest::new(RouteId::OfferedMentions).with_id(session);
        let request = request.with_query("typed", typed).with_timeout(time);
        Some(self.daemon.call::<OfferedMentions>(&request).ok()?.mentions)
    }

    fn end_prompt(&self) {
        self.session.take();
    }
}

struct SessionChat<'a> {
    daemon: &'a DaemonClient,
    terminal: &'a Terminal,
    how: &'a How,
    /// Whether the model may give parts of a task to workers.
    workers: bool,
}

impl SessionChat<'_> {
    /// Sends a message, and shows the events until it is the user's turn again.
    fn run_task(
        &self,
        named: Option<&str>,
        text: String,
        interaction: InteractionMode,
        begins: bool,
    ) -> anyhow::Result<()> {
        let session = choose_session(self.daemon.list_sessions()?, named)?;
        let mut cursor = self.daemon.read_events(Seq(0), 0)?.cursor;
        let (attached, request) = (Vec::new(), None);
        let (session, epoch) = (session.session, session.epoch);
        let (selected, workers, confirmed) = (Vec::new(), self.workers, false);
        let mut chat = Chat {
            session,
            epoch,
            text,
            attached,
            selected,
            interaction,
            begins,
            workers,
            confirmed,
            request,
        };
        // A daemon of an earlier version has no estimates.
        let request = RouteRequest::new(RouteId::EstimateTask).with_id(&chat.session);
        if let Ok(estimate) = self.daemon.call::<TaskEstimate>(&request.with_body(&chat)) {
            if !confirm_estimate(self.terminal, &estimate)? {
                return Ok(());
            }
            chat.confirmed = estimate.needs_confirmation;
        }
        let request = RouteRequest::new(RouteId::Chat).with_body(&chat);
        let WorkflowStarted { workflow } = self.daemon.call(&request)?;
        let mut shown = TaskProgress::default();
        loop {
            let page = self.daemon.read_events(cursor, HOLD)?;
            cursor = page.cursor;
            for record in page.events.iter().filter(|it| it.workflow == workflow) {
                if self.show_event(workflow, &record.event, &mut shown)? {
                    return Ok(());
                }
            }
            if interrupt::take_press() {
                return self.stop_task(workflow);
            }
        }
    }

    /// Cancels a task after Ctrl-C. Its pending proposals are withdrawn.
    fn stop_task(&self, workflow: Seq) -> anyhow::Result<()> {
        let request = RouteRequest::new(RouteId::CancelWorkflow).with_id(workflow);
        self.daemon.call::<WorkflowView>(&request)?;
        print_status("Stopped: nothing more is done in this task.");
        Ok(())
    }

    /// Shows an event. Returns true if it is the user's turn.
    fn show_event(
        &self,
        workflow: Seq,
        event: &Event,
        shown: &mut TaskProgress,
    ) -> anyhow::Result<bool> {
        match event {
            Event::AssistantUpdate { text } => {
                shown.streamed.push_str(text);
                self.terminal.stream(text);
            }
            Event::AssistantStart {} if !shown.streamed.is_empty() => self.terminal.stream("\n"),
            Event::AssistantFinal { text, answers } => {
                if text.trim() != shown.streamed.trim() {
                    self.terminal.show_message(text);
                }
                shown.streamed.clear();
                for (at, answer) in answers.iter().enumerate() {
                    self.terminal.show_message(&format!("  {}. {answer}", at + 1));
                }
                return Ok(!answers.is_empty());
            }
            // A new plan is shown in full, then only its progress.
            Event::Plan { steps, .. } => match steps.iter().filter(|step| step.done).count() {
                0 => {
                    for (step, number) in steps.iter().zip(1..) {
                        self.show_dim(&format!("  {number}. {}", step.text));
                    }
                }
                done => self.show_dim(&format!("  plan: {done} of {} done", steps.len())),
            },
            Event::ToolParsed { tool, .. } if is_talk_tool(tool) => {}
            Event::ToolParsed { tool, brief, .. } => self.show_dim(&format!("· {tool} {brief}")),
            Event::ToolError { reason, .. } => self.show_dim(&format!("  refused: {reason}")),
            Event::Stalled { seconds } => {
                print_status(&format!("note: no data for {seconds} s."));
            }
            Event::ProposalMapped { proposal, .. } if shown.cards.insert(*proposal) => {
                self.decide_card(*proposal)?;
            }
            Event::PermissionRequested { call, question, answers, .. } => {
                self.ask_permission(workflow, *call, question, answers)?;
            }
            Event::Error { message, hint, .. } => {
                print_status(&format!("error: {message} {hint}"));
                return Ok(true);
            }
            Event::ClientDisconnected { client } => {
                print_status(&format!(
                    "note: {client} disconnected; its proposals are still pending."
                ));
            }
            Event::Done { outcome, summary } => {
                if let Some(summary) = summary {
                    self.terminal.show_message(summary);
                }
                if *outcome != Finish::Done {
                    print_status("The task ended before everything was done.");
                }
                return Ok(true);
            }
            Event::Asked { .. }
            | Event::AskedMore { .. }
            | Event::PermissionDecided { .. }
            | Event::RuleAdded { .. }
            | Event::RuleRevoked { .. }
            | Event::Commented { .. }
            | Event::Review { .. }
            | Event::Part { .. }
            | Event::AssistantStart { .. }
            | Event::Thinking { .. }
            | Event::ToolValid { .. }
            | Event::ToolStarted { .. }
            | Event::ToolResult { .. }
            | Event::ProposalMapped { .. }
            | Event::ProposalChanged { .. }
            | Event::ContextRequested { .. }
            | Event::ContextStats { .. }
            | Event::Usage { .. }
            | Event::ContextSummarised { .. }
            | Event::Retrying { .. } => {}
        }
        Ok(false)
    }

    /// Asks for the permission that a call needs. Without a terminal nobody can give it. An answer
    /// given elsewhere is only noted.
    fn ask_permission(
        &self,
        workflow: Seq,
        call: Seq,
        question: &str,
        answers: &[OfferedPermission],
    ) -> anyhow::Result<()> {
        let has_task = answers.iter().any(|it| it.answer == PermissionAnswer::Task);
        let keys = if has_task { "[y]es, [t] yes for this task, [N]o:" } else { "[y]es, [N]o:" };
        let text = format!("{} {keys}", terminal_line(question));
        let answer = match self.terminal.ask_line(&text)?.map(|it| it.to_lowercase()).as_deref() {
            Some("y" | "yes") => PermissionAnswer::Once,
            Some("t" | "task") if has_task => PermissionAnswer::Task,
            Some(_) => PermissionAnswer::No,
            None => {
                print_status(&format!("{question} Not permitted: there is no terminal to ask on."));
                PermissionAnswer::No
            }
        };
        let request = RouteRequest::new(RouteId::DecidePermission).with_id(workflow);
        let decision = PermissionDecision { call, answer };
        if let Err(refused) = self.daemon.call::<WorkflowView>(&request.with_body(&decision)) {
            print_status(&format!("note: {refused:#}"));
        }
        Ok(())
    }

    fn show_dim(&self, text: &str) {
        let text = format!("{}\n", terminal_line(text));
        self.terminal.show(&self.terminal.style().paint(PaintKind::Dim, text));
    }

    /// Shows a card and asks about it. A decision made elsewhere is not an error.
    fn decide_card(&self, proposal: Seq) -> anyhow::Result<()> {
        let (daemon, terminal) = (self.daemon, self.terminal);
        let cards = RemoteReview { daemon, terminal, yes: self.how.yes, force: self.how.force };
        cards.decide_card(&cards.fetch_proposal(proposal)?, KEYS).map(drop)
    }
}

/// The output shown for a task.
#[derive(Debug, Default)]
struct TaskProgress {
    /// The streamed part of the current message.
    streamed: String,
    cards: BTreeSet<Seq>,
}
