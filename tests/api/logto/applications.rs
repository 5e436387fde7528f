//! Applications of third parties the tenant knows (spec: openid-provider#third-party-applications, guarantees#identity
//! rules 7, 8).

use super::*;
use crate::session::exchange;
use bailiwick_settings::{AccessControl, Application, Client};
use bailiwick_testkit::parts::{logto::CLIENT, recorder::Answer};

fn application(id: &str, name: &str, custom_data: Value) -> Value {
    json!({"id": id, "name": name, "description": "D", "isThirdParty": true, "customData": custom_data,
        "oidcClientMetadata": {"redirectUris": [format!("https://{id}.example/cb")], "postLogoutRedirectUris": []}})
}

fn for_owners() -> Value {
    json!({"access_control": {"organization_roles": ["OWNER"]}})
}

async fn listed(t: &Test, who: &Persona) -> Vec<Value> {
    let reply = t.get("/api/third-party-applications").bearer(&who.token).send().await.expect(200);
    reply.data().as_array().unwrap().clone()
}

/// Waits until so many are listed: no request waits long for a newer list, which comes all the same.
async fn lists(t: &Test, who: &Persona, count: usize) {
    eventually("the newer list", async || listed(t, who).await.len() == count).await;
}

fn ids(all: &[Value]) -> Vec<&str> {
    all.iter().map(|application| application["id"].as_str().unwrap()).collect()
}

fn request_count(l: &Logto) -> usize {
    l.calls().iter().filter(|call| *call == "GET /applications").count()
}

logto_test!(applications_and_who_may_see_them, |t, l| async move {
    let (owner, tree) = (t.owner().await, t.tree().await);
    // So that the organization is linked.
    new_user(&t, &owner, "anna", tree.customer).await;
    push_changes(&t).await;
    let customer = l.with(|tenant| tenant.organization_of(&tree.customer.to_string())).unwrap();
    let person = t.user(tree.customer, &["support"]).await;
    l.with(|tenant| {
        tenant.applications = vec![
            application("wiki", "Wiki", for_owners()),
            application(
                "shop",
                "A shop",
                json!({"login_url": "https://shop.example/in", "info_url": "javascript:x",
                "access_control": {"organization_ids": [customer], "user_role_ids": ["role3"]}}),
            ),
            application("hidden", "Hidden", json!({})),
            application("empty", "Empty", json!({"access_control": {}})),
            application("odd", "Odd", json!({"access_control": {"organization_roles": "owner"}})),
            json!({"id": "own", "name": "Own", "isThirdParty": false, "customData": for_owners()}),
        ];
        let experience =
            json!({"displayName": "The wiki", "branding": {"logoUrl": "https://wiki.example/l.png"}});
        tenant.experiences.insert("wiki".to_owned(), experience);
        tenant.consent_scopes.insert("wiki".to_owned(), json!({"userScopes": ["profile", "openid"]}));
    });
    lists(&t, &owner, 1).await;
    let all = listed(&t, &owner).await;
    assert_eq!(ids(&all), ["wiki"]);
    let login = all[0]["login_url"].as_str().unwrap();
    let start = format!("{}/oidc/auth?client_id=wiki&", l.settings().issuer.url.trim_end_matches("/oidc"));
    assert!(login.starts_with(&start) && login.contains("scope=openid+profile&"), "{login}");
    assert_eq!(
        all[0]["branding"],
        json!({"display_name": "The wiki", "logo_url": "https://wiki.example/l.png"})
    );
    let all = listed(&t, &person).await;
    assert_eq!(ids(&all), ["shop"]);
    assert_eq!(
        (&all[0]["login_url"], &all[0]["info_url"]),
        (&json!("https://shop.example/in"), &Value::Null)
    );
    assert_eq!(listed(&t, &t.user(tree.customer, &["admin"]).await).await.len(), 0);

    // Tokens of third-party applications open no session (rule 7), but identify the user.
    let account = l.with(|tenant| tenant.add_user("owner@example.org", "whoever"));
    let token = l.with(|tenant| tenant.sign_in(&account, CLIENT));
    exchange(&t, &token).await.expect(200);
    let token = l.with(|tenant| tenant.sign_in(&account, "wiki"));
    exchange(&t, &token).await.expect_message(401, "invalid access token");
    t.get("/api/user/profile").bearer(&token).send().await.expect(200);
    let token = l.with(|tenant| tenant.sign_in(&account, "own"));
    t.get("/api/user/profile").bearer(&token).send().await.expect(401);
});

logto_test!(the_list_is_kept_and_the_last_good_one_goes_on, |t, l| async move {
    let owner = t.owner().await;
    l.always(Answer::status(503));
    assert_eq!(listed(&t, &owner).await.len(), 0);
    l.recover();
    l.with(|tenant| {
        tenant.applications = (0..120).map(|n| application(&format!("a{n}"), "A", for_owners())).collect();
    });
    t.advance(Duration::from_secs(30));
    // To the last page (spec: authorizationrule 31).
    lists(&t, &owner, 120).await;
    let _ = l.calls();
    l.with(|tenant| tenant.applications.truncate(1));
    t.advance(Duration::from_secs(299));
    assert_eq!((listed(&t, &owner).await.len(), request_count(&l)), (120, 0));
    t.advance(Duration::from_secs(1));
    lists(&t, &owner, 1).await;
    t.advance(Duration::from_secs(300));
    l.always(Answer::dropped());
    assert_eq!(listed(&t, &owner).await.len(), 1);
    // Not every request asks a tenant that is away.
    let _ = l.calls();
    assert_eq!((listed(&t, &owner).await.len(), request_count(&l)), (1, 0));
});

/// The catalogue wins, and the custom domain counts when it is active.
async fn catalogue(engine: Engine) {
    let l = Logto::start().await.unwrap();
    let mut all = settings(&l, |tenancy| tenancy.domain = Some("login.example.org".to_owned()));
    let control = AccessControl { organization_roles: vec!["owner".to_owned()], ..AccessControl::default() };
    all.provider.clients = vec![Client {
        id: "wiki".to_owned(),
        secret_sha256: None,
        redirect_uris: vec!["https://ours.example/cb".to_owned()],
        post_logout_redirect_uris: Vec::new(),
        first_party: false,
        application: Application {
            name: Some("Ours".to_owned()),
            access_control: Some(control),
            ..Application::default()
        },
    }];
    l.with(|tenant| {
        let all = ["wiki", "shop"].map(|id| application(id, id, for_owners()));
        tenant.applications = all.to_vec();
        tenant.domains = vec![json!({"domain": "login.example.org", "status": "PendingVerification"})];
    });
    let t = Test::with(engine, all).await;
    let owner = t.owner().await;
    lists(&t, &owner, 2).await;
    let applications = listed(&t, &owner).await;
    assert_eq!(ids(&applications), ["wiki", "shop"]);
    assert_eq!(applications[0]["name"], "Ours");
    assert!(!applications[1]["login_url"].as_str().unwrap().starts_with("https://login.example.org"));
    l.with(|tenant| tenant.domains[0]["status"] = json!("Active"));
    t.advance(Duration::from_secs(300));
    let counts = async || {
        let applications = listed(&t, &owner).await;
        let login_url = applications[1]["login_url"].as_str().unwrap();
        login_url.starts_with("https://login.example.org/oidc/auth?")
    };
    eventually("the active domain counts", counts).await;
    l.always(Answer::dropped());
    let fresh = Test::with(engine, (*t.app.settings).clone()).await;
    assert_eq!(ids(&listed(&fresh, &fresh.owner().await).await), ["wiki"]);
}
on_both!(an_id_in_both_lists_is_the_catalogues, catalogue);
