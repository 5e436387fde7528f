//! Second factors (spec: openid-provider#second-factors, account#second-factors), walked by HTTP as a browser, a script and an
//! authenticator do.

mod authenticator;
mod limits;
mod passkeys;
mod policy;
mod resets;
mod totp;

pub use authenticator::{Authenticator, Ceremony, encoded};

use super::client::*;
use bailiwick_testkit::{Persona, Reply, Test};
use serde_json::{Value, json};
use std::time::Duration;
use totp_rs::{Algorithm, Builder, Secret};

/// The owner with an authenticator application.
struct Owner {
    persona: Persona,
    secret: String,
    recovery_codes: Vec<String>,
}

/// The code that an application with this secret shows at the service's time, some seconds later.
pub fn code_at(t: &Test, secret: &str, later: i64) -> String {
    let secret = Secret::try_from_base32(secret).unwrap();
    let application = Builder::new()
        .with_algorithm(Algorithm::SHA1)
        .with_digits(6)
        .with_step_duration(30)
        .with_secret(secret)
        .with_account_name("someone")
        .build()
        .unwrap();
    application.generate(u64::try_from(t.app.platform.now().secs() + later).unwrap()).to_string()
}

/// A code that is not that of the steps around now.
fn wrong_code(t: &Test, secret: &str) -> String {
    let near: Vec<String> = (-2..=2).map(|step| code_at(t, secret, step * 30)).collect();
    (0..10).map(|n| format!("00000{n}")).find(|code| !near.contains(code)).unwrap()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Adds an application for someone who has none; its secret and the answer.
pub async fn add_totp(t: &Test, who: &Persona) -> (String, Value) {
    let offer =
        t.post("/api/me/second-factors/totp/options").bearer(&who.token).send().await.expect(200).data();
    let secret = offer["secret"].as_str().unwrap().to_owned();
    let body = json!({"state": offer["state"], "code": code_at(t, &secret, 0)});
    let added = t.post("/api/me/second-factors/totp").bearer(&who.token).json(body).send().await.expect(201);
    (secret, added.data())
}

/// The owner with an application whose last code was used a while ago.
async fn owner(t: &Test) -> Owner {
    let persona = t.owner().await;
    let (secret, added) = add_totp(t, &persona).await;
    t.advance(Duration::from_secs(90));
    Owner { persona, secret, recovery_codes: texts(&added["recovery_codes"]) }
}

/// The password is right: the page of the next step, which must be shown first.
async fn after_password(browser: &Browser<'_>) -> (String, Reply) {
    let (page, token) = browser.open_page(&[]).await;
    let next = browser.submit(&page, &token, OWNER, PASSWORD).await.expect(303);
    assert_eq!(next.header("location"), Some(page.as_str()), "back to the page, for its next step");
    let shown = browser.get(&page).await.expect(200);
    (page, shown)
}

async fn send_code(browser: &Browser<'_>, page: &str, shown: &Reply, code: &str) -> Reply {
    browser.post(page, &[("form_token", &form_token(shown)), ("form", "factor"), ("code", code)]).await
}

/// The claims of the ID token at the end of a sign-in.
async fn claims(t: &Test, done: &Reply) -> Value {
    let address = done.header("location").unwrap();
    assert!(address.starts_with(CALLBACK), "{address}");
    let tokens = redeem(t, &query(address)["code"], &[]).await.expect(200).json();
    super::flow::verified(t, tokens["id_token"].as_str().unwrap(), "bailiwick").await
}

/// The actions in the audit record, the oldest first.
async fn actions(t: &Test) -> Vec<String> {
    let rows =
        bailiwick_store::audit::page(&t.app.platform.db, &Default::default(), None, 100).await.unwrap();
    rows.into_iter().rev().map(|row| row.action).collect()
}

/// Whether these are the last ones.
async fn has_recorded(t: &Test, last: &[&str]) -> bool {
    actions(t).await.iter().map(String::as_str).collect::<Vec<_>>().ends_with(last)
}

async fn overview(t: &Test, who: &Persona) -> Value {
    t.get("/api/me/second-factors").bearer(&who.token).send().await.expect(200).data()
}
