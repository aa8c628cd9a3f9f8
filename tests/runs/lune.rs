//! Scripts in Vector's runtime and in that of Lune, whose results are compared.

use std::rc::Rc;

use mlua::{Lua, Table, Value};
use vector_core::run::RunRequest;
use vector_place::{FileFormat, Scene};
use vector_runtime::{RunLimits, run_script};

/// What the two implementations compute with: single precision, in different orders.
const TOLERANCE: f64 = 1e-4;

/// The lines that a script returns in Vector's runtime.
pub(super) fn ours(source: &str) -> Vec<String> {
    let scene = Scene::empty(FileFormat::Binary);
    let request = RunRequest { source: source.to_owned(), name: "Script".to_owned(), title: None };
    let outcome = run_script(&scene, &request, RunLimits::default(), Rc::new(|| false)).unwrap();
    let lines = outcome.result.unwrap_or_else(|error| panic!("{error}\n{source}"));
    lines.as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

/// The lines that a script returns with the datatypes and instances of Lune.
pub(super) fn lunes(source: &str) -> Vec<String> {
    let lua = Lua::new();
    let globals = lua.globals();
    lune_roblox::module(lua.clone())
        .unwrap()
        .for_each(|name: String, value: Value| globals.set(name, value))
        .unwrap();
    let lines: Table = lua.load(source).eval().unwrap();
    lines.sequence_values().map(Result::unwrap).collect()
}

/// Whether two values are the same. What is not a number makes everything after it arbitrary.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    if one.contains("nan") || other.contains("nan") {
        return true;
    }
    let (ours, theirs): (Vec<&str>, Vec<&str>) =
        (one.split([' ', ',']).collect(), other.split([' ', ',']).collect());
    ours.len() == theirs.len() && ours.iter().zip(&theirs).all(|(a, b)| is_same_word(a, b))
}

fn is_same_word(one: &str, other: &str) -> bool {
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => {
            let scale = 1.0 + one.abs().min(other.abs());
            one == other
                || (one.is_nan() && other.is_nan())
                || (one - other).abs() <= TOLERANCE * scale
        }
        _ => one == other,
    }
}
