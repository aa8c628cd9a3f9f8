//! Shows scripts where a person works on them: in Studio, or in their editor.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use scene_schemas::InstancePath;
use scene_schemas::api::{
    Failure, FailureKind, PluginAnswer, RevealRequest, RevealTarget, Revealed, ScriptFile,
    SessionId,
};
use vector_providers::config::editor_link::{EditorLink, file_address};

use super::DaemonHandle;
use super::handle::run_on_thread;
use crate::failure::failure;
use crate::session::SessionMessage;

/// How long Studio may take to show something.
const STUDIO_WAIT: Duration = Duration::from_secs(5);

impl DaemonHandle {
    /// Shows a script or an instance in Studio, or a script's file in the user's editor.
    ///
    /// # Errors
    /// The place is not open there, the script has no file, or the program does not answer.
    pub async fn reveal(
        &self,
        session: &SessionId,
        request: RevealRequest,
    ) -> Result<Revealed, Failure> {
        let RevealRequest { path, line, target } = request;
        match target {
            RevealTarget::Studio => {
                let handle = self.session(session)?;
                let answer = handle.reveal(path, line).await?;
                run_on_thread(move || {
                    let answered = answer.wait_until(Instant::now() + STUDIO_WAIT);
                    drop(answer);
                    // A question that was not answered in time is withdrawn.
                    handle.send(SessionMessage::RunWorkflows);
                    describe_revealed(answered.ok())
                })
                .await
            }
            RevealTarget::Editor => {
                let (file, link) = self.editor_link(session, path, line).await?;
                let file = Some(file);
                match link {
                    EditorLink::Url(url) => Ok(Revealed { file, url: Some(url) }),
                    EditorLink::Command(program, arguments) => {
                        start(&program, &arguments)?;
                        Ok(Revealed { file, url: None })
                    }
                }
            }
        }
    }

    /// Returns the file of a script, and the address that opens it.
    ///
    /// # Errors
    /// The place is not open, or the script has no file.
    pub async fn script_file(
        &self,
        session: &SessionId,
        path: InstancePath,
        line: Option<u32>,
    ) -> Result<ScriptFile, Failure> {
        let (file, link) = self.editor_link(session, path, line).await?;
        let url = match link {
            EditorLink::Url(url) => url,
            EditorLink::Command(..) => file_address(&file),
        };
        Ok(ScriptFile { file, url })
    }

    /// Returns the file of a script, and how the user's editor opens it.
    async fn editor_link(
        &self,
        session: &SessionId,
        path: InstancePath,
        line: Option<u32>,
    ) -> Result<(String, EditorLink), Failure> {
        let found: Option<PathBuf> = self.session(session)?.script_file(path.clone()).await?;
        let Some(file) = found else {
            let message = format!("{path} has no file of its own in a Rojo project.");
            let hint = "Open it in Studio, or open its Rojo project beside the place.";
            return Err(failure(FailureKind::NotFound, message, hint));
        };
        let selector = self.run(|daemon| Ok(Arc::clone(&daemon.model_selector))).await?;
        // The settings are read from files.
        let editor = run_on_thread(move || Ok(selector.editor())).await?;
        // With the separators of the system: the part within the project has `/`.
        let file = file.components().collect::<PathBuf>().display().to_string();
        let link = editor.link(&file, line.unwrap_or(1).max(1));
        Ok((file, link))
    }
}

fn describe_revealed(answer: Option<PluginAnswer>) -> Result<Revealed, Failure> {
    match answer {
        Some(PluginAnswer::Failed { reason }) => {
            Err(failure(FailureKind::Settled, reason, "Look for it in Studio's explorer."))
        }
        Some(_) => Ok(Revealed::default()),
        None => {
            let message = "Studio has not answered.";
            let hint = "Check that the place is open, and that Vector's plugin is connected.";
            Err(failure(FailureKind::Settled, message, hint))
        }
    }
}

/// Starts a program that goes on by itself.
fn start(program: &str, arguments: &[String]) -> Result<(), Failure> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| {
        let message = format!("The editor {program} cannot be started: {error}.");
        failure(FailureKind::Settled, message, "Check `editor` in vector.toml in Vector's folder.")
    })?;
    // A process that has ended is kept by the system until it is waited for.
    let _ = thread::Builder::new().spawn(move || child.wait());
    Ok(())
}
