//! Compares this module with rbx_xml, on real, generated and broken files.

mod hostile;
mod scan;
mod texts;
mod values;

use std::path::PathBuf;

use rbx_dom_weak::WeakDom;
use rbx_xml::{DecodeOptions, DecodePropertyBehavior};

/// Reads a file with rbx_xml.
pub(super) fn reference(file: &[u8]) -> Result<WeakDom, String> {
    let options = DecodeOptions::new().property_behavior(DecodePropertyBehavior::NoReflection);
    rbx_xml::from_reader(file, options).map_err(|error| error.to_string())
}

/// Returns the real files; empty if `VECTOR_CASES` is not set.
pub(super) fn places() -> Vec<(PathBuf, Vec<u8>)> {
    let Some(cases) = std::env::var_os("VECTOR_CASES") else {
        println!("left out: VECTOR_CASES is not set");
        return Vec::new();
    };
    let mut places = Vec::new();
    for entry in std::fs::read_dir(PathBuf::from(cases).join("places")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "rbxlx" || it == "rbxmx") {
            let file = std::fs::read(&path).unwrap();
            places.push((path, file));
        }
    }
    places
}
