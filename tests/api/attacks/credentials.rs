//! Credentials of one kind shown in the place of another, in places where none belongs, and two at once.

use crate::provider::client::*;
use bailiwick_policy::KeyMode;
use bailiwick_settings::{AccessControl, Application, Client, Settings};
use bailiwick_testkit::{Call, Test, api_test};
use serde_json::{Value, json};

const WIKI_CALLBACK: &str = "https://wiki.example.org/cb";

/// A third-party application for every user of the owner organization.
fn wiki(settings: &mut Settings) {
    let control = AccessControl { organization_roles: vec!["owner".into()], ..AccessControl::default() };
    settings.provider.clients = vec![Client {
        id: "wiki".into(),
        secret_sha256: None,
        redirect_uris: vec![WIKI_CALLBACK.into()],
        post_logout_redirect_uris: vec![],
        first_party: false,
        application: Application {
            login_url: Some("https://wiki.example.org/".into()),
            access_control: Some(control),
            ..Application::default()
        },
    }];
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("{name}: {value}")).to_owned()
}

/// The tokens of the third-party application for the owner; a JWT where it asks for the service's audience.
async fn tokens_of_wiki(t: &Test, resource: &str) -> Value {
    let browser = Browser::new(t);
    let parameters = [
        ("client_id", "wiki"),
        ("redirect_uri", WIKI_CALLBACK),
        ("prompt", ""),
        ("scope", "openid profile offline_access"),
        ("resource", resource),
    ];
    let mut next = browser.sign_in(OWNER, PASSWORD, &parameters).await;
    if next.starts_with(&format!("{BASE}/oidc/consent/")) {
        let token = form_token(&browser.get(&next).await.expect(200));
        let reply = browser.post(&next, &[("form_token", &token), ("answer", "allow")]).await.expect(303);
        next = reply.header("location").unwrap().to_owned();
    }
    let code = query(&next)["code"].clone();
    redeem(t, &code, &[("client_id", "wiki"), ("redirect_uri", WIKI_CALLBACK)]).await.expect(200).json()
}

/// Every kind of credential that the service gives out, each of the owner or of one of the owner's systems.
async fn kinds(t: &Test) -> Vec<(&'static str, String)> {
    let audience = format!("{BASE}/api");
    let browser = Browser::new(t);
    let opaque = redeem(t, &browser.code(&[]).await, &[]).await.expect(200).json();
    let code = Browser::new(t).code(&[("resource", &audience)]).await;
    let typed = redeem(t, &code, &[]).await.expect(200).json();
    let (theirs, theirs_typed) = (tokens_of_wiki(t, "").await, tokens_of_wiki(t, &audience).await);
    let session = exchange(t, &text(&opaque, "access_token")).await.expect(200).data();
    let owner = t.owner().await;
    let tree = t.tree().await;
    let target = t.user(tree.distributor, &["super"]).await;
    let hours = json!({"duration_hours": 2});
    t.post("/api/impersonate/consent").bearer(&target.token).json(hours).send().await.expect(200);
    let body = json!({"user_id": target.id});
    let acting = t.post("/api/impersonate").bearer(&owner.token).json(body).send().await.expect(200).data();
    let system = t.system(tree.customer).await;
    vec![
        ("access", text(&session, "token")),
        ("impersonation", text(&acting, "token")),
        ("key", t.api_key(owner.id, KeyMode::Write).await.1),
        ("provider access", text(&opaque, "access_token")),
        ("provider access, JWT", text(&typed, "access_token")),
        ("third-party access", text(&theirs, "access_token")),
        ("third-party access, JWT", text(&theirs_typed, "access_token")),
        ("refresh", text(&session, "refresh_token")),
        ("provider refresh", text(&opaque, "refresh_token")),
        ("third-party refresh", text(&theirs, "refresh_token")),
        ("ID token", text(&opaque, "id_token")),
        ("third-party ID token", text(&theirs, "id_token")),
        ("browser login", browser.cookies.borrow()["bailiwick-login"].clone()),
        ("system secret", system.secret),
    ]
}

/// What each kind of credential opens; of the kinds that are not named, none opens anything.
const OPENS: [(&str, &[&str]); 12] = [
    ("GET /api/me", &["access", "impersonation"]),
    ("GET /api/users", &["access", "impersonation", "key"]),
    ("GET /api/roles", &["access", "impersonation", "key"]),
    ("GET /api/events/subscriptions", &["access", "impersonation", "key"]),
    ("GET /api/impersonate/status", &["access", "impersonation"]),
    ("GET /api/user/profile", USER),
    ("GET /api/user/permissions", USER),
    ("GET /oidc/me", PROVIDER),
    ("GET /api/systems/info", &[]),
    ("POST /api/systems/heartbeat", &[]),
    ("GET /services/mimir/alertmanager/api/v2/alerts", &[]),
    ("GET /services/mimir/alertmanager/metrics", &[]),
];

const PROVIDER: &[&str] =
    &["provider access", "provider access, JWT", "third-party access", "third-party access, JWT"];

const USER: &[&str] = &["access", "impersonation", PROVIDER[0], PROVIDER[1], PROVIDER[2], PROVIDER[3]];

fn route(t: &Test, route: &str) -> Call {
    let (method, path) = route.split_once(' ').unwrap();
    t.call(method.parse().unwrap(), path)
}

api_test!(each_kind_of_credential_opens_what_it_is_for, |settings| wiki(settings), |t| async move {
    let kinds = kinds(&t).await;
    for (path, opens) in OPENS {
        for (kind, token) in &kinds {
            let status = route(&t, path).bearer(token).send().await.status.as_u16();
            // A known key that may not come here gets 403.
            let is_of_people = !["oidc", "systems", "alertmanager"].iter().any(|part| path.contains(part));
            let refused = if *kind == "key" && is_of_people { 403 } else { 401 };
            let expected = if opens.contains(kind) { 200 } else { refused };
            assert_eq!(status, expected, "{kind} at {path}");
        }
    }
    for (kind, token) in &kinds {
        let opens = ["provider access", "provider access, JWT"].contains(kind);
        assert_eq!(exchange(&t, token).await.status, if opens { 200 } else { 401 }, "exchange of {kind}");
        if *kind != "refresh" {
            let body = json!({"refresh_token": token});
            t.post("/api/auth/refresh").json(body).send().await.expect_message(401, "invalid refresh token");
        }
        t.get(&format!("/api/downloads/{token}")).send().await.expect_message(404, "backup not found");
    }
});

api_test!(a_credential_counts_in_its_header_only, |t| async move {
    let owner = t.owner().await;
    let (_, key) = t.api_key(owner.id, KeyMode::Read).await;
    for token in [&owner.token, &key] {
        for name in ["access_token", "token", "api_key", "Authorization"] {
            let path = format!("/api/users?{name}={token}");
            t.get(&path).send().await.expect_message(401, "authorization header required");
            let cookie = format!("{name}={token}");
            t.get("/api/users").header("cookie", &cookie).send().await.expect(401);
            let body = json!({name: token});
            t.post("/api/users").json(body).send().await.expect(401);
        }
        for name in ["x-api-key", "x-authorization", "proxy-authorization", "x-auth-token"] {
            for value in [token.clone(), format!("Bearer {token}")] {
                t.get("/api/users").header(name, &value).send().await.expect(401);
            }
        }
        for value in [token.clone(), format!("Token {token}"), format!("Bearer {token}, Bearer {token}")] {
            t.get("/api/users").header("authorization", &value).send().await.expect(401);
        }
    }
});

api_test!(two_authorization_headers_are_none, |t| async move {
    let owner = t.owner().await;
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    let (_, key) = t.api_key(owner.id, KeyMode::Read).await;
    let provider = text(&tokens(&t).await, "access_token");
    let other = t.user(tree.customer, &["reader"]).await;
    for path in ["GET /api/me", "GET /api/users", "GET /api/user/profile", "GET /oidc/me"] {
        for pair in [
            [&owner.token, &other.token],
            [&owner.token, &owner.token],
            [&key, &owner.token],
            [&provider, &key],
            [&provider, &provider],
        ] {
            route(&t, path).bearer(pair[0]).bearer(pair[1]).send().await.expect(401);
        }
        route(&t, path).bearer(&owner.token).basic(&system.key, &system.secret).send().await.expect(401);
    }
    for path in ["GET /api/systems/info", "GET /services/mimir/alertmanager/api/v2/alerts"] {
        let call = route(&t, path).basic(&system.key, &system.secret);
        call.basic(&system.key, &system.secret).send().await.expect(401);
        let call = route(&t, path).basic(&system.key, &system.secret);
        call.bearer(&owner.token).send().await.expect(401);
        route(&t, path).basic(&system.key, &system.secret).send().await.expect(200);
    }
});
