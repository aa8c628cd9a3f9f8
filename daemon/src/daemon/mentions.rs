//! What a person can mention in a request, by the text typed after `@`.

use std::path::Path;
use std::sync::Arc;

use ignore::WalkBuilder;
use scene_schemas::api::{
    Failure, FoundInstance, HistoryEntry, HistoryOutcome, OfferedMention, OfferedMentions,
    SessionId,
};
use vector_ledger::{Ledger, LedgerError};

use super::DaemonHandle;
use super::handle::run_on_thread;
use super::views::ledger_failure;
use crate::history::{EntryFilter, HistoryIndex, HistoryQuery};
use crate::session::Mentionable;

/// Files that are offered at a time.
const MAX_FILES: usize = 8;
/// Files of a folder that are looked at.
const MAX_WALKED: usize = 20_000;
/// How deep below a folder they may lie.
const MAX_DEPTH: usize = 12;
/// Proposals that are offered at a time.
const MAX_PROPOSALS: usize = 8;
/// Proposals that are offered before anything was typed.
const FIRST_PROPOSALS: usize = 3;
/// Proposals among which a title is searched.
const SEARCHED_PROPOSALS: usize = 200;

const PROBLEMS: (&str, &str) = ("problems", "the problems in the scripts");
const STUDIO_WORDS: [(&str, &str); 3] = [
    ("selection", "what is selected in Studio"),
    ("script", "the script that is open in Studio"),
    ("output", "the newest output of Studio"),
];

impl DaemonHandle {
    /// Returns what can be mentioned in an open place, by the text typed after `@`.
    ///
    /// # Errors
    /// The place is not open, or the ledger cannot be read.
    pub async fn offer_mentions(
        &self,
        session: &SessionId,
        typed: String,
    ) -> Result<OfferedMentions, Failure> {
        let typed = TypedMention::new(&typed);
        let handle = self.session(session)?;
        let found = match typed.instance_text() {
            None => Mentionable::default(),
            Some(text) => handle.find_mentionable(text.to_owned()).await?,
        };
        let (state, session) = (Arc::clone(&self.state), session.clone());
        run_on_thread(move || {
            let (ledger, index) = (&state.ledger, &state.history_index);
            let folder = found.folder.as_deref().filter(|_| typed.is_file_search());
            let files = folder.map(FileList::read).unwrap_or_default();
            let mentions = typed.offer(found, &files, ledger, index, session);
            Ok(OfferedMentions { mentions: mentions.map_err(|error| ledger_failure(&error))? })
        })
        .await
    }
}

fn offer_words(typed: &str, is_in_studio: bool) -> impl Iterator<Item = OfferedMention> {
    let studio = STUDIO_WORDS.into_iter().filter(move |_| is_in_studio);
    let fits = move |(word, _): &(&str, &str)| word.starts_with(typed);
    studio.chain([PROBLEMS]).filter(fits).map(|(word, about)| offer(word, about.to_owned()))
}

fn offer(mention: &str, about: String) -> OfferedMention {
    OfferedMention { text: format!("@{mention}"), about, instance: None }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TypedKind {
    File,
    Folder,
    Proposal,
}

/// The files and folders of a folder, relative to it and with `/` as separator. Hidden ones, and those
/// that Git ignores, are left out.
#[derive(Debug, Default)]
pub(crate) struct FileList {
    files: Vec<String>,
    folders: Vec<String>,
}

impl FileList {
    pub(crate) fn read(folder: &Path) -> Self {
        let below = |path: &Path| {
            let parts = path.strip_prefix(folder).ok()?.iter().map(|part| part.to_str());
            let path = parts.collect::<Option<Vec<_>>>()?.join("/");
            (!path.is_empty() && !path.contains(['"', '\n'])).then_some(path)
        };
        let mut walk = WalkBuilder::new(folder);
        let walk = walk.require_git(false).max_depth(Some(MAX_DEPTH)).build();
        let mut found = Self::default();
        for entry in walk.flatten().take(MAX_WALKED) {
            let (Some(kind), Some(path)) = (entry.file_type(), below(entry.path())) else {
                continue;
            };
            if kind.is_dir() {
                found.folders.push(path);
            } else if kind.is_file() {
                found.files.push(path);
            }
        }
        found
    }
}

/// What was typed after `@`.
#[derive(Debug)]
pub(crate) struct TypedMention {
    kind: Option<TypedKind>,
    /// The text after the kind, in lower case.
    rest: String,
}

impl TypedMention {
    pub(crate) fn new(typed: &str) -> Self {
        let typed = typed.to_lowercase();
        let kinds = [
            ("file:", TypedKind::File),
            ("folder:", TypedKind::Folder),
            ("proposal:", TypedKind::Proposal),
        ];
        let named =
            kinds.into_iter().find_map(|(name, kind)| Some((kind, typed.strip_prefix(name)?)));
        match named {
            Some((kind, rest)) => {
                Self { kind: Some(kind), rest: rest.trim_start_matches('"').to_owned() }
            }
            None => Self { kind: None, rest: typed },
        }
    }

    /// The text by which instances are searched. None if an instance cannot be meant.
    pub(crate) fn instance_text(&self) -> Option<&str> {
        match self.kind {
            Some(TypedKind::Proposal) => None,
            None | Some(TypedKind::File | TypedKind::Folder) => Some(&self.rest),
        }
    }

    /// Returns what can be mentioned: what a place has, and its proposals.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub(crate) fn offer(
        &self,
        found: Mentionable,
        files: &FileList,
        ledger: &Ledger,
        index: &HistoryIndex,
        place: SessionId,
    ) -> Result<Vec<OfferedMention>, LedgerError> {
        let mut mentions = Vec::new();
        if self.kind.is_none() {
            mentions.extend(offer_words(&self.rest, found.is_in_studio));
        }
        mentions.extend(found.instances.into_iter().map(|it| self.offer_instance(it)));
        if self.is_file_search() {
            mentions.extend(self.offer_files(files));
        }
        if matches!(self.kind, None | Some(TypedKind::Proposal)) {
            mentions.extend(self.offer_proposals(ledger, index, place)?);
        }
        Ok(mentions)
    }

    /// Whether files are searched: something was typed, and it is not the number of a proposal.
    fn is_file_search(&self) -> bool {
        match self.kind {
            Some(TypedKind::Proposal) => false,
            Some(TypedKind::File | TypedKind::Folder) => true,
            None => !self.rest.is_empty(),
        }
    }

    fn offer_instance(&self, found: FoundInstance) -> OfferedMention {
        let kind = if self.kind == Some(TypedKind::Folder) { "folder" } else { "file" };
        let mention = format!("{kind}:{}", found.target.path);
        OfferedMention { instance: Some(found.clone()), ..offer(&mention, found.class) }
    }

    /// Offers the files whose paths contain what was typed.
    fn offer_files(&self, files: &FileList) -> Vec<OfferedMention> {
        let is_folder = self.kind == Some(TypedKind::Folder);
        let paths = if is_folder { &files.folders } else { &files.files };
        let fits = |path: &&String| path.to_lowercase().contains(&self.rest);
        let mut paths: Vec<&String> = paths.iter().filter(fits).collect();
        paths.sort_unstable_by(|one, other| {
            let order = |path: &str| {
                let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
                (!name.contains(&self.rest), path.len())
            };
            order(one).cmp(&order(other)).then_with(|| one.cmp(other))
        });
        paths.truncate(MAX_FILES);
        let (name, about) = if is_folder { ("folder", "folder") } else { ("file", "file") };
        let mention = |path: &String| {
            let is_plain = path.chars().all(|c| c.is_alphanumeric() || "/._-+".contains(c))
                && path.ends_with(char::is_alphanumeric);
            // `game.` begins the path of an instance.
            let path = if path.starts_with("game.") { format!("./{path}") } else { path.clone() };
            let path = if is_plain { path } else { format!("\"{path}\"") };
            offer(&format!("{name}:{path}"), about.to_owned())
        };
        paths.into_iter().map(mention).collect()
    }

    /// Offers the newest proposals of a place: all, or those whose number begins with what was typed
    /// or whose title contains it.
    fn offer_proposals(
        &self,
        ledger: &Ledger,
        index: &HistoryIndex,
        place: SessionId,
    ) -> Result<Vec<OfferedMention>, LedgerError> {
        let (limit, searched) = match self.kind {
            Some(_) => (MAX_PROPOSALS, SEARCHED_PROPOSALS),
            None if self.rest.is_empty() => (FIRST_PROPOSALS, FIRST_PROPOSALS),
            None => (FIRST_PROPOSALS, SEARCHED_PROPOSALS),
        };
        let filter = EntryFilter {
            place: Some(place.0),
            kind: Some("proposed".to_owned()),
            ..EntryFilter::default()
        };
        let query = HistoryQuery { before: None, limit: searched, filter };
        let entries = index.read_page(ledger, &query)?.entries;
        let is_word = self.kind.is_none() && "proposal".starts_with(&self.rest);
        let fits = |entry: &HistoryEntry| {
            is_word
                || entry.seq.to_string().starts_with(&self.rest)
                || entry.title.to_lowercase().contains(&self.rest)
        };
        let mention = |entry: HistoryEntry| {
            let outcome = entry.outcome.map_or("waiting", HistoryOutcome::as_str);
            offer(&format!("proposal:{}", entry.seq), format!("{outcome}: {}", entry.title))
        };
        Ok(entries.into_iter().filter(fits).take(limit).map(mention).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use vector_core::mention::{MentionKind, find_mentions};

    use super::*;

    fn texts(folder: &Path, typed: &str) -> Vec<String> {
        let files = FileList::read(folder);
        TypedMention::new(typed).offer_files(&files).into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn files_are_offered_by_name_without_hidden_and_ignored_ones() {
        let folder = tempfile::tempdir().unwrap();
        for file in [
            "src/Shop.luau",
            "src/shop/init.luau",
            "docs/my shop (old).md",
            "docs/shop,",
            "Packages/Shop.luau",
            ".secret/shop.txt",
            "game.shop.json",
        ] {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        fs::write(folder.path().join(".gitignore"), "Packages/\n").unwrap();
        let found = texts(folder.path(), "SHOP");
        let expected = [
            "@file:\"docs/shop,\"",
            "@file:src/Shop.luau",
            "@file:./game.shop.json",
            "@file:\"docs/my shop (old).md\"",
            "@file:src/shop/init.luau",
        ];
        assert_eq!(found, expected);
        assert_eq!(texts(folder.path(), "folder:sh"), ["@folder:src/shop"]);
        assert_eq!(texts(folder.path(), "file:\"my"), ["@file:\"docs/my shop (old).md\""]);
        // A number offers proposals and nothing else.
        assert!(!TypedMention::new("proposal:1").is_file_search());
        for text in found {
            let mentions = find_mentions(&text);
            assert_eq!(mentions[0].range, 0..text.len(), "{text}");
            assert!(matches!(&mentions[0].what, MentionKind::File(path)
                if folder.path().join(path).is_file()));
        }
    }
}
