//! One working session in a Studio for each combination of the open questions: all switches, both
//! signal modes, and scripts that may be changed at once or only after Studio has asked.

use studio_sim::{Permission, Signals, Studio, Switches, Theme};

use super::answers::SOURCE;
use super::{Desk, click, eval, has, until, until_shown, until_there};

/// The switches whose bits are set.
fn combination(bits: u32) -> Switches {
    let is_set = |bit: u32| bits & (1 << bit) != 0;
    Switches {
        undo_keeps_texts: is_set(0),
        weak_tables_lose_instances: is_set(1),
        labels_are_cut: is_set(2),
        derived_changes: is_set(3),
        all_services: is_set(4),
        slow_frames: is_set(5),
        // These two with each other switch in all four ways.
        slow_crossings: bits.count_ones() % 2 == 1,
        // No asset is loaded here.
        loading_blocks: false,
        dialogs_wait: is_set(0) ^ is_set(3) ^ is_set(5),
    }
}

/// Approves what waits, and waits until the place is as expected and nothing runs.
fn approve(studio: &Studio, luau: &'static str, expected: &'static str) {
    until_there(studio, "Approve");
    click(studio, "Approve");
    until(studio, luau, |studio| eval(studio, luau) == expected && !has(studio, "Stop"));
}

fn work(desk: &Desk, scripts: Permission, waits: bool) {
    let studio = &desk.studio;
    studio.set_script_writes(scripts);
    desk.propose("replace \"print(1)\" with \"print(2)\" in game.ServerScriptService.Main");
    if scripts == Permission::Asks {
        click(studio, "Approve");
        until(studio, "the dialog", Studio::asks_for_script_writes);
        if !waits {
            until_shown(studio, "allow it and approve again");
        }
        assert_eq!(eval(studio, SOURCE), "print(1)\n");
        studio.set_script_writes(Permission::Allowed);
    }
    if scripts == Permission::Asks && waits {
        until_shown(studio, "Step 1: applied");
    } else {
        approve(studio, SOURCE, "print(2)\n");
    }
    let text = |text: &'static str| move |studio: &Studio| eval(studio, SOURCE) == text;
    assert!(studio.undo());
    until(studio, "undone", text("print(1)\n"));
    assert!(studio.redo());
    until(studio, "redone", text("print(2)\n"));
    studio.set_theme(Theme::Light);
    // The person moves a part while a proposal waits that does not depend on its place.
    desk.propose("set Material = Neon on game.Workspace.Wall");
    eval(studio, "workspace.Wall.Position += Vector3.new(1, 2, 3)");
    approve(studio, "return workspace.Wall.Material.Name", "Neon");
    desk.propose("delete #Wall");
    click(studio, "Reject");
    until(studio, "rejected", |studio| !has(studio, "Approve") && !has(studio, "Stop"));
    assert_eq!(eval(studio, "return workspace.Wall.Material.Name"), "Neon");
}

fn works_in_every_combination(signals: Signals, scripts: Permission) {
    for bits in 0..64 {
        println!("{:?}", combination(bits));
        let switches = combination(bits);
        work(&Desk::with_switches(signals, switches), scripts, switches.dialogs_wait);
    }
}

#[test]
fn immediate_signals() {
    works_in_every_combination(Signals::Immediate, Permission::Allowed);
}

#[test]
fn immediate_signals_and_a_permission() {
    works_in_every_combination(Signals::Immediate, Permission::Asks);
}

#[test]
fn deferred_signals() {
    works_in_every_combination(Signals::Deferred, Permission::Allowed);
}

#[test]
fn deferred_signals_and_a_permission() {
    works_in_every_combination(Signals::Deferred, Permission::Asks);
}
