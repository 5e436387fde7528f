//! Second factors in chromium, with an authenticator of its own making (Web Authentication Level 3, section 11): added in the
//! console and at a sign-in, and used to sign in.

use crate::{Kind, Stage, console::check_page};
use axum::http::Method;
use bailiwick_settings::{SecondFactorMode, Settings};
use bailiwick_store::{factors, identities};
use bailiwick_testkit::{
    Engine, Test,
    engine::OWNER_PASSWORD,
    parts::recorder::{Answer, Recorder},
};
use fantoccini::{Locator, wd::WebDriverCompatibleCommand};
use serde_json::json;
use std::time::Duration;
use totp_rs::{Builder, Secret};
use url::{ParseError, Url};

const PASSKEY: &str = "form[data-passkey] button";

/// Gives the browser an authenticator that is part of the device.
#[derive(Debug)]
struct Authenticator {
    /// Whether it recognises the person.
    verifies: bool,
}

impl WebDriverCompatibleCommand for Authenticator {
    fn endpoint(&self, base_url: &Url, session_id: Option<&str>) -> Result<Url, ParseError> {
        base_url.join(&format!("session/{}/webauthn/authenticator", session_id.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        let body = json!({
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true,
            "isUserConsenting": true, "isUserVerified": self.verifies,
        });
        (Method::POST, Some(body.to_string()))
    }
}

/// A service whose address has a name, without which browsers offer no passkeys.
async fn stage(engine: Engine, kind: Kind, change: fn(&mut Settings)) -> Stage {
    let site = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let (test, service) = Test::on_port(engine, |settings| {
        settings.public_url = settings.public_url.replace("127.0.0.1", "localhost");
        change(settings);
    })
    .await;
    Stage::of(test, service, site, kind).await
}

impl Stage {
    async fn open(&self, path: &str) {
        self.browser.goto(&format!("{}{path}", self.test.app.settings.public_url)).await.unwrap();
    }

    /// On the sign-in page.
    async fn sign_in_with_password(&self) {
        self.type_into("name", "owner@example.org").await;
        self.type_into("password", OWNER_PASSWORD).await;
        self.press().await;
    }

    async fn sign_out_of_the_console(&self) {
        self.browser.find(Locator::Css("details.me > summary")).await.unwrap().click().await.unwrap();
        self.press_on("form[action='/console/sign-out'] button").await;
    }

    /// The code of an application with this secret at the time of the service.
    fn code(&self, secret: &str) -> String {
        let secret = Secret::try_from_base32(secret).unwrap();
        let application = Builder::new().with_secret(secret).with_account_name("account").build().unwrap();
        application.generate(u64::try_from(self.test.app.platform.now().secs()).unwrap()).to_string()
    }

    async fn texts_of(&self, css: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for element in self.browser.find_all(Locator::Css(css)).await.unwrap() {
            texts.push(element.text().await.unwrap());
        }
        texts
    }

    /// How many passkeys the owner has.
    async fn passkeys(&self) -> usize {
        let db = &self.test.app.platform.db;
        let (owner, _) = identities::by_email(db, "owner@example.org").await.unwrap().unwrap();
        factors::passkeys::of_user(db, owner.id).await.unwrap().len()
    }
}

/// Adds a passkey in the console, signs in with it alone, and with the password before it.
async fn add_and_use(engine: Engine, kind: Kind, name: &str) {
    let stage = stage(engine, kind, |_| {}).await;
    stage.browser.issue_cmd(Authenticator { verifies: true }).await.unwrap();
    stage.open("/console/account/factors").await;
    stage.text_of("form[data-passkey]").await;
    check_page(&stage, &format!("sign-in-passkey-{name}")).await;
    stage.sign_in_with_password().await;
    stage.text_of(".tabs").await;
    check_page(&stage, &format!("console-factors-none-{name}")).await;
    stage.press_on("a[href$='/passkeys/new']").await;
    stage.text_of(PASSKEY).await;
    check_page(&stage, &format!("console-passkey-new-{name}")).await;
    stage.type_into("name", "Work laptop").await;
    stage.press_on(PASSKEY).await;
    assert_eq!(stage.texts_of(".codes code").await.len(), 10);
    check_page(&stage, &format!("console-recovery-codes-{name}")).await;
    stage.press_on("a.main").await;
    assert!(stage.text_of(".rows").await.contains("Work laptop"));
    check_page(&stage, &format!("console-factors-{name}")).await;
    stage.press_on("a[href$='/rename']").await;
    check_page(&stage, &format!("console-passkey-rename-{name}")).await;
    // The device has one for this person already.
    stage.open("/console/account/factors/passkeys/new").await;
    stage.text_of(PASSKEY).await;
    stage.browser.find(Locator::Css(PASSKEY)).await.unwrap().click().await.unwrap();
    let message = Locator::Css("form[data-passkey] [role=alert]:not([hidden])");
    stage.browser.wait().at_most(Duration::from_secs(60)).for_element(message).await.unwrap();
    check_page(&stage, &format!("console-passkey-again-{name}")).await;
    assert_eq!(stage.passkeys().await, 1);

    stage.sign_out_of_the_console().await;
    stage.open("/console/account/sessions").await;
    stage.text_of(PASSKEY).await;
    stage.press_on(PASSKEY).await;
    let session = stage.text_of(".rows").await;
    assert!(session.contains("passkey") && !session.contains("password"), "{session}");

    stage.sign_out_of_the_console().await;
    stage.open("/console/account/sessions").await;
    stage.sign_in_with_password().await;
    stage.text_of("#code").await;
    check_page(&stage, &format!("second-factor-{name}")).await;
    stage.press_on(PASSKEY).await;
    let sessions = stage.text_of(".rows").await;
    assert!(sessions.contains("password + passkey"), "{sessions}");
    check_page(&stage, &format!("console-sessions-methods-{name}")).await;
    stage.browser.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_passkey_is_added_and_signs_in_on_a_desk() {
    add_and_use(Engine::Sqlite, Kind::default(), "1280-light").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_passkey_is_added_and_signs_in_on_a_tablet_in_italian_and_dark() {
    let kind = Kind { is_italian: true, is_dark: true, width: Some(768), ..Kind::default() };
    add_and_use(Engine::Postgres, kind, "768-dark-it").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authenticator_that_does_not_recognise_the_person_adds_nothing() {
    let stage = stage(Engine::Sqlite, Kind::default(), |_| {}).await;
    stage.browser.issue_cmd(Authenticator { verifies: false }).await.unwrap();
    stage.open("/console/account/factors/passkeys/new").await;
    stage.sign_in_with_password().await;
    stage.text_of(PASSKEY).await;
    stage.browser.find(Locator::Css(PASSKEY)).await.unwrap().click().await.unwrap();
    let message = Locator::Css("form[data-passkey] [role=alert]:not([hidden])");
    stage.browser.wait().at_most(Duration::from_secs(60)).for_element(message).await.unwrap();
    assert!(
        stage
            .text_of("form[data-passkey] [role=alert]")
            .await
            .starts_with("The browser has made no passkey.")
    );
    assert_eq!(stage.passkeys().await, 0);
    stage.browser.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_required_factor_is_added_at_the_sign_in_on_a_phone_in_the_dark() {
    let kind = Kind { is_dark: true, width: Some(360), ..Kind::default() };
    let stage = stage(Engine::Postgres, kind, |settings| {
        settings.provider.second_factor.mode = SecondFactorMode::Required;
        settings.provider.second_factor.grace = Duration::ZERO;
    })
    .await;
    let button = "form:not([data-passkey]) button";
    stage.open("/console/account/factors").await;
    stage.sign_in_with_password().await;
    assert_eq!(stage.text_of("h1").await, "Add a second factor");
    check_page(&stage, "add-factor-360-dark").await;
    let secret = stage.text_of("code").await;
    stage.type_into("code", "000000").await;
    stage.press_on(button).await;
    check_page(&stage, "add-factor-wrong-360-dark").await;
    assert_eq!(stage.text_of("code").await, secret, "the application has this one already");
    stage.type_into("code", &stage.code(&secret)).await;
    stage.press_on(button).await;
    let codes = stage.texts_of(".codes code").await;
    assert_eq!(codes.len(), 10);
    check_page(&stage, "recovery-codes-360-dark").await;
    stage.press_on("a.button").await;
    assert!(stage.text_of(".tabs").await.contains("Sign-in"));
    check_page(&stage, "console-factors-required-360-dark").await;
    stage.open("/console/account/factors/authenticator").await;
    check_page(&stage, "console-authenticator-360-dark").await;
    stage.open("/console/account/factors/recovery-codes").await;
    stage.press_on("form.form .main").await;
    assert_eq!(stage.texts_of(".codes code").await.len(), 10);
    check_page(&stage, "console-recovery-codes-360-dark").await;

    // A code counts once.
    stage.test.advance(Duration::from_secs(60));
    for given in [stage.code(&secret), stage.texts_of(".codes code").await[0].clone()] {
        stage.open("/console/account/factors").await;
        stage.sign_out_of_the_console().await;
        stage.open("/console/account/factors").await;
        stage.sign_in_with_password().await;
        assert_eq!(stage.text_of("h1").await, "Second step");
        check_page(&stage, "second-factor-360-dark").await;
        stage.type_into("code", &given).await;
        stage.press_on(button).await;
        stage.text_of(".tabs").await;
    }
    assert!(stage.texts_of(".card").await.iter().any(|card| card.contains("9 of 10 are left.")));
    stage.browser.clone().close().await.unwrap();
}
