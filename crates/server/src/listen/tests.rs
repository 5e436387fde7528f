//! Tests of the front with raw sockets, for requests that a client library would not send.

#![expect(clippy::disallowed_methods, reason = "routes without the application")]

use super::*;
use axum::{
    body::{Body, Bytes},
    extract::ConnectInfo,
    http::StatusCode,
    routing::{get, post},
};
use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

const MOMENT: Duration = Duration::from_millis(100);

/// The longest wait of a test, and limits that no test reaches.
const LONG: Duration = Duration::from_secs(60);

fn options() -> Options {
    Options {
        workers: NonZeroUsize::new(2),
        head_timeout: LONG,
        idle_timeout: LONG * 10,
        write_timeout: LONG,
        grace: LONG,
        ..Options::default()
    }
}

fn serving(options: Options, router: Router) -> Server {
    serving_at_most(Limits { open: 10_000, of_one_address: 10_000, trusted: Vec::new() }, options, router)
}

fn serving_at_most(limits: Limits, options: Options, router: Router) -> Server {
    let connections = Connections::new(limits);
    start(bind("127.0.0.1:0".parse().unwrap(), options).unwrap(), connections, None, move |_| router.clone())
        .unwrap()
}

fn hello() -> Router {
    Router::new().route("/", get(|| async { "hello" })).route("/echo", post(|body: Bytes| async { body }))
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

/// Everything until the server closes.
fn rest(mut stream: &TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset after the answer is an end too.
    if let Err(why) = stream.read_to_end(&mut bytes) {
        assert_eq!(why.kind(), io::ErrorKind::ConnectionReset, "still open");
    }
    String::from_utf8(bytes).unwrap()
}

/// One answer with the given body; the connection stays open.
fn answer_ending(mut stream: &TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    while !text.ends_with(end) {
        let count = stream.read(&mut buffer).unwrap();
        assert_ne!(count, 0, "closed after {text:?}");
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    text
}

/// Sends on a fresh connection and reads to its end.
fn ask(server: &Server, request: &str) -> String {
    let mut stream = connect(server);
    stream.write_all(request.as_bytes()).unwrap();
    rest(&stream)
}

fn finish(mut server: Server) {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(server.drain());
    server.close();
}

#[test]
fn every_worker_answers_with_its_own_router_and_the_peer_address() {
    let connections = Connections::new(Limits { open: 10, of_one_address: 10, trusted: Vec::new() });
    let server =
        start(bind("127.0.0.1:0".parse().unwrap(), options()).unwrap(), connections, None, |number| {
            let answer = move |ConnectInfo(peer): ConnectInfo<SocketAddr>| async move {
                format!("{number} {}", peer.ip())
            };
            Router::new().route("/", get(answer))
        })
        .unwrap();
    let mut has_answered = [false; 2];
    for _ in 0..200 {
        let text = ask(&server, "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let (number, ip) = text.split("\r\n\r\n").nth(1).unwrap().split_once(' ').unwrap();
        assert_eq!(ip, "127.0.0.1");
        has_answered[number.parse::<usize>().unwrap()] = true;
    }
    assert_eq!(has_answered, [true, true]);
    finish(server);
}

#[test]
fn a_taken_port_is_refused_even_by_ourselves() {
    let server = serving(options(), hello());
    let again = bind(server.address(), options());
    assert_eq!(again.unwrap_err().kind(), io::ErrorKind::AddrInUse);
    let address = server.address();
    finish(server);
    let limits = Limits { open: 10, of_one_address: 10, trusted: Vec::new() };
    finish(start(bind(address, options()).unwrap(), Connections::new(limits), None, |_| hello()).unwrap());
}

#[test]
fn a_request_is_never_cut_in_two_ways() {
    let hits = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&hits);
    let inner = move |body: Bytes| {
        count.fetch_add(1, Ordering::Relaxed);
        async { body }
    };
    let router = Router::new().route("/", post(inner)).route("/hidden", get(|| async { "smuggled" }));
    let server = serving(options(), router);
    let hidden = "GET /hidden HTTP/1.1\r\nhost: x\r\n\r\n";
    let length = 5 + hidden.len();

    for refused in [
        "content-length: 5\r\ncontent-length: 6\r\n",
        "content-length: 5, 6\r\n",
        "content-length: +5\r\n",
        "content-length: 0x5\r\n",
        "transfer-encoding: chunked, gzip\r\n",
        "transfer-encoding: xchunked\r\n",
        "transfer-encoding : chunked\r\n",
        "transfer-encoding:\x0bchunked\r\n",
    ] {
        let text = ask(&server, &format!("POST / HTTP/1.1\r\nhost: x\r\n{refused}\r\n0\r\n\r\n{hidden}"));
        assert!(text.starts_with("HTTP/1.1 400 "), "{refused:?}: {text:?}");
        assert!(!text.contains("smuggled"), "{refused:?}");
    }
    assert_eq!(hits.load(Ordering::Relaxed), 0);

    // Both framings at once: the chunks count, as RFC 9112 §6.3 demands, and nothing after them is looked at.
    for both in [
        format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n"),
        format!("transfer-encoding: chunked\r\ncontent-length: {length}\r\n"),
    ] {
        let text = ask(&server, &format!("POST / HTTP/1.1\r\nhost: x\r\n{both}\r\n0\r\n\r\n{hidden}"));
        assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{both:?}: {text:?}");
        assert!(!text.contains("smuggled"), "{both:?}");
    }
    finish(server);
}

// Proves spec: clients#checklist 16.
#[test]
fn heads_have_a_size_and_bodies_may_wait_for_leave() {
    let server = serving(options(), hello());
    let long = "x".repeat(options().head_bytes);
    let text = ask(&server, &format!("GET / HTTP/1.1\r\nhost: x\r\nlong: {long}\r\n\r\n"));
    assert!(text.starts_with("HTTP/1.1 431 "), "{text:?}");

    let mut stream = connect(&server);
    let head = "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\nexpect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    answer_ending(&stream, "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"abc").unwrap();
    assert!(answer_ending(&stream, "abc").starts_with("HTTP/1.1 200 OK\r\n"));
    finish(server);
}

/// A connection that has had an answer. One that the machine was too slow for, so that the server has ended it, is
/// tried again.
fn used(server: &Server) -> TcpStream {
    let began = Instant::now();
    loop {
        let mut stream = connect(server);
        let sent = stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n");
        if sent.is_ok() && matches!(stream.peek(&mut [0; 1]), Ok(1)) {
            answer_ending(&stream, "hello");
            return stream;
        }
        assert!(began.elapsed() < LONG, "no answer");
    }
}

#[test]
fn a_head_that_does_not_come_ends_its_connection() {
    let server = serving(Options { head_timeout: MOMENT * 2, ..options() }, hello());
    let began = Instant::now();
    let silent = connect(&server);
    assert_eq!(rest(&silent), "");
    assert!(began.elapsed() >= MOMENT * 2, "{:?}", began.elapsed());
    let mut slow = connect(&server);
    // It may be closed already.
    let _ = slow.write_all(b"GET / HT");
    assert_eq!(rest(&slow), "");
    // A used connection may idle for longer, but its next head may not take longer.
    let mut used = used(&server);
    thread::sleep(MOMENT * 3);
    used.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    answer_ending(&used, "hello");
    used.write_all(b"GET / HT").unwrap();
    assert_eq!(rest(&used), "");
    finish(server);
}

#[test]
fn an_idle_connection_ends_at_its_time() {
    let server = serving(Options { idle_timeout: MOMENT * 5, ..options() }, hello());
    let began = Instant::now();
    let used = used(&server);
    assert_eq!(rest(&used), "");
    assert!(began.elapsed() >= MOMENT * 5, "{:?}", began.elapsed());
    finish(server);
}

#[test]
fn a_client_that_does_not_read_is_disconnected_and_slow_work_is_not() {
    let dropped = Arc::new(AtomicUsize::new(0));
    struct Mark(Arc<AtomicUsize>);
    impl Drop for Mark {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let mark = Arc::clone(&dropped);
    let endless = move || {
        let mark = Mark(Arc::clone(&mark));
        let chunk = Bytes::from(vec![b'x'; 64 * 1024]);
        async move { Body::new(Endless { chunk, _mark: mark }) }
    };
    struct Endless {
        chunk: Bytes,
        _mark: Mark,
    }
    impl axum::body::HttpBody for Endless {
        type Data = Bytes;
        type Error = std::convert::Infallible;
        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
            std::task::Poll::Ready(Some(Ok(hyper::body::Frame::data(self.chunk.clone()))))
        }
    }
    let slow = || async {
        tokio::time::sleep(MOMENT * 8).await;
        "done"
    };
    let router = Router::new().route("/endless", get(endless)).route("/slow", get(slow));
    let server = serving(Options { write_timeout: MOMENT * 2, ..options() }, router);
    let mut stuck = connect(&server);
    stuck.write_all(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let text = ask(&server, "GET /slow HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert!(text.ends_with("done"), "{text:?}");
    let waiting = Instant::now();
    while dropped.load(Ordering::Relaxed) == 0 {
        assert!(waiting.elapsed() < LONG, "the endless answer goes on");
        thread::sleep(MOMENT / 10);
    }
    finish(server);
}

#[test]
fn a_panic_costs_one_connection() {
    async fn broken() -> &'static str {
        panic!("on purpose")
    }
    let router = hello().route("/broken", get(broken));
    let server = serving(Options { workers: NonZeroUsize::new(1), ..options() }, router);
    let mut other = connect(&server);
    other.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    answer_ending(&other, "hello");
    assert_eq!(ask(&server, "GET /broken HTTP/1.1\r\nhost: x\r\n\r\n"), "");
    other.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    answer_ending(&other, "hello");
    finish(server);
}

#[test]
fn draining_finishes_requests_in_flight_and_closes_idle_connections() {
    let inside = Arc::new(Barrier::new(2));
    let entered = Arc::clone(&inside);
    let slow = move || {
        let entered = Arc::clone(&entered);
        async move {
            tokio::task::spawn_blocking(move || entered.wait()).await.unwrap();
            tokio::time::sleep(MOMENT * 2).await;
            "finished"
        }
    };
    let mut server = serving(options(), hello().route("/slow", get(slow)));
    let mut idle = connect(&server);
    idle.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    answer_ending(&idle, "hello");
    let mut busy = connect(&server);
    busy.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    inside.wait();
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(server.drain());
    assert!(TcpStream::connect(server.address()).is_err(), "still accepting");
    let text = rest(&busy);
    assert!(text.ends_with("finished") && text.contains("connection: close"), "{text:?}");
    assert_eq!(rest(&idle), "");
    server.close();
}

/// Refuses whatever is sent to it by its head.
fn refusing() -> Router {
    Router::new().route("/", post(|| async { (StatusCode::UNAUTHORIZED, "no") }))
}

#[test]
fn a_connection_goes_on_after_a_body_that_nobody_has_read() {
    let server = serving(options(), refusing());
    let mut stream = connect(&server);
    let body = vec![b'x'; 200 * 1024];
    for _ in 0..20 {
        let head = format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&body).unwrap();
        let text = answer_ending(&stream, "no");
        assert!(text.starts_with("HTTP/1.1 401") && !text.contains("connection: close"), "{text:?}");
        stream
            .write_all(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")
            .unwrap();
        stream.write_all(b"0\r\n\r\n").unwrap();
        let text = answer_ending(&stream, "no");
        assert!(text.starts_with("HTTP/1.1 401") && !text.contains("connection: close"), "{text:?}");
    }
    finish(server);
}

#[test]
fn the_answer_to_a_large_body_that_nobody_reads_arrives_and_says_that_it_was_the_last() {
    let server = serving(options(), refusing());
    let body = vec![b'x'; 4 * 1024 * 1024];
    let length = format!("content-length: {}", body.len());
    for framing in [length.as_str(), "transfer-encoding: chunked"] {
        let mut stream = connect(&server);
        let head = format!("POST / HTTP/1.1\r\nhost: x\r\n{framing}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        if framing != length {
            stream.write_all(format!("{:x}\r\n", body.len()).as_bytes()).unwrap();
        }
        // All of it is taken although the answer is long there.
        stream.write_all(&body).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 401") && text.contains("connection: close"), "{text:?}");
        assert!(text.ends_with("no"), "{text:?}");
    }
    finish(server);
}

#[test]
fn an_unwanted_body_is_not_requested() {
    let server = serving(options(), refusing());
    let head = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n";
    let text = ask(&server, head);
    assert!(text.starts_with("HTTP/1.1 401") && text.contains("connection: close"), "{text:?}");
    finish(server);
}

#[test]
fn whoever_sends_without_end_after_the_answer_is_left() {
    let server = serving(options(), refusing());
    let mut stream = connect(&server);
    stream.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 900000000\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("connection: close"), "{answer:?}");
    let (block, mut sent) = ([b'x'; 64 * 1024], 0);
    while stream.write_all(&block).is_ok() {
        sent += block.len();
        assert!(sent < 64 * 1024 * 1024, "still taken");
    }
    finish(server);
}

/// Whether the server has closed the connection by now.
fn is_closed(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let read = stream.read(&mut [0; 1]);
    // The next read waits as long as any other.
    stream.set_read_timeout(Some(LONG)).unwrap();
    match read {
        Ok(read) => read == 0,
        Err(why) => why.kind() == io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn when_the_front_is_full_the_longest_idle_connection_makes_room() {
    let (begun, release) = (Arc::new(Barrier::new(2)), Arc::new(tokio::sync::Semaphore::new(0)));
    let (entered, released) = (begun.clone(), release.clone());
    let slow = get(move || async move {
        tokio::task::spawn_blocking(move || entered.wait()).await.unwrap();
        let _permit = released.acquire().await.unwrap();
        "slow"
    });
    let limits = Limits { open: 3, of_one_address: 3, trusted: Vec::new() };
    let server = serving_at_most(limits, options(), hello().route("/slow", slow));
    let ask = |stream: &TcpStream, path: &str| {
        let mut stream = stream;
        stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).unwrap();
    };
    // One busy, two idle, of which the first for longer.
    let busy = connect(&server);
    ask(&busy, "/slow");
    begun.wait();
    let [first, second] = [0, 1].map(|_| {
        let stream = connect(&server);
        ask(&stream, "/");
        answer_ending(&stream, "hello");
        // Times are kept in milliseconds.
        thread::sleep(Duration::from_millis(5));
        stream
    });
    let newcomer = connect(&server);
    ask(&newcomer, "/");
    answer_ending(&newcomer, "hello");
    assert_eq!(rest(&first), "", "closed without another byte");
    assert!(!is_closed(&second) && !is_closed(&busy));
    // One that has not asked for anything yet is idle too.
    let silent = connect(&server);
    assert_eq!(rest(&second), "");
    let last = connect(&server);
    ask(&last, "/");
    answer_ending(&last, "hello");
    assert_eq!(rest(&newcomer), "");
    assert!(!is_closed(&silent));
    release.add_permits(1);
    answer_ending(&busy, "slow");
    finish(server);
}
