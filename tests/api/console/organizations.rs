//! Everything that is done with organizations, with links and forms alone.

use super::{
    Browser,
    alerts::{alert, push},
    between,
};
use bailiwick_domain::{OrgId, OrgType};
use bailiwick_events as events;
use bailiwick_testkit::{Persona, Test, api_test};
use serde_json::json;

fn page_of(id: OrgId) -> String {
    format!("/console/organizations/{id}")
}

api_test!(a_chain_is_made_edited_suspended_deleted_restored_and_destroyed, |t| async move {
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let empty = browser.get("/console/organizations").await.expect(200).text();
    assert!(empty.contains("No organizations yet") && empty.contains("new?family=distributor"), "{empty}");
    let welcome = browser.get("/console/").await.expect(200).text();
    assert!(welcome.contains("href=\"/console/organizations/new?family=distributor\""));

    let mut parent = String::new();
    let mut made = Vec::new();
    for (number, family) in ["distributor", "reseller", "customer"].into_iter().enumerate() {
        let form =
            browser.get(&format!("/console/organizations/new?family={family}")).await.expect(200).text();
        assert_eq!(form.contains("name=\"created_by_organization_id\""), family != "distributor", "{family}");
        assert!(parent.is_empty() || form.contains(&format!("value=\"{parent}\"")), "{form}");
        let vat = format!("IT{number}");
        let fields = [
            ("family", family),
            ("name", "Bar & <Grill>"),
            ("vat", &vat),
            ("city", "Asti"),
            ("notes", "one\r\ntwo"),
            ("data_key", "sector"),
            ("data_value", "food"),
            ("created_by_organization_id", &parent),
        ];
        let done = browser.post("/console/organizations/new", &fields).await.expect(303);
        let address = done.header("location").unwrap().split('?').next().unwrap().to_owned();
        let page = browser.get(done.header("location").unwrap()).await.expect(200).text();
        for text in
            ["Bar &amp; &lt;Grill&gt;", "Asti", "food", "one\ntwo", &vat, "The organization is created."]
        {
            assert!(page.contains(text), "{text}: {page}");
        }
        address.rsplit('/').next().unwrap().clone_into(&mut parent);
        made.push(address);
    }
    let [distributor, reseller, customer] = &made[..] else { panic!("three") };
    let page = browser.get(customer).await.expect(200).text();
    assert!(
        page.contains(&format!("href=\"{distributor}\"")) && page.contains(&format!("href=\"{reseller}\""))
    );

    let wrong = browser.post("/console/organizations/new", &[("family", "reseller"), ("name", " ")]).await;
    let wrong = wrong.expect(422).text();
    assert!(wrong.contains("id=\"name-wrong\"") && wrong.contains("id=\"vat-wrong\""), "{wrong}");
    let taken = [("family", "distributor"), ("name", "Twin"), ("vat", "it 0")];
    let taken = browser.post("/console/organizations/new", &taken).await.expect(422).text();
    assert!(taken.contains("This is taken already."), "{taken}");
    browser.post("/console/organizations/new", &[("family", "owner"), ("name", "x")]).await.expect(404);

    let form = browser.get(&format!("{reseller}/edit")).await.expect(200).text();
    assert!(form.contains("one\ntwo") && form.contains("value=\"food\"") && form.contains("value=\"Asti\""));
    let fields =
        [("name", "Renamed"), ("vat", "IT1"), ("city", ""), ("data_key", "sector"), ("data_value", "bars")];
    let saved = browser.post(&format!("{reseller}/edit"), &fields).await.expect(303);
    let page = browser.get(saved.header("location").unwrap()).await.expect(200).text();
    assert!(page.contains("Renamed") && page.contains("bars") && !page.contains("Asti"), "{page}");
    let wrong =
        browser.post(&format!("{reseller}/edit"), &[("name", "x"), ("vat", "")]).await.expect(422).text();
    assert!(wrong.contains("id=\"vat-wrong\""), "{wrong}");

    let page = browser.get(&format!("{reseller}/suspend")).await.expect(200).text();
    assert!(page.contains("Suspend Renamed?") && page.contains("1 organization below it"), "{page}");
    browser.post(&format!("{reseller}/suspend"), &[]).await.expect(303);
    let page = browser.get(reseller).await.expect(200).text();
    assert!(page.contains("Set on the organization itself") && page.contains("/reactivate\""), "{page}");
    let below = browser.get(customer).await.expect(200).text();
    assert!(below.contains("Inherited from Renamed") && !below.contains("/reactivate\""), "{below}");
    browser.post(&format!("{customer}/reactivate"), &[]).await.expect(403);
    browser.post(&format!("{reseller}/promote"), &[]).await.expect(409);
    browser.get(&format!("{customer}/promote")).await.expect(404);
    browser.post(&format!("{reseller}/reactivate"), &[]).await.expect(303);

    browser.post(&format!("{reseller}/delete"), &[]).await.expect(303);
    browser.get(reseller).await.expect(404);
    browser.get(customer).await.expect(404);
    let deleted = browser.get("/console/organizations/resellers?status=deleted").await.expect(200).text();
    assert!(deleted.contains(&format!("{reseller}/restore")));
    let page = browser.get(&format!("{reseller}/restore")).await.expect(200).text();
    assert!(page.contains(&format!("{reseller}/destroy")), "{page}");
    browser.post(&format!("{reseller}/restore"), &[]).await.expect(303);
    browser.get(customer).await.expect(200);

    let page = browser.get(&format!("{reseller}/promote")).await.expect(200).text();
    assert!(page.contains("Promote Renamed to distributor?"));
    browser.post(&format!("{reseller}/promote"), &[]).await.expect(303);
    let page = browser.get(reseller).await.expect(200).text();
    assert!(page.contains("Promoted from reseller") && !page.contains(distributor.as_str()), "{page}");

    let wrong = browser.post(&format!("{reseller}/destroy"), &[("name", "renamed")]).await.expect(422).text();
    assert!(wrong.contains("This is not its name.") && wrong.contains("1 organization below it"), "{wrong}");
    browser.post(&format!("{reseller}/destroy"), &[("name", "Renamed")]).await.expect(303);
    browser.get(customer).await.expect(404);
    browser.get(distributor).await.expect(200);
});

api_test!(further_data_whose_row_is_emptied_are_gone, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let here = page_of(tree.customer);
    let path = format!("/api/customers/{}", tree.customer);
    let body = json!({"custom_data": {"vat": "IT9", "sector": "food", "beds": 12}});
    t.put(&path).bearer(&owner.token).json(body).send().await.expect(200);
    assert!(browser.get(&here).await.expect(200).text().contains("<dt>sector</dt>"));
    let rows = [("data_key", ""), ("data_value", ""), ("data_key", "beds"), ("data_value", "12")];
    let form = [&[("name", "Alfa Customer"), ("vat", "IT9")][..], &rows].concat();
    browser.post(&format!("{here}/edit"), &form).await.expect(303);
    let page = browser.get(&here).await.expect(200).text();
    assert!(!page.contains("<dt>sector</dt>") && page.contains("<dt>beds</dt>"), "{page}");
    // The interface never removes a key.
    let stored = t.get(&path).bearer(&owner.token).send().await.expect(200).data();
    let data = &stored["custom_data"];
    assert_eq!((&data["sector"], &data["beds"]), (&json!(""), &json!(12)));
});

api_test!(a_destruction_lists_what_goes_even_of_what_is_deleted, |t| async move {
    let tree = t.tree().await;
    t.user(tree.customer, &["admin"]).await;
    t.user(tree.reseller, &["admin"]).await;
    let system = t.system(tree.customer).await;
    t.application(&system).await;
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let consequences = async |step: &str| {
        let page = browser.get(&format!("{}/{step}", page_of(tree.distributor))).await.expect(200).text();
        between(&page, "<ul class=\"lead\">", "</ul>").to_owned()
    };
    // The application is unassigned, and goes with its system all the same.
    let expected = "<li>2 organizations below it</li><li>2 users</li><li>1 system</li><li>1 application</li>";
    assert_eq!(consequences("delete").await, expected);
    t.delete_organization(tree.distributor).await;
    assert_eq!(consequences("destroy").await, expected);
});

api_test!(branches_are_read_when_they_are_opened, |t| async move {
    let tree = t.tree().await;
    for number in 0..52 {
        t.organization(tree.other_reseller, OrgType::Customer, &format!("Shop {number:02}")).await;
    }
    t.system(tree.customer).await;
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let closed = browser.get("/console/organizations").await.expect(200).text();
    assert!(closed.contains("Alfa Distributor") && !closed.contains("Alfa Reseller"), "{closed}");
    assert!(closed.contains("<strong>1</strong> system<"), "{closed}");
    let toggle = between(&closed, "class=\"toggle\"", ">");
    let open = between(toggle, "href=\"", "#").to_owned();
    let opened = browser.get(&open).await.expect(200).text();
    assert!(opened.contains("Alfa Reseller") && !opened.contains("Alfa Customer"), "{opened}");
    let both = format!("/console/organizations?open={}&open={}", tree.other_distributor, tree.other_reseller);
    let page = browser.get(&both).await.expect(200).text();
    assert!(page.contains("Shop 00") && !page.contains("Shop 51"), "50 of a branch");
    let list = format!("/console/organizations/customers?organization_id={}", tree.other_reseller);
    assert!(page.contains(&format!("href=\"{list}\"")), "{page}");
    let all = browser.get(&format!("{list}&sort_by=name&page=3")).await.expect(200).text();
    assert!(all.contains("Shop 51") && all.contains("Beta Reseller"), "{all}");
    // A branch below a closed one stays closed.
    let hidden =
        browser.get(&format!("/console/organizations?open={}", tree.reseller)).await.expect(200).text();
    assert!(!hidden.contains("Alfa Customer"));
    let page = browser.get("/console/organizations?search=shop+07").await.expect(200).text();
    assert!(page.contains("Shop 07") && !page.contains("Shop 08") && !page.contains("id=\"tree\""));
    let none = browser.get("/console/organizations?search=nowhere").await.expect(200).text();
    assert!(none.contains("No organization matches"));
});

api_test!(the_lists_of_families_keep_everything_in_their_addresses, |t| async move {
    let tree = t.tree().await;
    for number in 0..21 {
        t.organization(tree.distributor, OrgType::Reseller, &format!("Shop {number:02}")).await;
    }
    t.suspend_organization(tree.other_reseller).await;
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let home = browser.get("/console/").await.expect(200).text();
    t.system(tree.customer).await;
    assert!(home.contains("Welcome"));
    let home = browser.get("/console/").await.expect(200).text();
    assert!(home.contains("href=\"/console/organizations/resellers?status=suspended\""), "{home}");
    let list = "/console/organizations/resellers";
    let page = browser.get(&format!("{list}?sort_by=name")).await.expect(200).text();
    assert!(page.contains("aria-sort=\"ascending\"") && page.contains("Alfa Reseller"), "{page}");
    assert!(page.contains("Shop 00") && !page.contains("Shop 20"));
    let second = browser.get(&format!("{list}?sort_by=name&page=2")).await.expect(200).text();
    assert!(second.contains("Shop 20") && second.contains("21–23 of"), "{second}");
    let suspended = browser.get(&format!("{list}?status=suspended&search=")).await.expect(200).text();
    assert!(suspended.contains("Beta Reseller") && !suspended.contains("Shop"), "{suspended}");
    let made = browser.get(&format!("{list}?created_by={}", owner.id)).await.expect(200).text();
    assert!(made.contains("No organization matches"), "{made}");
    let file = browser.get(&format!("{list}/export?format=csv&search=shop&sort_by=name")).await.expect(200);
    assert_eq!(file.text().lines().count(), 22);
    let customers = browser.get("/console/organizations/customers").await.expect(200).text();
    assert!(customers.contains("Alfa Customer") && customers.contains("Beta Customer"));
});

api_test!(the_tabs_of_an_organization_show_what_belongs_to_it, |t| async move {
    let tree = t.tree().await;
    let user = t.user(tree.reseller, &["support"]).await;
    let system = t.system(tree.customer).await;
    t.application(&system).await;
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let here = page_of(tree.reseller);
    let page = browser.get(&here).await.expect(200).text();
    assert!(page.contains(&format!("/console/organizations/customers?organization_id={}", tree.reseller)));
    assert!(page.contains(&format!("/console/systems?organization_id={}", tree.reseller)), "{page}");
    let users = browser.get(&format!("{here}/users")).await.expect(200).text();
    assert!(users.contains("@example.org") && users.contains("Support"), "{users}");
    let systems = browser.get(&format!("{here}/systems")).await.expect(200).text();
    assert!(
        systems.contains(&format!("/console/systems/{}\"", system.id)) && systems.contains("Alfa Customer")
    );
    let none = browser.get(&format!("{here}/applications")).await.expect(200).text();
    assert!(none.contains("No applications"), "{none}");
    // People of the organization itself see the same.
    Browser::of(&t, &user).await.get(&format!("{here}/systems")).await.expect(200);
});

/// Words of actions that a page of an organization offers.
async fn offered(t: &Test, persona: &Persona, id: OrgId) -> Vec<&'static str> {
    let here = page_of(id);
    let page = Browser::of(t, persona).await.get(&here).await.expect(200).text();
    let words = ["edit", "promote", "suspend", "delete", "destroy"];
    words.into_iter().filter(|word| page.contains(&format!("{here}/{word}\""))).collect()
}

api_test!(actions_are_those_of_the_person, |t| async move {
    let tree = t.tree().await;
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for role in ["super", "admin", "backoffice", "support", "reader"] {
            let user = t.user(org, &[role]).await;
            let browser = Browser::of(&t, &user).await;
            let home = browser.get("/console/").await.expect(200).text();
            assert!(home.contains("href=\"/console/organizations\""), "{role}");
            let tree_page = browser.get("/console/organizations").await.expect(200).text();
            assert!(!tree_page.contains("Beta") || org == tree.owner, "{role} of {org}");
            for (family, id) in [("customers", tree.customer), ("resellers", tree.reseller)] {
                let reply = t.get(&format!("/api/{family}/{id}")).bearer(&user.token).send().await;
                let page = browser.get(&page_of(id)).await;
                // Organizations out of reach are hidden, whatever the permissions are.
                let is_same = page.status == reply.status
                    || (page.status, reply.status.as_u16()) == (404.try_into().unwrap(), 403);
                assert!(is_same, "{role} of {org}: {family}: {}", page.status);
                let list = browser.get(&format!("/console/organizations/{family}")).await;
                let api_reply = t.get(&format!("/api/{family}")).bearer(&user.token).send().await;
                assert_eq!(list.status, api_reply.status, "{role} of {org}: {family}");
                if reply.status != 200 {
                    continue;
                }
                let words = offered(&t, &user, id).await;
                let body = json!({"name": format!("Renamed {role}")});
                let path = format!("/api/{family}/{id}");
                let may_edit =
                    t.call(axum::http::Method::PUT, &path).bearer(&user.token).json(body).send().await;
                assert_eq!(words.contains(&"edit"), may_edit.status == 200, "{role} of {org}: {words:?}");
                for word in ["promote", "suspend", "delete", "destroy"] {
                    if !words.contains(&word) && (word != "promote" || family == "resellers") {
                        let form = [("name", "x")];
                        browser.post(&format!("{}/{word}", page_of(id)), &form).await.expect(403);
                        browser.get(&format!("{}/{word}", page_of(id))).await.expect(403);
                    }
                }
            }
            let may = tree_page.contains("new?family=customer");
            let fields = [("family", "customer"), ("name", "New"), ("vat", "IT77")];
            let made = browser.post("/console/organizations/new", &fields).await;
            assert_eq!(made.status, if may { 303 } else { 403 }, "{role} of {org}");
        }
    }
});

api_test!(what_is_foreign_and_what_never_was_are_the_same_page, |t| async move {
    let tree = t.tree().await;
    for org in [tree.distributor, tree.reseller, tree.customer] {
        for role in ["super", "reader"] {
            let user = t.user(org, &[role]).await;
            let browser = Browser::of(&t, &user).await;
            let missing: OrgId = t.app.platform.fresh();
            let ids = [
                tree.owner.to_string(),
                tree.other_distributor.to_string(),
                tree.other_reseller.to_string(),
                tree.other_customer.to_string(),
                missing.to_string(),
                "nonsense".to_owned(),
            ];
            let tails = [
                "",
                "/users",
                "/systems",
                "/applications",
                "/edit",
                "/suspend",
                "/restore",
                "/destroy",
                "/promote",
            ];
            for tail in tails {
                let mut pages = Vec::new();
                for id in &ids {
                    let reply = browser.get(&format!("/console/organizations/{id}{tail}")).await.expect(404);
                    pages.push((reply.body, reply.headers.len()));
                    if !["", "/users", "/systems", "/applications"].contains(&tail) {
                        let form = [("name", "x"), ("vat", "IT1")];
                        let reply = browser
                            .post(&format!("/console/organizations/{id}{tail}"), &form)
                            .await
                            .expect(404);
                        pages.push((reply.body, reply.headers.len()));
                    }
                }
                assert!(pages.windows(2).all(|pair| pair[0] == pair[1]), "{role} of {org}: {tail}");
            }
            let open = format!("/console/organizations?open={}&open={}", tree.owner, tree.other_distributor);
            for address in [open.as_str(), "/console/organizations?search=beta"] {
                assert!(!browser.get(address).await.expect(200).text().contains("Beta"), "{address}");
            }
        }
    }
    let user = t.user(tree.distributor, &["super"]).await;
    let browser = Browser::of(&t, &user).await;
    let named = format!("/console/organizations/customers?organization_id={}", tree.other_reseller);
    assert!(!browser.get(&named).await.expect(200).text().contains("Beta"));
    let parent = tree.other_reseller.to_string();
    let fields =
        [("family", "customer"), ("name", "Mine"), ("vat", "IT5"), ("created_by_organization_id", &*parent)];
    browser.post("/console/organizations/new", &fields).await.expect(403);
});

api_test!(alerts_and_events_of_an_organization_are_those_below_it_too, |t| async move {
    let tree = t.tree().await;
    let browser = Browser::of(&t, &t.owner().await).await;
    for (organization, name) in [(tree.customer, "BelowAlert"), (tree.other_customer, "ElsewhereAlert")] {
        let system = t.system(organization).await;
        push(&t, &system, json!([alert(name, "critical")])).await;
    }
    events::number_all(&t.app.events).await.unwrap();
    for above in [tree.distributor, tree.reseller] {
        let page = browser.get(&page_of(above)).await.expect(200).text();
        for area in ["alerts", "timeline"] {
            let address = format!("/console/{area}?organization_id={above}");
            let below = format!("{address}&include=descendants");
            assert!(page.contains(&format!("href=\"{}\"", below.replace('&', "&amp;"))), "{area}: {page}");
            let both = browser.get(&below).await.expect(200).text();
            assert!(both.contains("BelowAlert") && !both.contains("ElsewhereAlert"), "{area}: {both}");
            assert!(both.contains(&format!("<a href=\"{address}\">this organization alone</a>")), "{both}");
            let alone = browser.get(&address).await.expect(200).text();
            assert!(!alone.contains("BelowAlert") && alone.contains("with those below"), "{area}: {alone}");
        }
        // The counts agree.
        let list = browser.get(&format!("/console/alerts?organization_id={above}&include=descendants")).await;
        assert!(list.expect(200).text().contains("data-live=\"alert\">1</span>"));
    }
    // What is foreign stays so.
    let reseller = Browser::of(&t, &t.user(tree.other_reseller, &["admin"]).await).await;
    let foreign = format!("/console/timeline?organization_id={}&include=descendants", tree.distributor);
    assert!(!reseller.get(&foreign).await.expect(200).text().contains("BelowAlert"));
    let foreign = foreign.replace("timeline", "alerts");
    reseller.get(&foreign).await.expect(403);
});
