//! What goes wrong: refusals, stale bases, somebody killed in the middle.

use studio_sim::Signals;

use super::{Desk, click, eval, until, until_shown};

#[test]
fn a_refused_recording_changes_nothing() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    let before = studio.snapshot();
    desk.propose("set Transparency = 0.5 on game.Workspace.Wall");
    studio.refuse_next_recording();
    click(studio, "Approve");
    until_shown(studio, "recording");
    assert_eq!(studio.snapshot(), before);
}

#[test]
fn a_plugin_that_is_loaded_again_acknowledges_what_it_did() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    desk.propose("set Transparency = 0.5 on game.Workspace.Wall");
    studio.on_request("/apply", 0, studio_sim::Answer::Kill);
    click(studio, "Approve");
    until(studio, "unloaded", |studio| studio.widgets().is_empty());
    assert_eq!(eval(studio, "return workspace.Wall.Transparency"), 0.5);
    super::load(studio);
    until_shown(studio, "Applied");
    assert_eq!(studio.undo_stack_names().len(), 1, "{:?}", studio.undo_stack_names());
}
