//! The entry point of the command line: sets the allocator and runs on a thread whose stack is
//! large enough for deeply nested places and scripts.

use std::process::ExitCode;

use vector_luau::is_catching_panics;
use vector_place::READERS;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// full_moon recurses: 1,000 nested blocks fit in this stack.
const STACK: usize = 512 << 20;

fn main() -> ExitCode {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // The codec turns a panic of a file reader into an error, which is reported once.
        let file = panic.location().map_or("", |location| location.file());
        if !is_catching_panics() && !READERS.iter().any(|reader| file.contains(reader)) {
            print(panic);
        }
    }));
    let work = std::thread::Builder::new().stack_size(STACK).spawn(vector_daemon::cli::main);
    match work.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        Ok(Err(_)) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: no thread with a stack of {} MB: {error}", STACK >> 20);
            ExitCode::FAILURE
        }
    }
}
