//! What systems offer beyond the standard library, with one interface for all: files that only
//! their owner can access, the attributes of files, who holds a file open, and what was typed at a
//! terminal.
//!
//! It decides nothing and knows nothing about Vector.

mod attributes;
mod private;
#[cfg(windows)]
mod windows;

use std::path::Path;
use std::process::Command;

pub use attributes::FileAttributes;
pub use private::{create_private_folder, is_open_to_others, open_private, restrict_to_owner};

/// The names of the programs that have a file open, as the system shows them to people. Empty if
/// none has, or if the system does not tell; it is asked on Windows only, where a program can keep
/// others from replacing a file.
pub fn programs_holding(path: &Path) -> Vec<String> {
    #[cfg(windows)]
    return windows::holders::programs_holding(path);
    #[cfg(not(windows))]
    {
        let _ = path;
        Vec::new()
    }
}

/// Makes a command that is started outlive this process: signals to the terminal do not reach it,
/// and it holds none of this process's standard streams open.
pub fn detach(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(windows)]
    {
        use windows_sys::Win32::System::Threading::{CREATE_NO_WINDOW, DETACHED_PROCESS};

        windows::console::keep_standard_streams();
        let flags = CREATE_NO_WINDOW | DETACHED_PROCESS;
        std::os::windows::process::CommandExt::creation_flags(command, flags);
    }
}

/// Takes a folder off the user's PATH, as it is set for all programs that are started from now on.
/// Does nothing if it is not on it, and on systems other than Windows, which do not store PATH.
pub fn remove_from_user_path(folder: &Path) -> std::io::Result<()> {
    #[cfg(windows)]
    return windows::user_path::remove(folder);
    #[cfg(not(windows))]
    {
        let _ = folder;
        Ok(())
    }
}

/// Discards what was typed at the terminal and not yet read. Does nothing if stdin is not a terminal.
pub fn discard_typed_input() {
    #[cfg(unix)]
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        let queue = rustix::termios::QueueSelector::IFlush;
        let _ = rustix::termios::tcflush(std::io::stdin(), queue);
    }
    #[cfg(windows)]
    windows::console::discard_typed_input();
}
