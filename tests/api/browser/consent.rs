//! The consent page for the data of an application of a third party, and its withdrawal.

use crate::{CALLBACK_PAGE, CHALLENGE, Kind, Stage};
use bailiwick_settings::{AccessControl, Application, Client};
use bailiwick_testkit::{
    Engine, Test,
    engine::OWNER_PASSWORD,
    parts::recorder::{Answer, Recorder},
};
use fantoccini::Locator;
use url::Url;

fn wiki(callback: &str) -> Client {
    let everybody_above = ["owner", "distributor"].map(str::to_owned).to_vec();
    Client {
        id: "wiki".into(),
        secret_sha256: None,
        redirect_uris: vec![callback.to_owned()],
        post_logout_redirect_uris: vec![],
        first_party: false,
        application: Application {
            display_name: Some("The wiki of somebody else".into()),
            access_control: Some(AccessControl { organization_roles: everybody_above, ..Default::default() }),
            ..Application::default()
        },
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_asked_what_an_application_may_learn_and_takes_it_back() {
    for is_italian in [false, true] {
        let site =
            Recorder::start(|_| Answer::status(200).header("content-type", "text/html").body(CALLBACK_PAGE));
        let site = site.await.unwrap();
        let callback = format!("{}/cb", site.url());
        let (test, service) =
            Test::on_port(Engine::Sqlite, |settings| settings.provider.clients = vec![wiki(&callback)]).await;
        let kind = Kind {
            is_italian,
            is_dark: is_italian,
            is_narrow: is_italian,
            without_javascript: true,
            width: None,
        };
        let stage = Stage::of(test, service, site, kind).await;
        let mut address = Url::parse(&format!("{}/oidc/auth", stage.service.url)).unwrap();
        address.query_pairs_mut().extend_pairs([
            ("client_id", "wiki"),
            ("redirect_uri", callback.as_str()),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("response_type", "code"),
            ("scope", "openid offline_access profile email"),
        ]);
        stage.browser.goto(address.as_str()).await.unwrap();
        stage.type_into("name", "owner@example.org").await;
        stage.type_into("password", OWNER_PASSWORD).await;
        stage.press().await;
        let question =
            if is_italian { "Consentire a questa applicazione?" } else { "Allow this application?" };
        assert_eq!(stage.text_of("h1").await, question);
        assert_eq!(stage.text_of(".lead strong").await, "The wiki of somebody else");
        assert_eq!(stage.browser.find_all(Locator::Css("li")).await.unwrap().len(), 5);
        stage.picture(if is_italian { "consent-italian-dark" } else { "consent" }).await;
        stage.press().await;
        let arrived = stage.browser.current_url().await.unwrap();
        assert!(arrived.as_str().starts_with(&callback) && arrived.query_pairs().any(|(k, _)| k == "code"));

        stage.browser.goto(&format!("{}/oidc/login", stage.service.url)).await.unwrap();
        stage.picture(if is_italian { "allowed-italian-dark" } else { "allowed" }).await;
        stage.press_on("form[action='/oidc/consent'] button").await;
        stage.browser.goto(address.as_str()).await.unwrap();
        assert_eq!(stage.text_of("h1").await, question, "asked again");
        stage.browser.clone().close().await.unwrap();
    }
}
