//! Applications: the list with its filters, one application and what is done with it, the summary.

use super::{Browser, between};
use bailiwick_domain::ApplicationId;
use bailiwick_testkit::{Test, api_test, seed::Seeded};
use serde_json::json;

/// A system whose document lists two applications of a type, in two versions, and one of another.
async fn fill(t: &Test) -> Seeded {
    let system = t.system(t.tree().await.customer).await;
    let module = |id: &str, kind: &str, version: &str| {
        json!({"id": id, "module": kind, "name": kind, "ui_name": format!("{id} <of us>"), "version": version,
            "certification_level": 4, "node": "1", "source": "ghcr.io/x"})
    };
    let modules =
        [module("mail1", "mail", "1.2"), module("mail2", "mail", "1.3"), module("cloud1", "nextcloud", "28")];
    let facts = json!({"cluster": {"fqdn": "c.example"}, "nodes": {}, "modules": modules});
    let document = json!({"installation": "nethserver", "facts": facts});
    t.post("/systems/inventory").basic(&system.key, &system.secret).json(document).send().await.expect(202);
    bailiwick_fleet::inventory::run_until_idle(&t.app.fleet).await.unwrap();
    system
}

api_test!(an_application_is_found_assigned_noted_and_deleted, |t| async move {
    let system = fill(&t).await;
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let list = browser.get("/console/applications").await.expect(200).text();
    assert!(list.contains("mail1") && list.contains("cloud1") && list.contains("unassigned"), "{list}");
    let address = between(&list, "class=\"name\"><a href=\"", "\"").to_owned();
    let id = address.rsplit('/').next().unwrap();
    let tab = browser.get(&format!("/console/systems/{}/applications", system.id)).await.expect(200).text();
    assert!(tab.contains(&format!("href=\"{address}\"")), "the tab of the system leads there: {tab}");

    let form = browser.get(&format!("{address}/assign")).await.expect(200).text();
    let customer = t.get("/api/customers").bearer(&owner.token).send().await.expect(200).data();
    let customer = customer["customers"][0].clone();
    let (to, name) = (customer["logto_id"].as_str().unwrap(), customer["name"].as_str().unwrap());
    assert!(form.contains(to), "{form}");
    let none = browser.post(&format!("{address}/assign"), &[("organization_id", "")]).await.expect(422);
    assert!(none.text().contains("organization_id-wrong"));
    let sent = browser.post(&format!("{address}/assign"), &[("organization_id", to)]).await.expect(303);
    assert_eq!(sent.header("location"), Some(address.as_str()));
    let page = browser.get(&address).await.expect(200).text();
    assert!(page.contains(name) && page.contains("The application is assigned."), "{page}");
    let filtered =
        browser.get(&format!("/console/applications?organization_id={to}")).await.expect(200).text();
    assert!(filtered.contains(id) && filtered.contains("1–1 of"), "{filtered}");
    browser.post(&format!("{address}/unassign"), &[]).await.expect(303);
    assert!(!browser.get(&address).await.expect(200).text().contains(name));

    browser.post(&format!("{address}/edit"), &[("notes", "a\0b")]).await.expect(422);
    browser.post(&format!("{address}/edit"), &[("notes", "one\r\n<two>")]).await.expect(303);
    assert!(browser.get(&address).await.expect(200).text().contains("one\n&lt;two&gt;"));
    browser.post(&format!("{address}/edit"), &[("notes", "")]).await.expect(303);
    assert!(!browser.get(&address).await.expect(200).text().contains("class=\"notes\""));
    let form = browser.get(&format!("{address}/edit")).await.expect(200).text();
    let etag = between(&form, "name=\"seen\" value=\"", "\"").replace("&quot;", "\"");
    let fields = [("seen", &*etag), ("notes", "mine")];
    browser.post(&format!("{address}/edit"), &fields).await.expect(303);
    // The same form once more: the notes have changed since it was rendered.
    let late = browser.post(&format!("{address}/edit"), &fields).await.expect(422).text();
    assert!(late.contains("Somebody else changed this") && late.contains(">mine</textarea>"), "{late}");
    let etag = between(&late, "name=\"seen\" value=\"", "\"").replace("&quot;", "\"");
    let fields = [("seen", &*etag), ("notes", "again")];
    browser.post(&format!("{address}/edit"), &fields).await.expect(303);

    assert!(browser.get(&format!("{address}/delete")).await.expect(200).text().contains("comes back"));
    browser.post(&format!("{address}/delete"), &[]).await.expect(303);
    browser.get(&address).await.expect(404);
});

api_test!(applications_are_filtered_ordered_and_summed_up, |t| async move {
    let system = fill(&t).await;
    let browser = Browser::of(&t, &t.owner().await).await;
    let get =
        async |query: &str| browser.get(&format!("/console/applications{query}")).await.expect(200).text();
    let shown =
        |page: &str| ["mail1", "mail2", "cloud1"].map(|name| page.contains(&format!("title=\"{name}")));
    assert_eq!(shown(&get("?type=mail").await), [true, true, false]);
    assert_eq!(shown(&get("?version=mail:1.3").await), [false, true, false]);
    assert_eq!(shown(&get("?search=CLOUD").await), [false, false, true]);
    assert_eq!(shown(&get("?status=assigned").await), [false; 3]);
    assert_eq!(shown(&get(&format!("?system_id={}", system.id)).await), [true; 3]);
    assert!(get("?search=nowhere").await.contains("No application matches"));
    let ordered = get("?sort_by=display_name").await;
    assert!(ordered.contains("aria-sort=\"ascending\"") && ordered.contains("sort_direction=desc"));
    let versions = get("?type=nextcloud").await;
    assert!(versions.contains("value=\"nextcloud:28\"") && !versions.contains("value=\"mail:1.2\""));

    let summary = get("/summary").await;
    assert!(summary.contains("2 types") && summary.contains("width=\"50.000\""), "{summary}");
    assert!(summary.contains("/console/applications?version=mail%3A1.2"), "{summary}");
    let link = "/console/applications?type=mail";
    assert!(summary.contains(link) && shown(&get("?type=mail").await)[0]);
});

api_test!(applications_are_those_of_the_person, |t| async move {
    let tree = t.tree().await;
    let id = t.application(&t.system(tree.customer).await).await;
    let foreign = t.application(&t.system(tree.other_customer).await).await;
    let missing: ApplicationId = t.app.platform.fresh();
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for role in ["super", "admin", "backoffice", "support", "reader"] {
            let user = t.user(org, &[role]).await;
            let browser = Browser::of(&t, &user).await;
            let reads = t.get(&format!("/api/applications/{id}")).bearer(&user.token).send().await.status;
            let home = browser.get("/console/").await.expect(200).text();
            assert_eq!(home.contains("href=\"/console/applications\""), reads == 200, "{role}");
            if reads != 200 {
                assert_eq!(browser.get("/console/applications").await.status, 403, "{role}");
                assert_eq!(browser.get("/console/applications/summary").await.status, 403, "{role}");
                assert_eq!(browser.get(&format!("/console/applications/{id}")).await.status, reads, "{role}");
                continue;
            }
            let page = browser.get(&format!("/console/applications/{id}")).await.expect(200).text();
            for word in ["assign", "edit", "delete"] {
                let is_offered = page.contains(&format!("/console/applications/{id}/{word}\""));
                let form = browser.get(&format!("/console/applications/{id}/{word}")).await.status;
                assert_eq!(form == 200, is_offered, "{word} as {role}");
                if !is_offered {
                    assert_eq!(form, 403, "{word} as {role}");
                    let path = format!("/console/applications/{id}/{word}");
                    browser.post(&path, &[("organization_id", "x"), ("notes", "x")]).await.expect(403);
                    browser.post(&format!("/console/applications/{id}/unassign"), &[]).await.expect(403);
                }
            }
        }
        if org == tree.owner {
            continue;
        }
        let user = t.user(org, &["super"]).await;
        let browser = Browser::of(&t, &user).await;
        let ids = [foreign.to_string(), missing.to_string(), "nonsense".to_owned()];
        for tail in ["", "/edit", "/assign", "/delete"] {
            let mut pages = Vec::new();
            for id in &ids {
                pages.push(browser.get(&format!("/console/applications/{id}{tail}")).await.expect(404).body);
            }
            assert!(pages.windows(2).all(|pair| pair[0] == pair[1]), "{tail}");
        }
        for tail in ["/edit", "/assign", "/unassign", "/delete"] {
            let mut pages = Vec::new();
            for id in &ids {
                let path = format!("/console/applications/{id}{tail}");
                pages.push(browser.post(&path, &[("notes", "x")]).await.expect(404).body);
            }
            assert!(pages.windows(2).all(|pair| pair[0] == pair[1]), "{tail}");
        }
        for page in ["/console/applications", "/console/applications/summary"] {
            let page = browser.get(page).await.expect(200).text();
            assert!(!page.contains(&foreign.to_string()) && !page.contains("Beta"), "another branch");
        }
    }
});
