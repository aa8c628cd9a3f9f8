//! The page in Chromium: how soon a long page is usable and how it scrolls, the time from a ledger
//! entry to its pixels, beside a bare page that only appends, and the thumbnails of assets.
//!
//! `cargo bench -p vector-tests --bench page [-- [--only long|paint|store] [--entries N] [--lines N]]`
//!
//! If Chromium or its chromedriver is missing, the bench says so and measures nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that fails has failed")]

mod long;
#[expect(dead_code, reason = "only whole processes need the rest")]
mod measure;
mod paint;
mod thumbnails;
mod traced;

use std::env;

use vector_tests::browser::{Browser, Stage};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;

use self::measure::{machine, option};

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let only = option(&args, "--only");
    let number = |name, usual| option(&args, name).map_or(usual, |it| it.parse().unwrap());
    let Some(stage) = Stage::set() else { return };
    println!("{}", machine());
    if only.is_none_or(|only| only == "long") {
        long::run(&stage, number("--entries", 10_000), number("--lines", 5_000));
    }
    if only.is_none_or(|only| only == "paint") {
        paint::run(&stage);
    }
    if only.is_none_or(|only| only == "store") {
        thumbnails::run(&stage);
    }
}

/// Opens a daemon's page in the browser through a one-time link.
fn enter(browser: &Browser<'_>, daemon: &Daemon, human: &Human) {
    let link = human.call("POST", "/api/page/link", &serde_json::json!({})).ok();
    let code = link["code"].as_str().expect("it has a code");
    browser.go(&format!("http://127.0.0.1:{}/#in={code}", daemon.port));
    browser.until("document.querySelector('#link').dataset.state === 'here'");
}

/// The given percentile of some figures. Sorts them in place.
fn percentile(figures: &mut [f64], share: f64) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[((figures.len() - 1) as f64 * share) as usize]
}
