//! Handling of Ctrl-C in a terminal: the first press stops the current work, the second ends the
//! process.
//!
//! Neither leaves work half done: a write in progress is completed, or settled by the next command.
//! A question that waits for an answer receives the interrupt.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use vector_providers::http::CancelSwitch;

/// The exit code of a process that Ctrl-C ended, following the convention of shells.
const INTERRUPTED: i32 = 130;

/// An event that a waiting question can receive.
enum InputEvent {
    /// A line. Empty at the end of stdin.
    Line(io::Result<Vec<u8>>),
    Interrupt,
}

struct InterruptState {
    sender: Sender<InputEvent>,
    events: Mutex<Receiver<InputEvent>>,
    /// The switch that Ctrl-C throws, and whether it was pressed.
    flags: Mutex<InterruptFlags>,
    /// Whether a thread is still reading a line, for a question that was interrupted.
    is_reading: Mutex<bool>,
}

#[derive(Default)]
struct InterruptFlags {
    cancel: CancelSwitch,
    is_pressed: bool,
}

static WATCHED: OnceLock<Option<Arc<InterruptState>>> = OnceLock::new();

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic cannot leave a partial value behind.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn interrupt_state() -> Option<&'static Arc<InterruptState>> {
    WATCHED.get().and_then(Option::as_ref)
}

/// Installs the handler. From now on the first Ctrl-C stops the current work instead of ending the
/// process.
pub(super) fn install_handler() {
    WATCHED.get_or_init(watch_interrupts);
}

/// If the system cannot install the handler, Ctrl-C ends the process as usual.
fn watch_interrupts() -> Option<Arc<InterruptState>> {
    let (sender, receiver) = channel();
    let (events, flags, is_reading) = (Mutex::new(receiver), Mutex::default(), Mutex::default());
    let watched = Arc::new(InterruptState { sender, events, flags, is_reading });
    let own = Arc::clone(&watched);
    ctrlc::set_handler(move || own.note_press()).ok()?;
    Some(watched)
}

impl InterruptState {
    fn note_press(&self) {
        let mut now = lock_mutex(&self.flags);
        if now.is_pressed {
            // The first press was not handled: the current work cannot be interrupted.
            std::process::exit(INTERRUPTED);
        }
        now.is_pressed = true;
        now.cancel.cancel();
        let _ = self.sender.send(InputEvent::Interrupt);
    }
}

/// The switch that the next Ctrl-C throws. [`take_press`] replaces a thrown switch.
pub(super) fn cancel_switch() -> CancelSwitch {
    interrupt_state()
        .map_or_else(CancelSwitch::new, |watched| lock_mutex(&watched.flags).cancel.clone())
}

/// Whether Ctrl-C was pressed since the last call. Resets the state.
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

/// Whether Ctrl-C was pressed and not yet taken by [`take_press`].
pub(super) fn is_pressed() -> bool {
    interrupt_state().is_some_and(|watched| lock_mutex(&watched.flags).is_pressed)
}

/// Whether a line is still being read for a question that Ctrl-C interrupted.
pub(super) fn is_reading() -> bool {
    interrupt_state().is_some_and(|watched| *lock_mutex(&watched.is_reading))
}

/// Reads the next line of stdin, including its end. None if Ctrl-C was pressed first.
pub(super) fn read_line() -> io::Result<Option<Vec<u8>>> {
    let Some(watched) = interrupt_state() else {
        return read_stdin_line().map(Some);
    };
    let events = lock_mutex(&watched.events);
    // Input from before the question is not an answer to it.
    while let Ok(early) = events.try_recv() {
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
    match events.recv() {
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
