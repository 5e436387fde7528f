//! What all lists have in common.

use super::Browser;
use bailiwick_store::sql::Q;
use bailiwick_testkit::{api_test, seed::Seeded};
use serde_json::json;

api_test!(a_page_past_the_end_leads_to_the_last_one, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for number in 0..25 {
        let body = json!({"name": format!("Machine {number:02}"), "organization_id": tree.reseller});
        t.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201);
    }
    let Seeded { id, .. } = t.system(tree.customer).await;
    let browser = Browser::of(&t, &owner).await;
    let last = async |address: &str| {
        let sent = browser.get(address).await.expect(303);
        let to = sent.header("location").unwrap().to_owned();
        browser.get(&to).await.expect(200);
        to
    };
    let systems = last("/console/systems?page=99999&sort_by=name&search=Machine").await;
    assert_eq!(systems, "/console/systems?sort_by=name&search=Machine&page=2");
    // Those of the last page are deleted.
    assert_eq!(last("/console/systems?search=Machine+01&page=2").await, "/console/systems?search=Machine+01");
    let organization = format!("/console/organizations/{}", tree.customer);
    for list in [
        "/console/systems?search=nowhere&".to_owned(),
        "/console/users?".to_owned(),
        "/console/organizations/customers?".to_owned(),
        "/console/applications?".to_owned(),
        "/console/alerts?".to_owned(),
        "/console/alerts?group=system&".to_owned(),
        "/console/alerts/history?".to_owned(),
        "/console/alerts/silences?".to_owned(),
        "/console/timeline?".to_owned(),
        "/console/timeline/webhooks?".to_owned(),
        "/console/account/impersonation?".to_owned(),
        format!("{organization}/users?"),
        format!("{organization}/systems?"),
        format!("{organization}/applications?"),
        format!("/console/systems/{id}/changes?"),
        format!("/console/systems/{id}/alerts?"),
        format!("/console/systems/{id}/applications?"),
    ] {
        let to = last(&format!("{list}page=9")).await;
        assert!(to.starts_with(list.trim_end_matches(['?', '&'])) && !to.contains("page=9"), "{to}");
    }
});

api_test!(versions_are_in_the_order_of_their_numbers, |t| async move {
    let system = t.system(t.tree().await.customer).await;
    let module = |(index, version): (usize, &&str)| {
        json!({"id": format!("mail{index}"), "module": "mail", "name": "mail", "ui_name": "",
            "version": version,
            "certification_level": 4, "node": "1", "source": "ghcr.io/x"})
    };
    let versions = ["3.9.5", "3.19.2.1", "3.12.5", "10.0", "3.2.0", "1", "2", "4", "5", "6", "7", "8", "9"];
    let modules: Vec<_> = versions.iter().enumerate().map(module).collect();
    let document = json!({"installation": "nethserver",
        "facts": {"cluster": {"fqdn": "c.example"}, "nodes": {}, "modules": modules}});
    t.post("/systems/inventory").basic(&system.key, &system.secret).json(document).send().await.expect(202);
    bailiwick_fleet::inventory::run_until_idle(&t.app.fleet).await.unwrap();
    let browser = Browser::of(&t, &t.owner().await).await;
    let page = browser.get("/console/applications").await.expect(200).text();
    let (_, panel) = page.split_once("name=\"version\"").unwrap();
    let panel = panel.split("</fieldset>").next().unwrap();
    let shown: Vec<&str> =
        panel.split("<span>").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
    let mut expected =
        ["10.0", "9", "8", "7", "6", "5", "4", "3.19.2.1", "3.12.5", "3.9.5", "3.2.0", "2", "1"];
    assert!(
        shown.iter().zip(&mut expected).all(|(shown, version)| shown.ends_with(&format!(" {version}"))),
        "{shown:?}"
    );
    assert_eq!(shown.len(), expected.len());
    // Many choices have a search, which only a script can show.
    assert!(page.contains("aria-label=\"Search in: Version\" autocomplete=\"off\" hidden"), "{page}");
});

api_test!(versions_of_systems_are_in_the_order_of_their_numbers, |t| async move {
    let home = t.tree().await.customer;
    for version in ["3.9.5", "3.19.2", "10.0", "3.2"] {
        let id = t.system(home).await.id;
        let mut tx = t.app.platform.db.begin().await.unwrap();
        let q = Q::new("UPDATE systems SET type = 'nsec', version = ? WHERE id = ?").bind(version).bind(id);
        q.run(&mut tx).await.unwrap();
        tx.commit().await.unwrap();
    }
    let page = Browser::of(&t, &t.owner().await).await.get("/console/systems").await.expect(200).text();
    let (_, panel) = page.split_once("name=\"version\"").unwrap();
    let shown = panel.split("</fieldset>").next().unwrap().split("<span>").skip(1);
    let shown: Vec<&str> =
        shown.map(|rest| rest.split('<').next().unwrap().rsplit(' ').next().unwrap()).collect();
    assert_eq!(shown, ["10.0", "3.19.2", "3.9.5", "3.2"]);
});
