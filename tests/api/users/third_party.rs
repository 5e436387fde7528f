//! Third-party applications (spec: openid-provider#third-party-applications; guarantees#identity rules 7, 8).

use super::get;
use bailiwick_identity::{auth::BearerRequest, callers::authenticate_bearer, third_party};
use bailiwick_settings::{AccessControl, Application, Client, Settings};
use bailiwick_testkit::{Persona, Test, api_test};
use serde_json::{Value, json};

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn application(id: &str, access_control: Option<AccessControl>) -> Client {
    let login_url = Some(format!("https://{id}.example.org/"));
    Client {
        id: id.to_owned(),
        secret_sha256: None,
        redirect_uris: vec![format!("https://{id}.example.org/cb")],
        post_logout_redirect_uris: vec![],
        first_party: false,
        application: Application { login_url, access_control, ..Application::default() },
    }
}

fn catalogue(settings: &mut Settings) {
    let control = |change: fn(&mut AccessControl)| {
        let mut control = AccessControl::default();
        change(&mut control);
        Some(control)
    };
    let mut wiki = application("wiki", control(|c| c.organization_roles = texts(&["owner", "RESELLER"])));
    wiki.application.name = Some("Wiki".to_owned());
    wiki.application.display_name = Some("a wiki".to_owned());
    wiki.application.description = "Pages".to_owned();
    wiki.application.info_url = Some("https://wiki.example.org/about".to_owned());
    wiki.application.logo_url = Some("https://wiki.example.org/logo.svg".to_owned());
    settings.provider.clients = vec![
        application("admins", control(|c| c.user_role_ids = texts(&["admin", "super"]))),
        application("names", control(|c| c.user_roles = texts(&["suPPort"]))),
        // Keys win over names; every list must match.
        application(
            "keys",
            control(|c| {
                c.user_role_ids = texts(&["reader"]);
                c.user_roles = texts(&["Support"]);
            }),
        ),
        application(
            "both",
            control(|c| {
                c.organization_roles = texts(&["reseller"]);
                c.user_role_ids = texts(&["admin"]);
            }),
        ),
        application(
            "elsewhere",
            control(|c| {
                c.organization_ids = texts(&["01950000-0000-7000-8000-0000000000d1"]);
            }),
        ),
        application("empty", control(|_| {})),
        application("hidden", None),
        Client {
            first_party: true,
            ..application("own", control(|c| c.organization_roles = texts(&["owner"])))
        },
        wiki,
    ];
}

async fn list(t: &Test, who: &Persona) -> Vec<Value> {
    let reply = get(t, who, "/api/third-party-applications").await;
    let data = reply.expect_message(200, "third-party applications retrieved successfully").data();
    data.as_array().expect("an array").clone()
}

async fn ids(t: &Test, who: &Persona) -> Vec<String> {
    list(t, who).await.iter().map(|a| a["id"].as_str().unwrap().to_owned()).collect()
}

api_test!(
    // Proves spec: acceptance#scenarios 36, guarantees#identity 8, authorization#guarantees 32.
    an_application_is_seen_by_those_it_names,
    |settings| catalogue(settings),
    |t| async move {
        let tree = t.tree().await;
        let (admin, support) =
            (t.user(tree.reseller, &["admin"]).await, t.user(tree.customer, &["support"]).await);
        let reader = t.user(tree.customer, &["reader"]).await;
        let both = t.user(tree.customer, &["reader", "support"]).await;
        // By display name: "a wiki" before "admins".
        assert_eq!(ids(&t, &admin).await, ["wiki", "admins", "both"]);
        assert_eq!(ids(&t, &t.owner().await).await, ["wiki", "admins"]);
        assert_eq!(ids(&t, &support).await, ["names"]);
        assert_eq!(ids(&t, &reader).await, ["keys"]);
        assert_eq!(ids(&t, &both).await, ["keys", "names"]);
        let shown = list(&t, &admin).await;
        assert_eq!(
            shown[0],
            json!({"id": "wiki", "name": "Wiki", "description": "Pages",
        "redirect_uris": ["https://wiki.example.org/cb"], "post_logout_redirect_uris": [],
        "login_url": "https://wiki.example.org/", "info_url": "https://wiki.example.org/about",
        "branding": {"display_name": "a wiki", "logo_url": "https://wiki.example.org/logo.svg"}})
        );
        assert_eq!(shown[1]["branding"], json!({"display_name": "admins"}));
        assert_eq!(shown[1].get("info_url"), None);
        t.get("/api/third-party-applications").send().await.expect(401);
    }
);

api_test!(an_application_of_one_organization, |t| async move {
    let tree = t.tree().await;
    let control = AccessControl { organization_ids: vec![tree.reseller.to_string()], ..Default::default() };
    let mut settings = (*t.app.settings).clone();
    settings.provider.clients = vec![application("one", Some(control))];
    let count = async |org| {
        let who = t.user(org, &["reader"]).await;
        let authorization = format!("Bearer {}", who.token);
        let request = BearerRequest {
            authorization: Some(&authorization),
            client_ip: std::net::Ipv4Addr::LOCALHOST.into(),
            method: "GET",
            path: "/api/third-party-applications",
        };
        let caller = authenticate_bearer(&t.app.identity, &request).await.unwrap();
        third_party::list(&settings, &*t.app.platform.entropy, "https://x.example/auth", &caller).len()
    };
    assert_eq!((count(tree.reseller).await, count(tree.customer).await), (1, 0));
});
