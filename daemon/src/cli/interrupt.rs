//! Ctrl-C at a terminal: the first stops what is being done, the second ends the process.
//!
//! Nothing is left half done by either: what is being written is written whole, or is settled by the next
//! command. Who asks a question hears of it there.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use vector_providers::http::Cancel;

/// The exit code of a process that Ctrl-C ended, as shells have it.
const INTERRUPTED: i32 = 130;

/// What is heard while a question waits.
enum Heard {
    /// A line, or nothing where stdin has ended.
    Line(io::Result<Vec<u8>>),
    /// Ctrl-C.
    Interrupt,
}

struct Watched {
    sender: Sender<Heard>,
    heard: Mutex<Receiver<Heard>>,
    /// What Ctrl-C stops now, and whether it was pressed.
    now: Mutex<Now>,
    /// Whether a line is being read already, for a question that was interrupted.
    is_reading: Mutex<bool>,
}

#[derive(Default)]
struct Now {
    cancel: Cancel,
    is_pressed: bool,
}

static WATCHED: OnceLock<Option<Arc<Watched>>> = OnceLock::new();

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked leaves a whole value behind.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watched() -> Option<&'static Arc<Watched>> {
    WATCHED.get().and_then(Option::as_ref)
}

/// From now on Ctrl-C stops what is being done, and does not end the process at once.
pub(super) fn watch() {
    WATCHED.get_or_init(begin);
}

/// Where the system has no room for a handler, Ctrl-C ends the process as ever.
fn begin() -> Option<Arc<Watched>> {
    let (sender, heard) = channel();
    let (heard, now, is_reading) = (Mutex::new(heard), Mutex::default(), Mutex::default());
    let watched = Arc::new(Watched { sender, heard, now, is_reading });
    let own = Arc::clone(&watched);
    ctrlc::set_handler(move || own.press()).ok()?;
    Some(watched)
}

impl Watched {
    fn press(&self) {
        let mut now = lock(&self.now);
        if now.is_pressed {
            // Nobody has heard of the first one: what is done now cannot be stopped in between.
            std::process::exit(INTERRUPTED);
        }
        now.is_pressed = true;
        now.cancel.cancel();
        let _ = self.sender.send(Heard::Interrupt);
    }
}

/// A switch that Ctrl-C throws until it is taken.
pub(super) fn cancel() -> Cancel {
    watched().map_or_else(Cancel::new, |watched| lock(&watched.now).cancel.clone())
}

/// Whether Ctrl-C was pressed since this was asked last.
pub(super) fn take() -> bool {
    let Some(watched) = watched() else {
        return false;
    };
    let mut now = lock(&watched.now);
    let was_pressed = now.is_pressed;
    if was_pressed {
        *now = Now::default();
    }
    was_pressed
}

/// Whether Ctrl-C was pressed and nobody has taken it.
pub(super) fn is_pressed() -> bool {
    watched().is_some_and(|watched| lock(&watched.now).is_pressed)
}

/// The next line of stdin, with its end; none where Ctrl-C came first.
pub(super) fn read_line() -> io::Result<Option<Vec<u8>>> {
    let Some(watched) = watched() else {
        return line().map(Some);
    };
    let heard = lock(&watched.heard);
    // What was heard before the question was asked is no answer to it.
    while let Ok(early) = heard.try_recv() {
        if matches!(early, Heard::Line(_)) {
            *lock(&watched.is_reading) = false;
        }
    }
    if is_pressed() {
        return Ok(None);
    }
    let was_reading = std::mem::replace(&mut *lock(&watched.is_reading), true);
    if !was_reading {
        let sender = watched.sender.clone();
        thread::Builder::new().name("stdin".to_owned()).spawn(move || {
            let _ = sender.send(Heard::Line(line()));
        })?;
    }
    match heard.recv() {
        Ok(Heard::Line(line)) => {
            *lock(&watched.is_reading) = false;
            line.map(Some)
        }
        Ok(Heard::Interrupt) | Err(_) => Ok(None),
    }
}

fn line() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_until(b'\n', &mut bytes)?;
    Ok(bytes)
}
