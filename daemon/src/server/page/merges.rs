//! Merges with open conflicts: base, ours and theirs in three columns, with a choice for each
//! conflict.

use maud::{Markup, html};
use scene_schemas::api::{
    ConflictChoice, ConflictView, HunkChoice, MergeSide, MergeView, Merges, RecordedConflict,
};
use scene_schemas::{TextConflict, Value};
use vector_text_edit::WordDiff;

use super::format;
use super::format::safe_text;
use super::review::{TextVersion, version_columns};

/// The maximum number of conflicts that are shown of a merge. Others follow when these are decided.
const SHOWN: usize = 100;
const TITLES: [&str; 3] = ["Base", "Ours", "Theirs"];

/// Renders a hint that there are open merges, for the list of places.
pub(super) fn merges_hint(merges: &Merges) -> Markup {
    html! {
        @if !merges.merges.is_empty() {
            section.session aria-label="Merge conflicts" {
                header { h2 { "Merge conflicts" } }
                ul.tasks {
                    @for merge in &merges.merges {
                        li {
                            a.task href="#/merges" data-state="waiting" {
                                span.goal { (format::place_name(&merge.file)) }
                                span.dim { (merge_progress(merge)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn merge_progress(merge: &MergeView) -> String {
    let all = merge.conflicts.len();
    format!("{} of {} decided", all - merge.open_count(), format::count_text(all, "conflict"))
}

pub(super) fn merges_view(merges: &Merges) -> Markup {
    html! {
        div.page.merges {
            h1 { "Merge conflicts" }
            @if merges.merges.is_empty() {
                div.empty {
                    h2 { "No merge has open conflicts" }
                    p { "Conflicts of " code { "git merge" } " and " code { "vector merge" } " are shown here when the place is open." }
                }
            } @else {
                p.dim {
                    "Both sides changed these differently. The file has our version until \
                     everything is decided and the merge is written. Ours is the branch that was \
                     merged into; in a rebase, the branch that is rebased onto."
                }
            }
            @for merge in &merges.merges { (self::merge_view(merge)) }
        }
    }
}

fn merge_view(merge: &MergeView) -> Markup {
    let mut compared = WordDiff::default();
    let all = merge.conflicts.len();
    // Decided conflicts stay in place while there is room.
    let first =
        if all > SHOWN { merge.conflicts.iter().position(|it| it.choice.is_none()) } else { None };
    let shown = merge.conflicts.iter().enumerate().skip(first.unwrap_or(0)).take(SHOWN);
    html! {
        section.merge data-merge=(merge.id) aria-label=(format::place_name(&merge.file)) {
            (merge_head(merge))
            @for (at, kept) in shown { (conflict_view(merge, at + 1, kept, &mut compared)) }
            @if all > SHOWN {
                p.dim { (all) " conflicts in all; the first " (SHOWN) " from the first open one on are shown." }
            }
        }
    }
}

fn merge_head(merge: &MergeView) -> Markup {
    let open = merge.open_count();
    let finish = |how: &str, text: &str, is_main: bool, is_off: bool| {
        html! {
            button type="button" .main[is_main] data-act="finish-merge" data-merge=(merge.id) data-say=(how) disabled[is_off] { (text) }
        }
    };
    html! {
        header.panel.pad data-key={ (merge.id) "-head" } {
            h2 { (format::place_name(&merge.file)) }
            p.dim { code { (safe_text(&merge.file)) } " · " (merge_progress(merge)) }
            progress max=(merge.conflicts.len()) value=(merge.conflicts.len() - open) aria-label="Decided conflicts" {}
            @if merge.is_file_changed {
                p.bad { b { "The file has changed since the merge." } " Overwrite it with the merge, or keep the file as it is." }
            }
            div.buttons {
                @if open > 1 {
                    @for (side, text) in [("ours", "Take ours for all open"), ("theirs", "Take theirs for all open")] {
                        button type="button" data-act="decide-open" data-merge=(merge.id) data-say=(side) { (text) }
                    }
                }
                (finish("as_is", "Keep the file as it is", false, false))
                @if merge.is_file_changed {
                    (finish("overwrite", "Overwrite it with the merge", false, open > 0))
                } @else {
                    (finish("write", if merge.in_git { "Write and stage the merge" } else { "Write the merge" }, true, open > 0))
                }
            }
            p.bad role="alert" {}
        }
    }
}

fn conflict_view(
    merge: &MergeView,
    number: usize,
    kept: &RecordedConflict,
    compared: &mut WordDiff,
) -> Markup {
    let key = format!("{}-{number}", merge.id);
    let path = kept.conflict.path().to_string();
    let (state, label) = match &kept.choice {
        None => ("waiting", "open"),
        Some(ConflictChoice::Ours) => ("done", "ours"),
        Some(ConflictChoice::Theirs) => ("done", "theirs"),
        Some(ConflictChoice::Hunks(_)) => ("done", "decided"),
    };
    html! {
        article.item.conflict data-key=(key) data-state=(state) aria-label={ "Conflict " (number) ": " (safe_text(&path)) } {
            p.title {
                span.dim { (number) " " }
                span.path { (safe_text(&path)) }
                " " span.dim { (describe_conflict(&kept.conflict)) }
                " " span.state data-state=(state) { (label) }
            }
            form data-act="decide-conflict" data-merge=(merge.id) data-conflict=(number) {
                @match &kept.conflict {
                    ConflictView::Script { hunks, .. } => {
                        @for (at, hunk) in hunks.iter().enumerate() {
                            (self::hunk_view(&format!("{key}-{at}"), hunk, hunk_choice(kept.choice.as_ref(), at), compared))
                        }
                    }
                    ConflictView::Property { base, ours, theirs, .. } => {
                        (text_columns([base, ours, theirs].map(|it| value_text(it.as_ref())), compared))
                        (side_buttons(&key, kept.choice.as_ref()))
                    }
                    ConflictView::Deleted { by, .. } => {
                        @let sides = match by {
                            MergeSide::Ours => ["deleted", "changed"],
                            MergeSide::Theirs => ["changed", "deleted"],
                        };
                        (text_columns(["there", sides[0], sides[1]].map(str::to_owned), compared))
                        (self::side_buttons(&key, kept.choice.as_ref()))
                    }
                    ConflictView::Moved { path, theirs, .. } => {
                        (text_columns(["elsewhere".to_owned(), path.to_string(), theirs.to_string()], compared))
                        (side_buttons(&key, kept.choice.as_ref()))
                    }
                }
                p.bad role="alert" {}
            }
        }
    }
}

fn describe_conflict(conflict: &ConflictView) -> String {
    match conflict {
        ConflictView::Property { class, property, .. } => format!("{class}, {property}"),
        ConflictView::Script { class, hunks, .. } => {
            format!("{class}, {}", format::count_text(hunks.len(), "passage"))
        }
        ConflictView::Deleted { class, .. } => {
            format!("{class}, deleted by one side, changed or referred to by the other")
        }
        ConflictView::Moved { class, .. } => format!("{class}, moved by both sides"),
    }
}

fn value_text(value: Option<&Value>) -> String {
    value.map_or_else(|| "(default)".to_owned(), Value::to_brief)
}

/// Renders three short texts in columns.
fn text_columns(texts: [String; 3], compared: &mut WordDiff) -> Markup {
    let [base, ours, theirs] = texts.each_ref();
    let of = |at: usize, text| TextVersion { title: TITLES[at], line: None, text };
    version_columns("The three versions", of(0, base), [of(1, ours), of(2, theirs)], compared)
}

fn side_buttons(key: &str, choice: Option<&ConflictChoice>) -> Markup {
    html! {
        fieldset.choices {
            legend.hush { "Take" }
            (radio_button(key, "ours", "Take ours", choice == Some(&ConflictChoice::Ours)))
            (radio_button(key, "theirs", "Take theirs", choice == Some(&ConflictChoice::Theirs)))
        }
    }
}

fn radio_button(name: &str, value: &str, text: &str, is_on: bool) -> Markup {
    html! { label.check { input type="radio" name=(name) value=(value) checked[is_on]; (text) } }
}

/// Returns the choice for a hunk.
fn hunk_choice(choice: Option<&ConflictChoice>, at: usize) -> Option<HunkChoice> {
    match choice? {
        ConflictChoice::Ours => Some(HunkChoice::Ours),
        ConflictChoice::Theirs => Some(HunkChoice::Theirs),
        ConflictChoice::Hunks(hunks) => hunks.get(at).cloned(),
    }
}

fn hunk_view(
    name: &str,
    hunk: &TextConflict,
    choice: Option<HunkChoice>,
    compared: &mut WordDiff,
) -> Markup {
    let of = |at: usize, line, text| TextVersion { title: TITLES[at], line: Some(line), text };
    let base = of(0, hunk.base_line, &hunk.base);
    let others = [of(1, hunk.ours_line, &hunk.ours), of(2, hunk.theirs_line, &hunk.theirs)];
    let edited = match &choice {
        Some(HunkChoice::Edited(text)) => text.clone(),
        _ => join_both(hunk),
    };
    let is_edited = matches!(choice, Some(HunkChoice::Edited(_)));
    html! {
        div.part {
            (version_columns(&format!("From line {}", hunk.ours_line), base, others, compared))
            fieldset.choices {
                legend.hush { "Take" }
                (radio_button(name, "ours", "Take ours", choice == Some(HunkChoice::Ours)))
                (radio_button(name, "theirs", "Take theirs", choice == Some(HunkChoice::Theirs)))
                (radio_button(name, "both", "Both, theirs below", choice == Some(HunkChoice::Both)))
                (radio_button(name, "edited", "Other lines", is_edited))
                div.edited {
                    // HTML ignores a line break at the beginning.
                    textarea aria-label="Lines to take" rows=((edited.lines().count() + 1).clamp(3, 20)) spellcheck="false" { "\n" (edited) }
                    button type="submit" { "Take these lines" }
                }
            }
        }
    }
}

/// Returns both versions, theirs below ours.
fn join_both(hunk: &TextConflict) -> String {
    let end = if hunk.ours.is_empty() || hunk.ours.ends_with('\n') { "" } else { "\n" };
    format!("{}{end}{}", hunk.ours, hunk.theirs)
}
