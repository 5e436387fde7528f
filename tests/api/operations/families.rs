//! The three organization families.

use super::*;

/// A family with an organization that one of it can hang below; none for distributors.
struct Family {
    many: &'static str,
    org_type: OrgType,
    parent: Option<(&'static str, String)>,
}

fn body(vat: &str) -> Value {
    json!({"name": "Gamma Srl", "description": "Turin", "custom_data": {"vat": vat, "city": "Torino"}})
}

/// POST, GET, PUT.
async fn create_and_change(s: &mut Transcript<'_>, f: &Family, owner: &Persona, reader: &Persona) -> String {
    let many = format!("/{}", f.many);
    let mut new = body("IT 1");
    if let Some((_, parent)) = &f.parent {
        new["created_by_organization_id"] = json!(parent);
    }
    let made = id(&s.call(owner, "POST", &many, new).await);
    s.call(reader, "POST", &many, body("IT2")).await;
    s.call(owner, "POST", &many, json!({})).await;
    s.call(owner, "POST", &many, json!({"name": 1})).await;
    s.call(
        owner,
        "POST",
        &many,
        json!({"name": "n\0", "description": "x\0", "custom_data": {"vat": " ", "type": "Owner"}}),
    )
    .await;
    s.call(owner, "POST", &many, json!({"name": "é".repeat(256), "custom_data": {"vat": 7}})).await;
    s.call(owner, "POST", &many, body("it1")).await;
    let mut named = body("IT3");
    named["created_by_organization_id"] = json!(UNKNOWN);
    s.call(owner, "POST", &many, named.clone()).await;
    named["created_by_organization_id"] = json!(made);
    s.call(owner, "POST", &many, named).await;
    let one = format!("{many}/{made}");
    s.ask(owner, "GET", &one).await;
    s.ask(owner, "GET", &format!("{many}/{UNKNOWN}")).await;
    s.ask(owner, "GET", &format!("{many}/none")).await;
    s.test.advance(std::time::Duration::from_secs(60));
    s.call(owner, "PUT", &one, json!({"name": "Gamma Nuova", "custom_data": {"city": "Asti"}})).await;
    s.call(owner, "PUT", &one, json!({"name": "", "custom_data": {"vat": null, "type": "owner"}})).await;
    s.call(owner, "PUT", &format!("{many}/{UNKNOWN}"), json!({})).await;
    s.call(reader, "PUT", &one, json!({})).await;
    s.ask(owner, "GET", &format!("{many}?sort_by=name&page_size=1&page=1&search=gamma")).await;
    s.ask(owner, "GET", &format!("{many}?search=nothing")).await;
    s.ask(owner, "GET", &format!("{many}?status=nothing")).await;
    s.ask(owner, "GET", &format!("{many}/totals")).await;
    s.ask(reader, "GET", &format!("{many}/totals")).await;
    s.ask(owner, "GET", &format!("{one}/stats")).await;
    s.ask(owner, "GET", &format!("{many}/{UNKNOWN}/stats")).await;
    made
}

/// Suspend, reactivate, delete, restore, from within and from above.
async fn move_about(s: &mut Transcript<'_>, f: &Family, owner: &Persona, one: &str) {
    for verb in ["reactivate", "suspend", "suspend", "restore", "reactivate"] {
        s.ask(owner, "PATCH", &format!("{one}/{verb}")).await;
    }
    s.ask(owner, "DELETE", one).await;
    s.ask(owner, "DELETE", one).await;
    s.ask(owner, "PATCH", &format!("{one}/suspend")).await;
    s.ask(owner, "PATCH", &format!("{one}/reactivate")).await;
    s.ask(owner, "GET", &format!("/{}?status=deleted", f.many)).await;
    // Customers may share a number.
    let second = id(&s.call(owner, "POST", &format!("/{}", f.many), body("IT1")).await);
    s.ask(owner, "PATCH", &format!("{one}/restore")).await;
    s.ask(owner, "DELETE", &format!("/{}/{second}/destroy", f.many)).await;
    s.ask(owner, "PATCH", &format!("{one}/restore")).await;
    s.ask(owner, "PATCH", &format!("/{}/{UNKNOWN}/restore", f.many)).await;
    let Some((family, parent)) = &f.parent else { return };
    let parent = format!("/{family}/{parent}");
    s.ask(owner, "PATCH", &format!("{parent}/suspend")).await;
    s.ask(owner, "PATCH", &format!("{one}/suspend")).await;
    s.ask(owner, "PATCH", &format!("{one}/reactivate")).await;
    s.ask(owner, "GET", one).await;
    s.ask(owner, "PATCH", &format!("{parent}/reactivate")).await;
    s.ask(owner, "DELETE", &parent).await;
    s.ask(owner, "PATCH", &format!("{one}/restore")).await;
    s.ask(owner, "GET", one).await;
    s.ask(owner, "PATCH", &format!("{parent}/restore")).await;
}

async fn destroy(s: &mut Transcript<'_>, owner: &Persona, admin: &Persona, one: &str) {
    let path = format!("{one}/destroy");
    s.ask(admin, "DELETE", &path).await;
    s.ask(owner, "DELETE", &path).await;
    s.ask(owner, "DELETE", &path).await;
}

async fn whole(t: &Test, f: Family) -> String {
    let owner = t.owner().await;
    let (reader, admin) = {
        let customer = t.organization(owner.org, OrgType::Customer, "Elsewhere").await;
        (t.user(customer, &["support"]).await, t.user(owner.org, &["admin"]).await)
    };
    let mut s = Transcript::new(t);
    let made = create_and_change(&mut s, &f, &owner, &reader).await;
    let one = format!("/{}/{made}", f.many);
    // A user and a system inside, and an organization below where there can be one, so that the counters count.
    t.user(made.parse().unwrap(), &["reader"]).await;
    t.system(made.parse().unwrap()).await;
    let below = match f.org_type {
        OrgType::Distributor => Some(OrgType::Reseller),
        OrgType::Reseller => Some(OrgType::Customer),
        _ => None,
    };
    if let Some(below) = below {
        let below = t.organization(made.parse().unwrap(), below, "Below").await;
        t.user(below, &["reader"]).await;
    }
    move_about(&mut s, &f, &owner, &one).await;
    destroy(&mut s, &owner, &admin, &one).await;
    s.text
}

async fn parent(t: &Test, path: &str, vat: &str) -> String {
    let owner = t.owner().await;
    let body = json!({"name": "Parent", "custom_data": {"vat": vat}});
    id(&t.post(path).bearer(&owner.token).json(body).send().await.expect(201).data())
}

api_test!(distributors, |t| async move {
    let family = Family { many: "distributors", org_type: OrgType::Distributor, parent: None };
    insta::assert_snapshot!("distributors", whole(&t, family).await);
});

api_test!(resellers, |t| async move {
    let parent = Some(("distributors", parent(&t, "/api/distributors", "P1").await));
    let family = Family { many: "resellers", org_type: OrgType::Reseller, parent };
    insta::assert_snapshot!("resellers", whole(&t, family).await);
});

api_test!(customers, |t| async move {
    let parent = Some(("resellers", parent(&t, "/api/resellers", "P1").await));
    let family = Family { many: "customers", org_type: OrgType::Customer, parent };
    insta::assert_snapshot!("customers", whole(&t, family).await);
});
