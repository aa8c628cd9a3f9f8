//! Ctrl-C at a terminal: the first stops what is being done, the second ends the process.
//!
//! Nothing is left half done by either: what is being written is written whole, or is settled by the next
//! command. Who asks a question hears of it there.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use vector_providers::http::CancelSwitch;

/// The exit code of a process that Ctrl-C ended, as shells have it.
const INTERRUPTED: i32 = 130;

/// What is heard while a question waits.
enum InputEvent {
    /// A line, or nothing where stdin has ended.
    Line(io::Result<Vec<u8>>),
    Interrupt,
}

struct InterruptState {
    sender: Sender<InputEvent>,
    events: Mutex<Receiver<InputEvent>>,
    /// What Ctrl-C stops now, and whether it was pressed.
    flags: Mutex<InterruptFlags>,
    /// Whether a line is being read already, for a question that was interrupted.
    is_reading: Mutex<bool>,
}

#[derive(Default)]
struct InterruptFlags {
    cancel: CancelSwitch,
    is_pressed: bool,
}

static WATCHED: OnceLock<Option<Arc<InterruptState>>> = OnceLock::new();

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked leaves a whole value behind.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn interrupt_state() -> Option<&'static Arc<InterruptState>> {
    WATCHED.get().and_then(Option::as_ref)
}

/// From now on Ctrl-C stops what is being done, and does not end the process at once.
pub(super) fn install_handler() {
    WATCHED.get_or_init(watch_interrupts);
}

/// Where the system has no room for a handler, Ctrl-C ends the process as ever.
fn watch_interrupts() -> Option<Arc<InterruptState>> {
    let (sender, heard) = channel();
    let (heard, now, is_reading) = (Mutex::new(heard), Mutex::default(), Mutex::default());
    let watched = Arc::new(InterruptState { sender, events: heard, flags: now, is_reading });
    let own = Arc::clone(&watched);
    ctrlc::set_handler(move || own.note_press()).ok()?;
    Some(watched)
}

impl InterruptState {
    fn note_press(&self) {
        let mut now = lock_mutex(&self.flags);
        if now.is_pressed {
            // Nobody has heard of the first one: what is done now cannot be stopped in between.
            std::process::exit(INTERRUPTED);
        }
        now.is_pressed = true;
        now.cancel.cancel();
        let _ = self.sender.send(InputEvent::Interrupt);
    }
}

/// A switch that Ctrl-C throws until it is taken.
pub(super) fn cancel_switch() -> CancelSwitch {
    interrupt_state()
        .map_or_else(CancelSwitch::new, |watched| lock_mutex(&watched.flags).cancel.clone())
}

/// Whether Ctrl-C was pressed since this was asked last.
pub(super) fn take_press() -> bool {
    let Some(watched) = interrupt_state() else {
        return false;
    };
    let mut now = lock_mutex(&watched.flags);
    let was_pressed = now.is_pressed;
    if was_pressed {
        *now = InterruptFlags::default();
    }
    was_pressed
}

/// Whether Ctrl-C was pressed and nobody has taken it.
pub(super) fn is_pressed() -> bool {
    interrupt_state().is_some_and(|watched| lock_mutex(&watched.flags).is_pressed)
}

/// The next line of stdin, with its end; none where Ctrl-C came first.
pub(super) fn read_line() -> io::Result<Option<Vec<u8>>> {
    let Some(watched) = interrupt_state() else {
        return read_stdin_line().map(Some);
    };
    let heard = lock_mutex(&watched.events);
    // What was heard before the question was asked is no answer to it.
    while let Ok(early) = heard.try_recv() {
        if matches!(early, InputEvent::Line(_)) {
            *lock_mutex(&watched.is_reading) = false;
        }
    }
    if is_pressed() {
        return Ok(None);
    }
    let was_reading = std::mem::replace(&mut *lock_mutex(&watched.is_reading), true);
    if !was_reading {
        let sender = watched.sender.clone();
        thread::Builder::new().name("stdin".to_owned()).spawn(move || {
            let _ = sender.send(InputEvent::Line(read_stdin_line()));
        })?;
    }
    match heard.recv() {
        Ok(InputEvent::Line(line)) => {
            *lock_mutex(&watched.is_reading) = false;
            line.map(Some)
        }
        Ok(InputEvent::Interrupt) | Err(_) => Ok(None),
    }
}

fn read_stdin_line() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_until(b'\n', &mut bytes)?;
    Ok(bytes)
}
