//! A conversation in a place that is open in Studio, from the terminal: the daemon does it, and the
//! plugin shows the same.

use std::collections::BTreeSet;
use std::path::Path;

use scene_schemas::api::{Chat, Event, Nothing, Sessions, Started, StreamPage, WorkflowView};
use scene_schemas::entry::{Finish, Seq, Stance};

use super::calls::is_talk;
use super::cards::{Cards, Keys};
use super::chat::{HELP, Said, line, read, unknown};
use super::daemon::{Daemon, chosen};
use super::handover::hand_over_keys;
use super::style::{Paint, safe};
use super::terminal::{Terminal, say};
use super::{Decide as How, Exit, interrupt};

/// How long the daemon is asked to wait for news, in seconds: no longer than a person waits for Ctrl-C.
const HOLD: u32 = 1;

const KEYS: Keys = Keys {
    shown: "[y]es [n]o [s]plit, Enter decides nothing",
    help: "  Enter leaves it to the widget in Studio, or to `vector review`",
};

/// Talks in an open place until the person ends it.
pub(super) fn chat(home: &Path, named: Option<&str>, new: bool, how: &How) -> anyhow::Result<Exit> {
    let daemon = Daemon::find(home)?;
    hand_over_keys(home);
    interrupt::watch();
    let terminal = Terminal::of(how.json);
    let mut begins = new;
    say(
        "The page, and the widget where the place is open in Studio, show the same conversation. /help lists the commands.",
    );
    loop {
        let Some(line) = line(&terminal)? else {
            return Ok(Exit::Done);
        };
        match read(&line) {
            Said::Nothing => {}
            Said::Quit => return Ok(Exit::Done),
            Said::Help => say(HELP),
            Said::Unknown(name) => say(&unknown(&name)),
            Said::Model(_) => say(
                "The model of a session is chosen in the settings of the page, or of the widget in Studio.",
            ),
            Said::Clear => {
                begins = true;
                say("A new conversation begins.");
            }
            Said::Ask(text, stance) => {
                let talk = Talk { daemon: &daemon, terminal: &terminal, how };
                match talk.task(named, (text, stance), begins) {
                    Ok(()) => begins = false,
                    Err(error) => say(&format!("error: {error:#}")),
                }
            }
        }
    }
}

struct Talk<'a> {
    daemon: &'a Daemon,
    terminal: &'a Terminal,
    how: &'a How,
}

impl Talk<'_> {
    /// Says something, and shows what comes of it until the person is to say something again.
    fn task(
        &self,
        named: Option<&str>,
        (text, stance): (String, Stance),
        begins: bool,
    ) -> anyhow::Result<()> {
        let Sessions { sessions } = self.daemon.call("GET", "/api/sessions", &Nothing {})?;
        let session = chosen(sessions, named)?;
        let StreamPage { mut cursor, .. } =
            self.daemon.call("GET", "/api/stream?hold=0", &Nothing {})?;
        let (attached, request) = (Vec::new(), None);
        let (session, epoch) = (session.session, session.epoch);
        let chat = Chat { session, epoch, text, attached, stance, begins, request };
        let Started { workflow } = self.daemon.call("POST", "/api/chat", &chat)?;
        let mut shown = Shown::default();
        loop {
            let path = format!("/api/stream?cursor={cursor}&hold={HOLD}");
            let page: StreamPage = self.daemon.call("GET", &path, &Nothing {})?;
            cursor = page.cursor;
            for record in page.events.iter().filter(|it| it.workflow == workflow) {
                if self.event(&record.event, &mut shown)? {
                    return Ok(());
                }
            }
            if interrupt::take() {
                return self.stop(workflow);
            }
        }
    }

    /// Ends a task, as the person has pressed Ctrl-C; what waits in it is withdrawn.
    fn stop(&self, workflow: Seq) -> anyhow::Result<()> {
        let path = format!("/api/workflows/{workflow}/cancel");
        self.daemon.call::<WorkflowView>("POST", &path, &Nothing {})?;
        say("Stopped: nothing more is done in this task.");
        Ok(())
    }

    /// Shows an event; true where the person is to say something now.
    fn event(&self, event: &Event, shown: &mut Shown) -> anyhow::Result<bool> {
        match event {
            Event::AssistantUpdate { text } => {
                shown.streamed.push_str(text);
                self.terminal.stream(text);
            }
            Event::AssistantStart {} if !shown.streamed.is_empty() => self.terminal.stream("\n"),
            Event::AssistantFinal { text, answers } => {
                if text.trim() != shown.streamed.trim() {
                    self.terminal.said(text);
                }
                shown.streamed.clear();
                for (at, answer) in answers.iter().enumerate() {
                    self.terminal.said(&format!("  {}. {answer}", at + 1));
                }
                return Ok(!answers.is_empty());
            }
            // A new plan is shown whole, and then how far it is.
            Event::Plan { steps, .. } => match steps.iter().filter(|step| step.done).count() {
                0 => {
                    for (step, number) in steps.iter().zip(1..) {
                        self.dim(&format!("  {number}. {}", step.text));
                    }
                }
                done => self.dim(&format!("  plan: {done} of {} done", steps.len())),
            },
            Event::ToolParsed { tool, .. } if is_talk(tool) => {}
            Event::ToolParsed { tool, brief, .. } => self.dim(&format!("· {tool} {brief}")),
            Event::ToolError { reason, .. } => self.dim(&format!("  refused: {reason}")),
            Event::Stalled { seconds } => say(&format!("note: nothing has come for {seconds} s.")),
            Event::ProposalMapped { proposal, .. } if shown.cards.insert(*proposal) => {
                self.decide(*proposal)?;
            }
            Event::Error { message, hint, .. } => {
                say(&format!("error: {message} {hint}"));
                return Ok(true);
            }
            Event::ClientDisconnected { client } => {
                say(&format!("note: {client} disconnected; what it proposed still waits."));
            }
            Event::Done { outcome, summary } => {
                if let Some(summary) = summary {
                    self.terminal.said(summary);
                }
                if *outcome != Finish::Done {
                    say("The task ended, and not all of it was done.");
                }
                return Ok(true);
            }
            _ => {}
        }
        Ok(false)
    }

    fn dim(&self, text: &str) {
        let text = format!("{}\n", safe(text));
        self.terminal.show(&self.terminal.style().paint(Paint::Dim, text));
    }

    /// Shows a card, and asks about it. That somebody else was first is no failure of the conversation.
    fn decide(&self, proposal: Seq) -> anyhow::Result<()> {
        let (daemon, terminal) = (self.daemon, self.terminal);
        let cards = Cards { daemon, terminal, yes: self.how.yes, force: self.how.force };
        cards.decide(&cards.view(proposal)?, KEYS).map(drop)
    }
}

/// What was shown of a task.
#[derive(Debug, Default)]
struct Shown {
    /// What has come of the message that is being said.
    streamed: String,
    cards: BTreeSet<Seq>,
}
