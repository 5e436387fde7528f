//! The browser's application: from its login to each of its pages, at each base path (spec: clients#sign-in,
//! browser-client#lists; checklist 1, 3).

use super::{entities::Entity, *};
use crate::provider::{
    client::{Browser, CALLBACK, CHALLENGE, OWNER, PASSWORD, VERIFIER, authorization, local, query, refused},
    flow::verified,
};
use bailiwick_testkit::api_test;
use std::time::Duration;

/// As the client library makes it: 64 random bytes.
const STATE: &str = "zQ35SPyiRlWvjJXePalXFRnWRHS0ARen0nCRik84h8M4DCTt9Zk_vTlkNCPCFtt-lnMbkS0BGoXF4_7B5h59ng";

/// Steps 1 to 5: the tokens of the provider.
async fn signed_in(t: &Test) -> Value {
    assert_eq!((STATE.len(), CHALLENGE.len()), (86, 43));
    let discovery = t.get("/oidc/.well-known/openid-configuration").header("origin", "http://localhost:5173");
    let discovery = discovery.send().await.expect(200).json();
    let browser = Browser::new(t);
    let parameters = authorization(&[("state", STATE), ("scope", "openid offline_access profile email")]);
    assert!(!parameters.contains("nonce"));
    assert!(local(&text(&discovery, "authorization_endpoint")).ends_with("/oidc/auth"));
    let changes = [("state", STATE), ("scope", "openid offline_access profile email")];
    let callback = query(&browser.sign_in(OWNER, PASSWORD, &changes).await);
    assert_eq!(callback["state"], STATE);
    // The order in which the library writes them; no client authentication.
    let form = [
        ("client_id", "bailiwick"),
        ("code", callback["code"].as_str()),
        ("code_verifier", VERIFIER),
        ("redirect_uri", CALLBACK),
        ("grant_type", "authorization_code"),
    ];
    let endpoint = text(&discovery, "token_endpoint");
    let tokens = t.post(local(&endpoint)).form(&form).send().await.expect(200).json();
    let claims = verified(t, &text(&tokens, "id_token"), "bailiwick").await;
    for name in ["iss", "sub", "aud"] {
        assert!(claims[name].is_string(), "{name}: {claims}");
    }
    for name in ["exp", "iat"] {
        assert!(claims[name].is_i64() || claims[name].is_u64(), "{name}: {claims}");
    }
    for name in ["at_hash", "name", "username", "picture", "email", "phone_number"] {
        assert!(claims.get(name).is_none_or(|v| v.is_string() || v.is_null()), "{name}: {claims}");
    }
    for name in ["email_verified", "phone_number_verified"] {
        assert!(claims.get(name).is_none_or(Value::is_boolean), "{name}: {claims}");
    }
    assert_eq!(claims["iss"], discovery["issuer"]);
    tokens
}

// Proves spec: clients#checklist 3.
api_test!(the_login_of_the_application_step_by_step, |t| async move {
    let tokens = signed_in(&t).await;
    for name in ["access_token", "id_token", "refresh_token", "scope"] {
        assert!(tokens[name].is_string(), "{name}: {tokens}");
    }
    let lasts = tokens["expires_in"].as_u64().expect("seconds");
    t.advance(Duration::from_secs(lasts + 1));
    let form = [
        ("client_id", "bailiwick"),
        ("refresh_token", tokens["refresh_token"].as_str().unwrap()),
        ("grant_type", "refresh_token"),
    ];
    let again = t.post("/oidc/token").form(&form).send().await.expect(200).json();
    assert!(again["access_token"].is_string() && again["expires_in"].is_u64(), "{again}");
    let last = again["refresh_token"].as_str().unwrap_or(form[1].1);
    let revoke = [("client_id", "bailiwick"), ("token", last)];
    t.post("/oidc/token/revocation").form(&revoke).send().await.expect(200);
    let over = [("client_id", "bailiwick"), ("refresh_token", last), ("grant_type", "refresh_token")];
    // Both shapes of an error.
    refused(t.post("/oidc/token").form(&over).send().await, 400, "invalid_grant");
    let out = "/oidc/session/end?client_id=bailiwick&post_logout_redirect_uri=http%3A%2F%2Flocalhost%3A5173%2Flogin";
    assert!(matches!(t.get(out).send().await.status.as_u16(), 200 | 303), "no id_token_hint is needed");
});

/// The requests of every page, whatever its user may.
async fn frame(spa: &Spa) -> Value {
    let me = spa.get("/me").await.expect(200).data();
    for field in
        ["id", "logto_id", "name", "email", "organization_id", "organization_name", "org_role", "org_role_id"]
    {
        assert!(me[field].is_string(), "{field}: {me}");
    }
    for field in ["org_permissions", "user_permissions", "user_roles", "user_role_ids"] {
        assert!(me[field].is_array(), "{field}: {me}");
    }
    assert!(spa.get("/roles").await.expect(200).data()["roles"].is_array());
    assert!(spa.get("/third-party-applications").await.expect(200).data().is_array());
    for path in ["/organizations", "/organizations?page=1&page_size=50&search=alfa&type=customer"] {
        let rows = spa.get(path).await.expect(200).data();
        for row in rows["organizations"].as_array().expect("rows") {
            assert!(row["logto_id"].is_string() && row["type"].is_string(), "{row}");
        }
    }
    assert_eq!(spa.get("/impersonate/consent").await.expect(200).data()["consent"], Value::Null);
    assert_eq!(spa.get("/impersonate/status").await.expect(200).data()["is_impersonating"], false);
    let sessions = spa.get(&format!("/impersonate/sessions{}", page(""))).await.expect(200).data();
    assert_eq!(sessions["sessions"], json!([]));
    me
}

// Proves spec: clients#checklist 1.
api_test!(the_session_of_the_application_at_each_base_path, |s| portal(s), |t| async move {
    let tree = t.tree().await;
    let running = t.serve().await;
    let tokens = signed_in(&t).await;
    for (n, base) in BASES.into_iter().enumerate() {
        let mut spa = Spa::new(&running, base, "");
        let exchanged = spa.post("/auth/exchange", json!({"access_token": tokens["access_token"]})).await;
        let exchanged = exchanged.expect(200).data();
        assert!(exchanged["expires_in"].as_u64() >= Some(25 * 60), "{exchanged}");
        spa.token = text(&exchanged, "token");
        let me = frame(&spa).await;
        assert_eq!((&me, me["org_role"].as_str()), (&exchanged["user"], Some("Owner")), "{base}");
        let refreshed = spa.post("/auth/refresh", json!({"refresh_token": exchanged["refresh_token"]})).await;
        let refreshed = refreshed.expect(200).data();
        assert!(refreshed["refresh_token"].is_string() && refreshed["expires_in"].is_u64(), "{refreshed}");
        spa.token = text(&refreshed, "token");

        let mut made = Vec::new();
        for entity in Entity::all(&tree, n) {
            made.push((entity.path, entity.whole_life(&spa).await));
        }
        applications(&t, &spa, tree.customer).await;
        alerts(&spa).await;
        for (path, id) in made.iter().rev() {
            spa.delete(&format!("{path}/{id}/destroy")).await.expect(200);
        }
    }
});

/// The page of applications: the applications of a cluster, changed and handed to its customer.
async fn applications(t: &Test, spa: &Spa, customer: bailiwick_domain::OrgId) {
    let cluster = t.system(customer).await;
    t.application(&cluster).await;
    let query = page(&format!("&system_id={}&type=mail&version=mail%3A1.0&type=nothing", cluster.id));
    let list = spa.get(&format!("/applications{}", query.replace("&version=mail%3A1.0", ""))).await;
    let item = list.expect(200).data()["applications"][0].clone();
    assert!(item["system"].is_object() && item["inventory_data"].is_object(), "{item}");
    let path = format!("/applications/{}", text(&item, "id"));
    let mut whole = spa.get(&path).await.expect(200).data();
    whole["notes"] = json!("looked at");
    let changed = spa.put(&path, whole).await.expect(200).data();
    assert_eq!((&changed["notes"], &changed["name"]), (&json!("looked at"), &item["name"]));
    let to = json!({"organization_id": customer});
    spa.send(Method::PATCH, &format!("{path}/assign"), Some(to)).await.expect(200);
    let assigned = spa.get(&path).await.expect(200).data();
    assert_eq!(assigned["organization"]["logto_id"], json!(customer));
    let totals = spa.get("/applications/totals").await.expect(200).data();
    for field in ["total", "unassigned", "assigned", "with_errors"] {
        assert!(totals[field].is_u64(), "{field}: {totals}");
    }
    assert!(totals["by_type"].is_object() && totals["by_status"]["assigned"].is_u64(), "{totals}");
    for filter in [format!("system_id={}", cluster.id), format!("organization_id={customer}")] {
        let path =
            format!("/applications/summary?{filter}&page=1&page_size=5&sort_by=count&sort_direction=desc");
        let summary = spa.get(&path).await.expect(200).data();
        assert_eq!(summary["by_type"][0]["instance_of"], "mail", "{summary}");
    }
    let filters = spa.get("/filters/applications").await.expect(200).data();
    for field in ["types", "versions", "systems", "organizations"] {
        assert!(filters[field].is_array(), "{field}: {filters}");
    }
    spa.delete(&path).await.expect(200);
    spa.delete(&format!("/systems/{}/destroy", cluster.id)).await.expect(200);
}

/// The page of alerts and its settings.
async fn alerts(spa: &Spa) {
    let query = "?include=descendants&page=1&page_size=100&sort_by=starts_at&sort_direction=desc\
        &status=active&status=suppressed&severity=critical&severity=warning&assigned_user_id=none";
    let list = spa.get(&format!("/alerts{query}")).await.expect(200).data();
    assert_eq!((&list["alerts"], &list["warnings"]), (&json!([]), &json!([])));
    assert!(list["pagination"].is_object());
    assert!(spa.get("/alerts/totals?include=descendants").await.expect(200).data()["active"].is_u64());
    assert!(spa.get("/filters/alerts").await.expect(200).data()["alerts"].is_array());
    let mut layer = spa.get("/alerts/config").await.expect(200).data();
    layer["email_recipients"] = json!([{"address": "noc@example.org", "severities": ["critical"], "language": "it", "format": "html"}]);
    // With the fields that are only read.
    spa.post("/alerts/config", layer.clone()).await.expect(200);
    let saved = spa.get("/alerts/config").await.expect(200).data();
    assert_eq!(saved["email_recipients"], layer["email_recipients"]);
    let yaml = spa.get("/alerts/config?format=yaml").await.expect(200);
    assert!(!yaml.body.is_empty());
    spa.delete("/alerts/config").await.expect(200);
}
