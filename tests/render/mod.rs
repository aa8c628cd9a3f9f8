//! Rendered pictures: a known scene, pixel by pixel as it was reviewed, and the `vector render`
//! command.
//!
//! `UPDATE=1` rewrites the pictures beside this file: look at them before they are committed.

mod cli;
mod known;

use std::fs;

use vector_render::Picture;
use vector_tests::{printed, repository};

/// Compares a picture with the reviewed one.
#[track_caller]
fn check(name: &str, picture: &Picture) {
    let file = repository::root().join("tests/render").join(format!("{name}.png"));
    if printed::updating() {
        fs::write(&file, picture.to_png().unwrap()).unwrap();
        return;
    }
    let bytes = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let (size, points) = decoded(&bytes);
    assert_eq!(size, (picture.width, picture.height), "{name}");
    let differ = points.iter().zip(&picture.points).filter(|(one, other)| one != other).count();
    assert_eq!(differ, 0, "{name}: so many points differ; `UPDATE=1` rewrites it, look at both");
}

/// The size and the pixels of a PNG.
#[track_caller]
fn decoded(bytes: &[u8]) -> ((u32, u32), Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut raw = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut raw).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgb);
    let points = raw[..info.buffer_size()].chunks_exact(3).map(|it| [it[0], it[1], it[2]]);
    ((info.width, info.height), points.collect())
}
