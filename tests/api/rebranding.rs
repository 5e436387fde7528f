//! Rebranding (spec: rebranding).

use bailiwick_domain::OrgId;
use bailiwick_testkit::{Call, Persona, Reply, Test, api_test, seed::Seeded};
use serde_json::{Value, json};

mod files;
mod hostile;
mod inherited;
mod limits;

const SVG: &str =
    r#"<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"><rect width="4" height="4"/></svg>"#;
const UPLOADED: &str = "rebranding assets uploaded successfully";

/// A PNG of these dimensions.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut out = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(width, height).write_to(&mut out, image::ImageFormat::Png).unwrap();
    out.into_inner()
}

/// A part of a form: name, declared type, content. A type makes it a file.
type Field<'a> = (&'a str, Option<&'a str>, &'a [u8]);

fn body(fields: &[Field<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, content_type, bytes) in fields {
        out.extend_from_slice(
            format!("--frontier\r\nContent-Disposition: form-data; name=\"{name}\"").as_bytes(),
        );
        if let Some(content_type) = content_type {
            out.extend_from_slice(format!("; filename=\"f\"\r\nContent-Type: {content_type}").as_bytes());
        }
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(bytes);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"--frontier--\r\n");
    out
}

fn form(call: Call, fields: &[Field<'_>]) -> Call {
    call.header("content-type", "multipart/form-data; boundary=frontier").body(body(fields))
}

fn call(t: &Test, who: &Persona, method: &str, path: &str) -> Call {
    t.call(method.parse().unwrap(), &format!("/api/rebranding/{path}")).bearer(&who.token)
}

async fn put(t: &Test, who: &Persona, org: OrgId, product: &str, fields: &[Field<'_>]) -> Reply {
    form(call(t, who, "PUT", &format!("{org}/products/{product}")), fields).send().await
}

async fn enable(t: &Test, who: &Persona, org: OrgId) {
    let reply = call(t, who, "PATCH", &format!("{org}/enable")).send().await;
    assert_eq!(reply.expect_message(200, "rebranding enabled successfully").data(), Value::Null);
}

async fn disable(t: &Test, who: &Persona, org: OrgId) {
    let reply = call(t, who, "PATCH", &format!("{org}/disable")).send().await;
    assert_eq!(reply.expect_message(200, "rebranding disabled successfully").data(), Value::Null);
}

/// The status of one product.
async fn product(t: &Test, who: &Persona, org: OrgId, id: &str) -> Value {
    let reply = call(t, who, "GET", &format!("{org}/status")).send().await;
    let data = reply.expect_message(200, "rebranding status retrieved successfully").data();
    let products = data["products"].as_array().unwrap();
    products.iter().find(|p| p["product_id"] == id).unwrap().clone()
}

async fn of_system(t: &Test, s: &Seeded, path: &str) -> Reply {
    t.get(&format!("/api/systems/rebranding{path}")).basic(&s.key, &s.secret).send().await
}

api_test!(products_are_listed_for_everybody, |t| async move {
    let tree = t.tree().await;
    for org in [tree.owner, tree.distributor, tree.customer] {
        let reader = t.user(org, &["reader"]).await;
        let reply = call(&t, &reader, "GET", "products").send().await;
        let data = reply.expect_message(200, "rebrandable products retrieved successfully").data();
        let all: Vec<_> = data["products"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| {
                (p["id"].as_str().unwrap(), p["display_name"].as_str().unwrap(), p["type"].as_str().unwrap())
            })
            .collect();
        assert_eq!(
            all,
            [
                ("webtop", "NethService", "application"),
                ("nethvoice", "NethVoice", "application"),
                ("nsec", "NethSecurity", "system"),
                ("ns8", "NS8", "system"),
            ]
        );
        assert!(data["products"][0]["created_at"].as_str().unwrap().ends_with('Z'));
    }
});

api_test!(a_product_keeps_its_time_when_its_name_changes, |t| async move {
    if !t.app.platform.db.is_postgres() {
        return;
    }
    let owner = t.owner().await;
    let first = call(&t, &owner, "GET", "products").send().await.expect(200).data();
    t.advance(std::time::Duration::from_secs(3600));
    let other = t
        .replica_with(|settings| {
            settings.rebranding.products.retain(|p| p.id != "webtop");
            settings.rebranding.products[0].display_name = "Voice".to_owned();
        })
        .await;
    let owner = t.owner().await;
    let second = call(&other, &owner, "GET", "products").send().await.expect(200).data();
    assert_eq!(second["products"].as_array().unwrap().len(), 3);
    assert_eq!(second["products"][0]["display_name"], "Voice");
    assert_eq!(second["products"][0]["created_at"], first["products"][1]["created_at"]);
});

// Proves spec: acceptance#scenarios 36.
api_test!(rebranding_is_turned_on_filled_and_turned_off, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let early = put(&t, &owner, tree.distributor, "ns8", &[("product_name", None, b"Cloud")]).await;
    early.expect_message(403, "rebranding is not enabled for this organization");
    enable(&t, &owner, tree.distributor).await;
    enable(&t, &owner, tree.distributor).await;
    let empty = product(&t, &owner, tree.distributor, "ns8").await;
    assert_eq!(
        empty,
        json!({"product_id": "ns8", "product_display_name": "NS8", "product_type": "system", "product_name": null, "assets": []})
    );
    let files: &[Field<'_>] = &[
        ("favicon", Some("image/png"), &png(16, 16)),
        ("logo_light_rect", Some("image/svg+xml; charset=utf-8"), SVG.as_bytes()),
        ("product_name", None, "Wölke".as_bytes()),
    ];
    let reply = put(&t, &owner, tree.distributor, "ns8", files).await.expect_message(200, UPLOADED);
    assert_eq!(reply.data(), Value::Null);
    // Fields that are not sent stay.
    let more: &[Field<'_>] = &[("background_image", None, &png(9, 9))];
    put(&t, &owner, tree.distributor, "ns8", more).await.expect_message(200, UPLOADED);
    let stored = product(&t, &owner, tree.distributor, "ns8").await;
    assert_eq!(stored["product_name"], "Wölke");
    assert_eq!(stored["assets"], json!(["logo_light_rect", "favicon", "background_image"]));
    let reply = call(&t, &owner, "GET", &format!("{}/products", tree.distributor)).send().await;
    let all = reply.expect_message(200, "rebranding products retrieved successfully").data();
    assert_eq!((&all["enabled"], all["products"].as_array().unwrap().len()), (&json!(true), 4));

    disable(&t, &owner, tree.distributor).await;
    disable(&t, &owner, tree.distributor).await;
    let late = put(&t, &owner, tree.distributor, "ns8", more).await;
    late.expect_message(403, "rebranding is not enabled for this organization");
    assert_eq!(product(&t, &owner, tree.distributor, "ns8").await, stored);
    enable(&t, &owner, tree.distributor).await;
    assert_eq!(product(&t, &owner, tree.distributor, "ns8").await, stored);
});

api_test!(missing_objects_are_reported_in_order, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let reply = call(&t, &owner, "PATCH", &format!("{}/enable", tree.owner)).send().await;
    reply.expect_message(400, "cannot enable rebranding for owner organization");
    disable(&t, &owner, tree.owner).await;
    enable(&t, &owner, tree.reseller).await;
    let gone = t.organization(tree.distributor, bailiwick_domain::OrgType::Customer, "Gone").await;
    t.delete_organization(gone).await;
    for id in [
        gone.to_string(),
        "0195fada-0000-7000-8000-00000000dead".to_owned(),
        "x".to_owned(),
        "%F0".to_owned(),
    ] {
        for (method, rest) in [
            ("PATCH", "enable"),
            ("PATCH", "disable"),
            ("GET", "status"),
            ("GET", "products"),
            ("PUT", "products/nope"),
            ("DELETE", "products/nope"),
            ("GET", "products/nope/nope"),
            ("DELETE", "products/nope/nope"),
        ] {
            let reply = call(&t, &owner, method, &format!("{id}/{rest}")).send().await;
            reply.expect_message(404, "organization not found");
        }
    }
    let missing =
        call(&t, &owner, "PUT", &format!("{}/products/nope", tree.distributor)).body("no form").send().await;
    missing.expect_message(404, "rebranding product not found");
    let off =
        call(&t, &owner, "PUT", &format!("{}/products/ns8", tree.distributor)).body("no form").send().await;
    off.expect_message(403, "rebranding is not enabled for this organization");
});

// Proves spec: alert-guarantees#guarantees 31.
api_test!(readers_and_customers_neither_upload_nor_delete, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for org in [tree.distributor, tree.customer] {
        enable(&t, &owner, org).await;
        let files: &[Field<'_>] = &[("favicon", None, &png(1, 1))];
        put(&t, &owner, org, "ns8", files).await.expect_message(200, UPLOADED);
    }
    let refused = [
        (tree.owner, "reader"),
        (tree.owner, "admin"),
        (tree.distributor, "super"),
        (tree.distributor, "reader"),
        (tree.customer, "super"),
    ];
    for (org, role) in refused.into_iter().skip(2).chain([refused[0]]) {
        let who = t.user(org, &[role]).await;
        for target in [tree.distributor, tree.customer] {
            let files: &[Field<'_>] = &[("favicon", None, &png(2, 2))];
            put(&t, &who, target, "ns8", files)
                .await
                .expect_message(403, "only owner organization can update rebranding");
            for path in ["products/ns8", "products/ns8/favicon"] {
                let reply = call(&t, &who, "DELETE", &format!("{target}/{path}")).send().await;
                reply.expect_message(403, "only owner organization can delete rebranding");
            }
        }
    }
    let (_, read) = t.api_key(owner.id, bailiwick_policy::KeyMode::Read).await;
    let path = format!("/api/rebranding/{}/products/ns8", tree.customer);
    t.delete(&path).bearer(&read).send().await.expect_message(403, "insufficient permissions");
    for org in [tree.distributor, tree.customer] {
        assert_eq!(product(&t, &owner, org, "ns8").await["assets"], json!(["favicon"]));
    }
    let nowhere = call(&t, &owner, "PUT", &format!("{}/products/nope", tree.customer)).send().await;
    nowhere.expect_message(404, "rebranding product not found");
});

api_test!(
    organizations_may_be_let_care_for_their_assets,
    |settings| settings.rebranding.organizations_manage_assets = true,
    |t| async move {
        let tree = t.tree().await;
        let owner = t.owner().await;
        for org in [tree.distributor, tree.customer, tree.other_customer] {
            enable(&t, &owner, org).await;
        }
        let name: &[Field<'_>] = &[("product_name", None, b"Own")];
        for (org, role, own, status) in [
            (tree.distributor, "super", tree.distributor, 200),
            (tree.distributor, "support", tree.customer, 200),
            (tree.customer, "super", tree.customer, 200),
            (tree.customer, "reader", tree.customer, 403),
            (tree.customer, "super", tree.distributor, 404),
            (tree.distributor, "super", tree.other_customer, 404),
        ] {
            let who = t.user(org, &[role]).await;
            let reply = put(&t, &who, own, "ns8", name).await;
            assert_eq!(reply.status, status, "{role} {}", reply.text());
            if status == 404 {
                let unknown = call(&t, &who, "PUT", "x/products/ns8").send().await;
                assert_eq!(reply.body, unknown.body);
            }
            let switched = call(&t, &who, "PATCH", &format!("{own}/enable")).send().await;
            switched.expect_message(403, "only owner organization can enable rebranding");
            let deleted = call(&t, &who, "DELETE", &format!("{own}/products/ns8")).send().await;
            assert_eq!(deleted.status, status, "{}", deleted.text());
        }
    }
);

// Proves spec: alert-guarantees#guarantees 34, authorization#guarantees 36.
api_test!(deleting_reports_whether_something_was_there, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    enable(&t, &owner, tree.reseller).await;
    let delete = async |path: &str| {
        call(&t, &owner, "DELETE", &format!("{}/products/{path}", tree.reseller)).send().await
    };
    for path in ["ns8", "nope", "%00"] {
        delete(path).await.expect_message(404, "rebranding product not found");
    }
    for path in ["ns8/favicon", "nope/favicon", "%00/favicon"] {
        delete(path).await.expect_message(404, "asset not found");
    }
    for path in ["ns8/nope", "nope/FAVICON", "ns8/%00"] {
        delete(path).await.expect_message(400, "invalid asset name");
    }
    let both: &[Field<'_>] = &[("favicon", None, &png(1, 1)), ("product_name", None, b"N")];
    put(&t, &owner, tree.reseller, "ns8", both).await.expect_message(200, UPLOADED);
    delete("ns8/favicon").await.expect_message(200, "rebranding asset deleted successfully");
    delete("ns8/favicon").await.expect_message(404, "asset not found");
    assert_eq!(product(&t, &owner, tree.reseller, "ns8").await["product_name"], "N");
    delete("ns8").await.expect_message(200, "rebranding product deleted successfully");
    delete("ns8").await.expect_message(404, "rebranding product not found");
    // Deleting does not ask whether rebranding is on.
    put(&t, &owner, tree.reseller, "ns8", both).await.expect_message(200, UPLOADED);
    disable(&t, &owner, tree.reseller).await;
    delete("ns8").await.expect_message(200, "rebranding product deleted successfully");
    assert_eq!(product(&t, &owner, tree.reseller, "ns8").await["product_name"], Value::Null);
});

api_test!(every_change_is_in_the_audit_without_the_files, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    enable(&t, &owner, tree.reseller).await;
    let both: &[Field<'_>] = &[("favicon", None, &png(1, 1)), ("product_name", None, b"N")];
    put(&t, &owner, tree.reseller, "ns8", both).await.expect_message(200, UPLOADED);
    for path in ["products/ns8/favicon", "products/ns8"] {
        call(&t, &owner, "DELETE", &format!("{}/{path}", tree.reseller)).send().await.expect(200);
    }
    disable(&t, &owner, tree.reseller).await;
    let filter = bailiwick_platform::audit::Filter { object: Some(tree.reseller.0), ..Default::default() };
    let mut changes = Vec::new();
    bailiwick_platform::audit::read(&t.app.platform, &filter, 100, |rows| {
        changes.extend(rows.iter().map(|r| (r.action.clone(), r.before.clone(), r.after.clone())));
        true
    })
    .await
    .unwrap();
    changes.retain(|(action, ..)| action.starts_with("rebranding."));
    changes.sort_by(|a, b| a.0.cmp(&b.0));
    let actions: Vec<&str> = changes.iter().map(|(action, ..)| action.as_str()).collect();
    assert_eq!(
        actions,
        [
            "rebranding.delete",
            "rebranding.delete_asset",
            "rebranding.disable",
            "rebranding.enable",
            "rebranding.update"
        ]
    );
    let (_, before, after) = &changes[4];
    assert_eq!(before.as_ref().unwrap(), &json!({"product_id": "ns8", "assets": {}}));
    let after = after.as_ref().unwrap();
    assert_eq!(
        (&after["product_name"], after["assets"]["favicon"].as_str().unwrap().len()),
        (&json!("N"), 64)
    );
});

api_test!(all_of_it_goes_with_a_destroyed_organization, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let both: &[Field<'_>] = &[("favicon", None, &png(1, 1)), ("product_name", None, b"N")];
    for org in [tree.distributor, tree.customer, tree.other_customer] {
        enable(&t, &owner, org).await;
        put(&t, &owner, org, "ns8", both).await.expect_message(200, UPLOADED);
    }
    let path = format!("/api/distributors/{}/destroy", tree.distributor);
    t.delete(&path).bearer(&owner.token).send().await.expect(200);
    for table in ["rebranding_enabled", "rebranding_assets", "rebranding_product_names"] {
        let rows = bailiwick_store::sql::Q::new(&format!("SELECT CAST(COUNT(*) AS BIGINT) FROM {table}"));
        assert_eq!(rows.count(&t.app.platform.db).await.unwrap(), 1, "{table}");
    }
});
