//! Keys in the Credential Manager. It is one for the whole user: these tests run alone.

use vector_tests::binary::Home;

use super::is_for_windows;

#[test]
fn key_is_stored_used_and_removed() {
    if !is_for_windows() {
        return;
    }
    let home = Home::new();
    let list = || home.run(&["key", "list"], "").stdout;
    assert!(!list().contains("keychain"), "{}", list());
    let stored = home.run(&["key", "set", "openai"], "sk-test-0123456789abcdef\n");
    assert_eq!(stored.code, 0, "{}", stored.stderr);
    assert!(list().contains("keychain"), "{}", list());
    assert!(!list().contains("sk-test"), "{}", list());
    let models = home.run(&["models"], "").stdout;
    assert!(models.contains("openai  usable: the keychain"), "{models}");
    let removed = home.run(&["key", "remove", "openai"], "");
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    assert!(!list().contains("keychain"), "{}", list());
}
