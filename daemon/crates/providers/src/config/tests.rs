//! Tests of what files and variables set, and of what is refused in them.

use std::fs;

use super::*;

/// Loads settings from the texts of two files and from variables.
fn loaded(
    home: &str,
    project: &str,
    env: &[(&str, &str)],
) -> Result<(Catalogue, ModelConfig), String> {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(one.path().join(FILE), home).unwrap();
    fs::write(two.path().join(FILE), project).unwrap();
    let env =
        |name: &str| env.iter().find(|(own, _)| *own == name).map(|(_, text)| (*text).to_owned());
    load_config(one.path(), Some(two.path()), &env)
}

#[test]
fn later_sources_override_earlier_ones() {
    let (_, config) = loaded("", "", &[]).unwrap();
    assert_eq!(config.first_byte_timeout, Duration::from_secs(30));
    assert_eq!((config.retries, config.model), (3, None));
    let home = "model = \"anthropic\"\nretries = 1\nturn_limit = 7";
    let project = "model = \"openai/gpt-5.2\"\nretries = 2";
    let env = [("VECTOR_RETRIES", "5"), ("VECTOR_EFFORT", "max"), ("VECTOR_TURN_LIMIT", "")];
    let (_, config) = loaded(home, project, &env).unwrap();
    assert_eq!(config.model, Some(("openai/gpt-5.2".to_owned(), ValueOrigin::Project)));
    assert_eq!((config.retries, config.turn_limit), (5, 7));
    assert_eq!(config.effort, Some(ThinkingEffort::Max));
}

#[test]
fn every_setting_is_read_from_file_and_variable() {
    for setting in &SETTINGS {
        let (text, quoted) = match setting.writer {
            SettingWriter::Number(least, ..) => ((least + 1).to_string(), (least + 1).to_string()),
            SettingWriter::Money(_) => ("1.5".to_owned(), "1.5".to_owned()),
            SettingWriter::Switch(_) => {
                let other = (setting.default == "false").to_string();
                (other.clone(), other)
            }
            SettingWriter::Text(_) if setting.key.starts_with("effort") => {
                ("high".to_owned(), "\"high\"".to_owned())
            }
            SettingWriter::Text(_) if setting.key == "editor" => {
                ("zed".to_owned(), "\"zed\"".to_owned())
            }
            SettingWriter::Text(_) if setting.key == "verify.scratch" => {
                ("12/34".to_owned(), "\"12/34\"".to_owned())
            }
            SettingWriter::Text(_) => ("ollama/m".to_owned(), "\"ollama/m\"".to_owned()),
        };
        let (_, none) = loaded("", "", &[]).unwrap();
        let (_, by_file) = loaded(&format!("{} = {quoted}", setting.key), "", &[]).unwrap();
        let (_, mut by_env) = loaded("", "", &[(setting.env, text.as_str())]).unwrap();
        assert_ne!(none, by_file, "{}", setting.key);
        if let Some((_, origin)) = &mut by_env.model {
            *origin = ValueOrigin::Home;
        }
        assert_eq!(by_file, by_env, "{}", setting.key);
    }
}

#[test]
fn invalid_settings_are_refused_with_a_hint() {
    let check = |home: &str, expected: &[&str]| {
        let error = loaded(home, "", &[]).unwrap_err();
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    };
    check("retires = 1", &["vector.toml", "no setting `retires`", "Did you mean `retries`?"]);
    check("[caps]\nday_us = 1", &["Did you mean `caps.day_usd`"]);
    check("[providers.openai]\nbase-url = \"x\"", &["Did you mean `base_url`?"]);
    check("[providers.opnai]\nregion = \"x\"", &["Did you mean `openai`", "models.toml"]);
    check("[providers.openai]\nwire = \"openai_caht\"", &["Did you mean `openai_chat`"]);
    check("[providers.openai]\nbase_url = \"api.x.com\"", &["https://"]);
    check("retries = 11", &["`retries`", "from 0 to 10"]);
    check("retries = \"3\"", &["whole number"]);
    check("model = 3", &["in quotes"]);
    check("effort = \"hard\"", &["low, medium, high or max"]);
    check("[caps]\nday_usd = -1", &["US dollars"]);
    check("[verify]\nscratch = \"34\"", &["`verify.scratch`", "123/456"]);
    check("model = ", &["vector.toml"]);
    let error = loaded("", "", &[("VECTOR_RETRIES", "many")]).unwrap_err();
    assert!(error.contains("VECTOR_RETRIES") && error.contains("0 to 10"), "{error}");
}

#[test]
fn project_cannot_redirect_keys_or_raise_caps() {
    let elsewhere = "[providers.openai]\nbase_url = \"https://thief.example\"";
    let error = loaded("", elsewhere, &[]).unwrap_err();
    assert!(error.contains("cannot be set by a project"), "{error}");
    let error = loaded("", "editor = \"touch {file}\"", &[]).unwrap_err();
    assert!(error.contains("cannot be set by a project"), "{error}");
    let error = loaded("", "[verify]\nscratch = \"12/34\"", &[]).unwrap_err();
    assert!(error.contains("cannot be set by a project"), "{error}");
    let home = "[caps]\nday_usd = 2\nworkflow_usd = 5";
    let (_, config) =
        loaded(home, "[caps]\nday_usd = 9\nworkflow_usd = 1\nproject_usd = 3", &[]).unwrap();
    let caps = SpendingCaps {
        day: Some(2.0),
        project: Some(3.0),
        workflow: Some(1.0),
        request: Some(ASK_ABOVE),
        estimate: Some(CONFIRM_ABOVE),
    };
    assert_eq!(config.caps, caps);
}

#[test]
fn project_only_narrows_scope() {
    let scope = |home: &str, project: &str| loaded(home, project, &[]).unwrap().1.scope_limit;
    assert_eq!(scope("", "[guards]\nscope = 100000"), 8, "a project does not widen it");
    assert_eq!(scope("", "[guards]\nscope = 3"), 3, "a project narrows it");
    assert_eq!(scope("[guards]\nscope = 40", "[guards]\nscope = 39"), 39);
    assert_eq!(scope("[guards]\nscope = 40", "[guards]\nscope = 41"), 40);
    assert_eq!(scope("[guards]\nscope = 40", ""), 40);
}

#[test]
fn project_requires_reviews_and_cannot_do_without() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let read = |home: &str, project: &str, variable: Option<&str>| {
        fs::write(one.path().join(FILE), home).unwrap();
        fs::write(two.path().join(FILE), project).unwrap();
        let env = |name: &str| {
            let is_it = name == "VECTOR_REVIEW_REQUIRED";
            variable.filter(|_| is_it).map(str::to_owned)
        };
        let required = read_review_required(one.path(), Some(two.path()), &env);
        let whole = load_config(one.path(), Some(two.path()), &env);
        assert_eq!(required, whole.map(|(_, config)| config.is_review_required));
        required
    };
    let (on, off) = ("[review]\nrequired = true", "[review]\nrequired = false");
    assert_eq!(read("", "", None), Ok(false));
    assert_eq!(read("", on, None), Ok(true), "a project requires it");
    assert_eq!(read(on, off, None), Ok(true), "a project does not do without");
    assert_eq!(read(on, "", Some("false")), Ok(false), "the user's variable does");
    assert_eq!(read(off, off, Some("true")), Ok(true));
    let wrong = read("", "", Some("perhaps")).unwrap_err();
    assert!(wrong.contains("VECTOR_REVIEW_REQUIRED") && wrong.contains("true or false"), "{wrong}");
    let wrong = read("", "[review]\nrequird = true", None).unwrap_err();
    assert!(wrong.contains("Did you mean `review.required`"), "{wrong}");
}

#[test]
fn provider_settings_change_address_and_wire_format() {
    let home = "[providers.lmstudio]\nbase_url = \"http://10.0.0.2:1234/v1/\"";
    let env = [("VECTOR_OPENAI_WIRE", "openai_chat"), ("AWS_REGION", "eu-west-1")];
    let (catalogue, _) = loaded(home, "", &env).unwrap();
    let url = |name: &str| catalogue.find_service(name).unwrap().base_url.clone();
    assert_eq!(url("lmstudio"), "http://10.0.0.2:1234/v1");
    assert_eq!(url("bedrock"), "https://bedrock-runtime.eu-west-1.amazonaws.com");
    assert_eq!(catalogue.find_service("openai").unwrap().wire, WireFormat::OpenaiChat);
}

#[test]
fn docs_list_every_setting_and_variable() {
    let page = include_str!("../../../../../docs/models.md");
    let row = |setting: &SettingSpec| {
        let SettingSpec { key, env, default, description: about, .. } = setting;
        format!("| `{key}` | `{env}` | {default} | {about} |\n")
    };
    let table: String = SETTINGS.iter().map(row).collect();
    assert!(page.contains(&table), "docs/models.md must have these rows:\n{table}");
    for (key, suffix, about) in PROVIDER_SETTINGS {
        let begin = format!("| `providers.NAME.{key}` | `VECTOR_NAME_{suffix}` |");
        assert!(page.contains(&begin) && page.contains(about), "{begin} {about}");
    }
    let catalogue = Catalogue::from_user_file(None).unwrap();
    for service in &catalogue.services {
        let named = service.key_variables.iter().chain([&service.name]);
        for name in named {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
