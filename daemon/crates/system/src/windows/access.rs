//! Who can access a file: its discretionary access control list (DACL).

use std::ffi::c_void;
use std::io;
use std::mem::zeroed;
use std::path::Path;
use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::{
    CloseHandle, ERROR_SUCCESS, FALSE, GENERIC_ALL, GENERIC_EXECUTE, GENERIC_READ, GENERIC_WRITE,
    HANDLE, LocalFree, TRUE, WIN32_ERROR,
};
use windows_sys::Win32::Security::Authorization::{
    EXPLICIT_ACCESS_W, GetNamedSecurityInfoW, SE_FILE_OBJECT, SET_ACCESS, SetEntriesInAclW,
    TRUSTEE_IS_SID, TRUSTEE_IS_USER,
};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACE_HEADER, ACL, DACL_SECURITY_INFORMATION, EqualSid, GetAce,
    GetTokenInformation, INHERIT_ONLY_ACE, InitializeSecurityDescriptor, IsWellKnownSid,
    PSECURITY_DESCRIPTOR, PSID, SE_DACL_PROTECTED, SECURITY_DESCRIPTOR,
    SUB_CONTAINERS_AND_OBJECTS_INHERIT, SetFileSecurityW, SetSecurityDescriptorControl,
    SetSecurityDescriptorDacl, TOKEN_QUERY, TOKEN_USER, TokenUser, WinBuiltinAdministratorsSid,
    WinCreatorOwnerRightsSid, WinLocalSystemSid,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ALL_ACCESS, FILE_APPEND_DATA, FILE_EXECUTE, FILE_READ_DATA, FILE_WRITE_DATA,
};
use windows_sys::Win32::System::SystemServices::{
    ACCESS_ALLOWED_ACE_TYPE, SECURITY_DESCRIPTOR_REVISION,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use windows_sys::core::BOOL;

use super::wide::null_terminated;

/// Any of these rights lets somebody see or change what a file or folder contains.
const CONTENT_RIGHTS: u32 = FILE_READ_DATA
    | FILE_WRITE_DATA
    | FILE_APPEND_DATA
    | FILE_EXECUTE
    | GENERIC_ALL
    | GENERIC_EXECUTE
    | GENERIC_READ
    | GENERIC_WRITE;

/// Makes a file or folder accessible by the user of this process alone. What is created in such a
/// folder later is too; what is in it already stays as it is. What its parent folder grants others
/// no longer applies.
pub(crate) fn restrict_to_user(path: &Path) -> io::Result<()> {
    let user = User::of_process()?;
    let wide = null_terminated(path)?;
    // SAFETY: the structure consists of numbers and pointers, for which zero is a value.
    let mut grant: EXPLICIT_ACCESS_W = unsafe { zeroed() };
    grant.grfAccessPermissions = FILE_ALL_ACCESS;
    grant.grfAccessMode = SET_ACCESS;
    grant.grfInheritance = SUB_CONTAINERS_AND_OBJECTS_INHERIT;
    grant.Trustee.TrusteeForm = TRUSTEE_IS_SID;
    grant.Trustee.TrusteeType = TRUSTEE_IS_USER;
    grant.Trustee.ptstrName = user.sid().cast();
    let mut list: *mut ACL = null_mut();
    // SAFETY: `grant` is one entry, and its SID lives as long as `user`.
    succeed(unsafe { SetEntriesInAclW(1, &raw const grant, null(), &raw mut list) })?;
    let list = Allocated(list.cast());
    // SAFETY: the structure consists of numbers and pointers, for which zero is a value.
    let mut descriptor: SECURITY_DESCRIPTOR = unsafe { zeroed() };
    let about: PSECURITY_DESCRIPTOR = (&raw mut descriptor).cast();
    // SAFETY: there is room for a descriptor.
    call(unsafe { InitializeSecurityDescriptor(about, SECURITY_DESCRIPTOR_REVISION) })?;
    // SAFETY: the descriptor is initialized, and the list lives as long as it.
    call(unsafe { SetSecurityDescriptorDacl(about, TRUE, list.0.cast(), FALSE) })?;
    let is_protected = SE_DACL_PROTECTED;
    // SAFETY: the descriptor is initialized.
    call(unsafe { SetSecurityDescriptorControl(about, is_protected, is_protected) })?;
    // SAFETY: the path ends with a zero, and the descriptor is complete.
    call(unsafe { SetFileSecurityW(wide.as_ptr(), DACL_SECURITY_INFORMATION, about) })
}

/// Whether other users can see or change the content of a file or folder. The system itself and
/// administrators do not count: they can access everything.
pub(crate) fn is_open_to_others(path: &Path) -> io::Result<bool> {
    let user = User::of_process()?;
    let wide = null_terminated(path)?;
    let (mut list, mut descriptor): (*mut ACL, PSECURITY_DESCRIPTOR) = (null_mut(), null_mut());
    // SAFETY: the path ends with a zero, and both results are written to variables of their type.
    succeed(unsafe {
        GetNamedSecurityInfoW(
            wide.as_ptr(),
            SE_FILE_OBJECT,
            DACL_SECURITY_INFORMATION,
            null_mut(),
            null_mut(),
            &raw mut list,
            null_mut(),
            &raw mut descriptor,
        )
    })?;
    // The list lies in the descriptor.
    let _descriptor = Allocated(descriptor);
    if list.is_null() {
        // Without a list, everybody can do everything.
        return Ok(true);
    }
    // SAFETY: the list was made by the system and lives as long as the descriptor.
    let count = unsafe { (*list).AceCount };
    for index in 0..u32::from(count) {
        let mut entry: *mut c_void = null_mut();
        // SAFETY: the list is valid, and `index` is below its count.
        call(unsafe { GetAce(list, index, &raw mut entry) })?;
        // SAFETY: each entry begins with a header.
        let header = unsafe { *entry.cast::<ACE_HEADER>() };
        let is_inherit_only = u32::from(header.AceFlags) & INHERIT_ONLY_ACE != 0;
        if u32::from(header.AceType) != ACCESS_ALLOWED_ACE_TYPE || is_inherit_only {
            continue;
        }
        let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
        // SAFETY: its type says that the entry is of this form.
        let mask = unsafe { (*entry).Mask };
        // SAFETY: as above; the SID begins in the place of this field.
        let sid: PSID = unsafe { &raw mut (*entry).SidStart }.cast();
        if mask & CONTENT_RIGHTS != 0 && !user.is(sid) && !is_of_the_system(sid) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a SID is that of the system, of administrators, or of whatever user owns the file.
fn is_of_the_system(sid: PSID) -> bool {
    [WinLocalSystemSid, WinBuiltinAdministratorsSid, WinCreatorOwnerRightsSid]
        .into_iter()
        // SAFETY: the SID lies in an access control list, which the system made.
        .any(|known| unsafe { IsWellKnownSid(sid, known) } != 0)
}

/// The user that a process runs as: a `TOKEN_USER`, and behind it the SID that it points to.
struct User(Vec<u64>);

impl User {
    fn of_process() -> io::Result<Self> {
        let mut token: HANDLE = null_mut();
        // SAFETY: this handle stands for the process and need not be closed.
        let process = unsafe { GetCurrentProcess() };
        // SAFETY: the token's handle is written to a variable of its type.
        call(unsafe { OpenProcessToken(process, TOKEN_QUERY, &raw mut token) })?;
        let user = Self::of_token(token);
        // SAFETY: the handle was opened above and is not used afterwards.
        unsafe { CloseHandle(token) };
        user
    }

    fn of_token(token: HANDLE) -> io::Result<Self> {
        let mut size = 0;
        // SAFETY: with a size of zero nothing is written; it fails, and says the size.
        unsafe { GetTokenInformation(token, TokenUser, null_mut(), 0, &raw mut size) };
        // Of numbers, so that it is aligned for pointers.
        let mut buffer = vec![0_u64; (size as usize).div_ceil(8).max(1)];
        let into = buffer.as_mut_ptr().cast();
        // SAFETY: the buffer has at least `size` bytes.
        call(unsafe { GetTokenInformation(token, TokenUser, into, size, &raw mut size) })?;
        Ok(Self(buffer))
    }

    fn sid(&self) -> PSID {
        // SAFETY: the buffer begins with this structure, whose pointer points into the buffer.
        unsafe { (*self.0.as_ptr().cast::<TOKEN_USER>()).User.Sid }
    }

    fn is(&self, sid: PSID) -> bool {
        // SAFETY: both were made by the system.
        unsafe { EqualSid(self.sid(), sid) != 0 }
    }
}

/// Memory that the system allocated for the caller to free.
struct Allocated(*mut c_void);

impl Drop for Allocated {
    fn drop(&mut self) {
        // SAFETY: it was allocated by the system and is freed once.
        unsafe { LocalFree(self.0) };
    }
}

fn succeed(code: WIN32_ERROR) -> io::Result<()> {
    match code {
        ERROR_SUCCESS => Ok(()),
        code => Err(io::Error::from_raw_os_error(code.cast_signed())),
    }
}

/// The result of a function that returns zero when it fails.
fn call(result: BOOL) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
