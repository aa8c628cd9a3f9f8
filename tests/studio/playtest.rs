//! The plugin's copies in a playtest, each in a DataModel of its own: what their widget shows and does.

use studio_sim::{Options, Signals, Studio};

use super::{Desk, click, has, load, shows, until, until_shown};

/// A DataModel of a playtest, with the plugin's copy.
struct Copy {
    id: &'static str,
    studio: Studio,
}

impl Copy {
    /// Starts the copy; it is connected with the plugin that edits before it runs, or afterwards.
    fn start(desk: &Desk, id: &'static str, is_early: bool) -> Self {
        let switches = super::switches();
        let settings = desk.settings.clone();
        let studio = Studio::new(Options { settings, switches, ..Options::default() }).unwrap();
        studio.set_playing(true);
        if is_early {
            desk.studio.join_playtest(&studio, id);
        }
        load(&studio);
        if !is_early {
            desk.studio.join_playtest(&studio, id);
        }
        Self { id, studio }
    }

    /// Runs both DataModels until this holds for the copy.
    fn until(&self, desk: &Desk, what: &str, done: impl Fn(&Studio) -> bool) {
        until(&desk.studio, what, |edit| {
            edit.exchange_messages(&self.studio, self.id);
            self.studio.step();
            done(&self.studio)
        });
    }
}

#[test]
fn playtest_shows_what_is_pending_and_can_reject_and_stop() {
    for is_early in [true, false] {
        let desk = Desk::ready(Signals::Deferred);
        desk.propose("set Transparency = 0.5 on #Wall");
        let copies = ["server", "client"].map(|id| Copy::start(&desk, id, is_early));
        for copy in &copies {
            copy.until(&desk, "the proposal", |it| {
                shows(it, "1 proposal pending") && shows(it, "Set Transparency of Wall")
            });
            assert!(!has(&copy.studio, "Approve"), "nothing can be applied now");
        }
        let [server, client] = &copies;
        click(&server.studio, "Reject");
        for copy in &copies {
            copy.until(&desk, "rejected", |it| shows(it, "No proposal is pending."));
        }
        until_shown(&desk.studio, "Rejected.");

        desk.propose("set Transparency = 0.25 on #Wall");
        client
            .until(&desk, "the next one", |it| shows(it, "1 proposal pending") && has(it, "Stop"));
        click(&client.studio, "Stop");
        client.until(&desk, "it is stopped", |it| !has(it, "Stop"));
        until(&desk.studio, "nothing is pending", |studio| !has(studio, "Approve"));

        for copy in &copies {
            desk.studio.leave_playtest(copy.id);
            assert_eq!(copy.studio.errors(), Vec::<String>::new());
        }
        // What a later playtest is sent is not compared with what an earlier one was.
        desk.propose("set Transparency = 0.6 on #Wall");
        let later = Copy::start(&desk, "later", is_early);
        later.until(&desk, "the pending one", |it| shows(it, "1 proposal pending"));
        click(&desk.studio, "Reject");
        later.until(&desk, "it is gone", |it| shows(it, "No proposal is pending."));
        desk.studio.leave_playtest(later.id);
        desk.propose("set Transparency = 0.75 on #Wall");
        click(&desk.studio, "Approve");
        until_shown(&desk.studio, "Step 1: applied");
        assert_eq!(desk.studio.errors(), Vec::<String>::new());
    }
}
