//! The time line, webhooks with their deliveries, the audit record, the stream, search.

use super::{Browser, between};
use bailiwick_events as events;
use bailiwick_settings::{AllowedHosts, Network, Settings};
use bailiwick_testkit::{
    Persona, Test, api_test,
    parts::recorder::{Answer, Recorder},
};
use futures_util::StreamExt;
use serde_json::json;
use std::time::Duration;

/// Webhooks may go to this machine.
fn settings(settings: &mut Settings) {
    settings.alerting.allowed_hosts =
        AllowedHosts::new([], vec![Network { address: [127, 0, 0, 0].into(), bits: 8 }]);
}

async fn make_system(t: &Test, who: &Persona, organization: bailiwick_domain::OrgId, name: &str) -> String {
    t.advance(Duration::from_secs(1));
    let body = json!({"name": name, "organization_id": organization});
    let made = t.post("/api/systems").bearer(&who.token).json(body).send().await.expect(201).data();
    events::number_all(&t.app.events).await.unwrap();
    made["id"].as_str().unwrap().to_owned()
}

api_test!(the_time_line_shows_what_has_happened, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let id = make_system(&t, &owner, tree.customer, "Gate <1>").await;
    make_system(&t, &owner, tree.other_customer, "Far away").await;
    let browser = Browser::of(&t, &t.user(tree.customer, &["super"]).await).await;
    let page = browser.get("/console/timeline").await.expect(200).text();
    assert!(page.contains("Gate &lt;1&gt;") && page.contains(&format!("/console/systems/{id}\"")), "{page}");
    assert!(!page.contains("Far away"), "another branch");
    assert!(page.contains("data-live") && page.contains("Show new items"), "news without a script");
    let users = browser.get("/console/timeline?types=user.*").await.expect(200).text();
    assert!(!users.contains("Gate") && users.contains("class=\"chips\""), "{users}");
    let both = browser.get("/console/timeline?types=user.*&types=system.*").await.expect(200).text();
    assert!(both.contains("Gate &lt;1&gt;"));
    let object = browser.get(&format!("/console/timeline?object_id={id}")).await.expect(200).text();
    assert!(object.contains("Gate &lt;1&gt;") && object.contains("1–1 of"));
    let none = browser.get("/console/timeline?object_id=nothing").await.expect(200).text();
    assert!(none.contains("No event matches"));
});

api_test!(a_webhook_is_made_tested_paused_replayed_and_deleted, |s| settings(s), |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let sink = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let browser = Browser::of(&t, &owner).await;
    let all = "/console/timeline/webhooks";
    assert!(browser.get(all).await.expect(200).text().contains("No webhooks yet"));
    let form = browser.get(&format!("{all}/new")).await.expect(200).text();
    assert!(form.contains("value=\"system.*\"") && form.contains(&tree.customer.to_string()));
    let organization = tree.distributor.to_string();
    let fields = [("organization_id", organization.as_str()), ("name", ""), ("url", "ftp://x.example/")];
    let wrong = browser.post(&format!("{all}/new"), &fields).await.expect(422).text();
    for field in ["name", "url", "types"] {
        assert!(wrong.contains(&format!("id=\"{field}-wrong\"")), "{field}: {wrong}");
    }
    let url = format!("{}/hook", sink.url());
    let fields = [
        ("organization_id", organization.as_str()),
        ("name", "To & <fro>"),
        ("url", &url),
        ("group", "system.*"),
        ("group", "user.*"),
        ("single", "alert.firing\r\nalert.resolved"),
    ];
    let made = browser.post(&format!("{all}/new"), &fields).await.expect(200).text();
    let secret = between(&made, "data-copy=\"", "\"").to_owned();
    let address = between(&made, "class=\"button main\" href=\"", "\"").to_owned();
    assert!(secret.starts_with("whsec_") && address.starts_with(all), "{made}");
    let page = browser.get(&address).await.expect(200).text();
    assert!(
        page.contains("To &amp; &lt;fro&gt;") && page.contains("alert.resolved") && !page.contains(&secret)
    );
    assert!(page.contains("nothing sent yet") && page.contains("No deliveries yet"));
    let edit = browser.get(&format!("{address}/edit")).await.expect(200).text();
    assert!(edit.contains("value=\"system.*\" checked") && edit.contains("alert.firing\nalert.resolved"));
    let fields = [("name", "Renamed"), ("url", url.as_str()), ("group", "*")];
    browser.post(&format!("{address}/edit"), &fields).await.expect(303);
    let page = browser.get(&address).await.expect(200).text();
    assert!(page.contains("Renamed") && page.contains("<code>*</code>") && page.contains("Saved."));

    let tested = browser.post(&format!("{address}/test"), &[]).await.expect(200).text();
    assert!(tested.contains("The test was taken with 200"), "{tested}");
    browser.post(&format!("{address}/pause"), &[]).await.expect(303);
    assert!(browser.get(&address).await.expect(200).text().contains("/resume\""));
    make_system(&t, &owner, tree.customer, "While paused").await;
    browser.post(&format!("{address}/resume"), &[]).await.expect(303);
    make_system(&t, &owner, tree.customer, "Afterwards").await;
    let page = browser.get(&address).await.expect(200).text();
    assert!(page.contains("system.created") && page.contains("waiting"), "{page}");
    let none = browser.get(&format!("{address}?status=dead")).await.expect(200).text();
    assert!(none.contains("No delivery matches"));
    let event = between(&page, "name=\"event_id\" value=\"", "\"").to_owned();
    let again = browser.post(&format!("{address}/replay"), &[("event_id", &event)]).await.expect(200).text();
    assert!(again.contains("1 event will be delivered again."), "{again}");
    let wrong = browser.post(&format!("{address}/replay"), &[("since", "then")]).await.expect(422).text();
    assert!(wrong.contains("id=\"since-wrong\"") && wrong.contains("value=\"then\""));
    let since =
        browser.post(&format!("{address}/replay"), &[("since", "2020-01-01T00:00")]).await.expect(200);
    assert!(since.text().contains("events will be delivered again."));

    assert!(browser.get(&format!("{address}/rotate")).await.expect(200).text().contains("A new secret for"));
    let rotated = browser.post(&format!("{address}/rotate"), &[]).await.expect(200).text();
    assert_ne!(between(&rotated, "data-copy=\"", "\""), secret);
    assert!(browser.get(&address).await.expect(200).text().contains("Previous secret signs until"));
    assert!(browser.get(&format!("{address}/delete")).await.expect(200).text().contains("Delete Renamed?"));
    browser.post(&format!("{address}/delete"), &[]).await.expect(303);
    browser.get(&address).await.expect(404);
});

api_test!(webhooks_are_those_of_the_person, |s| settings(s), |t| async move {
    let tree = t.tree().await;
    let sink = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let make = async |who: &Persona| {
        let body = json!({"name": "Theirs", "url": format!("{}/hook", sink.url()), "types": ["system.*"]});
        let made = t.post("/api/events/subscriptions").bearer(&who.token).json(body).send().await.expect(201);
        made.data()["subscription"]["id"].as_str().unwrap().to_owned()
    };
    let own = make(&t.user(tree.customer, &["super"]).await).await;
    let foreign = make(&t.user(tree.other_customer, &["super"]).await).await;
    let missing = "01950000-0000-7000-8000-000000000000".to_owned();
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for role in ["super", "admin", "backoffice", "support", "reader"] {
            let user = t.user(org, &[role]).await;
            let browser = Browser::of(&t, &user).await;
            let line = browser.get("/console/timeline").await.expect(200).text();
            let reads =
                t.get(&format!("/api/events/subscriptions/{own}")).bearer(&user.token).send().await.status;
            assert_eq!(line.contains("/console/timeline/webhooks\""), reads == 200, "{role}");
            let here = format!("/console/timeline/webhooks/{own}");
            assert_eq!(browser.get(&here).await.status, reads, "{role}");
            assert_eq!(browser.get("/console/timeline/webhooks").await.status, reads, "{role}");
            let audited = t.get("/api/audit").bearer(&user.token).send().await.status;
            assert_eq!(line.contains("/console/timeline/audit\""), audited == 200, "{role}");
            assert_eq!(browser.get("/console/timeline/audit").await.status, audited, "{role}");
            if reads != 200 {
                continue;
            }
            let page = browser.get(&here).await.expect(200).text();
            let body = json!({"name": "Theirs"});
            let changes = t.put(&format!("/api/events/subscriptions/{own}")).bearer(&user.token).json(body);
            let may = changes.send().await.status == 200;
            for word in ["edit", "rotate", "delete"] {
                assert_eq!(page.contains(&format!("{here}/{word}\"")), may, "{word} as {role}");
                let status = browser.get(&format!("{here}/{word}")).await.status;
                assert_eq!(status, if may { 200 } else { 403 }, "{word} as {role}");
            }
            if !may {
                for word in ["edit", "pause", "resume", "test", "replay", "rotate", "delete"] {
                    browser.post(&format!("{here}/{word}"), &[("name", "x")]).await.expect(403);
                }
                browser.get("/console/timeline/webhooks/new").await.expect(403);
                browser.post("/console/timeline/webhooks/new", &[("name", "x")]).await.expect(403);
            }
        }
    }
    let user = t.user(tree.distributor, &["super"]).await;
    let browser = Browser::of(&t, &user).await;
    let ids = [foreign, missing, "nonsense".to_owned()];
    for tail in ["", "/edit", "/rotate", "/delete"] {
        let mut pages = Vec::new();
        for id in &ids {
            pages.push(browser.get(&format!("/console/timeline/webhooks/{id}{tail}")).await.expect(404).body);
        }
        assert!(pages.windows(2).all(|pair| pair[0] == pair[1]), "{tail}");
    }
    for tail in ["/edit", "/pause", "/resume", "/test", "/replay", "/rotate", "/delete"] {
        let mut pages = Vec::new();
        for id in &ids {
            let path = format!("/console/timeline/webhooks/{id}{tail}");
            pages.push(browser.post(&path, &[("name", "x")]).await.expect(404).body);
        }
        assert!(pages.windows(2).all(|pair| pair[0] == pair[1]), "{tail}");
    }
});

api_test!(the_audit_record_shows_who_changed_what, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let id = make_system(&t, &owner, tree.customer, "Former").await;
    let body = json!({"name": "After <b>"});
    t.put(&format!("/api/systems/{id}")).bearer(&owner.token).json(body).send().await.expect(200);
    make_system(&t, &t.user(tree.other_distributor, &["super"]).await, tree.other_customer, "Far").await;
    let browser = Browser::of(&t, &owner).await;
    let page = browser.get(&format!("/console/timeline/audit?object_id={id}")).await.expect(200).text();
    assert!(page.contains("system.update") && page.contains("<pre>Former</pre>"), "{page}");
    assert!(
        page.contains("<pre>After &lt;b&gt;</pre>") && page.contains(&format!("/console/systems/{id}\""))
    );
    let created = browser.get("/console/timeline/audit?action=system.create").await.expect(200).text();
    assert!(created.contains("Far") && !created.contains("<code>system.update</code>"));
    let first =
        browser.get("/console/timeline/audit?action=system.create&page_size=1").await.expect(200).text();
    assert!(first.contains("Far") && !first.contains("Former"));
    let link = first.split("href=\"").find(|part| part.contains("cursor=")).unwrap();
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    let second = browser.get(&link).await.expect(200).text();
    assert!(second.contains("Former") && !second.contains("rel=\"next\""), "{second}");
    let other = Browser::of(&t, &t.user(tree.distributor, &["super"]).await).await;
    let page = other.get("/console/timeline/audit").await.expect(200).text();
    assert!(!page.contains("Far") && !page.contains(&id), "the owner's rows are the owner's");
});

api_test!(the_stream_has_the_events_of_the_branch_and_ends_with_the_session, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let browser = Browser::of(&t, &t.user(tree.customer, &["super"]).await).await;
    let opened = browser.call(axum::http::Method::GET, "/console/events").open().await;
    assert_eq!(opened.status(), 200);
    assert_eq!(opened.headers()["content-type"], "text/event-stream");
    let mut body = opened.into_body().into_data_stream();
    let mut received = String::new();
    let mut until = async |received: &mut String, text: &str| {
        while !received.contains(text) {
            let next = tokio::time::timeout(Duration::from_secs(60), body.next()).await.unwrap();
            let Some(Ok(part)) = next else { break };
            received.push_str(&String::from_utf8_lossy(&part));
        }
    };
    until(&mut received, "retry:").await;
    make_system(&t, &owner, tree.other_customer, "Far").await;
    make_system(&t, &owner, tree.customer, "Near").await;
    until(&mut received, "system.created").await;
    assert_eq!(received.matches("data: system.created").count(), 1, "{received}");
    assert!(!received.contains("Near"), "only what it is about");
    browser.post("/console/sign-out", &[]).await.expect(303);
    until(&mut received, "event: end").await;
    assert!(received.contains("event: end"), "{received}");
    browser.get("/console/events").await.expect(303);
});

api_test!(lists_name_the_events_that_concern_them, |t| async move {
    let browser = Browser::of(&t, &t.owner().await).await;
    for (page, topics) in [
        ("/console/alerts", "alert"),
        ("/console/applications", "application"),
        ("/console/organizations/customers", "customer system application"),
        ("/console/systems", "system"),
        ("/console/users", "user"),
    ] {
        let text = browser.get(page).await.expect(200).text();
        for part in ["count", "rows"] {
            assert!(text.contains(&format!(r#"id="{part}" data-live="{topics}""#)), "{page}: {part}");
        }
        assert!(text.contains(r#"class="button news""#), "{page}: without a stream a link shows what is new");
    }
});

api_test!(one_field_finds_what_the_person_may_see, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let id = make_system(&t, &owner, tree.customer, "Zephyr & <co>").await;
    make_system(&t, &owner, tree.other_customer, "Zephyr far").await;
    let browser = Browser::of(&t, &t.user(tree.reseller, &["super"]).await).await;
    let page = browser.get("/console/search?q=zephyr").await.expect(200).text();
    assert!(
        page.contains("Zephyr &amp; &lt;co&gt;") && page.contains(&format!("/console/systems/{id}\"")),
        "{page}"
    );
    assert!(!page.contains("Zephyr far"), "another branch");
    assert!(browser.get("/console/search?q=").await.expect(200).text().contains("Ctrl-K"));
    assert!(browser.get("/console/search?q=nowhere").await.expect(200).text().contains("Nothing is called"));
    let home = browser.get("/console/").await.expect(200);
    assert!(home.header("speculation-rules").unwrap().contains("/console/assets/prefetch."));
    assert!(home.text().contains("action=\"/console/search\""));
});

api_test!(home_names_webhooks_to_which_nothing_arrives, |s| settings(s), |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let sink = Recorder::start(|_| Answer::status(500)).await.unwrap();
    let body = json!({"name": "Deaf", "url": format!("{}/hook", sink.url()), "types": ["*"]});
    t.post("/api/events/subscriptions").bearer(&owner.token).json(body).send().await.expect(201);
    make_system(&t, &owner, tree.customer, "Gate").await;
    let browser = Browser::of(&t, &owner).await;
    bailiwick_testkit::eventually("the delivery has failed", async || {
        events::deliver::run_until_idle(&t.app.events).await.ok();
        browser.get("/console/").await.expect(200).text().contains("Failing webhooks")
    })
    .await;
    let home = browser.get("/console/").await.expect(200).text();
    assert!(home.contains("Deaf") && home.contains("/console/timeline/webhooks/"), "{home}");
    let elsewhere = Browser::of(&t, &t.user(tree.other_customer, &["super"]).await).await;
    assert!(!elsewhere.get("/console/").await.expect(200).text().contains("Deaf"));
});
