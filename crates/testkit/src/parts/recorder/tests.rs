use super::*;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn exchange(recorder: &Recorder, request: &str) -> String {
    let mut stream = TcpStream::connect(recorder.url().trim_start_matches("http://")).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_request_is_kept_as_it_came() {
    let recorder = Recorder::start(|_| Answer::status(204)).await.unwrap();
    let request = "POST /a%20b?x=1&y=?z HTTP/1.1\r\nHost: h\r\nX-Scope-OrgID: one\r\nx-scope-orgid:two\r\n\
                   Content-Length: 5\r\nConnection: close\r\n\r\nhello";
    let answer = exchange(&recorder, request).await;
    assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
    assert!(!answer.contains("content-length"), "{answer}");
    let requests = recorder.take();
    let [request] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/a%20b"));
    assert_eq!(request.target(), "/a%20b?x=1&y=?z");
    assert_eq!(request.values("X-SCOPE-ORGID"), ["one", "two"]);
    assert_eq!(request.headers[1], ("X-Scope-OrgID".to_owned(), "one".to_owned()));
    assert_eq!(request.body, b"hello");
    assert!(recorder.requests().is_empty());
}

#[tokio::test]
async fn a_chunked_body_is_put_together() {
    let recorder = Recorder::start(|request| Answer::status(200).body(request.body.clone())).await.unwrap();
    let request = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
                   5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: t\r\n\r\n";
    let answer = exchange(&recorder, request).await;
    assert!(answer.ends_with("content-length: 11\r\nconnection: close\r\n\r\nhello world"), "{answer}");
}

#[tokio::test]
async fn one_connection_carries_several_requests() {
    let recorder = Recorder::start(|_| Answer::json(200, &json!({ "ok": true }))).await.unwrap();
    let client = reqwest::Client::new();
    for _ in 0..3 {
        let answer = client.post(recorder.url()).json(&json!([1])).send().await.unwrap();
        assert_eq!(answer.json::<serde_json::Value>().await.unwrap(), json!({ "ok": true }));
    }
    let requests = recorder.wait_for(3).await.unwrap();
    assert!(requests.iter().all(|request| request.connection == 1 && request.json().unwrap() == json!([1])));
    let head = client.head(recorder.url()).send().await.unwrap();
    assert_eq!((head.status().as_u16(), head.headers()["content-length"].as_bytes()), (200, &b"11"[..]));
}

#[tokio::test]
async fn the_script_can_change_and_misbehave() {
    let recorder = Recorder::start(|_| Answer::dropped()).await.unwrap();
    let client = reqwest::Client::new();
    assert!(client.get(recorder.url()).send().await.is_err());
    recorder.answer_by(|_| Answer::raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart"));
    assert!(client.get(recorder.url()).send().await.unwrap().bytes().await.is_err());
    recorder.answer_by(|_| Answer::raw("garbage\r\n\r\n"));
    assert!(client.get(recorder.url()).send().await.is_err());
    recorder.answer_by(|_| Answer::status(200).after(Duration::from_secs(600)));
    let before = recorder.requests().len();
    assert!(before >= 3);
    // A busy machine may give a request up before it has sent it.
    while recorder.requests().len() == before {
        let hurried = client.get(recorder.url()).timeout(Duration::from_millis(50));
        assert!(hurried.send().await.unwrap_err().is_timeout());
    }
}

#[tokio::test]
async fn too_few_requests_are_an_error() {
    let recorder = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let error = recorder.wait_within(1, Duration::from_millis(20)).await.unwrap_err();
    assert!(error.to_string().contains("0 of 1 requests"), "{error}");
}

#[tokio::test]
async fn nobody_listens_after_the_drop() {
    let recorder = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let url = recorder.url();
    drop(recorder);
    tokio::task::yield_now().await;
    assert!(reqwest::get(url).await.is_err());
}
