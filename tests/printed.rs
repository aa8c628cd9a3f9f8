//! The committed files that are generated from the Rust types are up to date.

use std::collections::BTreeSet;

use scene_schemas::value::TYPE_NAMES;
use scene_schemas::{Command, InstancePath, Value};
use vector_tests::{printed, vectors};

#[test]
fn tool_schemas_are_up_to_date() {
    let tools = vector_core::tools::tool_list();
    printed::check("scene-schemas/tools.json", &vectors::pretty(&tools));
}

#[test]
fn plugin_types_are_up_to_date() {
    printed::check("plugin/src/Schema.luau", &scene_schemas::luau::print_schema());
}

#[test]
fn openapi_document_is_up_to_date() {
    let api = scene_schemas::api::openapi_document();
    printed::check("scene-schemas/openapi.json", &vectors::pretty(&api));
}

#[test]
fn vectors_are_up_to_date() {
    printed::check("scene-schemas/vectors.json", &vectors::print());
}

#[test]
fn vectors_cover_every_type() {
    let type_name = |text: &&str| serde_json::from_str::<Value>(text).unwrap().type_name();
    let types: BTreeSet<_> = vectors::VALUES.iter().map(type_name).collect();
    let all = TYPE_NAMES.into_iter().chain(["Bool", "String"]);
    assert_eq!(types, all.collect());
}

#[test]
fn every_value_reads_back_as_printed() {
    for text in vectors::VALUES {
        let value: Value = serde_json::from_str(text).unwrap();
        let again: Value = serde_json::from_str(&value.to_json().to_string()).unwrap();
        // Compare the text, because `nan` is not equal to itself.
        assert_eq!(again.to_canonical(), value.to_canonical());
    }
}

#[test]
fn refused_vectors_are_refused() {
    for text in vectors::REFUSED_VALUES {
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
    }
    for text in vectors::REFUSED_PATHS {
        assert!(text.parse::<InstancePath>().is_err(), "{text}");
    }
}

#[test]
fn vectors_cover_every_command() {
    // A new command fails to compile here; add it to `vectors::commands` too.
    let number = |command: &Command| match command {
        Command::Create { .. } => 0,
        Command::Clone { .. } => 1,
        Command::Set { .. } => 2,
        Command::Move { .. } => 3,
        Command::Delete { .. } => 4,
        Command::Restore { .. } => 5,
        Command::EditScript { .. } => 6,
        Command::Insert { .. } => 7,
        Command::EditMemory { .. } => 8,
        Command::SetMany { .. } => 9,
    };
    let commands = vectors::commands();
    let numbers: Vec<_> = commands.iter().map(number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for command in commands {
        let json = serde_json::to_string(&command).unwrap();
        let read: Command = serde_json::from_str(&json).unwrap();
        assert_eq!(read, command);
    }
}
