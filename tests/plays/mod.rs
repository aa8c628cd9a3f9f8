//! Games that are played on places: the command, and real places.

mod command;
mod real;
