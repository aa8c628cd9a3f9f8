//! `vector models` and `vector key`: which models are available, and that no key is ever shown.

use std::fs;

use vector_tests::binary::{Home, Output};

use super::ended;

const KEY: &str = "sk-never-shown";

/// Runs `vector` with an environment variable set.
fn with(home: &Home, variable: &str, text: &str, args: &[&str]) -> Output {
    let output = home.command(args).env(variable, text).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().unwrap();
    Output { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

#[test]
fn models_explains_how_to_set_a_missing_key() {
    let home = Home::new();
    let listed = home.run(&["models"], "");
    ended(&listed, 0);
    for part in [
        "The offline planner answers, because no key is set.",
        "OPENAI_API_KEY",
        "ollama/MODEL, for any model that http://127.0.0.1:11434",
        "vector.toml",
    ] {
        assert!(listed.stdout.contains(part), "{part}: {}", listed.stdout);
    }
}

#[test]
fn environment_key_is_used_and_not_shown() {
    let home = Home::new();
    let listed = with(&home, "OPENAI_API_KEY", KEY, &["models"]);
    ended(&listed, 0);
    let said = "openai/gpt-5.2 answers, because it is the first provider with a key.";
    assert!(listed.stdout.contains(said), "{}", listed.stdout);
    let json = with(&home, "OPENAI_API_KEY", KEY, &["models", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let answers: Vec<_> =
        rows.as_array().unwrap().iter().filter(|it| it["answers"] == true).collect();
    assert_eq!(answers.len(), 1);
    assert_eq!((answers[0]["usable"].as_bool(), answers[0]["why"].is_null()), (Some(true), true));
    let keys = with(&home, "OPENAI_API_KEY", KEY, &["key", "list"]);
    assert!(
        keys.stdout.contains("openai         in the variable OPENAI_API_KEY"),
        "{}",
        keys.stdout
    );
    for output in [listed, json, keys] {
        assert!(!format!("{output:?}").contains(KEY), "{output:?}");
    }
}

#[test]
fn chosen_model_without_a_key_is_reported() {
    let home = Home::new();
    let listed = with(&home, "VECTOR_MODEL", "gemini", &["models"]);
    let said = "No model is available. gemini, chosen by the variable VECTOR_MODEL, cannot be \
                used: no key";
    assert!(listed.stdout.contains(said), "{}", listed.stdout);
}

#[test]
fn unknown_setting_is_refused() {
    let home = Home::new();
    let folder = home.path().join("vector");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("vector.toml"), "retires = 2\n").unwrap();
    let refused = home.run(&["models"], "");
    ended(&refused, 1);
    assert!(refused.stderr.contains("Did you mean `retries`?"), "{}", refused.stderr);
}

#[test]
fn key_set_refuses_keys_it_cannot_store() {
    let home = Home::new();
    for (provider, said) in [("opnai", "Did you mean `openai`?"), ("ollama", "needs no key")] {
        let refused = home.run(&["key", "set", provider], KEY);
        ended(&refused, 1);
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
    ended(&home.run(&["key", "set", "openai"], " \n"), 1);
    // On other systems, the key would be written to the keychain of the user who runs the tests.
    if cfg!(target_os = "linux") {
        let refused = home.run(&["key", "set", "openai"], KEY);
        ended(&refused, 1);
        assert!(refused.stderr.contains("Set OPENAI_API_KEY"), "{}", refused.stderr);
        assert!(!refused.stderr.contains(KEY), "{}", refused.stderr);
    }
}
