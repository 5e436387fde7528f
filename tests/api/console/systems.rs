//! Everything that is done with systems, with links and forms alone.

use super::{Browser, between};
use bailiwick_store::sql::Q;
use bailiwick_testkit::api_test;
use serde_json::json;

api_test!(a_system_is_made_registered_edited_suspended_deleted_and_destroyed, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    assert!(browser.get("/console/").await.expect(200).text().contains("Welcome"));
    let form = browser.get("/console/systems/new").await.expect(200).text();
    assert!(form.contains(&tree.customer.to_string()));

    let organization = tree.customer.to_string();
    let wrong =
        browser.post("/console/systems/new", &[("organization_id", &organization), ("name", " ")]).await;
    let wrong = wrong.expect(422).text();
    assert!(
        wrong.contains("aria-describedby=\"name-wrong\"") && wrong.contains("id=\"name-wrong\""),
        "{wrong}"
    );
    let fields = [
        ("organization_id", organization.as_str()),
        ("name", "Bar & <Grill>"),
        ("notes", "one\r\ntwo"),
        ("data_key", "site"),
        ("data_value", "Milano"),
        ("data_key", ""),
        ("data_value", "lost"),
    ];
    let made = browser.post("/console/systems/new", &fields).await.expect(200).text();
    assert!(made.contains("Bar &amp; &lt;Grill&gt;"));
    let secret = between(&made, "data-copy=\"", "\"").to_owned();
    let address = between(&made, "class=\"button main\" href=\"", "\"").to_owned();
    assert!(secret.starts_with("my_") && made.contains("/api/systems/register"), "{made}");

    let page = browser.get(&address).await.expect(200).text();
    assert!(page.contains("no contact yet") && page.contains("Milano") && !page.contains(&secret));
    let access = browser.get(&format!("{address}/access")).await.expect(200).text();
    assert!(access.contains("shown once the system is registered") && !access.contains(&secret));
    t.post("/api/systems/register").json(json!({"system_secret": secret})).send().await.expect(200);
    let access = browser.get(&format!("{address}/access")).await.expect(200).text();
    let key = between(&access, "data-copy=\"", "\"").to_owned();
    t.post("/api/systems/heartbeat").basic(&key, &secret).send().await.expect(200);
    assert!(browser.get(&address).await.expect(200).text().contains("just now"));

    let refused = browser.post(&format!("{address}/secret"), &[]).await.expect(409).text();
    assert!(refused.contains("system is already registered"));
    let renewed = browser.post(&format!("{address}/secret"), &[("force", "true")]).await.expect(200).text();
    assert_ne!(between(&renewed, "data-copy=\"", "\""), secret);

    let form = browser.get(&format!("{address}/edit")).await.expect(200).text();
    assert!(form.contains("one\ntwo") && form.contains("value=\"Milano\""));
    browser.post(&format!("{address}/edit"), &[("name", "")]).await.expect(422);
    let saved =
        browser.post(&format!("{address}/edit"), &[("name", "Renamed"), ("notes", "")]).await.expect(303);
    assert_eq!(saved.header("location"), Some(address.as_str()));
    let page = browser.get(&address).await.expect(200).text();
    assert!(page.contains("Renamed") && page.contains("Saved.") && !page.contains("Milano"));

    browser.post(&format!("{address}/suspend"), &[]).await.expect(303);
    let page = browser.get(&address).await.expect(200).text();
    assert!(page.contains("Set on the system itself") && page.contains("/reactivate"), "{page}");
    assert!(
        browser
            .post(&format!("{address}/suspend"), &[])
            .await
            .expect(400)
            .text()
            .contains("already suspended")
    );
    browser.post(&format!("{address}/reactivate"), &[]).await.expect(303);
    assert!(browser.get(&format!("{address}/delete")).await.expect(200).text().contains("Delete Renamed?"));
    browser.post(&format!("{address}/delete"), &[]).await.expect(303);
    browser.get(&address).await.expect(404);
    let deleted = browser.get("/console/systems?status=deleted").await.expect(200).text();
    assert!(deleted.contains(&format!("{address}/restore")));
    browser.post(&format!("{address}/restore"), &[]).await.expect(303);
    browser.get(&address).await.expect(200);
    let wrong = browser.post(&format!("{address}/destroy"), &[("name", "renamed")]).await.expect(422).text();
    assert!(wrong.contains("This is not its name."));
    browser.post(&format!("{address}/destroy"), &[("name", "Renamed")]).await.expect(303);
    browser.get(&address).await.expect(404);
});

api_test!(the_list_keeps_filters_order_and_page_in_its_address, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for number in 0..23 {
        let body = json!({"name": format!("Machine {number:02}"), "organization_id": tree.customer});
        t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201);
    }
    t.suspend_system(t.system(tree.other_customer).await.id).await;
    let browser = Browser::of(&t, &owner).await;
    let page = browser.get("/console/systems?sort_by=name").await.expect(200).text();
    assert!(page.contains("aria-sort=\"ascending\"") && page.contains("sort_direction=desc"));
    assert!(page.contains("Machine 00") && !page.contains("Machine 22"), "20 rows");
    assert!(page.contains("href=\"/console/systems?sort_by=name&amp;page=2\""), "{page}");
    let second = browser.get("/console/systems?sort_by=name&page=2").await.expect(200).text();
    assert!(second.contains("Machine 22") && second.contains("21–24 of"));
    let all = browser.get("/console/systems?page_size=50").await.expect(200).text();
    assert!(all.contains("Machine 00") && all.contains("Machine 22"));
    let page =
        browser.get("/console/systems?search=machine+07&status=&status=unknown").await.expect(200).text();
    assert!(page.contains("Machine 07") && !page.contains("Machine 08"));
    let suspended = browser.get("/console/systems?status=suspended").await.expect(200).text();
    assert!(!suspended.contains("Machine") && suspended.contains("Remove the filter"));
    let none = browser.get("/console/systems?search=nowhere").await.expect(200).text();
    assert!(none.contains("No system matches"));
    let file = browser.get("/console/systems/export?format=csv&search=machine").await.expect(200);
    assert!(file.header("content-type").unwrap().starts_with("text/csv"));
    assert_eq!(file.text().lines().count(), 24);
});

api_test!(documents_and_their_changes_are_shown_side_by_side, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let system = t.system(tree.customer).await;
    let browser = Browser::of(&t, &owner).await;
    let address = format!("/console/systems/{}", system.id);
    for tab in ["changes", "applications", "alerts"] {
        let page = browser.get(&format!("{address}/{tab}")).await.expect(200).text();
        assert!(page.contains("class=\"empty\""), "{tab}");
    }
    let sample = include_str!("../../../crates/inventory/tests/data/inventory-ns8.json");
    let mut document: serde_json::Value = serde_json::from_str(sample).unwrap();
    for version in ["3.19.2", "<b>4.0.0</b>"] {
        document["facts"]["nodes"]["1"]["version"] = json!(version);
        let body = document.clone();
        t.post("/api/systems/inventory").basic(&system.key, &system.secret).json(body).send().await;
        bailiwick_fleet::inventory::run_until_idle(&t.app.fleet).await.unwrap();
        t.advance(std::time::Duration::from_secs(60));
    }
    let page = browser.get(&address).await.expect(200).text();
    assert!(
        page.contains("Acme Demo cluster")
            && page.contains("ns1.acme-demo.example")
            && page.contains("mail1"),
        "{page}"
    );
    let changes = browser.get(&format!("{address}/changes")).await.expect(200).text();
    assert!(
        changes.contains("<pre>3.19.2</pre>") && changes.contains("<pre>&lt;b&gt;4.0.0&lt;/b&gt;</pre>"),
        "{changes}"
    );
    let raw = between(&changes, "/documents/", "\"").to_owned();
    let none = browser.get(&format!("{address}/changes?category=hardware")).await.expect(200).text();
    assert!(none.contains("No change matches"));
    // Home leads to the changes of one document.
    let page = browser.get(&format!("{address}/changes?inventory_id={raw}")).await.expect(200).text();
    let kept = format!("name=\"inventory_id\" value=\"{raw}\"");
    let chip = format!("<span class=\"soft\">Document</span> {raw}");
    assert!(page.contains("<pre>3.19.2</pre>") && page.contains(&kept) && page.contains(&chip), "{page}");
    let none = browser.get(&format!("{address}/changes?inventory_id=999999")).await.expect(200).text();
    assert!(none.contains("No change matches"), "{none}");
    let document = browser.get(&format!("{address}/documents/{raw}")).await.expect(200).text();
    assert!(document.contains("<span class=\"key\">facts</span>") && !document.contains("<b>4.0.0"));
    browser.get(&format!("{address}/documents/999999")).await.expect(404);
    let applications = browser.get(&format!("{address}/applications")).await.expect(200).text();
    assert!(applications.contains("nextcloud"), "{applications}");
    let home = browser.get("/console/").await.expect(200).text();
    assert!(home.contains("Needs attention"), "{home}");
});

api_test!(a_registered_system_is_given_to_another_organization, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let system = t.system(tree.customer).await;
    let browser = Browser::of(&t, &owner).await;
    let address = format!("/console/systems/{}", system.id);
    let form = browser.get(&format!("{address}/edit")).await.expect(200).text();
    let etag = between(&form, "name=\"seen\" value=\"", "\"").replace("&quot;", "\"");
    let other = tree.other_customer.to_string();
    assert!(form.contains(&other) && form.contains(&format!("value=\"{}\" selected", tree.customer)));
    let fields = [("seen", &*etag), ("name", "Moved"), ("organization_id", &*other)];
    browser.post(&format!("{address}/edit"), &fields).await.expect(303);
    let moved = t.get(&format!("/api/systems/{}", system.id)).bearer(&owner.token).send().await.data();
    assert_eq!((&moved["organization"]["id"], &moved["name"]), (&json!(other), &json!("Moved")));

    // The same form once more: the system has changed since the form was rendered.
    let late = browser.post(&format!("{address}/edit"), &fields).await.expect(422).text();
    assert!(late.contains("Somebody else changed this") && late.contains("value=\"Moved\""), "{late}");
    let etag = between(&late, "name=\"seen\" value=\"", "\"").replace("&quot;", "\"");
    let fields = [("seen", &*etag), ("name", "Again"), ("organization_id", &*other)];
    browser.post(&format!("{address}/edit"), &fields).await.expect(303);

    // A system that has never registered stays where it is.
    let body = json!({"name": "New", "organization_id": tree.customer});
    let new = t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201).data();
    let new = format!("/console/systems/{}/edit", new["id"].as_str().unwrap());
    assert!(!browser.get(&new).await.expect(200).text().contains("organization_id"));
    let wrong = browser.post(&new, &[("name", "New"), ("organization_id", &*other)]).await.expect(422).text();
    assert!(wrong.contains("role=\"alert\""), "{wrong}");
    assert!(wrong.contains("Only a registered system can be moved."), "{wrong}");
});

api_test!(backups_are_listed_fetched_and_deleted, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let reader = t.user(tree.owner, &["reader"]).await;
    let system = t.system(tree.customer).await;
    let address = format!("/console/systems/{}/backups", system.id);
    let browser = Browser::of(&t, &owner).await;
    assert!(browser.get(&address).await.expect(200).text().contains("No backup yet"));
    let sent = t.post("/api/systems/backups").basic(&system.key, &system.secret);
    let sent = sent.header("content-length", "17").body("bytes of a backup");
    let id = sent.send().await.expect(201).data()["id"].as_str().unwrap().to_owned();
    let page = browser.get(&address).await.expect(200).text();
    assert!(page.contains(&format!("{address}/{id}")) && page.contains("17 B"), "{page}");
    let away = browser.get(&format!("{address}/{id}")).await.expect(303);
    let link = away.header("location").unwrap().replace(crate::ORIGIN, "");
    assert_eq!(t.get(&link).send().await.expect(200).text(), "bytes of a backup");

    let theirs = Browser::of(&t, &reader).await;
    let page = theirs.get(&address).await.expect(200).text();
    assert!(page.contains(&id) && !page.contains("/delete\""));
    theirs.get(&format!("{address}/{id}/delete")).await.expect(403);
    theirs.post(&format!("{address}/{id}/delete"), &[]).await.expect(403);

    assert!(
        browser.get(&format!("{address}/{id}/delete")).await.expect(200).text().contains("Delete the backup")
    );
    browser.post(&format!("{address}/{id}/delete"), &[]).await.expect(303);
    browser.get(&format!("{address}/{id}")).await.expect(404);
    assert!(browser.get(&address).await.text().contains("The backup is deleted."));
});

api_test!(lists_are_narrowed_to_what_some_people_have_created, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let creator = t.user(tree.distributor, &["admin"]).await;
    let other = t.user(tree.other_distributor, &["admin"]).await;
    for (who, org, name) in [(&creator, tree.customer, "Mine"), (&other, tree.other_customer, "Theirs")] {
        let body = json!({"name": format!("{name} machine"), "organization_id": org});
        t.post("/api/systems").bearer(&who.token).json(body).send().await.expect(201);
        let body = json!({"name": format!("{name} person"), "email": format!("{name}@example.org"),
            "user_role_ids": ["reader"], "organization_id": org});
        t.post("/api/users").bearer(&who.token).json(body).send().await.expect(201);
        let body = json!({"name": format!("{name} company"), "custom_data": {"vat": format!("IT{name}")}});
        t.post("/api/resellers").bearer(&who.token).json(body).send().await.expect(201);
    }
    let browser = Browser::of(&t, &owner).await;
    let stranger = t.user(tree.customer, &["reader"]).await.id.to_string();
    for list in ["systems", "users", "organizations/resellers"] {
        let path = format!("/console/{list}");
        let page = browser.get(&path).await.expect(200).text();
        let choice = |id: &str, state: &str| format!("name=\"created_by\" value=\"{id}\"{state}><span>");
        let (mine, theirs) = (creator.id.to_string(), other.id.to_string());
        assert!(page.contains("Mine") && page.contains("Theirs"), "{page}");
        assert!(page.contains(&choice(&mine, "")) && page.contains(&choice(&theirs, "")), "{page}");
        let page = browser.get(&format!("{path}?created_by={mine}")).await.expect(200).text();
        assert!(page.contains("Mine") && !page.contains("Theirs"), "{page}");
        // Chosen, with the way to take it away, and handed on once only.
        assert!(page.contains(&choice(&mine, " checked")), "{page}");
        assert!(page.contains(&format!("class=\"chip\" href=\"{path}\"")), "{page}");
        assert!(!page.contains("type=\"hidden\" name=\"created_by\""), "{page}");
        let both = browser.get(&format!("{path}?created_by={mine}&created_by={theirs}")).await.expect(200);
        assert!(both.text().contains("Mine") && both.text().contains("Theirs"));
        // The choices hold only people who have created a system. The form still keeps a filter by another person, without
        // their name.
        let none = browser.get(&format!("{path}?created_by={stranger}")).await.expect(200).text();
        let filter = format!("type=\"hidden\" name=\"created_by\" value=\"{stranger}\"");
        assert!(none.contains(&filter) && none.contains("class=\"chip\""), "{none}");
        assert!(!none.contains("Mine") && !none.contains("Theirs"), "{none}");
    }
    // Each branch offers its own creators.
    let browser = Browser::of(&t, &t.user(tree.distributor, &["super"]).await).await;
    for list in ["systems", "users", "organizations/resellers"] {
        let page = browser.get(&format!("/console/{list}")).await.expect(200).text();
        assert!(page.contains(&creator.id.to_string()) && !page.contains(&other.id.to_string()), "{list}");
    }
});

api_test!(an_address_with_very_many_filters_makes_a_small_page, |t| async move {
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let many = |key: &str| (0..2_500).map(|n| format!("{key}=a{n:04}")).collect::<Vec<_>>().join("&");
    for list in ["systems", "organizations/customers", "users", "applications", "timeline", "alerts"] {
        for key in ["name", "organization_id", "system_key", "created_by", "object_id", "alertname", "open"] {
            let reply = browser.get(&format!("/console/{list}?{}", many(key))).await;
            assert!(reply.body.len() < 3_000_000, "{list} {key}: {} bytes", reply.body.len());
        }
    }
    let reply = browser.get(&format!("/console/organizations?{}", many("open"))).await.expect(200);
    assert!(reply.body.len() < 100_000, "{} bytes", reply.body.len());
});

api_test!(a_system_without_a_document_shows_the_reason, |t| async move {
    let system = t.system(t.tree().await.customer).await;
    let browser = Browser::of(&t, &t.owner().await).await;
    let here = format!("/console/systems/{}", system.id);
    let pages = async || {
        let mut pages = Vec::new();
        for tab in ["", "/changes", "/applications"] {
            pages.push(browser.get(&format!("{here}{tab}")).await.expect(200).text());
        }
        pages
    };
    for page in pages().await {
        assert!(page.contains("The system is registered. What is on it appears here"), "{page}");
    }
    t.send_documents(&system.key, &system.secret).await;
    assert!(browser.get(&here).await.expect(200).text().contains("Last heartbeat <time"));
    let mut tx = t.app.platform.db.begin().await.unwrap();
    for table in ["inventory_diffs", "inventory_records"] {
        Q::new(&format!("DELETE FROM {table}")).run(&mut tx).await.unwrap();
    }
    tx.commit().await.unwrap();
    for page in &pages().await[..2] {
        assert!(
            page.contains("Its last document is not kept") && !page.contains("No document yet"),
            "{page}"
        );
    }
});
