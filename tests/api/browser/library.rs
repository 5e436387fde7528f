//! A user interface built on a stock OpenID Connect library (oidc-client-ts of npm): signs in, is loaded again, renews its
//! tokens and signs out; at the embedded provider and, in mode `oidc`, at one of another make.

use crate::{Kind, Stage};
use bailiwick_domain::Ts;
use bailiwick_platform::Secret;
use bailiwick_settings::{IdentityMode, Issuer};
use bailiwick_testkit::{
    Engine, Test,
    engine::OWNER_PASSWORD,
    parts::{
        identity_provider::{INTROSPECTOR, IdentityProvider, package},
        recorder::{Answer, Recorder},
    },
};
use fantoccini::Locator;
use serde_json::json;
use std::time::Duration;

const PAGE: &str = include_str!("page.html");
const OWNER: &str = "owner@example.org";

/// The application's site: its page at every address, the library, and what it must know.
fn serve(site: &Recorder, issuer: &str, service: &str, hint: Option<&str>) {
    let library = package("oidc-client-ts").unwrap().join("dist/browser/oidc-client-ts.min.js");
    let library = std::fs::read(library).unwrap();
    let settings = json!({
        "issuer": issuer, "api": format!("{service}/api"), "hint": hint, "revokes": hint.is_none(),
    });
    site.answer_by(move |request| match request.path.as_str() {
        "/oidc-client-ts.min.js" => {
            Answer::status(200).header("content-type", "text/javascript").body(library.clone())
        }
        "/settings.json" => Answer::json(200, &settings),
        _ => Answer::status(200).header("content-type", "text/html").body(PAGE),
    });
}

/// Waits until the application shows this state.
async fn says(stage: &Stage, wanted: &str) {
    let mut text = String::new();
    for _ in 0..1200 {
        if let Ok(element) = stage.browser.find(Locator::Id("state")).await {
            text = element.text().await.unwrap_or_default();
            if text == wanted {
                return;
            }
            assert!(!text.starts_with("failed"), "{text}");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (address, page) = (stage.browser.current_url().await, stage.browser.source().await);
    panic!("`{text}` instead of `{wanted}` at {address:?}: {page:?}");
}

async fn press(stage: &Stage, id: &str) {
    stage.browser.find(Locator::Id(id)).await.unwrap().click().await.unwrap();
}

async fn site() -> Recorder {
    Recorder::start(|_| Answer::status(404)).await.unwrap()
}

fn right_time(test: &Test) {
    // The library compares the tokens' times with the browser's clock.
    test.clock.set(Ts::from_secs(jiff::Timestamp::now().as_second()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_with_a_stock_library_signs_in_renews_and_signs_out() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let site = site().await;
        let origin = site.url();
        let (test, service) =
            Test::on_port(engine, |settings| settings.cors_origins.push(origin.clone())).await;
        right_time(&test);
        serve(&site, &format!("{}/oidc", service.url), &service.url, None);
        let stage = Stage::of(test, service, site, Kind::default()).await;
        stage.browser.goto(&stage.site.url()).await.unwrap();
        says(&stage, "signed out").await;
        press(&stage, "in").await;
        stage
            .browser
            .wait()
            .at_most(Duration::from_secs(60))
            .for_element(Locator::Id("password"))
            .await
            .unwrap();
        stage.type_into("name", OWNER).await;
        stage.type_into("password", OWNER_PASSWORD).await;
        stage.press().await;
        says(&stage, "signed in as owner@example.org").await;
        stage.browser.refresh().await.unwrap();
        says(&stage, "still signed in as owner@example.org").await;
        press(&stage, "renew").await;
        says(&stage, "renewed as owner@example.org").await;
        stage.picture("library").await;
        press(&stage, "out").await;
        says(&stage, "signed out").await;
        assert_eq!(stage.browser.current_url().await.unwrap().path(), "/login");
        press(&stage, "in").await;
        stage
            .browser
            .wait()
            .at_most(Duration::from_secs(60))
            .for_element(Locator::Id("password"))
            .await
            .unwrap();
        stage.browser.clone().close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_application_signs_in_at_a_provider_of_another_make() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let site = site().await;
        let origin = site.url();
        let provider = IdentityProvider::start_for(&origin).await.unwrap();
        let issuer = provider.url();
        let (test, service) = Test::on_port(engine, |settings| {
            settings.cors_origins.push(origin.clone());
            settings.identity = IdentityMode::Oidc(Box::new(Issuer {
                introspection: Some((INTROSPECTOR.0.to_owned(), Secret::new(INTROSPECTOR.1.to_owned()))),
                ..Issuer::new(&issuer, "bailiwick")
            }));
        })
        .await;
        right_time(&test);
        serve(&site, &issuer, &service.url, Some("o~owner@example.org~true"));
        let stage = Stage::of(test, service, site, Kind::default()).await;
        stage.browser.goto(&stage.site.url()).await.unwrap();
        says(&stage, "signed out").await;
        press(&stage, "in").await;
        says(&stage, "signed in as owner@example.org").await;
        stage.browser.refresh().await.unwrap();
        says(&stage, "still signed in as owner@example.org").await;
        press(&stage, "renew").await;
        says(&stage, "renewed as owner@example.org").await;
        press(&stage, "out").await;
        stage
            .browser
            .wait()
            .at_most(Duration::from_secs(60))
            .for_element(Locator::Css("button[value=yes]"))
            .await
            .unwrap()
            .click()
            .await
            .unwrap();
        says(&stage, "signed out").await;
        assert_eq!(stage.browser.current_url().await.unwrap().path(), "/login");
        stage.browser.clone().close().await.unwrap();
    }
}
