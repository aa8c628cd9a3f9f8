//! A release as it is published, on a server of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use tempfile::TempDir;
use vector_tests::{binary, repository};

pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Packs what an archive contains, like `.ci/package.py`, which takes a minute with all licences.
const PACK: &str = r#"
import pathlib, platform, sys, zipfile
folder, binary, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
for label in ("linux-x86_64", "linux-aarch64", "macos-x86_64", "macos-aarch64", "windows-x86_64", "windows-aarch64"):
    with zipfile.ZipFile(folder / f"vector-{version}-{label}.zip", "w") as archive:
        name = "vector.exe" if label.startswith("windows") else "vector"
        is_own = label == f"linux-{platform.machine()}"
        content = binary.read_bytes() if is_own else b"another system's"
        archive.writestr(name, content)
        for file in ("README.md", "LICENSE", "THIRD-PARTY.txt", "completions/vector.bash", "man/vector.1"):
            archive.writestr(file, f"the file {file}")
"#;

/// The files of a release.
pub(super) struct Release {
    folder: TempDir,
}

impl Release {
    /// Packs the built binary, without its debug information.
    pub(super) fn pack() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stripped = folder.path().join("stripped");
        let strip = Command::new("strip").arg("-o").arg(&stripped).arg(binary::vector()).status();
        if !strip.is_ok_and(|status| status.success()) {
            fs::copy(binary::vector(), &stripped).unwrap();
        }
        let packed = folder.path().join("packed");
        fs::create_dir(&packed).unwrap();
        let mut pack = Command::new("python3");
        pack.args(["-c", PACK]).arg(&packed).arg(stripped).arg(VERSION);
        assert!(pack.status().unwrap().success());
        let release = Self { folder };
        let made = release.distribute("owner/name");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        release
    }

    pub(super) fn packed(&self) -> PathBuf {
        self.folder.path().join("packed")
    }

    /// Where the files for installers and package managers are.
    pub(super) fn made(&self) -> PathBuf {
        self.folder.path().join("made")
    }

    pub(super) fn distribute(&self, repository: &str) -> std::process::Output {
        let script = repository::root().join(".ci/distribute.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(self.packed()).arg(repository).arg(self.made());
        command.output().unwrap()
    }

    /// A server with the files of a release, by the paths that they have on GitHub below `releases`.
    /// They are packed once for all tests.
    pub(super) fn serve() -> FileServer {
        static FILES: OnceLock<BTreeMap<String, Vec<u8>>> = OnceLock::new();
        FileServer::start(FILES.get_or_init(|| Self::pack().published()).clone())
    }

    fn published(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut sums = String::new();
        for entry in fs::read_dir(self.packed()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let bytes = fs::read(&path).unwrap();
            let sum = scene_schemas::Fingerprint::hash_bytes(&bytes);
            sums.push_str(&format!("{sum}  {name}\n"));
            files.insert(name, bytes);
        }
        files.insert("SHA256SUMS".to_owned(), sums.into_bytes());
        for name in ["install.sh", "install.ps1"] {
            files.insert(name.to_owned(), fs::read(self.made().join(name)).unwrap());
        }
        let at = |folder: &str| {
            let prefix = folder.to_owned();
            files.iter().map(move |(name, bytes)| (format!("/{prefix}/{name}"), bytes.clone()))
        };
        at("latest/download").chain(at(&format!("download/v{VERSION}"))).collect()
    }
}

/// A server of files. It answers any other path with 404.
pub(super) struct FileServer {
    pub(super) address: String,
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

impl FileServer {
    pub(super) fn start(files: BTreeMap<String, Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let files = Arc::new(Mutex::new(files));
        let served = Arc::clone(&files);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let served = Arc::clone(&served);
                thread::spawn(move || drop(answer(&stream, &served)));
            }
        });
        Self { address, files }
    }

    /// Publishes a file, or replaces it.
    pub(super) fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.files.lock().unwrap().insert(path.to_owned(), bytes.into());
    }

    pub(super) fn get(&self, path: &str) -> Vec<u8> {
        self.files.lock().unwrap()[path].clone()
    }
}

fn answer(mut stream: &TcpStream, files: &Mutex<BTreeMap<String, Vec<u8>>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    while line.trim_end() != "" {
        line.clear();
        reader.read_line(&mut line)?;
    }
    let file = files.lock().unwrap().get(&path).cloned();
    let status = if file.is_some() { "200 OK" } else { "404 Not Found" };
    let body = file.unwrap_or_default();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}

/// All files and folders below a folder, by their paths.
pub(super) fn below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            found.push(path.strip_prefix(folder).unwrap().display().to_string());
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}
