//! Type checking with an installed checker: `luau-lsp` or `luau-analyze`.
//!
//! The checker runs on a copy of the scripts in a temporary folder, with a time limit, and its
//! output is not trusted. No checker is built in: Luau's own takes seven minutes of CPU time to
//! compile and sees one file at a time. Roblox's types require a definitions file, which the user
//! has to specify. Without one, findings about unknown globals are ignored, as the lints cover
//! them.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use scene_schemas::path::Segment;
use serde_json::{Value as Json, json};
use vector_files::disk::canonical_path;
use vector_luau::{
    FindingSeverity, FindingSource, LineIndex, LineSpan, SourceFinding, cap_findings,
};

use super::CheckedScript;

/// The environment variable that names the program.
pub const PROGRAM: &str = "VECTOR_TYPE_CHECKER";
/// The environment variable that names a file with Roblox's types, `*.d.luau`.
pub const DEFINITIONS_VARIABLE: &str = "VECTOR_TYPE_DEFINITIONS";
/// The default time limit.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);

/// The maximum length of a command line, in characters. Windows allows 32,767.
const MAX_COMMAND_LINE: usize = 30_000;
/// The maximum depth of an instance whose types are checked: the source map is nested as deep as
/// the place.
const MAX_DEPTH: usize = 200;
/// The environment variables that a checker receives.
const PASSED_VARIABLES: [&str; 14] = [
    "PATH",
    "HOME",
    "USERPROFILE",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SystemRoot",
    "SystemDrive",
    "windir",
    "ComSpec",
    "PATHEXT",
    "APPDATA",
    "LOCALAPPDATA",
    "LANG",
];

/// The maximum number of bytes read from a checker's output.
const MAX_OUTPUT_BYTES: u64 = 16 << 20;
/// Interval for checking whether the check was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Interval for checking whether a checker that closed its output has exited.
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// An installed type checker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeChecker {
    pub program: PathBuf,
    /// The file with Roblox's types.
    pub definitions: Option<PathBuf>,
    pub timeout: Duration,
}

impl TypeChecker {
    /// Finds the installed checker.
    ///
    /// # Errors
    /// If there is none, a sentence that says what to do.
    pub fn find_installed() -> Result<Self, String> {
        let definitions = env::var_os(DEFINITIONS_VARIABLE).map(PathBuf::from);
        let named = env::var_os(PROGRAM).map(PathBuf::from);
        let folders: Vec<PathBuf> = env::var_os("PATH")
            .map(|it| env::split_paths(&it).filter(|it| it.is_absolute()).collect())
            .unwrap_or_default();
        if let Some(named) = named.as_ref().filter(|it| !it.is_absolute()) {
            return Err(format!(
                "Types are not checked: {PROGRAM} names {}, which could be another program in each \
                 folder. Write its absolute path.",
                named.display()
            ));
        }
        let program = named.or_else(|| find_program(&folders)).ok_or_else(|| {
            format!(
                "Types are not checked: no luau-lsp or luau-analyze was found. Install luau-lsp, or name \
                 one in {PROGRAM}."
            )
        })?;
        Ok(Self { program, definitions, timeout: DEFAULT_TIMEOUT })
    }

    fn is_lsp(&self) -> bool {
        self.program.file_stem().is_some_and(|name| name.to_string_lossy().contains("lsp"))
    }

    /// Checks the scripts and returns the findings in their order.
    ///
    /// # Errors
    /// If the checker did not run, timed out or was cancelled, a sentence that says what to do.
    pub fn check_scripts(
        &self,
        scripts: &[CheckedScript],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<SourceFinding>>, String> {
        let name = self.program.display();
        let failed = |why: io::Error| {
            format!(
                "Types are not checked: {name} cannot be run: {why}. Look whether it is a program; \
                 {PROGRAM} names another."
            )
        };
        let folder = tempfile::tempdir().map_err(failed)?;
        let files = write_scripts(folder.path(), scripts).map_err(failed)?;
        let mut base = self.extra_arguments();
        if self.is_lsp() {
            let map = build_sourcemap(scripts, &files);
            fs::write(folder.path().join("sourcemap.json"), map.to_string()).map_err(failed)?;
        }
        base.push("--formatter=plain".into());
        let until = Instant::now() + self.timeout;
        let mut found: Vec<Vec<SourceFinding>> = vec![Vec::new(); scripts.len()];
        for batch in batch_files(&self.program, &base, &files) {
            let mut command = Command::new(&self.program);
            command.args(&base).args(batch.iter().map(|at| script_file_name(*at)));
            command.current_dir(folder.path()).stdin(Stdio::null());
            command
                .env_clear()
                .envs(PASSED_VARIABLES.iter().filter_map(|it| Some((it, env::var_os(it)?))));
            let left = until.saturating_duration_since(Instant::now());
            let (printed, complained, status) =
                run_checker(command, folder.path(), left, is_cancelled).map_err(failed)?;
            let Some(status) = status else {
                if is_cancelled() {
                    return Err("Types are not checked: it was ended. Ask again.".to_owned());
                }
                return Err(format!(
                    "Types are not checked: {name} did not end within {} s, and was ended. Check fewer \
                     scripts.",
                    self.timeout.as_secs()
                ));
            };
            // The exit code alone is not enough: a checker exits with 1 both if it has findings and
            // if it does not know an option.
            if !status.success() && printed.trim().is_empty() {
                let mut lines = complained.lines();
                let first = lines.find(|line| !line.trim().is_empty()).unwrap_or_default();
                let first = &first[..first.floor_char_boundary(300)];
                return Err(format!(
                    "Types are not checked: {name} ended with {status}: {first}. Look whether it runs by \
                     itself; {PROGRAM} names another."
                ));
            }
            self.read_report(&printed, scripts, &mut found);
        }
        for (script, found) in scripts.iter().zip(&mut found) {
            sort_findings(script, found);
        }
        Ok(found)
    }

    /// The arguments before the file names.
    fn extra_arguments(&self) -> Vec<OsString> {
        let mut arguments = Vec::new();
        if self.is_lsp() {
            arguments.extend(["analyze".into(), "--sourcemap=sourcemap.json".into()]);
            if let Some(definitions) = &self.definitions {
                let file = canonical_path(definitions).unwrap_or_else(|_| definitions.clone());
                let mut argument = OsString::from("--definitions=");
                argument.push(file);
                arguments.push(argument);
            }
        }
        arguments
    }

    fn read_report(
        &self,
        printed: &str,
        scripts: &[CheckedScript],
        found: &mut [Vec<SourceFinding>],
    ) {
        // The latest finding, which receives the further lines of its message.
        let mut last = None;
        for line in printed.lines() {
            let report = parse_report_line(line).and_then(|said| {
                let at: usize = said.file.strip_suffix(".luau")?.parse().ok()?;
                scripts.get(at).filter(|it| is_checked(it))?;
                Some((at, said))
            });
            let Some((at, report)) = report else {
                if let Some((at, index)) = last {
                    let found: &mut Vec<SourceFinding> = &mut found[at];
                    let finding: &mut SourceFinding = &mut found[index];
                    if finding.notes.len() < 8 && !line.trim().is_empty() {
                        finding.notes.push(line.trim().to_owned());
                    }
                }
                continue;
            };
            last = None;
            let (kind, message) = report.message.split_once(": ").unwrap_or(("", report.message));
            // The compiler reports syntax errors.
            if kind == "SyntaxError" || self.definitions.is_none() && is_definition_error(message) {
                continue;
            }
            let severity =
                if kind == "TypeError" { FindingSeverity::Error } else { FindingSeverity::Warning };
            found[at].push(SourceFinding {
                severity,
                finder: FindingSource::Types,
                code: if kind.is_empty() { "type".to_owned() } else { kind.to_owned() },
                message: message.to_owned(),
                notes: Vec::new(),
                at: report.at,
            });
            last = Some((at, found[at].len() - 1));
        }
    }
}

/// Sorts the findings of a script, and moves them into its text.
fn sort_findings(script: &CheckedScript, found: &mut Vec<SourceFinding>) {
    found.sort_by(|a, b| (a.at, &a.message).cmp(&(b.at, &b.message)));
    found.dedup();
    // Before spans are clamped, as each takes time proportional to its line.
    let more = cap_findings(found, |it| it.severity);
    let lines = LineIndex::from_text(script.text.as_deref().unwrap_or_default());
    for it in found.iter_mut() {
        it.at = lines.clamp_span(it.at);
    }
    found.extend(more);
    if script.text.is_some() && !is_checked(script) {
        found.push(SourceFinding {
            severity: FindingSeverity::Note,
            finder: FindingSource::Types,
            code: "not_typed".to_owned(),
            message: format!(
                "types were not checked: the script is nested deeper than {MAX_DEPTH} instances; move it up"
            ),
            notes: Vec::new(),
            at: LineSpan::START,
        });
    }
    found.sort_by_key(|it| it.at);
}

/// The first known program in the folders. `luau-lsp` in any folder takes precedence over
/// `luau-analyze`.
fn find_program(folders: &[PathBuf]) -> Option<PathBuf> {
    let names =
        ["luau-lsp", "luau-analyze"].map(|name| format!("{name}{}", env::consts::EXE_SUFFIX));
    names.iter().find_map(|name| folders.iter().map(|it| it.join(name)).find(|it| it.is_file()))
}

/// Whether the types of a script are checked.
fn is_checked(script: &CheckedScript) -> bool {
    script.text.is_some() && script.path.segments.len() <= MAX_DEPTH
}

/// The file name for a script, by its index. A name from the place could be any path.
fn script_file_name(at: usize) -> String {
    format!("{at}.luau")
}

/// Writes the scripts to be checked, and returns their indices.
fn write_scripts(folder: &Path, scripts: &[CheckedScript]) -> io::Result<Vec<usize>> {
    let mut files = Vec::new();
    for (at, script) in scripts.iter().enumerate() {
        if let Some(text) = script.text.as_ref().filter(|_| is_checked(script)) {
            fs::write(folder.join(script_file_name(at)), text)?;
            files.push(at);
        }
    }
    Ok(files)
}

/// Splits the files into batches that fit on a command line.
fn batch_files(program: &Path, base: &[OsString], files: &[usize]) -> Vec<Vec<usize>> {
    // A space, and the quotes around an argument.
    let cost = |length: usize| length + 3;
    let base_cost = base.iter().map(|it| cost(it.len())).sum::<usize>();
    let budget = MAX_COMMAND_LINE.saturating_sub(base_cost + cost(program.as_os_str().len()));
    let (mut batches, mut left) = (Vec::<Vec<usize>>::new(), 0);
    for at in files {
        let length = cost(script_file_name(*at).len());
        if let Some(batch) = batches.last_mut().filter(|_| length <= left) {
            batch.push(*at);
        } else {
            batches.push(vec![*at]);
            left = budget;
        }
        left = left.saturating_sub(length);
    }
    batches
}

/// Builds the source map of the scripts in the format of `rojo sourcemap`.
fn build_sourcemap(scripts: &[CheckedScript], files: &[usize]) -> Json {
    let mut root = SourcemapNode::default();
    for at in files {
        let script = &scripts[*at];
        let mut branch = &mut root;
        for segment in &script.path.segments {
            branch = branch.children.entry(segment.clone()).or_default();
        }
        branch.class = Some(script.class.clone());
        branch.file = Some(script_file_name(*at));
    }
    root.to_json("game", "DataModel")
}

#[derive(Default)]
struct SourcemapNode {
    class: Option<String>,
    file: Option<String>,
    children: BTreeMap<Segment, SourcemapNode>,
}

impl SourcemapNode {
    fn to_json(&self, name: &str, class: &str) -> Json {
        let children: Vec<Json> =
            self.children.iter().map(|(at, it)| it.to_json(&at.name, "Folder")).collect();
        let class = self.class.as_deref().unwrap_or(class);
        let files: Vec<&String> = self.file.iter().collect();
        json!({ "name": name, "className": class, "filePaths": files, "children": children })
    }
}

/// Whether a message is due to missing definitions.
fn is_definition_error(message: &str) -> bool {
    ["Unknown global", "Unknown require", "Unknown type 'Enum"]
        .iter()
        .any(|start| message.starts_with(start))
        || message.starts_with("Unknown type '") && !message.contains("'_")
}

/// A parsed line of a checker's output.
struct ReportLine<'a> {
    file: &'a str,
    at: LineSpan,
    message: &'a str,
}

/// Parses `FILE:LINE:COLUMN-END: (W0) KIND: MESSAGE`, or `FILE(LINE,COLUMN): KIND: MESSAGE`.
fn parse_report_line(line: &str) -> Option<ReportLine<'_>> {
    let plain = || {
        let (place, message) = line.split_once(": ")?;
        let message = message.strip_prefix("(W0) ").unwrap_or(message);
        let mut parts = place.rsplitn(3, ':');
        let columns = parts.next()?;
        let line: u32 = parts.next()?.parse().ok()?;
        let file = parts.next()?;
        let (from, to) = columns.split_once('-').unwrap_or((columns, columns));
        let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
        let at = LineSpan { line, column: from, end_line: line, end_column: to.saturating_add(1) };
        Some(ReportLine { file, at, message })
    };
    let default = || {
        let (place, message) = line.split_once("): ")?;
        let (file, at) = place.rsplit_once('(')?;
        let (line, column) = at.split_once(',')?;
        let (line, column): (u32, u32) = (line.parse().ok()?, column.parse().ok()?);
        let at = LineSpan { line, column, end_line: line, end_column: column.saturating_add(1) };
        Some(ReportLine { file, at, message })
    };
    let report = plain().or_else(default)?;
    let file = report.file.rsplit(['/', '\\']).next().unwrap_or(report.file);
    Some(ReportLine { file, ..report })
}

/// Runs a program and returns its output, its error output and its exit status. The status is None
/// if it did not end in time or was cancelled.
fn run_checker(
    mut command: Command,
    folder: &Path,
    time: Duration,
    is_cancelled: &dyn Fn() -> bool,
) -> io::Result<(String, String, Option<ExitStatus>)> {
    let until = Instant::now() + time;
    let complaints = folder.join("stderr");
    command.stdout(Stdio::piped()).stderr(File::create(&complaints)?);
    let mut child = command.spawn()?;
    let (send, printed) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut text = Vec::new();
            // If reading fails, the bytes before the failure are used.
            let _ = stdout.take(MAX_OUTPUT_BYTES).read_to_end(&mut text);
            let _ = send.send(text);
        });
    }
    let printed = loop {
        let left = until.saturating_duration_since(Instant::now());
        match printed.recv_timeout(left.min(POLL_INTERVAL)) {
            Ok(printed) => break Some(printed),
            Err(RecvTimeoutError::Timeout) if !left.is_zero() && !is_cancelled() => {}
            Err(_) => break None,
        }
    };
    let status = if printed.is_some() { wait_for_exit(&mut child, until)? } else { None };
    if status.is_none() {
        // Fails if it has ended in the meantime.
        let _ = child.kill();
        child.wait()?;
    }
    let complained = File::open(&complaints)?;
    let mut text = Vec::new();
    complained.take(1 << 16).read_to_end(&mut text)?;
    let read = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((read(&printed.unwrap_or_default()), read(&text), status))
}

fn wait_for_exit(child: &mut Child, until: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        thread::sleep(EXIT_POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests;
