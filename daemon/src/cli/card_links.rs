//! Links of cards and the log in a terminal (OSC 8): the page of a proposal, and the files of its
//! scripts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use scene_schemas::api::{About, RouteId, ScriptFile, SessionId};
use scene_schemas::entry::{Place, Seq};
use scene_schemas::proposal::{Proposal, ScriptDiff};
use supports_hyperlinks::Stream;
use vector_engine::WorkflowRun;
use vector_providers::config::editor_link::{EditorLink, EditorTemplate, file_address};
use vector_providers::config::load_config;

use super::card::script_head;
use super::daemon_client::{DaemonClient, RouteRequest};
use super::style::TextStyle;
use super::terminal::Terminal;

/// How long the log waits for a daemon, whose page it links to.
const ANSWER_TIME: Duration = Duration::from_secs(1);

/// Scripts of a proposal whose files are looked up.
const MAX_SCRIPTS: usize = 20;

/// The links of cards. Empty if the terminal shows none.
#[derive(Debug, Default)]
pub(super) struct CardLinks {
    /// The address of the page, without the proposal's number.
    page: Option<String>,
    /// The files of scripts, by the scripts' paths.
    files: HashMap<String, FileLink>,
}

#[derive(Debug)]
enum FileLink {
    /// A file, which is opened at the first change.
    File(String, EditorTemplate),
    Url(String),
}

/// Whether the terminal shows links.
fn are_shown(terminal: &Terminal) -> bool {
    terminal.can_ask() && supports_hyperlinks::on(Stream::Stdout)
}

impl CardLinks {
    /// The links of a run on this machine.
    pub(super) fn for_run(run: &mut WorkflowRun, terminal: &Terminal, home: &Path) -> Self {
        if !are_shown(terminal) {
            return Self::default();
        }
        let editor = load_editor(home);
        let files = run.script_files().into_iter().map(|(path, file)| {
            (path.to_string(), FileLink::File(file.display().to_string(), editor.clone()))
        });
        Self { page: None, files: files.collect() }
    }

    /// The links of a proposal that a daemon has.
    pub(super) fn of_daemon(
        daemon: &DaemonClient,
        terminal: &Terminal,
        session: Option<&SessionId>,
        proposal: &Proposal,
    ) -> Self {
        if !are_shown(terminal) {
            return Self::default();
        }
        let page = Some(page_address(daemon));
        let Some(session) = session.filter(|_| proposal.has_files()) else {
            return Self { page, files: HashMap::new() };
        };
        let link = |script: &ScriptDiff| {
            let path = script.path.to_string();
            let request = RouteRequest::new(RouteId::ScriptFile)
                .with_id(&session.0)
                .with_query("path", &path)
                .with_query("line", script.first_line());
            // A new script has no file yet.
            let found: ScriptFile = daemon.call(&request).ok()?;
            Some((path, FileLink::Url(found.url)))
        };
        let scripts = proposal.preview.changed_scripts().take(MAX_SCRIPTS);
        Self { page, files: scripts.filter_map(link).collect() }
    }

    /// Adds the links to a card.
    pub(super) fn add_to(
        &self,
        mut card: String,
        seq: Seq,
        proposal: &Proposal,
        style: TextStyle,
    ) -> String {
        if let Some(page) = &self.page {
            let name = format!("Proposal {seq}");
            card = card.replacen(&name, &hyperlink(&name, &format!("{page}{seq}")), 1);
        }
        for script in &proposal.preview.scripts {
            let url = match self.files.get(&script.path.to_string()) {
                None => continue,
                Some(FileLink::Url(url)) => url.clone(),
                Some(FileLink::File(file, editor)) => {
                    link_address(editor, file, script.first_line())
                }
            };
            let head = script_head(script, style);
            card = card.replacen(&head, &hyperlink(&head, &url), 1);
        }
        card
    }
}

/// The links of the log. Empty if the terminal shows none.
#[derive(Debug, Default)]
pub(super) struct LogLinks {
    /// The address of the page, without the proposal's number. None if no daemon is running.
    page: Option<String>,
    editor: Option<EditorTemplate>,
}

impl LogLinks {
    pub(super) fn new(home: &Path, terminal: &Terminal) -> Self {
        if !are_shown(terminal) {
            return Self::default();
        }
        let about = RouteRequest::new(RouteId::About).with_timeout(ANSWER_TIME);
        let is_running = |daemon: &DaemonClient| daemon.call::<About>(&about).is_ok();
        let daemon = DaemonClient::connect(home).ok().filter(is_running);
        Self { page: daemon.map(|it| page_address(&it)), editor: Some(load_editor(home)) }
    }

    /// Returns a proposal's number, which links to its page, right-aligned.
    pub(super) fn link_number(&self, seq: Seq, width: usize) -> String {
        let number = seq.to_string();
        let indent = width.saturating_sub(number.len());
        let linked = match &self.page {
            Some(page) => hyperlink(&number, &format!("{page}{seq}")),
            None => number,
        };
        format!("{:indent$}{linked}", "")
    }

    /// Adds the link to the first file that a proposal changes in a Rojo project to its title.
    pub(super) fn link_title(&self, place: &Place, proposal: &Proposal, title: &str) -> String {
        let (Some(editor), Place::Project(project), Some(file)) =
            (&self.editor, place, proposal.changed_files.first())
        else {
            return title.to_owned();
        };
        let folder = Path::new(&project.project).parent().unwrap_or(Path::new(""));
        let file: PathBuf = folder.join(file).components().collect();
        let line = match (proposal.changed_files.as_slice(), proposal.preview.scripts.as_slice()) {
            ([_], [script]) => script.first_line(),
            _ => 1,
        };
        hyperlink(title, &link_address(editor, &file.display().to_string(), line))
    }
}

fn page_address(daemon: &DaemonClient) -> String {
    format!("http://127.0.0.1:{}/#/proposals/", daemon.port())
}

/// Returns the user's editor.
fn load_editor(home: &Path) -> EditorTemplate {
    let env = |name: &str| std::env::var(name).ok();
    let config = load_config(home, None, &env);
    config.map_or_else(|_| EditorTemplate::default(), |(_, config)| config.editor)
}

/// Returns the address that opens a file. A terminal cannot start an editor that is a command.
fn link_address(editor: &EditorTemplate, file: &str, line: u32) -> String {
    match editor.link(file, line) {
        EditorLink::Url(url) => url,
        EditorLink::Command(..) => file_address(file),
    }
}

/// Returns a text with a link. An address has no control characters.
fn hyperlink(text: &str, url: &str) -> String {
    let url: String = url.chars().filter(|it| !it.is_control()).collect();
    format!("\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\")
}
