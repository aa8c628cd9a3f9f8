//! Limits of the system that end a process unless it says otherwise.

/// Has a write beyond the limit of file sizes (`ulimit -f`) fail with an error that is said, instead of
/// ending the process by `SIGXFSZ` with a temporary file left behind. A handler is enough for that;
/// programs that Vector starts do not inherit it.
pub(super) fn ignore_file_size_signal() {
    #[cfg(unix)]
    {
        let told = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        // Where no handler can be set, all is as the system has it.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, told);
    }
}
