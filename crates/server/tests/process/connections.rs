//! Connections against the real program under a small limit of open files.

use crate::program::{Serving, command, text};
use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

/// The timeout of steps that a busy machine may delay, never of a verdict.
const LONG: Duration = Duration::from_secs(60);
const FILES: u32 = 256;
/// The connections that a limit of 256 files leaves room for, and a quarter of them.
const CONNECTIONS: usize = 128;
const SHARE: usize = 32;
/// A path that is answered without the database, which a busy machine may keep waiting.
const PATH: &str = "/nothing";

/// The service, and its listener of metrics.
async fn start(directory: &Path) -> (Serving, String) {
    let metrics = format!("127.0.0.1:{}", bailiwick_testkit::parts::ports::spare().unwrap());
    let settings = [("BAILIWICK_METRICS__LISTEN", metrics.as_str())];
    (Serving::start_with_open_files(directory, &settings, FILES).await, metrics)
}

/// The series of connections.
async fn series(metrics: &str) -> String {
    let page = reqwest::get(format!("http://{metrics}/metrics")).await.unwrap().text().await.unwrap();
    let of_connections = |line: &&str| line.starts_with("bailiwick_http_connections");
    page.lines().filter(of_connections).map(|line| format!("{line}\n")).collect()
}

/// A connection to the service from an address of this machine.
async fn connect(to: &Serving, from: &str) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from.parse().unwrap(), 0))?;
    socket.connect(to.url.trim_start_matches("http://").parse().unwrap()).await
}

/// The status of a request, or none when the connection is closed.
async fn get(stream: &mut TcpStream) -> Option<u16> {
    stream.write_all(format!("GET {PATH} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.ok()?;
    let (mut head, mut bytes) = (String::new(), [0; 4096]);
    while !head.contains("\r\n\r\n") {
        let read = stream.read(&mut bytes).await.ok().filter(|read| *read > 0)?;
        head.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    head.split(' ').nth(1)?.parse().ok()
}

/// Opens connections that send one request and then nothing; the open ones.
async fn hold(service: &Serving, from: &str, count: usize) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for _ in 0..count {
        let Ok(mut stream) = connect(service, from).await else { continue };
        if timeout(LONG, get(&mut stream)).await.is_ok_and(|status| status.is_some()) {
            held.push(stream);
        }
    }
    held
}

/// Opens connections that ask and do not wait for an answer.
async fn flood(service: &Serving, from: &str, count: usize) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for _ in 0..count {
        let mut stream = connect(service, from).await.unwrap();
        if stream.write_all(format!("GET {PATH} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.is_ok() {
            held.push(stream);
        }
    }
    held
}

/// Waits until the service has closed as many of these, and keeps the others.
async fn until_closed(streams: &mut Vec<TcpStream>, wanted: usize, metrics: &str) {
    let limit = Instant::now() + LONG;
    let all = streams.len();
    while all - streams.len() < wanted {
        if Instant::now() >= limit {
            panic!("{} of {wanted} were closed\n{}", all - streams.len(), series(metrics).await);
        }
        let mut open = Vec::new();
        for mut stream in std::mem::take(streams) {
            // An answer may come before the end.
            let read = timeout(Duration::from_millis(1), stream.read(&mut [0; 4096])).await;
            if read.is_err() || read.is_ok_and(|read| read.is_ok_and(|read| read > 0)) {
                open.push(stream);
            }
        }
        *streams = open;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_of_one_address_keep_nobody_out() {
    let dir = tempfile::tempdir().unwrap();
    let (service, metrics) = start(dir.path()).await;
    let mut idle = flood(&service, "127.0.0.2", 2 * FILES as usize).await;
    let began = Instant::now();
    let mut other = connect(&service, "127.0.0.3").await.unwrap();
    let status = timeout(LONG, get(&mut other)).await.expect("another client is served");
    println!("another client was served after {:?}", began.elapsed());
    assert_eq!(status, Some(404));
    let too_many = idle.len() - SHARE;
    until_closed(&mut idle, too_many, &metrics).await;
    // The flooder is served as well, in the place of one of its own, as soon as one of these is idle.
    let is_served = async || hold(&service, "127.0.0.2", 1).await.len() == 1;
    bailiwick_testkit::eventually("the flooder is served as well", is_served).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_all_connections_are_taken_the_longest_idle_ones_make_room() {
    let dir = tempfile::tempdir().unwrap();
    let (service, metrics) = start(dir.path()).await;
    let mut oldest = hold(&service, "127.0.0.10", SHARE).await;
    let mut others = Vec::new();
    for n in 1..8 {
        others.extend(hold(&service, &format!("127.0.0.{}", 10 + n), SHARE).await);
    }
    until_closed(&mut oldest, SHARE, &metrics).await;
    let too_many = others.len() - CONNECTIONS;
    until_closed(&mut others, too_many, &metrics).await;
    let page = series(&metrics).await;
    for series in [
        "bailiwick_http_connections_max 128",
        "bailiwick_http_connections{state=\"idle\"} 128",
        "bailiwick_http_connections_refused_total{reason=\"full\"} 0",
    ] {
        assert!(page.contains(series), "{series}: {page}");
    }
}

#[test]
fn a_limit_of_open_files_that_is_too_small_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for (files, setting, expected) in [
        ("100", "", "this process may open 100 files only, and needs 128 at least"),
        ("512", "300", "http.max_connections is 300, but this process may open 512 files, which leaves 256"),
    ] {
        let program = command(dir.path());
        let output = std::process::Command::new("/bin/sh")
            .args(["-c", &format!("ulimit -n {files} && exec \"$0\" serve")])
            .arg(program.get_program())
            .current_dir(dir.path())
            .env_clear()
            .env("BAILIWICK_HTTP__LISTEN", "127.0.0.1:0")
            .env("BAILIWICK_HTTP__MAX_CONNECTIONS", setting)
            .output()
            .unwrap();
        let printed = format!("{}{}", text(&output), String::from_utf8_lossy(&output.stderr));
        assert!(!output.status.success() && printed.contains(expected), "{printed}");
    }
}
