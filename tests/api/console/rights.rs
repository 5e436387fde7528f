//! What a person may not do is not there, and a forged request gets the refusal of the interface.

use super::Browser;
use bailiwick_domain::SystemId;
use bailiwick_testkit::{Persona, Test, api_test};

/// Words of actions that a page of a system offers.
async fn offered(t: &Test, persona: &Persona, id: SystemId) -> Vec<&'static str> {
    let page = Browser::of(t, persona).await.get(&format!("/console/systems/{id}")).await.expect(200).text();
    let words = ["edit", "suspend", "reactivate", "delete", "destroy"];
    words.into_iter().filter(|word| page.contains(&format!("/console/systems/{id}/{word}\""))).collect()
}

api_test!(actions_are_those_of_the_person, |t| async move {
    let tree = t.tree().await;
    let system = t.system(tree.customer).await;
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for (role, all) in [
            ("super", &["edit", "suspend", "delete", "destroy"][..]),
            ("admin", &["edit", "suspend", "delete"]),
            ("backoffice", &[]),
            ("support", &["edit", "suspend", "delete"]),
            ("reader", &[]),
        ] {
            let user = t.user(org, &[role]).await;
            let reads = t.get(&format!("/api/systems/{}", system.id)).bearer(&user.token).send().await;
            let browser = Browser::of(&t, &user).await;
            let home = browser.get("/console/").await.expect(200).text();
            let list = browser.get("/console/systems").await;
            if reads.status != 200 {
                // The same refusal as at the interface, and no way there.
                assert!(!home.contains("href=\"/console/systems\""), "{role}");
                assert_eq!(
                    list.status,
                    t.get("/api/systems").bearer(&user.token).send().await.status,
                    "{role}"
                );
                continue;
            }
            assert!(home.contains("href=\"/console/systems\""));
            let may_create = list.expect(200).text().contains("/console/systems/new");
            assert_eq!(may_create, !all.is_empty(), "{role}");
            assert_eq!(offered(&t, &user, system.id).await, all, "{role} of {org}");
            for word in ["suspend", "delete", "destroy"] {
                if all.contains(&word) {
                    continue;
                }
                let form = [("name", "System")];
                browser.post(&format!("/console/systems/{}/{word}", system.id), &form).await.expect(403);
                browser.get(&format!("/console/systems/{}/{word}", system.id)).await.expect(403);
            }
        }
    }
});

api_test!(what_is_foreign_and_what_never_was_are_the_same_page, |t| async move {
    let tree = t.tree().await;
    let foreign = t.system(tree.other_customer).await;
    for org in [tree.distributor, tree.reseller, tree.customer] {
        let user = t.user(org, &["super"]).await;
        let browser = Browser::of(&t, &user).await;
        let missing: SystemId = t.app.platform.fresh();
        let ids = [foreign.id.to_string(), missing.to_string(), "nonsense".to_owned()];
        let tails = [
            "",
            "/changes",
            "/documents/1",
            "/applications",
            "/alerts",
            "/backups",
            "/backups/x",
            "/backups/x/delete",
            "/access",
            "/edit",
            "/suspend",
            "/destroy",
        ];
        for tail in tails {
            let mut pages = Vec::new();
            for id in &ids {
                let reply = browser.get(&format!("/console/systems/{id}{tail}")).await.expect(404);
                pages.push((reply.body, reply.headers.len()));
            }
            assert!(pages.windows(2).all(|pair| pair[0] == pair[1]), "{tail}");
        }
        for tail in [
            "/edit",
            "/suspend",
            "/reactivate",
            "/delete",
            "/restore",
            "/destroy",
            "/backups/x/delete",
            "/secret",
            "/reachability",
        ] {
            let mut pages = Vec::new();
            for id in &ids {
                let form = [("name", "x"), ("force", "true")];
                let reply = browser.post(&format!("/console/systems/{id}{tail}"), &form).await.expect(404);
                pages.push(reply.body);
            }
            assert!(pages.windows(2).all(|pair| pair[0] == pair[1]), "{tail}");
        }
        let list = browser.get("/console/systems?page_size=100").await.expect(200).text();
        let home = browser.get("/console/").await.expect(200).text();
        for page in [&list, &home] {
            assert!(!page.contains("Beta") && !page.contains(&ids[0]), "another branch");
        }
        let named = format!("/console/systems?organization_id={}", tree.other_customer);
        assert!(!browser.get(&named).await.expect(200).text().contains("Beta"));
        let form = [("name", "Mine"), ("organization_id", &*tree.other_customer.to_string())];
        browser.post("/console/systems/new", &form).await.expect(403);
    }
});
