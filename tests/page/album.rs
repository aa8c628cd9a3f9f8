//! Each page and state of it, in both schemes, wide and narrow: axe finds no serious fault in it, and what
//! it shows is as it was looked at.
//!
//! What is compared is what is shown, and how, and not the pixels: those are made of the fonts of a machine.
//! `UPDATE=1` writes that anew, and the pictures too, for somebody to look at.
//!
//! A page or state more is a row of `STATES`: a name, and how one gets there from the row before.

use std::collections::BTreeMap;

use scene_schemas::Fingerprint;
use serde_json::json;
use vector_tests::browser;
use vector_tests::{printed, repository, vectors};

use super::streamed::says;
use super::*;
use crate::http::models::calls;
use crate::models::server::{End, Reply, Server};

const FOLDER: &str = "tests/page/pictures";
/// What the states show: by name, a hash of it, and its texts in order for whoever wonders what is new.
const SHOWN: &str = "tests/page/pictures/shown.json";

/// The states, in the order in which one comes through them.
const STATES: &[(&str, fn(&mut Tour<'_>))] = &[
    ("door", |tour| tour.browser.go(&tour.bench.address())),
    ("door-refused", |tour| {
        tour.browser.until("document.activeElement.id === 'code'");
        tour.browser.enter("12345");
        tour.browser.press(&[], &['x']);
    }),
];

/// A walk through the page.
struct Tour<'s> {
    server: Server,
    bench: Bench,
    browser: Browser<'s>,
}
