//! The main job: pair, ask, see, approve, undo, redo, in both signal modes.

use studio_sim::Signals;

use super::{Desk, ask, click, eval, until, until_shown, until_there};

const MODES: [Signals; 2] = [Signals::Immediate, Signals::Deferred];

#[test]
fn a_request_becomes_one_undo_step() {
    for signals in MODES {
        let desk = Desk::ready(signals);
        let studio = &desk.studio;
        let before = studio.snapshot();
        desk.propose("set Transparency = 0.5 on game.Workspace.Wall");
        assert_eq!(studio.snapshot(), before, "a proposal changes nothing");
        click(studio, "Approve");
        until(studio, "applied", |studio| {
            eval(studio, "return workspace.Wall.Transparency") == 0.5
        });
        until_shown(studio, "Set Transparency");
        let after = studio.snapshot();
        assert!(studio.undo());
        assert_eq!(studio.snapshot(), before, "undo restores the tree");
        assert!(studio.redo());
        assert_eq!(studio.snapshot(), after, "and redo does it again");
    }
}

#[test]
fn a_script_is_edited_in_one_undo_step() {
    for signals in MODES {
        let desk = Desk::ready(signals);
        let studio = &desk.studio;
        let before = studio.snapshot();
        desk.propose("replace \"print(1)\" with \"print(2)\" in game.ServerScriptService.Main");
        click(studio, "Approve");
        until(studio, "applied", |studio| {
            eval(studio, "return game.ServerScriptService.Main.Source") == "print(2)\n"
        });
        assert!(studio.undo());
        assert_eq!(studio.snapshot(), before);
    }
}

#[test]
fn a_grid_is_made_step_by_step() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    ask(studio, "grid 2x2 of neon parts");
    for _ in 0..5 {
        until_there(studio, "Approve");
        click(studio, "Approve");
        until(studio, "decided", |studio| !super::has(studio, "Approve"));
    }
    until(studio, "all of it", |studio| {
        eval(
            studio,
            "local grid = workspace:FindFirstChild('Grid') return grid and #grid:GetChildren()",
        ) == 4
    });
}
