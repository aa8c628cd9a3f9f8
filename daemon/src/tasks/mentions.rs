//! Mentions in a request: files, folders, web pages, problems and instances become attachments,
//! which are read when the request is made.
//!
//! A request to a session arrives over HTTP from a user's client. It may read files of the place's
//! own folder and no others, whatever the path. A command in the user's shell may read what the
//! user can.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use scene_schemas::InstancePath;
use scene_schemas::api::{Attachment, PluginAnswer, PluginQuery};
use scene_schemas::entry::{AttachmentSnapshot, Seq};
use vector_core::mention::{MentionKind, find_mentions};
use vector_core::proposal::{BRIEF_PREVIEW, preview_text};
use vector_engine::studio::AwaitedAnswer;
use vector_engine::{settings, workflow_state};
use vector_files::disk::canonical_path;
use vector_ledger::Ledger;
use vector_luau::SourceFinding;
use vector_place::Scene;
use vector_providers::http::CancelSwitch;

use crate::tasks::check::{self, CheckedScript, ScriptLinters};
use crate::tasks::{attached_file, web};

/// Names attached per folder.
const MAX_NAMES: usize = 500;

/// Findings attached per request.
const MAX_FINDINGS: usize = 100;

/// Mentions per request, and instances of `@selection`.
const MAX_MENTIONS: usize = 20;

/// Messages of `@output`, the newest ones.
const MAX_OUTPUT_MESSAGES: u32 = 200;

/// How long Studio may take to answer a question.
const STUDIO_WAIT: Duration = Duration::from_secs(5);

/// The files that a request may read.
#[derive(Debug, Clone, Copy)]
pub enum FileAccess<'a> {
    /// Every file that the user can read. Relative paths start at the command's working directory.
    Shell,
    /// Files of this folder that are not hidden. None if the place has no folder.
    Folder(Option<&'a Path>),
}

/// The origin of a request.
#[derive(Debug, Clone, Copy)]
pub struct RequestPlace<'a> {
    pub file_access: FileAccess<'a>,
    /// The folder of the place. Its settings apply to the findings of `@problems`.
    pub folder: Option<&'a Path>,
    /// Whether the request came with a selection or an open script in Studio.
    pub has_chips: bool,
    /// Whether the output of Studio came with the request.
    pub has_output: bool,
    pub studio: StudioAccess,
    /// The ledger with the proposals that can be mentioned.
    pub ledger: &'a Ledger,
}

/// Whether a request can ask Studio for what is selected or open there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StudioAccess {
    /// The place is not open in Studio.
    Closed,
    /// The plugin waits for the reply to this request.
    Busy,
    /// The plugin has been silent for too long.
    Away,
    Open,
}

/// What the mentions of a request attach.
#[derive(Debug, Default)]
pub struct ReadMentions {
    pub attached: Vec<AttachmentSnapshot>,
    /// What Studio answered. It refers to instances of the place by their ids.
    pub from_studio: Vec<Attachment>,
}

/// The mentions of a request, before the slow ones were read.
#[derive(Debug, Default)]
pub struct RequestMentions(Vec<PendingMention>);

#[derive(Debug)]
enum PendingMention {
    Ready(AttachmentSnapshot),
    Page(String),
    Problems {
        scripts: Vec<CheckedScript>,
        folder: Option<PathBuf>,
    },
    /// What Studio has to be asked for, and its answer once it was asked.
    Studio {
        wanted: StudioMention,
        answer: Option<AwaitedAnswer>,
    },
}

/// What is mentioned in Studio.
#[derive(Debug, Clone, Copy)]
enum StudioMention {
    Selection,
    Script,
    Output,
}

impl StudioMention {
    fn as_str(self) -> &'static str {
        match self {
            Self::Selection => "@selection",
            Self::Script => "@script",
            Self::Output => "@output",
        }
    }

    fn to_query(self) -> PluginQuery {
        match self {
            Self::Selection => PluginQuery::Selection {},
            Self::Script => PluginQuery::ActiveScript {},
            Self::Output => PluginQuery::Output { max: MAX_OUTPUT_MESSAGES },
        }
    }
}

/// Finds the mentions of a request, in order, and reads the fast ones.
///
/// # Errors
/// A sentence that says what cannot be attached, and why.
pub fn gather_mentions(
    text: &str,
    scene: &Scene,
    place: RequestPlace<'_>,
) -> Result<RequestMentions, String> {
    let mentions = find_mentions(text);
    if mentions.len() > MAX_MENTIONS {
        return Err(format!(
            "At most {MAX_MENTIONS} things can be pointed at with @ in one request."
        ));
    }
    let all = mentions.into_iter().map(|it| resolve_mention(it.what, scene, place));
    Ok(RequestMentions(all.filter_map(Result::transpose).collect::<Result<_, _>>()?))
}

impl RequestMentions {
    /// Whether no slow mention is left to read.
    pub fn is_ready(&self) -> bool {
        self.0.iter().all(|it| matches!(it, PendingMention::Ready(_)))
    }

    /// Asks Studio for what is mentioned there. `ask` sends a question.
    pub fn ask_studio(&mut self, mut ask: impl FnMut(PluginQuery) -> Option<AwaitedAnswer>) {
        for mention in &mut self.0 {
            if let PendingMention::Studio { wanted, answer } = mention {
                *answer = ask(wanted.to_query());
            }
        }
    }

    /// Reads the remaining mentions: pages, problems of scripts, and what Studio answers.
    ///
    /// # Errors
    /// A sentence that says what cannot be attached, and why.
    pub fn read_pending(self, cancel: &CancelSwitch) -> Result<ReadMentions, String> {
        let mut read = ReadMentions::default();
        // All questions to Studio were asked at once.
        let until = Instant::now() + STUDIO_WAIT;
        for mention in self.0 {
            match mention {
                PendingMention::Ready(attached) => read.attached.push(attached),
                PendingMention::Page(address) => {
                    let text = web::read_page(&address, cancel)?;
                    read.attached.push(AttachmentSnapshot::Page { address, text });
                }
                PendingMention::Problems { scripts, folder } => {
                    read.attached.push(attach_problems(&scripts, folder.as_deref())?);
                }
                PendingMention::Studio { wanted, answer } => {
                    let answered = answer.map(|answer| answer.wait_until(until));
                    let Some(Ok(answer)) = answered else {
                        return Err(format!(
                            "{} is not known: Studio has not answered",
                            wanted.as_str()
                        ));
                    };
                    read.from_studio.extend(attach_answer(wanted, answer)?);
                }
            }
        }
        Ok(read)
    }
}

/// Attaches what Studio answered.
fn attach_answer(wanted: StudioMention, answer: PluginAnswer) -> Result<Vec<Attachment>, String> {
    match answer {
        PluginAnswer::Selection { ids, count } => {
            if count as usize > MAX_MENTIONS {
                return Err(format!(
                    "{count} instances are selected in Studio, and at most {MAX_MENTIONS} can be \
                     attached: select their model or folder instead"
                ));
            } else if ids.is_empty() {
                return Err("@selection: nothing is selected in Studio".to_owned());
            }
            Ok(ids.into_iter().map(|id| Attachment::Instance { id }).collect())
        }
        PluginAnswer::ActiveScript { script: Some(script) } => {
            Ok(vec![Attachment::Instance { id: script.id }])
        }
        PluginAnswer::ActiveScript { script: None } => {
            Err("@script: no script is open in Studio".to_owned())
        }
        PluginAnswer::Output { output } => Ok(vec![Attachment::Output { output }]),
        _ => Err(format!("{} is not known: Studio could not tell it", wanted.as_str())),
    }
}

fn resolve_mention(
    what: MentionKind,
    scene: &Scene,
    place: RequestPlace<'_>,
) -> Result<Option<PendingMention>, String> {
    let attached = match what {
        MentionKind::File(path) | MentionKind::Folder(path)
            if path.starts_with("game.") || path == "game" =>
        {
            attach_instance(&path, scene)?
        }
        MentionKind::File(path) => {
            attach_file(&path, &resolve_readable_path("file", &path, place.file_access)?)?
        }
        MentionKind::Folder(path) => {
            attach_folder(&path, &resolve_readable_path("folder", &path, place.file_access)?)?
        }
        MentionKind::Url(address) => return Ok(Some(PendingMention::Page(address))),
        MentionKind::Problems => {
            let scripts = check::collect_scripts(scene, &[scene.root()], |_| None);
            let folder = place.folder.map(Path::to_owned);
            return Ok(Some(PendingMention::Problems { scripts, folder }));
        }
        MentionKind::Proposal(proposal) => attach_proposal(proposal, place.ledger)?,
        // The attachments came with the request.
        MentionKind::Output if place.has_output => return Ok(None),
        MentionKind::Selection | MentionKind::Script if place.has_chips => return Ok(None),
        MentionKind::Output => return in_studio(StudioMention::Output, place.studio).map(Some),
        MentionKind::Selection => {
            return in_studio(StudioMention::Selection, place.studio).map(Some);
        }
        MentionKind::Script => return in_studio(StudioMention::Script, place.studio).map(Some),
    };
    Ok(Some(PendingMention::Ready(attached)))
}

/// Returns a mention of what Studio has to be asked for.
fn in_studio(wanted: StudioMention, studio: StudioAccess) -> Result<PendingMention, String> {
    match studio {
        StudioAccess::Open => Ok(PendingMention::Studio { wanted, answer: None }),
        StudioAccess::Away => {
            Err(format!("{} is not known: Studio does not answer at the moment", wanted.as_str()))
        }
        StudioAccess::Busy => Err(format!(
            "{} has nothing to attach: nothing is selected in Studio, or no script is open there",
            wanted.as_str()
        )),
        StudioAccess::Closed => Err(match wanted {
            StudioMention::Selection | StudioMention::Script => {
                "@selection and @script point at what is open in Studio, and this is a file; name \
                 an instance as @file:game.ServerScriptService.Main."
            }
            StudioMention::Output => {
                "@output is the output of Studio, and this is a file. `vector play` shows the \
                 output of its game."
            }
        }
        .to_owned()),
    }
}

/// Attaches the changes of a proposal, whatever became of it.
fn attach_proposal(proposal: Seq, ledger: &Ledger) -> Result<AttachmentSnapshot, String> {
    let failed =
        |error: &dyn std::fmt::Display| format!("@proposal:{proposal} cannot be read: {error}.");
    let none = || format!("@proposal:{proposal}: there is no proposal with this number.");
    let record = ledger.record_at(proposal).map_err(|error| failed(&error))?.ok_or_else(none)?;
    let state =
        workflow_state::read_workflow(ledger, record.workflow).map_err(|error| failed(&error))?;
    let (_, pending) = state.find_proposal(proposal).ok_or_else(none)?;
    Ok(AttachmentSnapshot::Proposal {
        proposal,
        title: pending.proposal.title.clone(),
        status: pending.status.to_proposal_status(),
        text: preview_text(&pending.proposal.preview, BRIEF_PREVIEW),
    })
}

fn attach_instance(path: &str, scene: &Scene) -> Result<AttachmentSnapshot, String> {
    let parsed: InstancePath =
        path.parse().map_err(|error| format!("@file:{path} is not a path: {error}."))?;
    let node = scene.resolve(&parsed).map_err(|refusal| refusal.0)?;
    Ok(AttachmentSnapshot::Instance {
        target: scene.target(node),
        class: scene.class(node).to_owned(),
    })
}

/// The path to read for a typed path.
fn resolve_readable_path(
    kind: &str,
    typed: &str,
    reach: FileAccess<'_>,
) -> Result<PathBuf, String> {
    let FileAccess::Folder(folder) = reach else {
        return Ok(PathBuf::from(typed));
    };
    let Some(folder) = folder else {
        return Err(format!(
            "@{kind}:{typed} cannot be read: this place is not synced with a Rojo project, so it has no folder. \
             Open the project as well, or name an instance as @file:game.ServerScriptService.Main."
        ));
    };
    let outside = || {
        format!(
            "@{kind}:{typed} is not in the folder of this place ({}), or is hidden. A request in a session reads \
             only files of that folder; `vector edit` and `vector chat` in a terminal read any file.",
            folder.display()
        )
    };
    let root = canonical_path(folder)
        .map_err(|error| format!("The folder of this place cannot be read: {error}."))?;
    // Links and `..` are resolved before the check. A path that does not exist is checked as typed.
    let named = root.join(typed);
    let Ok(found) = canonical_path(&named) else {
        let is_within = named.starts_with(&root)
            && named.components().all(|part| !matches!(part, Component::ParentDir));
        return Err(if is_within {
            format!(
                "@{kind}:{typed} cannot be read: there is no such {kind} in {}.",
                folder.display()
            )
        } else {
            outside()
        });
    };
    let below = found.strip_prefix(&root).map_err(|_| outside())?;
    let is_hidden = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
    if below.components().any(is_hidden) {
        return Err(outside());
    }
    Ok(found)
}

fn attach_file(name: &str, path: &Path) -> Result<AttachmentSnapshot, String> {
    let failed = |error| format!("@file:{name} cannot be read: {error}.");
    // Reading a pipe or a device might never end.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(format!("@file:{name} is not a file; a folder is named as @folder:{name}."));
    }
    let mut bytes = Vec::new();
    let opened = File::open(path).map_err(failed)?;
    let limit = attached_file::MAX_IMAGE as u64 + 1;
    opened.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    attached_file::snapshot(name, bytes).map_err(|why| format!("@file:{why}"))
}

fn attach_folder(name: &str, path: &Path) -> Result<AttachmentSnapshot, String> {
    let failed = |error| format!("@folder:{name} cannot be read: {error}.");
    let entries = fs::read_dir(path).map_err(failed)?;
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| {
            let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_folder { format!("{name}/") } else { name }
        })
        .collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(MAX_NAMES) as u32;
    names.truncate(MAX_NAMES);
    Ok(AttachmentSnapshot::Folder { path: name.to_owned(), names, more })
}

/// Attaches the findings of `vector check` except for types, errors first.
fn attach_problems(
    scripts: &[CheckedScript],
    folder: Option<&Path>,
) -> Result<AttachmentSnapshot, String> {
    let settings = folder
        .map(settings::find_selene_settings)
        .transpose()
        .map_err(|error| error.to_string())?;
    let (linters, _) =
        ScriptLinters::from_settings(settings.flatten().as_ref().map(|found| &found.settings));
    let found = check::check_scripts(scripts, &linters, &|| false);
    let all = scripts.iter().zip(&found);
    let mut all: Vec<(&CheckedScript, &SourceFinding)> =
        all.flat_map(|(script, found)| found.iter().map(move |it| (script, it))).collect();
    all.sort_by_key(|(_, it)| std::cmp::Reverse(it.severity));
    let more = all.len().saturating_sub(MAX_FINDINGS) as u32;
    let line =
        |(script, finding): &(&CheckedScript, &SourceFinding)| format!("{}:{finding}", script.path);
    let findings = all.iter().take(MAX_FINDINGS).map(line).collect();
    Ok(AttachmentSnapshot::Problems { scripts: scripts.len() as u32, findings, more })
}

#[cfg(test)]
mod tests {
    use scene_schemas::InstanceId;
    use vector_place::FileFormat;

    use super::*;

    /// A request in a user's shell, about a file.
    fn in_shell(ledger: &Ledger) -> RequestPlace<'_> {
        RequestPlace {
            file_access: FileAccess::Shell,
            folder: None,
            has_chips: false,
            has_output: false,
            studio: StudioAccess::Closed,
            ledger,
        }
    }

    fn empty_ledger() -> (tempfile::TempDir, Ledger) {
        let home = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(home.path()).unwrap();
        (home, ledger)
    }

    fn attached(
        text: &str,
        scene: &Scene,
        place: RequestPlace<'_>,
    ) -> Result<Vec<AttachmentSnapshot>, String> {
        Ok(gather_mentions(text, scene, place)?.read_pending(&CancelSwitch::new())?.attached)
    }

    #[test]
    fn problems_mention_lists_check_findings_errors_first() {
        let (_home, ledger) = empty_ledger();
        let shell = in_shell(&ledger);
        let mut scene = Scene::empty(FileFormat::Binary);
        for (name, text) in
            [("A", "if workspace then\nend\n"), ("B", "local = 1\n"), ("C", "print(1)\n")]
        {
            let script = scene.create(scene.root(), "Script", name);
            scene.set_source(script, text.to_owned());
        }
        let all = attached("fix @problems", &scene, shell).unwrap();
        let AttachmentSnapshot::Problems { scripts: 3, findings, more: 0 } = &all[0] else {
            panic!("{all:?}");
        };
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with("game.B:1:"), "{findings:?}");
        assert!(findings[1].starts_with("game.A:1:1: warning:"), "{findings:?}");
        assert_eq!(all[0].describe(), "problems of 3 scripts (2 findings)");
    }

    #[test]
    fn files_and_folders_are_attached_and_missing_ones_reported() {
        let (_home, ledger) = empty_ledger();
        let shell = in_shell(&ledger);
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display().to_string();
        fs::write(folder.path().join("a.luau"), "return 1\n").unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        let scene = Scene::empty_studio_place();
        fs::write(folder.path().join("src/dot.gif"), b"GIF89a\x01\0\x01\0\0\0\0").unwrap();
        let text =
            format!("look at @file:{place}/a.luau, @folder:{place} and @file:{place}/src/dot.gif");
        let all = attached(&text, &scene, shell).unwrap();
        assert!(matches!(&all[0], AttachmentSnapshot::File { text, .. } if text == "return 1\n"));
        assert!(
            matches!(&all[1], AttachmentSnapshot::Folder { names, more: 0, .. } if names == &["a.luau", "src/"])
        );
        assert!(all[2].describe().ends_with("dot.gif (GIF, 1 × 1 pixels)"), "{:?}", all[2]);
        assert!(all[0].describe().ends_with("a.luau (9 bytes)"), "{}", all[0].describe());
        for (words, said) in [
            (format!("@file:{place}/none"), "cannot be read"),
            (format!("@file:{place}"), "is not a file"),
            ("@selection".to_owned(), "open in Studio"),
            ("@https://127.0.0.1/x".to_owned(), "127.0.0.1"),
        ] {
            let error = attached(&words, &scene, shell).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn session_reads_only_visible_files_in_its_folder() {
        let (_home, ledger) = empty_ledger();
        let shell = in_shell(&ledger);
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("game");
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::create_dir_all(folder.join(".git")).unwrap();
        for (name, text) in [
            ("game/src/Main.luau", "return 1\n"),
            ("game/.env", "KEY=secret\n"),
            ("game/.git/config", "secret\n"),
            ("secret", "secret\n"),
        ] {
            fs::write(around.path().join(name), text).unwrap();
        }
        let scene = Scene::empty_studio_place();
        let place = RequestPlace { file_access: FileAccess::Folder(Some(&folder)), ..shell };
        let read = |words: &str| attached(words, &scene, place);
        let whole = folder.join("src/Main.luau").display().to_string();
        for words in
            ["@file:src/Main.luau", "@file:src/../src/Main.luau", &format!("@file:{whole}")]
        {
            let all = read(words).unwrap();
            assert!(
                matches!(&all[0], AttachmentSnapshot::File { text, .. } if text == "return 1\n"),
                "{words}"
            );
        }
        assert!(
            matches!(&read("@folder:src").unwrap()[0], AttachmentSnapshot::Folder { names, .. } if names == &["Main.luau"])
        );
        let secret = around.path().join("secret").display().to_string();
        let mut outside = vec![
            "@file:../secret".to_owned(),
            "@file:../none".to_owned(),
            "@folder:../".to_owned(),
            "@file:.env".to_owned(),
            "@file:.git/config".to_owned(),
            "@file:src/../.env".to_owned(),
            "@file:/etc/hostname".to_owned(),
            format!("@file:{secret}"),
        ];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(around.path().join("secret"), folder.join("link")).unwrap();
            std::os::unix::fs::symlink(around.path(), folder.join("up")).unwrap();
            outside.extend([
                "@file:link".to_owned(),
                "@file:up/secret".to_owned(),
                "@folder:../".to_owned(),
            ]);
        }
        for words in outside {
            let error = read(&words).unwrap_err();
            assert!(error.contains("is not in the folder of this place"), "{words}: {error}");
        }
        assert!(read("@file:src/None.luau").unwrap_err().contains("no such file"));
        let none = RequestPlace { file_access: FileAccess::Folder(None), ..shell };
        let error = attached("@file:src/Main.luau", &scene, none).unwrap_err();
        assert!(error.contains("not synced with a Rojo project"), "{error}");
    }

    #[test]
    fn mentions_covered_by_request_chips_are_not_attached_again() {
        let (_home, ledger) = empty_ledger();
        let shell = in_shell(&ledger);
        let scene = Scene::empty_studio_place();
        let busy = RequestPlace { studio: StudioAccess::Busy, ..shell };
        let error = attached("fix @script", &scene, busy).unwrap_err();
        assert!(error.contains("no script is open there"), "{error}");
        let chips = RequestPlace { has_chips: true, ..busy };
        assert_eq!(attached("fix @script and @selection", &scene, chips).unwrap(), []);
    }

    #[test]
    fn studio_is_asked_for_what_is_mentioned_there() {
        let (_home, ledger) = empty_ledger();
        let scene = Scene::empty_studio_place();
        let open = RequestPlace { studio: StudioAccess::Open, ..in_shell(&ledger) };
        let mut asked = Vec::new();
        let mut mentions = gather_mentions("paint @selection as in @script", &scene, open).unwrap();
        assert!(!mentions.is_ready());
        mentions.ask_studio(|wanted| {
            asked.push(wanted);
            None
        });
        assert_eq!(asked, [PluginQuery::Selection {}, PluginQuery::ActiveScript {}]);
        let error = mentions.read_pending(&CancelSwitch::new()).unwrap_err();
        assert_eq!(error, "@selection is not known: Studio has not answered");
        let selected = |count: u32| {
            let ids = (0..count.min(100)).map(|id| InstanceId(format!("studio:{id}"))).collect();
            PluginAnswer::Selection { ids, count }
        };
        let selection = attach_answer(StudioMention::Selection, selected(2)).unwrap();
        assert_eq!(selection.len(), 2);
        for (wanted, answer, said) in [
            (StudioMention::Selection, selected(0), "nothing is selected"),
            (StudioMention::Selection, selected(300), "300 instances are selected"),
            (
                StudioMention::Script,
                PluginAnswer::ActiveScript { script: None },
                "no script is open",
            ),
            (StudioMention::Output, PluginAnswer::Revealed {}, "Studio could not tell it"),
        ] {
            let error = attach_answer(wanted, answer).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        let away = RequestPlace { studio: StudioAccess::Away, ..open };
        let error = gather_mentions("@output", &scene, away).unwrap_err();
        assert!(error.contains("Studio does not answer"), "{error}");
    }

    #[test]
    fn missing_proposals_are_reported() {
        let (_home, ledger) = empty_ledger();
        let scene = Scene::empty_studio_place();
        let error = attached("as in @proposal:7", &scene, in_shell(&ledger)).unwrap_err();
        assert_eq!(error, "@proposal:7: there is no proposal with this number.");
    }
}
