#![allow(clippy::disallowed_methods, reason = "a sink of a test needs no tracker")]
use super::*;
use bailiwick_domain::net::Network;
use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// Answers one connection after the other with these bytes, and returns the requests.
async fn sink(answer: &'static str) -> (u16, Arc<std::sync::Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let got = Arc::new(std::sync::Mutex::new(Vec::new()));
    let received = got.clone();
    tokio::task::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (mut all, mut part) = (Vec::new(), [0; 4096]);
            while !all.ends_with(b"{}") {
                match stream.read(&mut part).await {
                    Ok(n) if n > 0 => all.extend_from_slice(&part[..n]),
                    _ => break,
                }
            }
            received.lock().unwrap().push(String::from_utf8(all).unwrap());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (port, got)
}

const TENANT: OrgId = OrgId(uuid::Uuid::nil());

fn local() -> AllowedHosts {
    AllowedHosts::new([], vec![Network { address: "127.0.0.0".parse().unwrap(), bits: 8 }])
}

#[tokio::test]
async fn the_request_is_exactly_this() {
    let (port, got) = sink("HTTP/1.1 204 No Content\r\n\r\n").await;
    let url = format!("http://127.0.0.1:{port}/hook/a%20b?x=y#part");
    Webhooks::new(local()).send(TENANT, &url, "{}".into()).await.unwrap();
    let got = got.lock().unwrap().clone();
    let (head, body) = got[0].split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<String> = head.lines().map(str::to_owned).collect();
    lines[1..].sort();
    let expected = [
        "POST /hook/a%20b?x=y HTTP/1.1".to_owned(),
        "connection: close".to_owned(),
        "content-length: 2".to_owned(),
        "content-type: application/json".to_owned(),
        format!("host: 127.0.0.1:{port}"),
        format!("user-agent: {}", crate::USER_AGENT),
    ];
    assert_eq!((lines.as_slice(), body), (expected.as_slice(), "{}"));
}

#[tokio::test]
async fn answers_are_judged_by_their_status() {
    for (answer, expected) in [
        ("HTTP/1.1 200 OK\r\n\r\nfine", None),
        ("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", None),
        (
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\n\r\n",
            Some((false, "answered with status 302")),
        ),
        ("HTTP/1.1 400 Bad Request\r\n\r\n", Some((false, "answered with status 400"))),
        ("HTTP/1.1 429 Too Many Requests\r\n\r\n", Some((true, "answered with status 429"))),
        ("HTTP/1.1 503 Service Unavailable\r\n\r\n", Some((true, "answered with status 503"))),
        ("garbage\r\n\r\n", Some((true, "the connection broke"))),
        ("", Some((true, "the connection broke"))),
    ] {
        let (port, _) = sink(answer).await;
        let sent =
            Webhooks::new(local()).send(TENANT, &format!("http://127.0.0.1:{port}/"), "{}".into()).await;
        let failed = sent.err().map(|e| (e.may_pass, e.reason));
        assert_eq!(failed, expected.map(|(may_pass, reason)| (may_pass, reason.to_owned())), "{answer}");
    }
}

#[tokio::test]
async fn a_large_answer_is_not_read_whole() {
    // Announces a gigabyte and stops in the middle: a client that waited for the end would wait for ever.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::task::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        // An answer before the request is none.
        let _ = stream.read(&mut [0; 1024]).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n").await;
        let _ = stream.write_all(&vec![b'x'; 1024 * 1024]).await;
        std::future::pending::<()>().await;
    });
    Webhooks::new(local()).send(TENANT, &format!("http://127.0.0.1:{port}/"), "{}".into()).await.unwrap();
}

/// A name that leads to these addresses, one set after the other; the last one stays.
fn names(sets: Vec<Vec<&'static str>>) -> Lookup {
    let lookups = AtomicUsize::new(0);
    Arc::new(move |_| {
        let n = lookups.fetch_add(1, Ordering::SeqCst).min(sets.len() - 1);
        let found: Vec<IpAddr> = sets[n].iter().map(|a| a.parse().unwrap()).collect();
        Ok(found)
    })
}

// Proves spec: alert-guarantees#guarantees 20.
#[tokio::test]
async fn a_name_that_turns_to_a_private_address_is_not_contacted() {
    let (port, got) = sink("HTTP/1.1 200 OK\r\n\r\n").await;
    let url = format!("http://hook.example.org:{port}/");
    // Resolved once and checked: there is no second look-up that could give another address.
    for private in [
        vec!["127.0.0.1"],
        vec!["8.8.8.8", "127.0.0.1"],
        vec!["::ffff:127.0.0.1"],
        vec!["64:ff9b::7f00:1"],
        vec!["10.0.0.1"],
        vec!["169.254.169.254"],
    ] {
        let webhooks =
            Webhooks::with_names(AllowedHosts::default(), names(vec![private.clone(), vec!["8.8.8.8"]]));
        let failure = webhooks.send(TENANT, &url, "{}".into()).await.unwrap_err();
        assert_eq!(
            (failure.may_pass, failure.reason.as_str()),
            (false, "the address is not public"),
            "{private:?}"
        );
    }
    assert!(got.lock().unwrap().is_empty());
    // The same name where the operator allows the network, or the name itself.
    let webhooks = Webhooks::with_names(local(), names(vec![vec!["127.0.0.1"]]));
    webhooks.send(TENANT, &url, "{}".into()).await.unwrap();
    let by_name = AllowedHosts::new(["hook.example.org".to_owned()], Vec::new());
    Webhooks::with_names(by_name, names(vec![vec!["127.0.0.1"]]))
        .send(TENANT, &url, "{}".into())
        .await
        .unwrap();
    let got = got.lock().unwrap();
    assert!(got.len() == 2 && got[0].contains(&format!("host: hook.example.org:{port}")), "{got:?}");
}

#[tokio::test]
async fn faults_of_names_may_pass_and_addresses_inside_do_not() {
    let nowhere: Lookup = Arc::new(|_| Err(std::io::Error::other("no such name")));
    let failure = Webhooks::with_names(AllowedHosts::default(), nowhere)
        .send(TENANT, "http://hook.example.org/secret-path", "{}".into())
        .await
        .unwrap_err();
    assert!(failure.may_pass && !failure.to_string().contains("secret"), "{failure}");
    let webhooks = Webhooks::new(AllowedHosts::default());
    for inside in
        ["http://127.0.0.1:1/", "http://localhost/", "http://[::1]/", "ftp://example.org/", "nothing"]
    {
        let failure = webhooks.send(TENANT, inside, "{}".into()).await.unwrap_err();
        assert!(!failure.may_pass, "{inside}: {failure}");
    }
}

#[tokio::test]
async fn a_name_is_looked_up_when_it_is_saved_and_every_address_is_judged() {
    let names: Lookup = Arc::new(|host: &str| {
        let found: &[&str] = match host {
            "fine.example" => &["8.8.8.8"],
            "both.example" => &["8.8.8.8", "10.0.0.1"],
            "inside.example" => &["::ffff:127.0.0.1"],
            _ => &[],
        };
        Ok(found.iter().map(|ip| ip.parse::<IpAddr>().unwrap()).collect())
    });
    let hooks = Webhooks::with_names(AllowedHosts::new(["inside.example".to_owned()], Vec::new()), names);
    for (host, expected) in [
        ("fine.example", Ok(())),
        ("inside.example", Ok(())),
        ("8.8.4.4", Ok(())),
        ("both.example", Err("host_not_publicly_routable")),
        ("nowhere.example", Err("dns_resolution_failed")),
    ] {
        let target = Target::parse(&format!("https://{host}/x"), hooks.allowed()).unwrap();
        assert_eq!(hooks.look_up(TENANT, &target).await, expected, "{host}");
    }
}

#[tokio::test]
async fn the_time_for_a_name_begins_when_the_name_service_is_asked() {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let names: Lookup = Arc::new(move |host: &str| {
        if host != "last.example" {
            let _ = held.lock().unwrap().recv();
        }
        Ok(vec![IpAddr::from([8, 8, 8, 8])])
    });
    let hooks = Webhooks::with_names(AllowedHosts::default(), names);
    let hosts = ["a.example", "b.example", "c.example", "d.example", "last.example"];
    let targets = hosts.map(|host| Target::parse(&format!("https://{host}/x"), hooks.allowed()).unwrap());
    let mut lookups: Vec<_> = targets.iter().map(|to| Box::pin(hooks.look_up(TENANT, to))).collect();
    for lookup in &mut lookups {
        assert!(futures_util::poll!(lookup).is_pending());
    }
    // The last one waits for the others of its tenant, longer than a name may take.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(4)).await;
    tokio::time::resume();
    drop(hold);
    assert_eq!(lookups.pop().unwrap().await, Ok(()));
}
