//! Short scripts that run as a plugin, each in both signal modes.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod gui;
mod history;
mod http;
mod instances;
mod layout;
mod properties;
mod scripts;
mod threads;
mod traps;
mod values;
mod world;

use std::time::Duration;

use crate::{Options, Signals, Studio, models};

/// A studio with a plugin of one script, which must reach its end.
#[track_caller]
fn ran(options: Options<'_>, luau: &str) -> Studio {
    let studio = Studio::new(options).unwrap();
    let text = format!("{luau}\n_G.done = true\n");
    studio.load_plugin(&models::plugin(&text, &[]).unwrap()).unwrap();
    let done = |studio: &Studio| !studio.errors().is_empty() || is_done(studio);
    if let Err(error) = studio.run_until(done, Duration::from_secs(20)) {
        panic!("{error}");
    }
    studio
}

fn is_done(studio: &Studio) -> bool {
    let globals = studio.table("globals").get::<mlua::Table>("_G").unwrap();
    globals.get::<bool>("done").unwrap_or_default()
}

/// Runs a script as a plugin in both signal modes: it must reach its end without an error.
#[track_caller]
fn check(luau: &str) {
    for signals in [Signals::Immediate, Signals::Deferred] {
        let studio = ran(Options { signals, ..Options::default() }, luau);
        let errors = studio.errors();
        assert!(errors.is_empty(), "{signals:?}:\n{}", errors.join("\n"));
    }
}

/// A helper for scripts that checks an error message.
const FAILS: &str = "
local function fails(text, act, ...)
	local ok, message = pcall(act, ...)
	assert(not ok, 'it did not fail: ' .. text)
	assert(type(message) == 'string', 'an error is a string, not ' .. typeof(message))
	assert(string.find(message, text, 1, true), message)
end
";

/// Like `check`, with `fails(text, function, ...)` available.
#[track_caller]
fn check_with_fails(luau: &str) {
    check(&format!("{}{luau}", FAILS.replace('\n', " ")));
}
