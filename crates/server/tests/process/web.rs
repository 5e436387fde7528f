//! The web interface's files beside the API (spec: clients#serving-the-browser, clients#checklist rule 2).

use crate::program::{Serving, run};
use reqwest::{Client, Response, header};
use std::{fs, os::unix::fs::symlink, path::Path};

const PAGE: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

fn site(root: &Path) {
    fs::create_dir_all(root.join("assets")).unwrap();
    fs::write(root.join("index.html"), format!("<!doctype html><title>first</title>{}", " ".repeat(2000)))
        .unwrap();
    fs::write(root.join("favicon.ico"), "icon").unwrap();
    fs::write(root.join("assets/app-1.js"), "plain").unwrap();
    fs::write(root.join("assets/app-1.js.br"), "brotli").unwrap();
    fs::write(root.join("assets/app-1.js.gz"), "gzip").unwrap();
    symlink("/etc/passwd", root.join("passwd")).unwrap();
    symlink("/etc", root.join("etc")).unwrap();
}

fn head(answer: &Response, name: header::HeaderName) -> String {
    answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}

// Proves spec: clients#checklist 2.
#[tokio::test(flavor = "multi_thread")]
async fn pages_for_browsers_and_answers_for_programs() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path().join("site");
    let refused = run(dir.path(), &["--set", "http.static_dir=nowhere", "--listen", "127.0.0.1:0", "serve"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("http.static_dir"), "{refused:?}");
    site(&root);
    let set = [("BAILIWICK_HTTP__STATIC_DIR", root.to_str().unwrap())];
    let mut serving = Serving::start(dir.path(), &set).await;
    let client = Client::new();
    let url = serving.url.clone();
    let ask = async |path: &str, accept: &str| {
        client.get(format!("{url}{path}")).header("accept", accept).send().await.expect("an answer")
    };

    for path in [
        "/",
        "/index.html",
        "/dashboard",
        "/systems",
        "/systems/01",
        "/users",
        "/login-redirect?code=x",
        "/no/such",
    ] {
        let answer = ask(path, PAGE).await;
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(head(&answer, header::CONTENT_TYPE), "text/html; charset=utf-8", "{path}");
        assert_eq!(head(&answer, header::CACHE_CONTROL), "no-store");
        assert_eq!(
            head(&answer, header::CONTENT_SECURITY_POLICY),
            format!(
                "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob: {url}; \
                 font-src 'self' data:; connect-src 'self' {url}; worker-src 'self' blob:; object-src 'none'; \
                 base-uri 'self'; frame-ancestors 'self'; form-action 'self' {url}"
            )
        );
        assert_eq!(head(&answer, header::X_FRAME_OPTIONS), "SAMEORIGIN");
        assert_eq!(head(&answer, header::X_CONTENT_TYPE_OPTIONS), "nosniff");
        assert!(answer.text().await.unwrap().contains("first"), "{path}");
    }
    // The API answers: always below a base, and without one when a request does not open a page or shows a credential.
    for (path, accept, status) in [
        ("/api/systems", PAGE, 401),
        ("/backend/api/no/such", PAGE, 404),
        ("/systems", "application/json", 401),
        ("/systems", "*/*", 401),
        ("/health", PAGE, 200),
        ("/oidc/.well-known/openid-configuration", PAGE, 200),
        ("/assets/gone.js", "*/*", 404),
        ("/services/mimir/alertmanager/api/v2/alerts", PAGE, 401),
    ] {
        let answer = ask(path, accept).await;
        assert_eq!(answer.status(), status, "{path}");
        assert!(head(&answer, header::CONTENT_TYPE).contains("json"), "{path}");
    }
    let shown =
        client.get(format!("{url}/systems")).header("accept", PAGE).bearer_auth(serving.owner_token());
    assert!(shown.send().await.unwrap().text().await.unwrap().contains("pagination"));
    let posted = client.post(format!("{url}/systems")).header("accept", PAGE).send().await.unwrap();
    assert_eq!(posted.status(), 401);

    files_in_their_forms(&url).await;
    // Nothing outside, however it is written.
    let port = url.rsplit(':').next().unwrap();
    for path in [
        "/passwd",
        "/etc/passwd",
        "/../secret",
        "/..%2fdata%2fsecret",
        "/assets/../../data/secret",
        "/%2e%2e/log",
        "//etc/passwd",
    ] {
        let text = raw(port, path);
        assert!(text.starts_with("HTTP/1.1 404") && !text.contains("root:"), "{path}: {text}");
    }
    fs::write(root.join("index.html"), "<title>second</title>").unwrap();
    assert!(ask("/", PAGE).await.text().await.unwrap().contains("first"), "read at the start");
    serving.hang_up();
    let limit = std::time::Instant::now() + bailiwick_testkit::PATIENCE;
    while !ask("/", PAGE).await.text().await.unwrap().contains("second") {
        assert!(std::time::Instant::now() < limit, "{}", serving.log());
    }
    assert!(serving.stop());
}

async fn files_in_their_forms(url: &str) {
    let client = Client::new();
    for (accepted, encoding, body) in
        [("", "", "plain"), ("gzip", "gzip", "gzip"), ("gzip, br", "br", "brotli"), ("br;q=0", "", "plain")]
    {
        let call = client.get(format!("{url}/assets/app-1.js")).header("accept-encoding", accepted);
        let answer = call.send().await.unwrap();
        assert_eq!(head(&answer, header::CONTENT_ENCODING), encoding);
        assert_eq!(head(&answer, header::CACHE_CONTROL), "public, max-age=31536000, immutable");
        assert_eq!(head(&answer, header::CONTENT_TYPE), "text/javascript; charset=utf-8");
        assert!(head(&answer, header::VARY).contains("accept-encoding"));
        assert_eq!(answer.text().await.unwrap(), body);
    }
    let icon = client.get(format!("{url}/favicon.ico")).send().await.unwrap();
    let etag = head(&icon, header::ETAG);
    assert_eq!(head(&icon, header::CACHE_CONTROL), "no-cache");
    let again = client.get(format!("{url}/favicon.ico")).header("if-none-match", &etag).send().await.unwrap();
    assert_eq!((again.status().as_u16(), head(&again, header::ETAG)), (304, etag));
    let only_head = client.head(format!("{url}/favicon.ico")).send().await.unwrap();
    assert_eq!(
        (only_head.status().as_u16(), head(&only_head, header::CONTENT_LENGTH)),
        (200, "4".to_owned())
    );
}

/// A request as no client library would send it.
fn raw(port: &str, path: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\naccept: */*\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}
