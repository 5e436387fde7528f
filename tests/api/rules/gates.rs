//! Gates that need real objects to be believed (spec: authorization#guarantees rules 8, 10, 11, 39).

use bailiwick_domain::OrgType;
use bailiwick_testkit::{Persona, Reply, Test, api_test};
use serde_json::{Value, json};
use std::path::Path;

const UNKNOWN: &str = "0195fada-0000-7000-8000-00000000dead";
const REFUSED: &str = "insufficient permissions";

async fn send(t: &Test, who: &Persona, method: &str, path: &str, body: Value) -> Reply {
    t.call(method.parse().unwrap(), &format!("/api{path}")).bearer(&who.token).json(body).send().await
}

// Proves spec: authorization#guarantees 8.
api_test!(rebranding_is_written_by_owners_only, |t| async move {
    let tree = t.tree().await;
    let reader = t.user(tree.owner, &["reader"]).await;
    let support_reader = t.user(tree.owner, &["super", "reader"]).await;
    let below = t.user(tree.distributor, &["super"]).await;
    for (method, rest, verb) in [
        ("PATCH", "enable", "enable"),
        ("PATCH", "disable", "disable"),
        ("PUT", "products/ns8", "update"),
        ("DELETE", "products/ns8", "delete"),
        ("DELETE", "products/ns8/favicon", "delete"),
    ] {
        let text = format!("only owner organization can {verb} rebranding");
        for who in [&reader, &support_reader, &below] {
            let mut bodies = Vec::new();
            for id in
                [tree.distributor.to_string(), tree.other_customer.to_string(), UNKNOWN.into(), "x".into()]
            {
                let reply = send(&t, who, method, &format!("/rebranding/{id}/{rest}"), json!({})).await;
                bodies.push(reply.expect_message(403, &text).body);
            }
            assert!(bodies.windows(2).all(|w| w[0] == w[1]), "{method} {rest}");
        }
        let owner = t.owner().await;
        let reply =
            send(&t, &owner, method, &format!("/rebranding/{}/{rest}", tree.distributor), json!({})).await;
        // An owner may; that rebranding is off at this point is another matter.
        assert_ne!(reply.message(), text, "{method} {rest}");
    }
});

// Proves spec: authorization#guarantees 10.
api_test!(a_read_only_role_takes_every_change_of_organizations_away, |t| async move {
    let tree = t.tree().await;
    for (org, family, id) in [
        (tree.owner, "distributors", tree.distributor),
        (tree.distributor, "resellers", tree.reseller),
        (tree.reseller, "customers", tree.customer),
    ] {
        let both = t.user(org, &["super", "admin", "reader"]).await;
        let path = format!("/{family}/{id}");
        let sent = json!({"name": "Taken over", "custom_data": {"vat": "1"}});
        for (method, path) in [
            ("POST", format!("/{family}")),
            ("PUT", path.clone()),
            ("DELETE", path.clone()),
            ("PATCH", format!("{path}/suspend")),
            ("PATCH", format!("{path}/reactivate")),
            ("PATCH", format!("{path}/restore")),
            ("DELETE", format!("{path}/destroy")),
        ] {
            let reply = send(&t, &both, method, &path, sent.clone()).await;
            assert_eq!(reply.expect_message(403, REFUSED).data(), Value::Null, "{method} {path}");
        }
        let read = t.get(&format!("/api{path}")).bearer(&both.token).send().await.expect(200).data();
        assert_ne!(read["name"], "Taken over");
        // The permissions on users that come from the user's other roles stay.
        let me = t.get("/api/me").bearer(&both.token).send().await.expect(200).data();
        assert!(me["user_permissions"].as_array().unwrap().contains(&json!("manage:users")));
        let org_permissions = me["org_permissions"].as_array().unwrap();
        assert!(
            org_permissions.iter().all(|p| p.as_str().unwrap().starts_with("read:")),
            "{org_permissions:?}"
        );
    }
});

// Proves spec: authorization#guarantees 11.
api_test!(destroying_organizations_takes_both_halves, |t| async move {
    let tree = t.tree().await;
    let targets =
        [("customers", tree.customer), ("resellers", tree.reseller), ("distributors", tree.distributor)];
    let destroy = async |who: &Persona, family: &str, id| {
        t.delete(&format!("/api/{family}/{id}/destroy")).bearer(&who.token).send().await
    };
    // The organization's half without a role that keeps it, also for an organization that is deleted already.
    let gone = t.organization(tree.reseller, OrgType::Customer, "Gone").await;
    t.delete_organization(gone).await;
    for role in ["admin", "backoffice", "support", "reader"] {
        let who = t.user(tree.owner, &[role]).await;
        for (family, id) in targets.into_iter().chain([("customers", gone)]) {
            let reply = destroy(&who, family, id).await;
            assert_eq!(reply.expect_message(403, REFUSED).data(), Value::Null, "{role} {family}");
        }
    }
    // The role without the organization's half.
    for (org, below) in [(tree.distributor, &targets[..2]), (tree.reseller, &targets[..1])] {
        let who = t.user(org, &["super"]).await;
        for (family, id) in below {
            destroy(&who, family, *id).await.expect_message(403, REFUSED);
        }
    }
    let owner = t.owner().await;
    for (family, id) in targets {
        t.get(&format!("/api/{family}/{id}")).bearer(&owner.token).send().await.expect(200);
        destroy(&owner, family, id).await.expect(200);
    }
});

/// Places in the sources, tests left out, where this text is written.
fn written(text: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let mut files = Vec::new();
    super::sources(&root, &mut files);
    let quoted = format!("\"{text}\"");
    let is_product = |path: &Path| {
        let path = path.strip_prefix(&root).unwrap().display().to_string();
        path.contains("/src/") && !path.contains("test")
    };
    files
        .iter()
        .filter(|path| is_product(path))
        .flat_map(|path| {
            let source = std::fs::read_to_string(path).unwrap();
            let source = source.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            vec![name; source.matches(&quoted).count()]
        })
        .collect()
}

// Proves spec: authorization#guarantees 39.
#[test]
fn the_two_texts_clients_distinguish_are_written_once() {
    assert_eq!(written(REFUSED), ["error.rs"]);
    assert_eq!(written("api not found"), ["error.rs"]);
}
