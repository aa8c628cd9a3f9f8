//! Merges with open conflicts beside the open places. Each request runs on a separate thread,
//! because it reads files and runs Git.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use scene_schemas::api::{
    DecideConflicts, Failure, FailureKind, FinishMerge, FinishedMerge, MergeEnd, MergeView, Merges,
    RecordedConflict,
};
use scene_schemas::entry::Place;
use vector_place::merge::check_choice;

use super::DaemonHandle;
use super::handle::run_on_thread;
use crate::failure::failure;
use crate::merges::{self, MergeState};
use crate::session::Answer;

impl DaemonHandle {
    /// Returns the folders of the open files and projects.
    fn place_folders(&self) -> BTreeSet<PathBuf> {
        let sessions = self.state.sessions.list().into_iter();
        let files = sessions.filter_map(|(_, session)| match session.place {
            Place::File(file) => Some(file.out.unwrap_or(file.file)),
            Place::Project(project) => Some(project.project),
            Place::Open(_) => None,
        });
        files.filter_map(|file| Some(Path::new(&file).parent()?.to_owned())).collect()
    }

    pub fn list_merges(&self) -> Answer<Merges> {
        let folders = self.place_folders();
        run_on_thread(move || list_merges(&folders))
    }

    pub fn decide_conflicts(&self, decide: DecideConflicts) -> Answer<MergeView> {
        let folders = self.place_folders();
        run_on_thread(move || decide_conflicts(&folders, &decide))
    }

    pub fn finish_merge(&self, finish: FinishMerge) -> Answer<FinishedMerge> {
        let folders = self.place_folders();
        run_on_thread(move || finish_merge(&folders, &finish))
    }
}

fn list_merges(folders: &BTreeSet<PathBuf>) -> Result<Merges, Failure> {
    let states = merges::find_merges(folders.iter().map(PathBuf::as_path))
        .map_err(|error| merge_failure(&error))?;
    Ok(Merges { merges: states.iter().map(MergeState::to_view).collect() })
}

fn find_merge(folders: &BTreeSet<PathBuf>, id: &str) -> Result<MergeState, Failure> {
    let states = merges::find_merges(folders.iter().map(PathBuf::as_path))
        .map_err(|error| merge_failure(&error))?;
    states.into_iter().find(|state| state.merge_id() == id).ok_or_else(|| {
        let message = format!("There is no open merge `{id}` for the open places.");
        let hint = "It has ended, or its place was closed: check the list again.";
        failure(FailureKind::NotFound, message, hint)
    })
}

fn decide_conflicts(
    folders: &BTreeSet<PathBuf>,
    decide: &DecideConflicts,
) -> Result<MergeView, Failure> {
    let mut state = find_merge(folders, &decide.merge)?;
    let changed = state.update_decisions(|conflicts| {
        let count = conflicts.len();
        let selected: Vec<&mut RecordedConflict> = match decide.conflict {
            Some(number) => conflicts.iter_mut().skip(number.wrapping_sub(1)).take(1).collect(),
            None => conflicts.iter_mut().filter(|kept| kept.choice.is_none()).collect(),
        };
        if let (Some(number), true) = (decide.conflict, selected.is_empty()) {
            bail!("there is no conflict {number}; the last is {count}");
        }
        for kept in selected {
            if let Some(choice) = &decide.choice {
                check_choice(&kept.conflict, choice).map_err(|refusal| anyhow!(refusal.0))?;
            }
            kept.choice.clone_from(&decide.choice);
        }
        Ok(())
    });
    changed.map_err(|error| merge_failure(&error))?;
    Ok(state.to_view())
}

fn finish_merge(
    folders: &BTreeSet<PathBuf>,
    finish: &FinishMerge,
) -> Result<FinishedMerge, Failure> {
    let state = find_merge(folders, &finish.merge)?;
    let settled = |message: String, hint| Err(failure(FailureKind::Settled, message, hint));
    if finish.how != MergeEnd::AsIs {
        let open = state.open_count();
        if open > 0 {
            let what = if open == 1 { "conflict is" } else { "conflicts are" };
            let hint = "Decide each of them, or keep the file as it is.";
            return settled(format!("{open} {what} still open, so nothing was written."), hint);
        }
        if finish.how == MergeEnd::Write && state.is_file_changed() {
            let message =
                format!("{} has changed since the merge, so it was not written.", state.name());
            return settled(message, "Overwrite it with the merge, or keep the file as it is.");
        }
        state.write_result().map_err(|error| merge_failure(&error))?;
    }
    state.finish_merge().map_err(|error| merge_failure(&error))?;
    Ok(FinishedMerge { file: state.name(), is_staged: state.is_in_git() })
}

fn merge_failure(error: &anyhow::Error) -> Failure {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.contains(&cause) {
            message.push_str(": ");
            message.push_str(&cause);
        }
    }
    message.push('.');
    let hint = "No decision was saved; `vector merge --list` in that folder lists the open merges.";
    failure(FailureKind::Settled, message, hint)
}
