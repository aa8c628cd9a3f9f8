//! `vector assets upload`: a file becomes an asset once, after a yes.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use fake_cloud::{API_KEY, FakeCloud, Fault, UploadOutcome};
use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home, Output};

/// A picture of one pixel.
pub(super) const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\r\xefF\xb8\0\0\0\0IEND\xaeB`\x82";

struct Bench {
    cloud: FakeCloud,
    home: Home,
    picture: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let home = Home::new();
        let picture = home.path().join("Oak.png");
        fs::write(&picture, PIXEL).unwrap();
        Self { cloud: FakeCloud::start(Vec::new()), home, picture }
    }

    fn command(&self, url: &str, more: &[&str]) -> Command {
        let picture = self.picture.display().to_string();
        let mut command = self.home.command(&[&["assets", "upload", &picture], more].concat());
        command.env("VECTOR_ROBLOX_CLOUD_URL", url);
        command.env("ROBLOX_UPLOAD_API_KEY", API_KEY);
        command
    }

    fn upload(&self, more: &[&str]) -> Output {
        let output = binary::run_to_end(self.command(&self.cloud.url(), more), "");
        for text in [&output.stdout, &output.stderr] {
            assert!(!text.contains(API_KEY), "{text}");
        }
        output
    }

    #[track_caller]
    fn refused(&self, more: &[&str], says: &str) {
        let output = self.upload(more);
        assert_eq!(output.code, 1, "{}{}", output.stdout, output.stderr);
        assert!(output.stderr.contains(says), "{says}: {}", output.stderr);
    }
}

#[test]
fn file_is_uploaded_once_after_a_yes() {
    let bench = Bench::new();
    bench.refused(&["--yes"], "say whose asset it becomes");
    let asked = bench.upload(&["--user", "123"]);
    assert_eq!(asked.code, 3, "{}", asked.stderr);
    for expected in ["as a new image", "user 123", "cannot be undone", "no terminal to ask on"] {
        assert!(asked.stderr.contains(expected), "{expected}: {}", asked.stderr);
    }
    assert!(bench.cloud.requests().is_empty());
    bench.cloud.add_upload_outcome(UploadOutcome { polls: 3, ..UploadOutcome::default() });
    let done = bench.upload(&["--user", "123", "--description", "A tree", "--yes"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(done.stdout, "rbxassetid://9001\n");
    let uploads = bench.cloud.uploads();
    assert_eq!(uploads.len(), 1);
    assert_eq!((uploads[0].name.as_str(), uploads[0].asset_type.as_str()), ("Oak", "Image"));
    assert_eq!((uploads[0].description.as_str(), uploads[0].bytes.as_ref()), ("A tree", PIXEL));
    assert_eq!(uploads[0].creator, json!({ "userId": "123" }));
    // The account is that of the last upload, and the file is not sent again.
    let again = bench.upload(&["--yes", "--json"]);
    assert_eq!(again.stdout, "{\"asset\":9001,\"review\":\"approved\"}\n");
    assert_eq!(bench.cloud.uploads().len(), 1);
    for more in [&["--group", "7"][..], &["--kind", "decal"], &["--again"]] {
        let output = bench.upload(&[&["--yes"], more].concat());
        assert_eq!(output.code, 0, "{}", output.stderr);
    }
    assert_eq!(bench.cloud.uploads().len(), 4);
    let log = bench.home.run(&["log", "--json"], "");
    assert!(log.stdout.contains("asset_uploaded") && !log.stdout.contains(API_KEY));
    let listed = bench.home.run(&["log"], "");
    assert!(listed.stdout.contains("Upload Oak as a new image of user 123"), "{}", listed.stdout);
}

#[test]
fn what_roblox_refuses_is_said_with_the_next_step() {
    let bench = Bench::new();
    let to = ["--user", "123", "--yes"];
    bench.cloud.add_upload_outcome(UploadOutcome {
        error: Some("The image was not accepted."),
        ..UploadOutcome::default()
    });
    bench.refused(&to, "Roblox made no asset: The image was not accepted. Change the file");
    bench.cloud.fail_next(Fault::too_many(90));
    bench.refused(&to, "Try again in 90 s");
    let rejected = UploadOutcome { moderation: "Rejected", ..UploadOutcome::default() };
    bench.cloud.add_upload_outcome(rejected);
    // It stays rejected when the same is run again.
    for _ in 0..2 {
        let output = bench.upload(&to);
        assert_eq!(output.code, 1, "{}", output.stderr);
        assert!(output.stderr.contains("Roblox has rejected it"), "{}", output.stderr);
    }
    let reviewing = UploadOutcome { moderation: "Reviewing", ..UploadOutcome::default() };
    bench.cloud.add_upload_outcome(reviewing);
    let output = bench.upload(&[&to[..], &["--again", "--json"]].concat());
    assert_eq!(serde_json::from_str::<Json>(&output.stdout).unwrap()["review"], "reviewing");
    let sent = bench.cloud.requests().len();
    fs::write(&bench.picture, b"not a picture").unwrap();
    bench.refused(&to, "not a whole png file");
    bench.refused(&[&to[..], &["--kind", "audio"]].concat(), "cannot become an asset of the kind");
    fs::remove_file(&bench.picture).unwrap();
    bench.refused(&to, "cannot be read");
    assert_eq!(bench.cloud.requests().len(), sent, "nothing is sent");
    fs::write(&bench.picture, PIXEL).unwrap();
    let mut keyless = bench.command(&bench.cloud.url(), &[&to[..], &["--again"]].concat());
    keyless.env_remove("ROBLOX_UPLOAD_API_KEY");
    let output = binary::run_to_end(keyless, "");
    assert!(output.stderr.contains("asset:read, asset:write"), "{}", output.stderr);
}

/// Passes requests on to a cloud, except those for operations, which get this answer or none. Returns its
/// address.
fn without_operations(cloud: &FakeCloud, answer: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = cloud.url().trim_start_matches("http://").to_owned();
    thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = vec![0; 64 << 10];
            let read = stream.read(&mut head).unwrap_or_default();
            if head[..read].windows(11).any(|it| it == b"/operations") {
                if let Some(answer) = answer {
                    let _ = stream.write_all(answer.as_bytes());
                }
                held.push(stream);
                continue;
            }
            let Ok(mut there) = TcpStream::connect(&server) else { return };
            let _ = there.write_all(&head[..read]);
            let (Ok(mut back), Ok(mut from)) = (stream.try_clone(), there.try_clone()) else {
                return;
            };
            thread::spawn(move || std::io::copy(&mut from, &mut back));
            thread::spawn(move || std::io::copy(&mut stream, &mut there));
        }
    });
    format!("http://{address}")
}

#[test]
fn killed_upload_is_read_to_its_end_and_not_sent_again() {
    let bench = Bench::new();
    let to = ["--user", "123", "--yes"];
    let mut command = bench.command(&without_operations(&bench.cloud, None), &to);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let accepted = || {
        let log = bench.home.run(&["log", "--json"], "");
        log.stdout.contains("asset_upload_accepted")
    };
    while !accepted() {
        assert!(child.try_wait().unwrap().is_none(), "it waits for the operation");
    }
    // While it waits, nobody else reads the same upload.
    bench.refused(&to, "is going on");
    child.kill().unwrap();
    child.wait().unwrap();
    let done = bench.upload(&to);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stderr.contains("which was interrupted"), "{}", done.stderr);
    assert_eq!(done.stdout, "rbxassetid://9001\n");
    assert_eq!(bench.cloud.uploads().len(), 1);
}

#[test]
fn file_that_roblox_has_is_not_sent_again_when_its_operation_cannot_be_read() {
    let to = ["--user", "123", "--yes"];
    for (status, more) in [("403 Forbidden", ""), ("429 Too Many Requests", "retry-after: 90\r\n")]
    {
        let bench = Bench::new();
        let answer =
            format!("HTTP/1.1 {status}\r\n{more}content-length: 0\r\nconnection: close\r\n\r\n");
        let url = without_operations(&bench.cloud, Some(answer.leak()));
        let failed = binary::run_to_end(bench.command(&url, &to), "");
        assert_eq!(failed.code, 1, "{}", failed.stderr);
        let done = bench.upload(&to);
        assert_eq!(done.stdout, "rbxassetid://9001\n", "{}", done.stderr);
        assert_eq!(bench.cloud.uploads().len(), 1, "{status}");
    }
}

#[test]
fn upload_that_was_never_sent_is_sent_when_the_cloud_is_there() {
    let bench = Bench::new();
    let to = ["--user", "123", "--yes"];
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let offline = binary::run_to_end(bench.command(&format!("http://{nobody}"), &to), "");
    assert_eq!(offline.code, 1);
    assert!(offline.stderr.contains("cannot be reached"), "{}", offline.stderr);
    let done = bench.upload(&to);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(bench.cloud.uploads().len(), 1);
}

#[test]
fn upload_without_an_answer_is_not_sent_again_unnoticed() {
    let bench = Bench::new();
    let to = ["--user", "123", "--yes"];
    bench.cloud.fail_next(Fault::Truncate(4));
    bench.refused(&to, "may have been completed");
    assert_eq!(bench.cloud.uploads().len(), 1);
    bench.refused(&to, "Roblox may have it");
    assert_eq!(bench.cloud.uploads().len(), 1);
    let again = bench.upload(&[&to[..], &["--again"]].concat());
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(bench.cloud.uploads().len(), 2);
}

#[test]
fn escape_codes_of_a_name_do_not_reach_the_terminal() {
    let bench = Bench::new();
    let name = "Oak \u{1b}]0;title\u{7}\u{1b}[2K";
    let done = bench.upload(&["--user", "123", "--name", name, "--yes"]);
    let listed = bench.home.run(&["log"], "");
    for text in [&done.stdout, &done.stderr, &listed.stdout] {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
    }
    assert!(done.stderr.contains("Oak") && listed.stdout.contains("Oak"), "{}", done.stderr);
}

#[cfg(unix)]
#[test]
fn who_approved_an_upload_is_on_record() {
    use vector_tests::person::Person;
    for (more, approver) in [(&["--yes"][..], "yes"), (&[][..], "person")] {
        let bench = Bench::new();
        let args = [&["--user", "123"], more].concat();
        let mut person = Person::runs(bench.command(&bench.cloud.url(), &args));
        if more.is_empty() {
            person.answers("Upload it?", "y");
        }
        let (code, shown) = person.sees_the_end();
        assert_eq!(code, 0, "{shown}");
        let log = bench.home.run(&["log", "--json"], "").stdout;
        let upload = log.lines().find(|line| line.contains("asset_uploading")).unwrap();
        assert!(upload.contains(&format!(r#""by":"{approver}""#)), "{upload}");
    }
}
