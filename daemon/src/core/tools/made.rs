//! What commands make: parts that may have to behave, and scripts that make them.

use scene_schemas::Command;

use crate::core::scene::reflection::{is_a, is_script};

/// What commands make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Made {
    /// Parts, of whatever form.
    pub parts: usize,
    /// Scripts that they make or write.
    pub scripts: usize,
}

/// Counts what commands make.
pub fn made<'a>(commands: impl Iterator<Item = &'a Command>) -> Made {
    let mut made = Made::default();
    for command in commands {
        match command {
            Command::Create { class, .. } if is_a(class, "BasePart") => made.parts += 1,
            Command::Create { class, .. } if is_script(class) => made.scripts += 1,
            Command::EditScript { .. } => made.scripts += 1,
            _ => {}
        }
    }
    made
}
