//! The standard streams of this process.

use windows_sys::Win32::Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation};
use windows_sys::Win32::System::Console::{
    FlushConsoleInputBuffer, GetStdHandle, STD_ERROR_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE,
};

/// Discards what was typed at the console and not yet read. Does nothing if stdin is not a console.
pub(crate) fn discard_typed_input() {
    // SAFETY: it takes no pointer. The handle belongs to the process and is not closed here.
    let input = unsafe { GetStdHandle(STD_INPUT_HANDLE) };
    // SAFETY: for a handle that is not valid, or not that of a console, it returns an error.
    let _ = unsafe { FlushConsoleInputBuffer(input) };
}

/// Keeps processes that are started later from inheriting the standard streams, unless they are
/// given one as theirs. Otherwise a reader of this process's output would wait for them as well.
pub(crate) fn keep_standard_streams() {
    for stream in [STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE] {
        // SAFETY: it takes no pointer. The handle belongs to the process and is not closed here.
        let handle = unsafe { GetStdHandle(stream) };
        // SAFETY: for a handle that is not valid, it returns an error.
        let _ = unsafe { SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0) };
    }
}
