//! Where secret texts turn up: in files, and in the arguments of processes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Variables that request as much logging as possible.
pub const LOUD: [(&str, &str); 5] = [
    ("RUST_LOG", "trace"),
    ("RUST_BACKTRACE", "full"),
    ("VECTOR_LOG", "trace"),
    ("LOG_LEVEL", "trace"),
    ("DEBUG", "*"),
];

/// Returns all files below a folder.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder can be listed") {
            let path = entry.expect("an entry can be read").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found
}

/// Whether bytes contain a text.
pub fn has_text(bytes: &[u8], text: &str) -> bool {
    memchr::memmem::find(bytes, text.as_bytes()).is_some()
}

/// Names the files below a folder that contain any of these texts.
pub fn find_in_files(folder: &Path, texts: &[&str]) -> Vec<PathBuf> {
    // Sockets and the like cannot be read.
    let mut files = files_below(folder);
    assert!(files.len() > 3, "{files:?}");
    files.retain(|file| {
        let bytes = fs::read(file).unwrap_or_default();
        texts.iter().any(|text| has_text(&bytes, text))
    });
    files
}

/// A thread that reads the arguments of all processes of this machine, again and again. On systems
/// without `/proc` it sees nothing.
#[derive(Debug)]
pub struct ArgumentWatch {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<ArgumentsSeen>,
}

#[derive(Debug, Default)]
struct ArgumentsSeen {
    /// The arguments that contain a secret.
    leaks: BTreeSet<String>,
    /// All programs.
    programs: BTreeSet<String>,
}

impl ArgumentWatch {
    /// Starts to look for texts.
    pub fn start(texts: &[&str]) -> Self {
        let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            let mut seen = ArgumentsSeen::default();
            while !ends.load(Ordering::Relaxed) {
                seen.look(&texts);
                thread::sleep(Duration::from_millis(1));
            }
            seen
        });
        Self { is_over, thread }
    }

    /// Ends the watch. Returns the arguments in which a text was seen.
    pub fn end(self) -> Vec<String> {
        self.is_over.store(true, Ordering::Relaxed);
        let seen = self.thread.join().expect("the watch does not fail");
        if cfg!(target_os = "linux") {
            let has_vector = seen.programs.iter().any(|it| it.ends_with("vector"));
            assert!(has_vector, "the watch saw no run: {:?}", seen.programs);
        }
        seen.leaks.into_iter().collect()
    }
}

impl ArgumentsSeen {
    fn look(&mut self, texts: &[String]) {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        for entry in entries {
            // A process may end at any moment.
            let Ok(bytes) = fs::read(entry.path().join("cmdline")) else { continue };
            let arguments = String::from_utf8_lossy(&bytes).replace('\0', " ");
            let program = arguments.split(' ').next().unwrap_or_default();
            self.programs.insert(program.to_owned());
            if texts.iter().any(|text| arguments.contains(text)) {
                self.leaks.insert(arguments);
            }
        }
    }
}
