//! Games that are played on places: the command, the check on cards, and real places.

mod checks;
mod command;
mod real;
