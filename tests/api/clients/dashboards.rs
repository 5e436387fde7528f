//! Counters and tiles (spec: acceptance#scenarios scenario 36).

use super::*;
use bailiwick_settings::{AccessControl, Application, Client};
use bailiwick_testkit::api_test;

const COUNTERS: [(&str, &str); 6] = [
    ("distributors", "read:distributors"),
    ("resellers", "read:resellers"),
    ("customers", "read:customers"),
    ("users", "read:users"),
    ("systems", "read:systems"),
    ("applications", "read:applications"),
];

// Proves spec: acceptance#scenarios 36.
api_test!(counters_follow_permissions_and_count_what_the_lists_show, |t| async move {
    let tree = t.tree().await;
    for org in [tree.customer, tree.other_customer, tree.reseller] {
        t.application(&t.system(org).await).await;
        t.user(org, &["reader"]).await;
    }
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for role in ["super", "admin", "backoffice", "support", "reader"] {
            let who = t.user(org, &[role]).await;
            let me = shown(&t, &who, "/api/me").await;
            let held =
                [&me["org_permissions"], &me["user_permissions"]].map(|l| l.as_array().unwrap().clone());
            for (entity, permission) in COUNTERS {
                let reply = t.get(&format!("/api/{entity}/totals")).bearer(&who.token).send().await;
                if !held.concat().contains(&json!(permission)) {
                    reply.expect_message(403, "insufficient permissions");
                    continue;
                }
                let total = reply.expect(200).data()["total"].clone();
                let list = shown(&t, &who, &format!("/api/{entity}")).await;
                assert_eq!(total, list["pagination"]["total_count"], "{entity} of {role} at {org}");
            }
        }
    }
});

fn tile(id: &str, name: &str, roles: &[&str]) -> Client {
    let control = AccessControl {
        organization_roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        ..AccessControl::default()
    };
    Client {
        id: id.to_owned(),
        secret_sha256: None,
        redirect_uris: vec![format!("https://{id}.example.org/cb")],
        post_logout_redirect_uris: vec![],
        first_party: false,
        application: Application {
            name: Some(name.to_owned()),
            login_url: Some(format!("https://{id}.example.org/")),
            access_control: Some(control),
            ..Application::default()
        },
    }
}

api_test!(
    // Proves spec: acceptance#scenarios 36.
    tiles_follow_visibility_and_keep_their_names,
    |s| s.provider.clients = vec![
        tile("wiki", "support.example.org", &["owner", "reseller"]),
        tile("shop", "Shop", &["customer"])
    ],
    |t| async move {
        let tree = t.tree().await;
        for (org, expected) in [
            (tree.owner, &["support.example.org"][..]),
            (tree.distributor, &[]),
            (tree.reseller, &["support.example.org"]),
            (tree.customer, &["Shop"]),
        ] {
            let who = t.user(org, &["reader"]).await;
            let tiles = shown(&t, &who, "/api/third-party-applications").await;
            let names: Vec<&Value> = tiles.as_array().unwrap().iter().map(|tile| &tile["name"]).collect();
            assert_eq!(names, expected, "{org}");
            for tile in tiles.as_array().unwrap() {
                assert!(tile["branding"].is_object() && tile["login_url"].is_string(), "{tile}");
                assert!(
                    tile["redirect_uris"].is_array() && tile["post_logout_redirect_uris"].is_array(),
                    "{tile}"
                );
            }
        }
    }
);
