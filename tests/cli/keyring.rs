//! Keys in the Secret Service of Linux desktops: GNOME's keyring, on a session bus of its own.

use std::fs;
use std::process::Command;

use vector_tests::binary::{self, Home, run_to_end};
use vector_tests::requirement::Requirement;

/// A bus that starts no services of the machine.
const BUS: &str = r#"<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <policy context="default">
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;
/// Starts an unlocked keyring. Its command returns before the service is on the bus, so this waits
/// for the name there.
const UNLOCKED: &str = "printf password | gnome-keyring-daemon --unlock --components=secrets \
    >\"$XDG_RUNTIME_DIR/keyring.log\" 2>&1
TRIES=0
until dbus-send --session --print-reply --dest=org.freedesktop.DBus / \
    org.freedesktop.DBus.NameHasOwner string:org.freedesktop.secrets | grep -q 'boolean true'
do
    TRIES=$((TRIES + 1))
    if [ $TRIES -gt 600 ]
    then
        cat \"$XDG_RUNTIME_DIR/keyring.log\" >&2
        exit 9
    fi
    sleep 0.1
done
";
const KEY: &str = "sk-test-0123456789abcdef";

/// Runs a shell script in which `$V` is the binary, on a session bus where GNOME's keyring is
/// unlocked if `is_unlocked`, with these variables. Returns what it printed. None if the keyring is not installed.
pub(crate) fn in_session(
    home: &Home,
    is_unlocked: bool,
    variables: &[(&str, String)],
    script: &str,
) -> Option<String> {
    for program in ["gnome-keyring-daemon", "dbus-run-session", "dbus-send"] {
        if Command::new(program).arg("--version").output().is_err() {
            Requirement::Keyring.skip(&format!("keys in a keyring ({program} is not installed)"));
            return None;
        }
    }
    let start = if is_unlocked { UNLOCKED } else { "" };
    let config = home.path().join("session.conf");
    fs::write(&config, BUS).unwrap();
    let mut command = home.command_of("dbus-run-session".as_ref(), &["--config-file"]);
    command.arg(config).args(["--", "sh", "-c"]).arg(format!("{start}{script}"));
    command.env("V", binary::vector()).env("XDG_RUNTIME_DIR", home.path());
    command.envs(variables.iter().cloned());
    let output = run_to_end(command, "");
    assert_eq!(output.code, 0, "{output:?}");
    Some(output.stdout + &output.stderr)
}

#[test]
fn key_is_stored_used_and_removed() {
    let home = Home::new();
    let script = format!(
        "echo {KEY} | $V key set openai && echo {KEY} | $V key set roblox-publish && $V key list && $V \
         models && $V uninstall --dry-run && $V key remove openai && echo 'After:' && $V key list"
    );
    let Some(said) = in_session(&home, true, &[], &script) else { return };
    let (before, after) = said.split_once("After:").unwrap();
    for part in [
        "Stored the key of openai in the keychain.",
        "openai         in the keychain",
        "openai  usable: the keychain",
        "the key of openai in the keychain",
        "the key of roblox-publish in the keychain",
        "Removed the key of openai.",
    ] {
        assert!(before.contains(part), "{part}: {said}");
    }
    assert!(
        after.contains("openai         no key: `vector key set openai`, or set OPENAI_API_KEY")
    );
    assert!(!said.contains(KEY), "{said}");
}

#[test]
fn keyring_that_is_busy_is_waited_for() {
    let home = Home::new();
    let script = format!(
        "PID=$(dbus-send --session --print-reply --dest=org.freedesktop.DBus / \
         org.freedesktop.DBus.GetConnectionUnixProcessID string:org.freedesktop.secrets \
         | sed -n 's/.*uint32 //p')
         kill -STOP $PID
         (sleep 3; kill -CONT $PID) &
         echo {KEY} | $V key set openai && $V key list"
    );
    let Some(said) = in_session(&home, true, &[], &script) else { return };
    assert!(said.contains("Stored the key of openai in the keychain."), "{said}");
    assert!(said.contains("openai         in the keychain"), "{said}");
}

#[test]
fn session_without_a_keyring_has_no_keychain() {
    let home = Home::new();
    let script = format!("$V key list; echo {KEY} | $V key set openai; echo \"code $?\"");
    let Some(said) = in_session(&home, false, &[], &script) else { return };
    assert!(said.contains("openai         no key: set OPENAI_API_KEY\n"), "{said}");
    assert!(said.contains("code 1"), "{said}");
    assert!(said.contains("there is no keychain: no Secret Service"), "{said}");
    assert!(said.contains("Set OPENAI_API_KEY in the environment instead"), "{said}");
}
