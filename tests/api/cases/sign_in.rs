//! Proxies, native applications and OpenID clients as they are (spec: openid-provider#browser-login).

use crate::provider::client::*;
use bailiwick_settings::{Client, Network, Settings};
use bailiwick_testkit::api_test;
use serde_json::json;

/// What proxies write into `X-Forwarded-For`, and the client that it names.
const FORWARDED: [(&str, &str); 7] = [
    ("203.0.113.1:4711", "203.0.113.1"),
    ("198.51.100.1, 203.0.113.2:80", "203.0.113.2"),
    ("203.0.113.3, ", "203.0.113.3"),
    ("203.0.113.4,,10.0.0.9:443", "203.0.113.4"),
    ("[2001:db8:1::7]:4711", "2001:db8:1::7"),
    ("[2001:db8:2::7]", "2001:db8:2::7"),
    ("[::ffff:203.0.113.5]:4711", "203.0.113.5"),
];

api_test!(
    a_proxy_may_write_ports_brackets_and_nothing,
    |settings| {
        settings.trusted_proxies = vec![Network { address: [10, 0, 0, 0].into(), bits: 8 }];
        settings.limits.token_requests_per_second = 1;
        settings.limits.token_request_burst = 1;
    },
    |t| async move {
        let ask = async |forwarded: &str| {
            let call = t.post("/api/auth/refresh").from("10.0.0.1").header("x-forwarded-for", forwarded);
            call.json(json!({"refresh_token": "x"})).send().await.status
        };
        for (line, client) in FORWARDED {
            assert_eq!(ask(client).await, 401, "{client}: the first request of this client");
            assert_eq!(ask(line).await, 429, "`{line}` is {client} too");
        }
    }
);

fn native(redirect_uris: &[&str]) -> Client {
    let redirect_uris = redirect_uris.iter().map(|&uri| uri.to_owned()).collect();
    Client { id: "native".into(), secret_sha256: None, redirect_uris, ..console() }
}

fn natives(settings: &mut Settings) {
    settings.public_url = "https://my.example.org".into();
    settings.app_url = Some("https://my.example.org".into());
    settings.provider.clients.push(native(&[
        "http://127.0.0.1/cb",
        "http://[::1]:7000/cb?a=1",
        "http://localhost/cb",
        "https://127.0.0.1/cb",
    ]));
}

/// Redirect URIs of requests, and whether they lead to one of [`natives`].
const REDIRECTS: [(&str, bool); 15] = [
    ("http://127.0.0.1/cb", true),
    ("http://127.0.0.1:5555/cb", true),
    ("http://[::1]:5555/cb?a=1", true),
    ("http://[::1]/cb?a=1", true),
    ("http://localhost/cb", true),
    ("http://localhost:5555/cb", false),
    ("https://127.0.0.1:5555/cb", false),
    ("http://127.0.0.1:5555/cb/x", false),
    ("http://127.0.0.1:5555/cb?a=1", false),
    ("http://[::1]:5555/cb", false),
    ("http://127.0.0.2:5555/cb", false),
    ("http://127.0.0.1:0/cb", false),
    ("http://127.0.0.1:65536/cb", false),
    ("http://127.0.0.1:5555@evil.example/cb", false),
    ("http://127.0.0.1.evil.example:5555/cb", false),
];

api_test!(a_native_application_listens_on_any_port, |settings| natives(settings), |t| async move {
    for (uri, is_registered) in REDIRECTS {
        let request = authorization(&[("client_id", "native"), ("redirect_uri", uri)]);
        let reply = t.get(&request).send().await;
        assert_eq!(reply.status, if is_registered { 303 } else { 400 }, "{uri}");
    }
});

api_test!(an_authorization_request_may_be_a_form, |t| async move {
    let browser = Browser::new(&t);
    let request = authorization(&[]);
    let (path, parameters) = request.split_once('?').unwrap();
    let form = url::form_urlencoded::parse(parameters.as_bytes()).into_owned().collect::<Vec<_>>();
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (&**name, &**value)).collect();
    let sent = browser.post(path, &form).await.expect(303);
    let address = sent.header("location").unwrap().to_owned();
    assert_eq!(query(&address), query(&format!("{BASE}{request}")));
    browser.sign_in(OWNER, PASSWORD, &[]).await;
    let back = browser.get(&address).await.expect(303);
    assert!(back.header("location").unwrap().starts_with(&format!("{CALLBACK}?code=")));
});

api_test!(a_response_may_be_posted, |settings| settings.provider.clients.push(console()), |t| async move {
    let browser = Browser::new(&t);
    let changes = [("response_mode", "form_post"), ("state", "\"><script>"), ("nonce", "n")];
    let (page, token) = browser.open_page(&changes).await;
    let posted = browser.submit(&page, &token, OWNER, PASSWORD).await.expect(200);
    let text = posted.text();
    let action = CALLBACK.replace('/', "&#x2f;");
    assert!(text.contains(&format!("<form method=\"post\" action=\"{action}\">")), "{text}");
    assert_eq!(field(&posted, "state"), "&quot;&gt;&lt;script&gt;");
    assert!(!text.contains("<script>"));
    let policy = posted.header("content-security-policy").unwrap();
    assert!(policy.contains("form-action 'self' http://localhost:5173;"), "{policy}");
    redeem(&t, &field(&posted, "code"), &[]).await.expect(200);
    let script = t.get("/oidc/form-post.js").send().await.expect(200);
    assert!(text.contains("src=\"/oidc/form-post.js\"") && script.text().contains("submit()"));
    // The browser is signed in: the next response needs no page.
    let next = browser.get(&authorization(&changes)).await.expect(200);
    redeem(&t, &field(&next, "code"), &[]).await.expect(200);
    let refused = t.get(&authorization(&[("response_mode", "form_post"), ("prompt", "none")])).send().await;
    assert_eq!(field(&refused.expect(200), "error"), "login_required");
    let discovery = t.get("/oidc/.well-known/openid-configuration").send().await.expect(200).json();
    assert_eq!(discovery["response_modes_supported"], json!(["query", "form_post"]));
    let unknown = t.get(&authorization(&[("response_mode", "fragment")])).send().await.expect(303);
    assert_eq!(query(unknown.header("location").unwrap())["error"], "invalid_request");
});
