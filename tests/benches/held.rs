//! Polls that are held: what each costs the daemon.

use std::io::Write;
use std::net::TcpStream;

use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;

const POLLS: usize = 10_000;

fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

pub(crate) fn run() {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    let token = std::fs::read_to_string(home.path().join("token")).unwrap();
    let token = token.split_whitespace().nth(1).unwrap().to_owned();
    let before = resident(daemon.process());
    if before == 0 {
        println!("\nheld polls are not measured here: there is no /proc");
        return;
    }
    let head = format!(
        "GET /api/stream?hold=15 HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {token}\r\n\r\n",
        daemon.port
    );
    let open = |_| {
        let mut stream = TcpStream::connect(("127.0.0.1", daemon.port)).ok()?;
        stream.write_all(head.as_bytes()).ok()?;
        Some(stream)
    };
    let lines: Vec<TcpStream> = (0..POLLS).map_while(open).collect();
    // All have been read when one more is answered; polls end after 15 s.
    daemon.raw("GET", "/health", &[("Host".into(), format!("127.0.0.1:{}", daemon.port))], b"");
    let after = resident(daemon.process());
    println!(
        "\n{} polls held: {:.1} KB each (goal 24); the daemon has {} MB",
        lines.len(),
        (after - before) as f64 / lines.len() as f64,
        after / 1_024
    );
    if lines.len() < POLLS {
        println!("  (this machine allows no more open files: see `ulimit -n`)");
    }
}
