//! `vector doctor --studio`: a small plugin asks Studio how it behaves, and sends the answers here.
//!
//! The plugin is made for one run: it knows the port and the token of this process, and is removed
//! when the process ends. It knows nothing of the ledger or the daemon.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::{AUTHORIZATION, HOST, USER_AGENT};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::assumptions::{Judgement, Verdict, judge};
use crate::cli::ExitStatus;
use crate::cli::plugin::plugin_folder;
use crate::cli::style::{PaintKind, count_noun};
use crate::cli::terminal::{print_line, print_status, print_stdout, stdout_style};
use crate::daemon::random_text;
use crate::plugin::build_probe;

/// The file name of the probe in Studio's folder.
const PROBE_FILE: &str = "VectorProbe.rbxm";
/// The time for which the report is waited for.
const WAIT: Duration = Duration::from_mins(30);
/// The largest report, in bytes.
const MAX_REPORT: usize = 2 << 20;

/// What the probe sends.
#[derive(Debug, Deserialize)]
struct ProbeReport {
    answers: Vec<ProbeAnswer>,
}

/// The answer to one question.
#[derive(Debug, Serialize, Deserialize)]
struct ProbeAnswer {
    id: String,
    #[serde(default)]
    value: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    seconds: f64,
}

/// A report with what only the receiver knows.
#[derive(Debug, Serialize)]
struct StudioReport {
    /// The version of Studio.
    studio: String,
    /// The version of Vector that asked.
    vector: &'static str,
    /// The `Host` header of the request.
    host: Option<String>,
    user_agent: Option<String>,
    answers: Vec<ProbeAnswer>,
}

/// A file that is removed at the end.
struct InstalledProbe(PathBuf);

impl Drop for InstalledProbe {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            print_status(&format!("{} cannot be removed: {error}. Delete it.", self.0.display()));
        }
    }
}

struct ReceiverState {
    token: String,
    sender: Mutex<Option<oneshot::Sender<StudioReport>>>,
}

/// Installs the probe, waits for its report, writes it to a file and prints what it says.
///
/// # Errors
/// Studio's folder was not found, or no report came.
pub(super) fn run(
    folder: Option<&Path>,
    file: Option<&Path>,
    is_json: bool,
) -> anyhow::Result<ExitStatus> {
    let folder = plugin_folder(folder)?;
    fs::create_dir_all(&folder)
        .with_context(|| format!("{} cannot be created", folder.display()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(ask_studio(&folder))?;
    let file = match file {
        Some(file) => file.to_owned(),
        None => PathBuf::from(format!("studio-{}.json", report.studio)),
    };
    let text = format!("{}\n", serde_json::to_string_pretty(&report)?);
    vector_files::write_file(&file, text.as_bytes())
        .with_context(|| format!("{} cannot be written", file.display()))?;
    if is_json {
        let verdicts = report.answers.iter().map(|it| {
            let Judgement { question, verdict, assumed } = judge_answer(it);
            json!({
                "id": it.id, "question": question, "verdict": verdict, "assumed": assumed,
                "value": it.value, "error": it.error,
            })
        });
        let all = json!({ "studio": report.studio, "answers": verdicts.collect::<Vec<_>>() });
        print_stdout(&format!("{}\n", serde_json::to_string_pretty(&all)?))?;
    } else {
        print_stdout(&render_report(&report))?;
        print_line(&format!(
            "\nThe report is in {}. It has no names or texts of yours: attach it to an issue.",
            file.display()
        ));
    }
    Ok(ExitStatus::Done)
}

/// The characters of a version that can be shown, and be in the name of a file.
fn plain_version(version: &str) -> String {
    version.chars().filter(|it| it.is_ascii_alphanumeric() || *it == '.').take(40).collect()
}

/// Installs the probe in a folder and waits for its report.
async fn ask_studio(folder: &Path) -> anyhow::Result<StudioReport> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port is free")?;
    let port = listener.local_addr()?.port();
    let token = random_text(16)?;
    let probe = build_probe(port, &token).context("the probe cannot be built")?;
    let file = folder.join(PROBE_FILE);
    vector_files::write_file(&file, &probe)
        .with_context(|| format!("{} cannot be written", file.display()))?;
    let _installed = InstalledProbe(file.clone());
    print_status(&format!("Installed {}.", file.display()));
    print_status(
        "Start Studio with a new Baseplate, and press \"Run Vector's check\" in the toolbar (the \
         Plugins tab). Waiting; Ctrl-C removes the file again.",
    );
    let (sender, received) = oneshot::channel();
    let state = Arc::new(ReceiverState { token, sender: Mutex::new(Some(sender)) });
    let router = Router::new()
        .route("/begin", post(begin))
        .route("/report", post(receive))
        .layer(DefaultBodyLimit::max(MAX_REPORT))
        .with_state(state);
    // The answer to the report is still sent.
    let (ends, ended) = oneshot::channel::<()>();
    let served = tokio::spawn(async move {
        let until = async { drop(ended.await) };
        axum::serve(listener, router).with_graceful_shutdown(until).await
    });
    let report = tokio::select! {
        report = received => report.context("the receiver has ended"),
        ended = tokio::signal::ctrl_c() => {
            ended?;
            bail!("stopped before a report came");
        }
        () = tokio::time::sleep(WAIT) => {
            bail!("no report came in {} minutes; run the command again", WAIT.as_secs() / 60);
        }
    };
    let _ = ends.send(());
    let _ = tokio::time::timeout(Duration::from_secs(2), served).await;
    report
}

fn check_token(state: &ReceiverState, headers: &HeaderMap) -> Result<(), StatusCode> {
    let given = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    let is_right = given.and_then(|it| it.strip_prefix("Bearer ")) == Some(&state.token);
    if is_right { Ok(()) } else { Err(StatusCode::UNAUTHORIZED) }
}

/// Answers the first request of the probe, which only finds out whether it may send any.
async fn begin(
    State(state): State<Arc<ReceiverState>>,
    headers: HeaderMap,
) -> Result<(), StatusCode> {
    check_token(&state, &headers)
}

async fn receive(
    State(state): State<Arc<ReceiverState>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(), StatusCode> {
    check_token(&state, &headers)?;
    let report: ProbeReport =
        serde_json::from_slice(&body).map_err(|_| StatusCode::UNPROCESSABLE_ENTITY)?;
    let header = |name| headers.get(name).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let version = report.answers.iter().find(|it| it.id == "studio_version");
    let report = StudioReport {
        studio: plain_version(version.and_then(|it| it.value.as_str()).unwrap_or("unknown")),
        vector: env!("CARGO_PKG_VERSION"),
        host: header(HOST),
        user_agent: header(USER_AGENT),
        answers: report.answers,
    };
    let sender = state.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
    // A second report is not needed.
    if let Some(sender) = sender {
        let _ = sender.send(report);
    }
    Ok(())
}

fn judge_answer(answer: &ProbeAnswer) -> Judgement {
    match &answer.error {
        Some(error) => judge(&answer.id, &Value::from(format!("raised {error}"))),
        None => judge(&answer.id, &answer.value),
    }
}

fn render_report(report: &StudioReport) -> String {
    let style = stdout_style();
    let judged: Vec<_> = report.answers.iter().map(|it| (it, judge_answer(it))).collect();
    let of = |wanted: Verdict| judged.iter().filter(move |(_, it)| it.verdict == wanted);
    let seconds: f64 = report.answers.iter().map(|it| it.seconds).sum();
    let mut text = format!(
        "Studio {}: {} in {seconds:.0} s, {} as Vector assumes\n",
        report.studio,
        count_noun(judged.len(), "answer"),
        of(Verdict::AsAssumed).count(),
    );
    for (verdict, title) in [
        (Verdict::Otherwise, "Otherwise than assumed"),
        (Verdict::Failed, "Not answered"),
        (Verdict::Measured, "Measured"),
    ] {
        let mut found = of(verdict).peekable();
        if found.peek().is_some() {
            text.push_str(&format!("\n{}\n", style.paint(PaintKind::Bold, title)));
        }
        for (answer, Judgement { question, assumed, .. }) in found {
            let shown = match (&answer.error, &answer.value) {
                (Some(error), _) => format!("raised {error}"),
                (None, Value::Number(number)) => {
                    number.as_f64().map_or_else(|| number.to_string(), |it| format!("{it:.2}"))
                }
                (None, value) => value.to_string(),
            };
            let short: String = shown.chars().take(100).collect();
            let more = if short.len() < shown.len() { "..." } else { "" };
            text.push_str(&format!("  {question}: {short}{more}\n"));
            if let Some(assumed) = assumed {
                text.push_str(&format!("    assumed: {assumed}\n"));
            }
        }
    }
    text
}
