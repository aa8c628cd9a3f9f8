//! Merges with open conflicts: what both sides come from, ours and theirs in three columns, with a choice
//! for each.

use maud::{Markup, html};
use scene_schemas::api::{
    ConflictChoice, ConflictView, HunkChoice, KeptConflict, MergeSide, MergeView, Merges,
};
use scene_schemas::{TextConflict, Value};
use vector_text_edit::Words;

use super::review::{Version, versions};
use super::words;
use super::words::safe;

/// How many conflicts of a merge are shown; further ones follow when these are decided.
const SHOWN: usize = 100;
const TITLES: [&str; 3] = ["Base", "Ours", "Theirs"];

/// That there are some, for the list of places.
pub(super) fn brief(merges: &Merges) -> Markup {
    html! {
        @if !merges.merges.is_empty() {
            section.session aria-label="Merge conflicts" {
                header { h2 { "Merge conflicts" } }
                ul.tasks {
                    @for merge in &merges.merges {
                        li {
                            a.task href="#/merges" data-state="waiting" {
                                span.goal { (words::place(&merge.file)) }
                                span.dim { (progress(merge)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn progress(merge: &MergeView) -> String {
    let all = merge.conflicts.len();
    format!("{} of {} decided", all - merge.open(), words::count(all, "conflict"))
}

/// All of them.
pub(super) fn merges(merges: &Merges) -> Markup {
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
                    "Both sides changed these in different ways. The file has what ours has until everything is decided and the merge \
                     is written. Ours is the branch that was merged into; in a rebase, the one that is rebased onto."
                }
            }
            @for merge in &merges.merges { (self::merge(merge)) }
        }
    }
}

fn merge(merge: &MergeView) -> Markup {
    let mut compared = Words::default();
    let all = merge.conflicts.len();
    // What is decided stays in its place while there is room.
    let first =
        if all > SHOWN { merge.conflicts.iter().position(|it| it.choice.is_none()) } else { None };
    let shown = merge.conflicts.iter().enumerate().skip(first.unwrap_or(0)).take(SHOWN);
    html! {
        section.merge data-merge=(merge.id) aria-label=(words::place(&merge.file)) {
            (head(merge))
            @for (at, kept) in shown { (conflict(merge, at + 1, kept, &mut compared)) }
            @if all > SHOWN {
                p.dim { (all) " conflicts in all; the first " (SHOWN) " from the first open one on are shown." }
            }
        }
    }
}

fn head(merge: &MergeView) -> Markup {
    let open = merge.open();
    let finish = |how: &str, text: &str, is_main: bool, is_off: bool| {
        html! {
            button type="button" .main[is_main] data-act="finish-merge" data-merge=(merge.id) data-say=(how) disabled[is_off] { (text) }
        }
    };
    html! {
        header.panel.pad data-key={ (merge.id) "-head" } {
            h2 { (words::place(&merge.file)) }
            p.dim { code { (safe(&merge.file)) } " · " (progress(merge)) }
            progress max=(merge.conflicts.len()) value=(merge.conflicts.len() - open) aria-label="Conflicts that are decided" {}
            @if merge.is_file_changed {
                p.bad { b { "The file was changed since the merge." } " Write the merge over it, or take the file as it is." }
            }
            div.buttons {
                @if open > 1 {
                    @for (side, text) in [("ours", "Take ours for all open"), ("theirs", "Take theirs for all open")] {
                        button type="button" data-act="decide-open" data-merge=(merge.id) data-say=(side) { (text) }
                    }
                }
                (finish("as_is", "Take the file as it is", false, false))
                @if merge.is_file_changed {
                    (finish("overwrite", "Write the merge over it", false, open > 0))
                } @else {
                    (finish("write", if merge.in_git { "Write and stage the merge" } else { "Write the merge" }, true, open > 0))
                }
            }
            p.bad role="alert" {}
        }
    }
}

fn conflict(merge: &MergeView, number: usize, kept: &KeptConflict, compared: &mut Words) -> Markup {
    let key = format!("{}-{number}", merge.id);
    let path = kept.conflict.path().to_string();
    let (state, word) = match &kept.choice {
        None => ("waiting", "open"),
        Some(ConflictChoice::Ours) => ("done", "ours"),
        Some(ConflictChoice::Theirs) => ("done", "theirs"),
        Some(ConflictChoice::Hunks(_)) => ("done", "decided"),
    };
    html! {
        article.item.conflict data-key=(key) data-state=(state) aria-label={ "Conflict " (number) ": " (safe(&path)) } {
            p.title {
                span.dim { (number) " " }
                span.path { (safe(&path)) }
                " " span.dim { (about(&kept.conflict)) }
                " " span.state data-state=(state) { (word) }
            }
            form data-act="decide-conflict" data-merge=(merge.id) data-conflict=(number) {
                @match &kept.conflict {
                    ConflictView::Script { hunks, .. } => {
                        @for (at, hunk) in hunks.iter().enumerate() {
                            (self::hunk(&format!("{key}-{at}"), hunk, chosen(kept.choice.as_ref(), at), compared))
                        }
                    }
                    ConflictView::Property { base, ours, theirs, .. } => {
                        (plain([base, ours, theirs].map(|it| value(it.as_ref())), compared))
                        (sides(&key, kept.choice.as_ref()))
                    }
                    ConflictView::Deleted { by, .. } => {
                        @let sides = match by {
                            MergeSide::Ours => ["deleted", "changed"],
                            MergeSide::Theirs => ["changed", "deleted"],
                        };
                        (plain(["there", sides[0], sides[1]].map(str::to_owned), compared))
                        (self::sides(&key, kept.choice.as_ref()))
                    }
                    ConflictView::Moved { path, theirs, .. } => {
                        (plain(["elsewhere".to_owned(), path.to_string(), theirs.to_string()], compared))
                        (sides(&key, kept.choice.as_ref()))
                    }
                }
                p.bad role="alert" {}
            }
        }
    }
}

fn about(conflict: &ConflictView) -> String {
    match conflict {
        ConflictView::Property { class, property, .. } => format!("{class}, {property}"),
        ConflictView::Script { class, hunks, .. } => {
            format!("{class}, {}", words::count(hunks.len(), "passage"))
        }
        ConflictView::Deleted { class, .. } => {
            format!("{class}, deleted by one side, changed or referred to by the other")
        }
        ConflictView::Moved { class, .. } => format!("{class}, moved by both sides"),
    }
}

fn value(value: Option<&Value>) -> String {
    value.map_or_else(|| "(default)".to_owned(), Value::brief)
}

/// Three short texts beside each other.
fn plain(texts: [String; 3], compared: &mut Words) -> Markup {
    let [base, ours, theirs] = texts.each_ref();
    let of = |at: usize, text| Version { title: TITLES[at], line: None, text };
    versions("The three versions", of(0, base), [of(1, ours), of(2, theirs)], compared)
}

fn sides(key: &str, choice: Option<&ConflictChoice>) -> Markup {
    html! {
        fieldset.choices {
            legend.hush { "Take" }
            (radio(key, "ours", "Take ours", choice == Some(&ConflictChoice::Ours)))
            (radio(key, "theirs", "Take theirs", choice == Some(&ConflictChoice::Theirs)))
        }
    }
}

fn radio(name: &str, value: &str, text: &str, is_on: bool) -> Markup {
    html! { label.check { input type="radio" name=(name) value=(value) checked[is_on]; (text) } }
}

/// What was chosen for a hunk.
fn chosen(choice: Option<&ConflictChoice>, at: usize) -> Option<HunkChoice> {
    match choice? {
        ConflictChoice::Ours => Some(HunkChoice::Ours),
        ConflictChoice::Theirs => Some(HunkChoice::Theirs),
        ConflictChoice::Hunks(hunks) => hunks.get(at).cloned(),
    }
}

fn hunk(
    name: &str,
    hunk: &TextConflict,
    choice: Option<HunkChoice>,
    compared: &mut Words,
) -> Markup {
    let of = |at: usize, line, text| Version { title: TITLES[at], line: Some(line), text };
    let base = of(0, hunk.base_line, &hunk.base);
    let others = [of(1, hunk.ours_line, &hunk.ours), of(2, hunk.theirs_line, &hunk.theirs)];
    let edited = match &choice {
        Some(HunkChoice::Edited(text)) => text.clone(),
        _ => both(hunk),
    };
    let is_edited = matches!(choice, Some(HunkChoice::Edited(_)));
    html! {
        div.part {
            (versions(&format!("From line {}", hunk.ours_line), base, others, compared))
            fieldset.choices {
                legend.hush { "Take" }
                (radio(name, "ours", "Take ours", choice == Some(HunkChoice::Ours)))
                (radio(name, "theirs", "Take theirs", choice == Some(HunkChoice::Theirs)))
                (radio(name, "both", "Both, theirs below", choice == Some(HunkChoice::Both)))
                (radio(name, "edited", "Other lines", is_edited))
                div.edited {
                    // HTML takes a first line break for none.
                    textarea aria-label="Lines to take" rows=((edited.lines().count() + 1).clamp(3, 20)) spellcheck="false" { "\n" (edited) }
                    button type="submit" { "Take these lines" }
                }
            }
        }
    }
}

/// Both versions, the one below the other.
fn both(hunk: &TextConflict) -> String {
    let end = if hunk.ours.is_empty() || hunk.ours.ends_with('\n') { "" } else { "\n" };
    format!("{}{end}{}", hunk.ours, hunk.theirs)
}
