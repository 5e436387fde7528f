//! A browser with cookies and a client with PKCE, by hand.

use bailiwick_domain::{Ts, UserId};
use bailiwick_identity::passwords;
use bailiwick_settings::Client;
use bailiwick_store::identities;
use bailiwick_testkit::{Call, Reply, Test};
use serde_json::Value;
use std::{cell::RefCell, collections::BTreeMap};
use url::Url;

pub const BASE: &str = "http://127.0.0.1:8080";
/// The address at which browsers offer passkeys.
pub const LOCALHOST: &str = "http://localhost:8080";
pub const CALLBACK: &str = "http://localhost:5173/login-redirect";
pub const SCOPE: &str = "openid offline_access profile email";
pub const OWNER: &str = "owner@example.org";
pub const PASSWORD: &str = bailiwick_testkit::engine::OWNER_PASSWORD;

/// The pair of RFC 7636, appendix B.
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// SHA-256 of `open sesame`.
const CONSOLE_SECRET_SHA256: &str = "41ef4bb0b23661e66301aac36066912dac037827b4ae63a7b1165a5aa93ed4eb";
pub const CONSOLE_SECRET: &str = "open sesame";
pub const CONSOLE_CALLBACK: &str = "https://console.example.org/cb?from=bailiwick";

/// A confidential client, configured.
pub fn console() -> Client {
    Client {
        id: "console".into(),
        secret_sha256: Some(CONSOLE_SECRET_SHA256.into()),
        redirect_uris: vec![CONSOLE_CALLBACK.into()],
        post_logout_redirect_uris: vec!["https://console.example.org/bye".into()],
        first_party: true,
        application: Default::default(),
    }
}

/// The path and query of an address of the service.
pub fn local(address: &str) -> &str {
    address.strip_prefix(BASE).or(address.strip_prefix(LOCALHOST)).unwrap_or(address)
}

pub fn query(address: &str) -> BTreeMap<String, String> {
    let url = Url::parse(address).unwrap_or_else(|e| panic!("{address}: {e}"));
    url.query_pairs().into_owned().collect()
}

/// The parameters a browser is sent with, `changes` in the place of the usual ones; an empty value leaves one out.
pub fn authorization(changes: &[(&str, &str)]) -> String {
    let mut all = BTreeMap::from([
        ("client_id", "bailiwick"),
        ("redirect_uri", CALLBACK),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "a state/+="),
        ("response_type", "code"),
        ("prompt", "consent"),
        ("scope", "openid offline_access profile email urn:logto:scope:organizations roles"),
    ]);
    all.extend(changes.iter().copied());
    let given = all.into_iter().filter(|(_, value)| !value.is_empty());
    format!(
        "/oidc/auth?{}",
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish()
    )
}

pub struct Browser<'a> {
    pub t: &'a Test,
    pub cookies: RefCell<BTreeMap<String, String>>,
}

impl<'a> Browser<'a> {
    pub fn new(t: &'a Test) -> Browser<'a> {
        Browser { t, cookies: RefCell::default() }
    }

    /// Sends a call with the cookies and keeps those of the answer.
    pub async fn send(&self, call: Call) -> Reply {
        let line: Vec<String> = self.cookies.borrow().iter().map(|(k, v)| format!("{k}={v}")).collect();
        let reply = if line.is_empty() { call } else { call.header("cookie", &line.join("; ")) }.send().await;
        for cookie in reply.headers.get_all("set-cookie") {
            let text = cookie.to_str().unwrap();
            assert!(text.contains("; HttpOnly; SameSite=Lax"), "{text}");
            let (pair, attributes) = text.split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if attributes.contains("Max-Age=0;") {
                self.cookies.borrow_mut().remove(name);
            } else {
                self.cookies.borrow_mut().insert(name.to_owned(), value.to_owned());
            }
        }
        reply
    }

    pub async fn get(&self, address: &str) -> Reply {
        self.send(self.t.get(local(address))).await
    }

    pub async fn post(&self, address: &str, form: &[(&str, &str)]) -> Reply {
        self.send(self.t.post(local(address)).form(form)).await
    }

    /// Step 2 up to the sign-in page: its address and its form token.
    pub async fn open_page(&self, changes: &[(&str, &str)]) -> (String, String) {
        let sent = self.get(&authorization(changes)).await.expect(303);
        let page = sent.header("location").unwrap().to_owned();
        assert!(page.starts_with(&format!("{}/oidc/sign-in/", self.t.app.settings.public_url)), "{page}");
        let token = form_token(&self.get(&page).await.expect(200));
        (page, token)
    }

    /// The form of the page, filled in.
    pub async fn submit(&self, page: &str, token: &str, name: &str, password: &str) -> Reply {
        self.post(page, &[("form_token", token), ("name", name), ("password", password)]).await
    }

    /// The whole sign-in: the address the browser ends up at.
    pub async fn sign_in(&self, name: &str, password: &str, changes: &[(&str, &str)]) -> String {
        let (page, token) = self.open_page(changes).await;
        let done = self.submit(&page, &token, name, password).await.expect(303);
        done.header("location").unwrap().to_owned()
    }

    /// Signs the owner in and takes the code.
    pub async fn code(&self, changes: &[(&str, &str)]) -> String {
        query(&self.sign_in(OWNER, PASSWORD, changes).await)["code"].clone()
    }
}

pub fn form_token(page: &Reply) -> String {
    field(page, "form_token")
}

/// The value of the first hidden field with this name.
pub fn field(page: &Reply, name: &str) -> String {
    let text = page.text();
    let (_, rest) = text.split_once(&format!("name=\"{name}\" value=\"")).expect(name);
    rest.split('"').next().unwrap().to_owned()
}

/// `grant_type=authorization_code` as the public client sends it, `changes` in the place of the usual values.
pub async fn redeem(t: &Test, code: &str, changes: &[(&str, &str)]) -> Reply {
    let mut all = BTreeMap::from([
        ("grant_type", "authorization_code"),
        ("client_id", "bailiwick"),
        ("code", code),
        ("code_verifier", VERIFIER),
        ("redirect_uri", CALLBACK),
    ]);
    all.extend(changes.iter().copied());
    let form: Vec<(&str, &str)> = all.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    t.post("/oidc/token").form(&form).send().await
}

pub async fn refresh(t: &Test, token: &str) -> Reply {
    let form = [("grant_type", "refresh_token"), ("client_id", "bailiwick"), ("refresh_token", token)];
    t.post("/oidc/token").form(&form).send().await
}

pub async fn userinfo(t: &Test, token: &str) -> Reply {
    t.get("/oidc/me").bearer(token).send().await
}

pub async fn exchange(t: &Test, token: &str) -> Reply {
    t.post("/api/auth/exchange").json(serde_json::json!({"access_token": token})).send().await
}

/// The owner's tokens by a fresh browser.
pub async fn tokens(t: &Test) -> Value {
    let code = Browser::new(t).code(&[]).await;
    redeem(t, &code, &[]).await.expect(200).json()
}

/// Checks both shapes of an error.
#[track_caller]
pub fn refused(reply: Reply, status: u16, error: &str) -> Reply {
    let reply = reply.expect(status);
    let body = reply.json();
    assert_eq!(body["error"], error, "{body}");
    assert_eq!(body["code"], format!("oidc.{error}"));
    assert!(body["error_description"].as_str().is_some_and(|s| !s.is_empty()));
    assert_eq!(body["message"], body["error_description"]);
    reply
}

/// Checks that the browser is sent back to the client with an error.
#[track_caller]
pub fn sent_back(reply: Reply, error: &str) {
    let reply = reply.expect(303);
    let address = reply.header("location").unwrap().to_owned();
    assert!(address.starts_with(CALLBACK), "{address}");
    let query = query(&address);
    assert_eq!(query["error"], error, "{address}");
    assert_eq!(query["state"], "a state/+=");
    assert_eq!(query["iss"], format!("{BASE}/oidc"));
    assert!(!query["error_description"].is_empty() && !query.contains_key("code"));
}

/// Gives a user a password; `generated_at` makes it one that must be replaced.
pub async fn set_password(t: &Test, user: UserId, password: &str, generated_at: Option<Ts>) {
    let hash = passwords::hash(&t.app.identity, password).await.unwrap();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    identities::set_password(&mut tx, user, &hash, generated_at).await.unwrap();
    tx.commit().await.unwrap();
}

pub async fn email_of(t: &Test, user: UserId) -> String {
    identities::get(&t.app.platform.db, user).await.unwrap().unwrap().email
}
