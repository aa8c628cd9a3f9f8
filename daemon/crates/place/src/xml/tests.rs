//! Compares this module with rbx_xml, on real, generated and broken files.

mod hostile;
mod scan;
mod texts;
mod values;

use std::path::PathBuf;

use rbx_dom_weak::WeakDom;
use rbx_xml::{DecodeOptions, DecodePropertyBehavior};

/// Random numbers that are the same in every run.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.bits() >> 11) as usize % end.max(1)
    }

    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

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
