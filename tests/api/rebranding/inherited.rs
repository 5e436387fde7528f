//! The brand that each organization shows (spec: rebranding#system-document, organizations#organization).

use super::*;

async fn flags(t: &Test, who: &Persona, path: &str) -> (Value, Option<String>) {
    let data = t.get(&format!("/api{path}")).bearer(&who.token).send().await.expect(200).data();
    (data["rebranding_enabled"].clone(), data["rebranding_org_id"].as_str().map(str::to_owned))
}

/// The same of the first row of a list, by its key.
async fn listed(t: &Test, who: &Persona, list: &str, id: &str) -> (Value, Option<String>) {
    let data =
        t.get(&format!("/api/{list}?page_size=100")).bearer(&who.token).send().await.expect(200).data();
    let rows = data[list].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == id).unwrap();
    (row["rebranding_enabled"].clone(), row["rebranding_org_id"].as_str().map(str::to_owned))
}

// Proves spec: acceptance#scenarios 36.
api_test!(the_nearest_organization_gives_everything, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let system = t.system(tree.customer).await;
    let application = t.application(&system).await.to_string();
    let nothing = json!({"enabled": false, "system": [], "applications": []});
    let reply = of_system(&t, &system, "").await;
    assert_eq!(reply.expect_message(200, "rebranding retrieved successfully").data(), nothing);
    of_system(&t, &system, "/ns8/favicon").await.expect_message(404, "rebranding not enabled");
    of_system(&t, &system, "/ns8/nope").await.expect_message(400, "invalid asset name");

    let expect = async |whose: Option<OrgId>, family: &str, id: &str| {
        let expected = (json!(whose.is_some()), whose.map(|id| id.to_string()));
        assert_eq!(flags(&t, &owner, &format!("/{family}/{id}")).await, expected, "{family}");
        assert_eq!(listed(&t, &owner, family, id).await, expected, "list of {family}");
    };
    let everywhere = async |d: Option<OrgId>, r: Option<OrgId>, c: Option<OrgId>| {
        expect(d, "distributors", &tree.distributor.to_string()).await;
        expect(r, "resellers", &tree.reseller.to_string()).await;
        expect(c, "customers", &tree.customer.to_string()).await;
        expect(c, "systems", &system.id.to_string()).await;
        expect(c, "applications", &application).await;
        expect(None, "customers", &tree.other_customer.to_string()).await;
        let info =
            t.get("/api/systems/info").basic(&system.key, &system.secret).send().await.expect(200).data();
        assert_eq!(info["rebranding_enabled"], json!(c.is_some()));
    };
    everywhere(None, None, None).await;
    let (d, r, c) = (Some(tree.distributor), Some(tree.reseller), Some(tree.customer));
    enable(&t, &owner, tree.distributor).await;
    everywhere(d, d, d).await;
    enable(&t, &owner, tree.customer).await;
    everywhere(d, d, c).await;
    enable(&t, &owner, tree.reseller).await;
    everywhere(d, r, c).await;
    disable(&t, &owner, tree.customer).await;
    everywhere(d, r, r).await;
    // Brands are not mixed: the systems of a reseller lack everything that the reseller lacks, whatever the distributor
    // has.
    put(&t, &owner, tree.distributor, "ns8", &[("favicon", None, &png(1, 1))]).await.expect(200);
    let empty = json!({"enabled": true, "inherited_from": format!("reseller:{}", tree.reseller), "system": [], "applications": []});
    assert_eq!(of_system(&t, &system, "").await.expect(200).data(), empty);
    of_system(&t, &system, "/ns8/favicon").await.expect_message(404, "asset not found");
    disable(&t, &owner, tree.reseller).await;
    of_system(&t, &system, "/ns8/favicon").await.expect(200);
    disable(&t, &owner, tree.distributor).await;
    everywhere(None, None, None).await;
});

api_test!(a_system_gets_asset_paths_under_its_request_base, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let system = t.system(tree.reseller).await;
    enable(&t, &owner, tree.reseller).await;
    put(&t, &owner, tree.reseller, "nsec", &[("product_name", None, b"Wall")]).await.expect(200);
    put(&t, &owner, tree.reseller, "webtop", &[("favicon", None, &png(1, 1))]).await.expect(200);
    for (path, base) in [
        ("/systems/rebranding", ""),
        ("/api/systems/rebranding", "/api"),
        ("/collect/api/systems/rebranding/", "/collect/api"),
        ("/backend/api/systems/rebranding?x=y", "/backend/api"),
    ] {
        let reply = t.get(path).basic(&system.key, &system.secret).send().await;
        let data = reply.expect_message(200, "rebranding retrieved successfully").data();
        assert_eq!(
            data,
            json!({
                "enabled": true, "inherited_from": null,
                "system": [{"product_id": "nsec", "product_name": "Wall", "assets": {}}],
                "applications": [{"product_id": "webtop", "product_name": null,
                    "assets": {"favicon": format!("{base}/systems/rebranding/webtop/favicon")}}],
            })
        );
        let path = data["applications"][0]["assets"]["favicon"].as_str().unwrap();
        t.get(path).basic(&system.key, &system.secret).send().await.expect(200);
    }
    t.get("/api/systems/rebranding").send().await.expect_message(401, "authentication required");
    t.get("/api/systems/rebranding").bearer(&owner.token).send().await.expect(401);
});

api_test!(
    the_base_path_can_be_fixed,
    |settings| settings.rebranding.asset_base_path = Some("/collect/api".to_owned()),
    |t| async move {
        let tree = t.tree().await;
        let owner = t.owner().await;
        let system = t.system(tree.reseller).await;
        enable(&t, &owner, tree.distributor).await;
        put(&t, &owner, tree.distributor, "ns8", &[("favicon", None, &png(1, 1))]).await.expect(200);
        let data = of_system(&t, &system, "").await.expect(200).data();
        assert_eq!(data["system"][0]["assets"]["favicon"], "/collect/api/systems/rebranding/ns8/favicon");
        assert_eq!(data["inherited_from"], format!("distributor:{}", tree.distributor));
    }
);

api_test!(a_new_and_a_moved_system_show_the_brand_of_their_organization, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    enable(&t, &owner, tree.other_customer).await;
    let body = json!({"name": "New", "organization_id": tree.other_customer});
    let created = t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201).data();
    assert_eq!(created["rebranding_org_id"], json!(tree.other_customer));
    let system = t.system(tree.customer).await;
    let path = format!("/api/systems/{}", system.id);
    let moved = json!({"name": "Moved", "organization_id": tree.other_customer});
    let moved = t.put(&path).bearer(&owner.token).json(moved).send().await.expect(200).data();
    assert_eq!(
        (&moved["rebranding_enabled"], &moved["rebranding_org_id"]),
        (&json!(true), &json!(tree.other_customer))
    );
    // A promoted reseller keeps the brand, and the organizations below it go along.
    enable(&t, &owner, tree.reseller).await;
    let path = format!("/api/resellers/{}/promote", tree.reseller);
    t.patch(&path).bearer(&owner.token).send().await.expect(200);
    let expected = (json!(true), Some(tree.reseller.to_string()));
    assert_eq!(flags(&t, &owner, &format!("/distributors/{}", tree.reseller)).await, expected);
    assert_eq!(flags(&t, &owner, &format!("/customers/{}", tree.customer)).await, expected);
});
