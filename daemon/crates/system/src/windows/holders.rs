//! Who holds a file open: asked from the Restart Manager, which installers ask too.

use std::mem::zeroed;
use std::path::Path;
use std::ptr::null;

use windows_sys::Win32::Foundation::ERROR_SUCCESS;
use windows_sys::Win32::System::RestartManager::{
    CCH_RM_SESSION_KEY, RM_PROCESS_INFO, RmEndSession, RmGetList, RmRegisterResources,
    RmStartSession,
};

use super::wide::null_terminated;

/// No more programs than this are named.
const MAX_HOLDERS: u32 = 8;

/// The names of the programs that have a file open, as the system shows them to people. Empty if
/// none has, or if the system does not tell.
pub(crate) fn programs_holding(path: &Path) -> Vec<String> {
    let Ok(wide) = null_terminated(path) else {
        return Vec::new();
    };
    let Some(session) = Session::start() else {
        return Vec::new();
    };
    session.programs_holding(&wide).unwrap_or_default()
}

/// A session of the Restart Manager. The system has few of them.
struct Session(u32);

impl Session {
    fn start() -> Option<Self> {
        let (mut session, mut key) = (0, [0_u16; CCH_RM_SESSION_KEY as usize + 1]);
        // SAFETY: the key has room for as many characters as the function writes, and a zero.
        let code = unsafe { RmStartSession(&raw mut session, 0, key.as_mut_ptr()) };
        (code == ERROR_SUCCESS).then_some(Self(session))
    }

    fn programs_holding(&self, wide: &[u16]) -> Option<Vec<String>> {
        let files = [wide.as_ptr()];
        // SAFETY: one path, which ends with a zero, and no programs or services.
        let code = unsafe { RmRegisterResources(self.0, 1, files.as_ptr(), 0, null(), 0, null()) };
        if code != ERROR_SUCCESS {
            return None;
        }
        // SAFETY: the structure consists of numbers, for which zero is a value.
        let empty: RM_PROCESS_INFO = unsafe { zeroed() };
        let mut found = vec![empty; MAX_HOLDERS as usize];
        let (mut needed, mut count, mut reasons) = (0, MAX_HOLDERS, 0);
        let (into, all) = (found.as_mut_ptr(), &raw mut needed);
        // SAFETY: `count` says how many structures there is room for.
        let code = unsafe { RmGetList(self.0, all, &raw mut count, into, &raw mut reasons) };
        found.truncate(if code == ERROR_SUCCESS { count as usize } else { 0 });
        let name = |it: &RM_PROCESS_INFO| {
            let end = it.strAppName.iter().position(|&unit| unit == 0);
            String::from_utf16_lossy(&it.strAppName[..end.unwrap_or(0)])
        };
        let mut names: Vec<String> = found.iter().map(name).filter(|it| !it.is_empty()).collect();
        names.sort();
        names.dedup();
        Some(names)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the session was started, and is ended once.
        unsafe { RmEndSession(self.0) };
    }
}
