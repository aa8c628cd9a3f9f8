//! Tests of the daemon over real sockets: who may call which route, and the life of a session with
//! a scripted plugin.

mod access;
mod again;
mod attached;
mod bench;
mod closed;
mod comments;
mod commits;
mod edited;
mod estimated;
mod flow;
mod history;
mod interaction_modes;
#[cfg(unix)]
mod joined;
mod many;
mod merges;
#[cfg(unix)]
mod model_reviews;
#[cfg(unix)]
pub(crate) mod models;
mod noticed;
mod opening;
mod page;
mod pictures;
mod place;
mod pointed;
mod project;
#[cfg(unix)]
mod remembered;
#[cfg(unix)]
mod required_reviews;
mod reverted;
mod reviewed;
mod routes;
mod rules;
mod scripts;
#[cfg(unix)]
mod started;
mod together;
#[cfg(unix)]
mod workers;

use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;

fn daemon() -> (Home, Daemon) {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    (home, daemon)
}
