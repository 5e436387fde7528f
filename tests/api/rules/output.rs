//! The fields that every answer about the same thing has alike (spec: guarantees#organizations rules 14, 24, 29, 32).

use bailiwick_domain::{OrgId, OrgType};
use bailiwick_testkit::{Persona, Test, api_test};
use serde_json::{Value, json};

const FAMILIES: [(&str, OrgType); 3] = [
    ("distributors", OrgType::Distributor),
    ("resellers", OrgType::Reseller),
    ("customers", OrgType::Customer),
];

async fn send(t: &Test, who: &Persona, method: &str, path: &str, body: Value) -> bailiwick_testkit::Reply {
    t.call(method.parse().unwrap(), &format!("/api{path}")).bearer(&who.token).json(body).send().await
}

// Proves spec: guarantees#organizations 32.
api_test!(a_creator_looks_the_same_in_every_answer, |t| async move {
    let tree = t.tree().await;
    let owner = t.user(tree.owner, &["super"]).await;
    let d = t.user(tree.distributor, &["admin"]).await;
    for (family, who, parent) in [
        ("distributors", &owner, None),
        ("resellers", &owner, Some(tree.distributor)),
        ("customers", &d, Some(tree.reseller)),
        ("customers", &d, None),
    ] {
        let one = family.trim_end_matches('s');
        let body = json!({"name": "N", "custom_data": {"vat": "C1", "createdByUser": {"name": "x"}},
            "created_by_organization_id": parent});
        let made = send(&t, who, "POST", &format!("/{family}"), body).await.expect(201).data();
        let path = format!("/{family}/{}", made["id"].as_str().unwrap());
        let creator = made["created_by"].clone();
        assert_eq!(creator["user_id"], json!(who.id));
        assert_eq!(creator["organization_id"], json!(parent.unwrap_or(who.org)));
        assert_eq!(creator.get("on_behalf_of"), parent.map(|_| json!(true)).as_ref());
        let listed =
            send(&t, &owner, "GET", &format!("/{family}?search=C1"), json!({})).await.expect(200).data();
        let read = send(&t, who, "GET", &path, json!({})).await.expect(200).data();
        let changed = send(&t, &owner, "PUT", &path, json!({"name": "M"})).await.expect(200).data();
        let suspended =
            send(&t, &owner, "PATCH", &format!("{path}/suspend"), json!({})).await.expect(200).data();
        let reactivated =
            send(&t, &owner, "PATCH", &format!("{path}/reactivate"), json!({})).await.expect(200).data();
        for answer in [&listed[family][0], &read, &changed, &suspended[one], &reactivated[one]] {
            assert_eq!(answer["created_by"], creator, "{answer}");
            let data = answer["custom_data"].as_object().unwrap();
            assert!(!data.contains_key("createdByUser") && !data.contains_key("promotedFrom"));
        }
        send(&t, &t.owner().await, "DELETE", &format!("{path}/destroy"), json!({})).await.expect(200);
    }
});

// Proves spec: guarantees#organizations 14.
api_test!(wrong_states_are_one_400_in_every_family, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for ((family, org_type), id) in FAMILIES.into_iter().zip([tree.distributor, tree.reseller, tree.customer])
    {
        let one = org_type.as_str();
        let act =
            async |verb: &str| send(&t, &owner, "PATCH", &format!("/{family}/{id}/{verb}"), json!({})).await;
        let wrong = async |verb: &str, text: &str| {
            let reply = act(verb).await.expect_message(400, &format!("{one} {text}"));
            assert_eq!(reply.data(), json!({"type": "validation_error", "errors": []}));
        };
        wrong("reactivate", "is not suspended").await;
        wrong("restore", "is not deleted").await;
        act("suspend").await.expect(200);
        wrong("suspend", "is already suspended").await;
        wrong("restore", "is not deleted").await;
        act("reactivate").await.expect(200);
    }
});

// Proves spec: guarantees#organizations 24.
api_test!(equal_names_share_nothing_and_nothing_comes_back_by_itself, |t| async move {
    let owner = t.owner().await;
    let root = owner.org;
    let twins = [
        t.organization(root, OrgType::Distributor, "Twin").await,
        t.organization(root, OrgType::Distributor, "Twin").await,
    ];
    let [a, b] = [t.user(twins[0], &["super"]).await, t.user(twins[1], &["super"]).await];
    t.system(twins[0]).await;
    t.organization(twins[0], OrgType::Reseller, "Twin").await;
    let counts = async |who: &Persona, id: OrgId| {
        let stats =
            send(&t, who, "GET", &format!("/distributors/{id}/stats"), json!({})).await.expect(200).data();
        (stats["systems_count"].clone(), stats["resellers_count"].clone(), stats["users_count"].clone())
    };
    assert_eq!(counts(&a, twins[0]).await, (json!(1), json!(1), json!(1)));
    assert_eq!(counts(&b, twins[1]).await, (json!(0), json!(0), json!(1)));
    for what in ["systems", "resellers"] {
        let data = send(&t, &b, "GET", &format!("/{what}"), json!({})).await.expect(200).data();
        assert_eq!(data["pagination"]["total_count"], 0, "{what}");
    }
    let filters = send(&t, &b, "GET", "/filters/users", json!({})).await.expect(200).data();
    assert_eq!(filters["organizations"][0]["id"], json!(twins[1]));
    let path = format!("/distributors/{}", twins[0]);
    send(&t, &owner, "DELETE", &path, json!({})).await.expect(200);
    t.get("/api/me").bearer(&b.token).send().await.expect(200);
    t.get("/api/me").bearer(&a.token).send().await.expect(401);
    // Time passes, another process starts, a third of the name is created: the deleted one stays as it is.
    t.advance(std::time::Duration::from_secs(3600));
    let second = t.replica().await;
    bailiwick_app::operator::ensure_owner(&second.app).await.unwrap();
    let owner = t.session(owner.id).await;
    let body = json!({"name": "Twin", "custom_data": {"vat": "twin 3"}});
    let third = send(&t, &owner, "POST", "/distributors", body).await.expect(201).data();
    assert!(twins.iter().all(|id| json!(id) != third["id"]));
    let listed = async |status: &str| {
        let path = format!("/distributors?search=Twin&status={status}");
        send(&t, &owner, "GET", &path, json!({})).await.expect(200).data()["pagination"]["total_count"]
            .clone()
    };
    assert_eq!((listed("enabled").await, listed("deleted").await), (json!(2), json!(1)));
    send(&t, &owner, "GET", &path, json!({})).await.expect_message(404, "distributor not found");
});
