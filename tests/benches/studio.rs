//! A place that is open in Studio: reading its snapshot, reading it with tools, holding polls, the
//! time from an approval to the plugin's wake-up, and what Vector adds to a model's turn. Beside
//! them, what axum or serde_json alone take.
//!
//! `cargo bench -p vector-tests --bench studio [-- [--only PART] [--instances N]]`, where PART is
//! `snapshot`, `tools`, `wake`, `held`, `turn`, `joined`, `mcp` or `pending`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that fails has failed")]

mod held;
mod joined;
mod mcp;
#[expect(dead_code, reason = "only whole processes need the rest")]
mod measure;
mod mirror;
mod pending;
mod turn;
mod wake;

use std::env;

use self::measure::{machine, option};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let only = option(&args, "--only");
    if only == Some("peer") {
        return held::peer();
    }
    let instances = option(&args, "--instances").map_or(100_000, |it| it.parse().unwrap());
    let is_wanted = |name: &str| only.is_none_or(|only| only == name);
    println!("{}", machine());
    if is_wanted("snapshot") {
        mirror::snapshot(instances);
    }
    if is_wanted("tools") {
        mirror::tools(instances);
    }
    if is_wanted("wake") {
        wake::run();
    }
    if is_wanted("turn") {
        turn::run();
    }
    if is_wanted("mcp") {
        mcp::run();
    }
    if is_wanted("pending") {
        pending::run();
    }
    if is_wanted("joined") {
        joined::run();
    }
    if is_wanted("held") {
        held::run();
    }
}
