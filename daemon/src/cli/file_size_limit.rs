//! Handling of system limits that would end the process.
//!
//! The handling is needed only on Unix.

/// Makes a write beyond the file size limit (`ulimit -f`) fail with an error. By default, `SIGXFSZ`
/// ends the process and leaves a temporary file behind. Installing any handler is enough. Child
/// processes do not inherit it.
pub(super) fn ignore_file_size_signal() {
    #[cfg(unix)]
    {
        let was_signalled = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        // If no handler can be installed, the system's default applies.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, was_signalled);
    }
}
