//! Table cases of merges: each rule in each of its directions.

mod bench;
mod conflicts;
mod many;
mod reads;
mod taken;
