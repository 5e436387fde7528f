//! The sign-in pages, the console, the API reference and the guide in Debian's chromium; run by `make test-browser`. Screenshots go to `target/tmp/`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may fail anywhere, and a browser has a clock of its own"
)]

use bailiwick_identity::passwords;
use bailiwick_store::identities;
use bailiwick_testkit::{
    Engine, Running, Test,
    engine::OWNER_PASSWORD,
    parts::{
        chromedriver::Chromedriver,
        recorder::{Answer, Recorder},
    },
};
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use std::{path::Path, time::Duration};
use url::Url;

#[path = "browser/consent.rs"]
mod consent;
#[path = "browser/console.rs"]
mod console;
#[path = "browser/factors.rs"]
mod factors;
#[path = "browser/library.rs"]
mod library;
#[path = "browser/mails.rs"]
mod mails;
#[path = "browser/pictures.rs"]
mod pictures;
#[path = "browser/reference.rs"]
mod reference;

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const CALLBACK_PAGE: &str =
    "<!doctype html><title>Application</title><script>document.title = 'scripted'</script>";

/// A service, a client's site on another origin, and a browser.
struct Stage {
    test: Test,
    service: Running,
    site: Recorder,
    browser: Client,
    _driver: Chromedriver,
}

/// What differs between browsers.
#[derive(Clone, Copy, Default)]
struct Kind {
    without_javascript: bool,
    is_italian: bool,
    is_dark: bool,
    is_narrow: bool,
    /// Of the page, on a device of its own.
    width: Option<u32>,
}

impl Kind {
    fn adapt(self, capabilities: &mut Value) {
        let options = &mut capabilities["goog:chromeOptions"];
        if self.without_javascript {
            options["prefs"]["profile.managed_default_content_settings.javascript"] = json!(2);
        }
        if self.is_italian {
            options["prefs"]["intl.accept_languages"] = json!("it-IT,it");
        }
        if let Some(width) = self.width {
            options["mobileEmulation"] =
                json!({"deviceMetrics": {"width": width, "height": 800, "pixelRatio": 1.0}});
        }
        let mut add = |flag: &str| options["args"].as_array_mut().unwrap().push(json!(flag));
        if self.is_dark {
            add("--force-dark-mode");
        }
        if self.is_narrow {
            add("--window-size=500,900");
        }
    }
}

async fn stage(kind: Kind) -> Stage {
    stage_on(Engine::Sqlite, kind).await
}

async fn stage_on(engine: Engine, kind: Kind) -> Stage {
    let site =
        Recorder::start(|_| Answer::status(200).header("content-type", "text/html").body(CALLBACK_PAGE));
    let site = site.await.unwrap();
    let (test, service) = Test::on_port(engine, |_| {}).await;
    Stage::of(test, service, site, kind).await
}

impl Stage {
    async fn of(test: Test, service: Running, site: Recorder, kind: Kind) -> Stage {
        let driver = Chromedriver::start().await.unwrap();
        let mut capabilities = driver.capabilities().unwrap();
        kind.adapt(&mut capabilities);
        let Value::Object(capabilities) = capabilities else { panic!("capabilities are an object") };
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let browser = builder.capabilities(capabilities).connect(driver.url()).await.unwrap();
        Stage { test, service, site, browser, _driver: driver }
    }

    /// Where an application on the other origin sends the browser.
    fn authorization(&self) -> String {
        let mut address = Url::parse(&format!("{}/oidc/auth", self.service.url)).unwrap();
        let callback = self.callback();
        address.query_pairs_mut().extend_pairs([
            ("client_id", "bailiwick"),
            ("redirect_uri", callback.as_str()),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("state", "opaque"),
            ("response_type", "code"),
            ("prompt", "consent"),
            ("scope", "openid offline_access profile email"),
        ]);
        address.into()
    }

    fn callback(&self) -> String {
        format!("{}/login-redirect", self.site.url())
    }

    async fn type_into(&self, field: &str, text: &str) {
        let input = self.browser.find(Locator::Id(field)).await.unwrap();
        input.clear().await.unwrap();
        input.send_keys(text).await.unwrap();
    }

    async fn press(&self) {
        self.press_on("button").await;
    }

    /// Presses a button of a form and waits until the next page has replaced this one.
    async fn press_on(&self, css: &str) {
        let button = self.browser.find(Locator::Css(css)).await.unwrap();
        button.clone().click().await.unwrap();
        // The driver may answer before the form is on its way; the button is gone once the next page is there.
        for _ in 0..1200 {
            if button.tag_name().await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the form leads nowhere");
    }

    /// The text of the first such element, as soon as there is one.
    async fn text_of(&self, css: &str) -> String {
        let wait = self.browser.wait().at_most(Duration::from_secs(60));
        wait.for_element(Locator::Css(css)).await.unwrap().text().await.unwrap()
    }

    async fn picture(&self, name: &str) {
        let image = self.browser.screenshot().await.unwrap();
        assert!(image.starts_with(b"\x89PNG"));
        std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.png")), image).unwrap();
    }

    /// The browser has arrived at the application: its code opens tokens.
    async fn redeem(&self) {
        let address = self.browser.current_url().await.unwrap();
        assert!(address.as_str().starts_with(&self.callback()), "{address}");
        let query: std::collections::BTreeMap<_, _> = address.query_pairs().collect();
        assert_eq!(query["state"], "opaque");
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", "bailiwick"),
            ("code", &*query["code"]),
            ("code_verifier", VERIFIER),
            ("redirect_uri", &self.callback()),
        ];
        self.test.post("/oidc/token").form(&form).send().await.expect(200);
        assert!(self.site.requests().iter().any(|request| request.path == "/login-redirect"));
    }

    async fn sign_in_with_one_mistake(&self, picture: &str) {
        self.browser.goto(&self.authorization()).await.unwrap();
        self.picture(picture).await;
        self.type_into("name", "owner@example.org").await;
        self.type_into("password", "Wrong-Horse-7-Battery").await;
        self.press().await;
        assert!(!self.text_of("#problem").await.is_empty());
        let name = self.browser.find(Locator::Id("name")).await.unwrap();
        assert_eq!(name.prop("value").await.unwrap().as_deref(), Some("owner@example.org"));
        self.picture(&format!("{picture}-wrong")).await;
        self.type_into("password", OWNER_PASSWORD).await;
        self.press().await;
        self.redeem().await;
    }

    async fn sign_out(&self) {
        let end = format!("{}/oidc/session/end?client_id=bailiwick", self.service.url);
        self.browser.goto(&end).await.unwrap();
        assert_eq!(self.text_of("h1").await, "You are signed out");
        self.picture("signed-out").await;
        self.browser.goto(&self.authorization()).await.unwrap();
        assert_eq!(self.text_of("h1").await, "Sign in", "the session is over");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_signs_in_for_an_application_on_another_origin_and_out() {
    let stage = stage(Kind::default()).await;
    stage.sign_in_with_one_mistake("sign-in").await;
    assert_eq!(stage.browser.title().await.unwrap(), "scripted");
    stage.browser.goto(&stage.authorization()).await.unwrap();
    stage.redeem().await;
    stage.sign_out().await;
    stage.browser.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_signs_in_without_javascript() {
    let stage = stage(Kind { without_javascript: true, ..Kind::default() }).await;
    stage.sign_in_with_one_mistake("sign-in-without-javascript").await;
    assert_eq!(stage.browser.title().await.unwrap(), "Application", "the browser runs no scripts");
    stage.browser.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_replaces_a_generated_password_in_italian_on_a_small_dark_screen() {
    const GIVEN: &str = "Given-Horse-9-Battery";
    const CHOSEN: &str = "Chosen-Horse-4-Staple";
    let stage = stage(Kind { is_italian: true, is_dark: true, is_narrow: true, ..Kind::default() }).await;
    let app = &stage.test.app;
    let (owner, _) = identities::by_email(&app.platform.db, "owner@example.org").await.unwrap().unwrap();
    let hash = passwords::hash(&app.identity, GIVEN).await.unwrap();
    let mut tx = app.platform.db.begin().await.unwrap();
    identities::set_password(&mut tx, owner.id, &hash, Some(app.platform.now())).await.unwrap();
    tx.commit().await.unwrap();

    stage.browser.goto(&stage.authorization()).await.unwrap();
    assert_eq!(stage.text_of("h1").await, "Accedi");
    stage.picture("sign-in-italian-dark").await;
    stage.type_into("name", "owner").await;
    stage.type_into("password", GIVEN).await;
    stage.press().await;
    assert_eq!(stage.text_of("h1").await, "Scegli una nuova password");
    stage.type_into("new_password", CHOSEN).await;
    stage.type_into("new_password_again", GIVEN).await;
    stage.press().await;
    assert_eq!(stage.text_of("#problem").await, "Le due password sono diverse.");
    stage.picture("new-password-italian-dark").await;
    stage.type_into("new_password", CHOSEN).await;
    stage.type_into("new_password_again", CHOSEN).await;
    stage.press().await;
    stage.redeem().await;
    stage.browser.clone().close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_signs_in_at_the_printed_address_and_out_on_either_engine() {
    for (engine, picture) in [(Engine::Sqlite, "signed-in"), (Engine::Postgres, "signed-in-italian-dark")] {
        let other = engine == Engine::Postgres;
        let kind = Kind {
            without_javascript: true,
            is_italian: other,
            is_dark: other,
            is_narrow: other,
            ..Kind::default()
        };
        let stage = stage_on(engine, kind).await;
        let address = format!("{}/oidc/login", stage.service.url);
        stage.browser.goto(&format!("{}/oidc/", stage.service.url)).await.unwrap();
        stage.type_into("name", "owner@example.org").await;
        stage.type_into("password", OWNER_PASSWORD).await;
        stage.press().await;
        assert_eq!(stage.browser.current_url().await.unwrap().as_str(), address);
        let title = if other { "Hai effettuato l’accesso" } else { "You are signed in" };
        assert_eq!(stage.text_of("h1").await, title);
        assert!(stage.text_of("dl").await.contains("owner@example.org"));
        stage.picture(picture).await;
        stage.press().await;
        let title = if other { "Sei uscito" } else { "You are signed out" };
        assert_eq!(stage.text_of("h1").await, title);
        stage.browser.goto(&address).await.unwrap();
        let title = if other { "Accedi" } else { "Sign in" };
        assert_eq!(stage.text_of("h1").await, title, "the session is over");
        stage.browser.clone().close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_that_is_not_known_gets_nobody() {
    let stage = stage(Kind::default()).await;
    let address = stage.authorization().replace("client_id=bailiwick", "client_id=nobody");
    stage.browser.goto(&address).await.unwrap();
    assert_eq!(stage.text_of("h1").await, "This sign-in request cannot be accepted");
    stage.picture("refused").await;
    assert!(stage.site.requests().is_empty());
    stage.browser.clone().close().await.unwrap();
}
