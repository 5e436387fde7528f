//! The choice of an organization in a form: a search keeps the form, and no organization is chosen automatically.

use super::{Browser, between};
use bailiwick_testkit::{Test, api_test, seed::Tree};
use serde_json::json;

/// The option that a form has chosen.
fn chosen(page: &str) -> &str {
    let select = between(page, " required", "</select>");
    let (before, _) = select.split_once("\" selected>").unwrap_or_default();
    before.rsplit('"').next().unwrap_or_default()
}

/// A form that chooses an organization: its address, the name of the choice, and what else is in it.
type Filled = (String, &'static str, Vec<(&'static str, &'static str)>);

async fn forms(t: &Test, tree: &Tree) -> Vec<Filled> {
    let owner = t.owner().await;
    let system = t.system(tree.customer).await;
    let body = json!({"notes": "as it was"});
    t.put(&format!("/api/systems/{}", system.id)).bearer(&owner.token).json(body).send().await.expect(200);
    t.send_documents(&system.key, &system.secret).await;
    let answer = t.get("/api/applications").bearer(&owner.token).send().await.expect(200).data();
    let application = answer["applications"][0]["id"].as_str().unwrap().to_owned();
    let user = t.user(tree.customer, &["reader"]).await;
    let data = [("data_key", "desk"), ("data_value", "<Milano>"), ("data_key", ""), ("data_value", "no key")];
    let with = |fields: &[(&'static str, &'static str)]| [fields, &data].concat();
    vec![
        (
            "/console/users/new".to_owned(),
            "organization_id",
            with(&[("name", "Anna N"), ("email", "half@"), ("username", "an"), ("user_role_ids", "admin")]),
        ),
        (
            "/console/systems/new".to_owned(),
            "organization_id",
            with(&[("name", "Rack 7"), ("notes", "below\nthe <stairs>")]),
        ),
        (
            format!("/console/systems/{}/edit", system.id),
            "organization_id",
            with(&[("name", "Rack 8"), ("notes", "moved"), ("seen", "\"v1\"")]),
        ),
        (
            "/console/organizations/new".to_owned(),
            "created_by_organization_id",
            with(&[
                ("family", "customer"),
                ("name", "Gamma"),
                ("vat", "IT7"),
                ("description", "d & e"),
                ("email", "half@"),
                ("city", "Roma"),
                ("language", "it"),
                ("notes", "n"),
            ]),
        ),
        (
            "/console/timeline/webhooks/new".to_owned(),
            "organization_id",
            vec![("name", "hook"), ("url", "https://"), ("group", "system.*"), ("single", "user.created")],
        ),
        (format!("/console/users/{}/move", user.id), "organization_id", vec![]),
        (format!("/console/applications/{application}/assign"), "organization_id", vec![]),
    ]
}

api_test!(a_search_for_an_organization_keeps_the_form, |t| async move {
    let tree = t.tree().await;
    let browser = Browser::of(&t, &t.owner().await).await;
    let to = tree.other_reseller.to_string();
    for (address, field, fields) in forms(&t, &tree).await {
        let before = t.get("/api/systems/totals").bearer(&t.owner().await.token).send().await.text();
        for (find, found, button) in [("Beta", "Beta", true), ("Beta", "", false), ("nowhere", "", true)] {
            let search = [(field, to.as_str()), ("find", find), ("found", found)];
            let pressed = button.then_some(("search", "true"));
            let sent: Vec<(&str, &str)> = fields.iter().copied().chain(search).chain(pressed).collect();
            let page = browser.post(&address, &sent).await.expect(200).text();
            assert_eq!(chosen(&page), to, "{address}: what was chosen stays\n{page}");
            assert!(page.contains(&format!("name=\"find\" type=\"search\" value=\"{find}\"")), "{page}");
            for (name, value) in &fields {
                let value = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                let value = value.replace('"', "&quot;");
                let field_kept = match *name {
                    "group" | "user_role_ids" => format!("value=\"{value}\" checked"),
                    "language" => format!("value=\"{value}\" selected"),
                    "notes" | "description" | "single" => format!(">{value}</textarea>"),
                    _ => format!("value=\"{value}\""),
                };
                assert!(page.contains(&field_kept), "{address} loses {name}={value}\n{page}");
            }
            let offers_others = page.contains(&tree.other_customer.to_string());
            assert_eq!(offers_others, find == "Beta" && field == "organization_id", "{address}");
            assert!(!page.contains(&format!("value=\"{}\"", tree.distributor)), "{address}");
        }
        let after = t.get("/api/systems/totals").bearer(&t.owner().await.token).send().await.text();
        assert_eq!(before, after, "{address}: nothing is made");
    }
});

api_test!(a_save_keeps_the_line_breaks_of_values, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let system = t.system(tree.customer).await.id;
    let data =
        json!({"vat": "IT9", "hours": "mon\ntue", "address": "Via Roma 1\nScala B", "notes": "\nfirst"});
    for (interface, page, fields) in [
        (
            format!("/api/systems/{system}"),
            format!("/console/systems/{system}/edit"),
            vec![("data_key", "address"), ("data_value", "Via Roma 1\r\nScala B")],
        ),
        (
            format!("/api/customers/{}", tree.customer),
            format!("/console/organizations/{}/edit", tree.customer),
            vec![("vat", "IT9"), ("address", "Via Roma 1\r\nScala B"), ("notes", "\r\nfirst")],
        ),
    ] {
        let body = json!({"custom_data": data});
        t.put(&interface).bearer(&owner.token).json(body).send().await.expect(200);
        let form = browser.get(&page).await.expect(200).text();
        // Browsers leave out the first line break of a `textarea`.
        for value in ["mon\ntue", "Via Roma 1\nScala B", "\n\nfirst"] {
            assert!(form.contains(&format!(">{value}</textarea>")), "{page} loses {value:?}\n{form}");
        }
        let hours = [("name", "Rack 7"), ("data_key", "hours"), ("data_value", "mon\r\ntue")];
        browser.post(&page, &[&fields[..], &hours].concat()).await.expect(303);
        let stored = t.get(&interface).bearer(&owner.token).send().await.expect(200).data();
        for key in ["hours", "address"] {
            assert_eq!(stored["custom_data"][key], data[key], "{page}");
        }
    }
});

api_test!(a_search_that_finds_one_organization_chooses_it, |t| async move {
    let tree = t.tree().await;
    let browser = Browser::of(&t, &t.owner().await).await;
    let search = [("find", "Beta Customer"), ("search", "true"), ("name", "N")];
    let page = browser.post("/console/systems/new", &search).await.expect(200).text();
    assert_eq!(chosen(&page), tree.other_customer.to_string());
    assert!(page.contains("One organization matches.") && page.contains("required autofocus"), "{page}");
    let admin = t.user(tree.distributor, &["admin"]).await;
    let theirs = Browser::of(&t, &admin).await;
    let page = theirs.post("/console/systems/new", &search).await.expect(200).text();
    assert_eq!(chosen(&page), "");
    assert!(page.contains("No organization matches.") && !page.contains(&tree.other_customer.to_string()));
    // Nor by its id.
    let other = tree.other_customer.to_string();
    let search = [("find", "x"), ("search", "true"), ("organization_id", other.as_str())];
    let page = theirs.post("/console/systems/new", &search).await.expect(200).text();
    assert!(!page.contains(&other) && !page.contains("Beta Customer"), "{page}");
    // Who may not make systems may not search in their form either.
    let reader = t.user(tree.customer, &["reader"]).await;
    Browser::of(&t, &reader).await.post("/console/systems/new", &search).await.expect(403);
});

api_test!(one_form_has_the_search_among_many_organizations, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    for number in 0..60 {
        let name = format!("Company {number:02}");
        t.organization(tree.reseller, bailiwick_domain::OrgType::Customer, &name).await;
    }
    let browser = Browser::of(&t, &owner).await;
    for address in ["/console/users/new", "/console/systems/new", "/console/timeline/webhooks/new"] {
        let page = browser.get(address).await.expect(200).text();
        let main = between(&page, "<main", "</main>");
        assert_eq!(main.matches("<form").count(), 1, "{address}");
        let form = between(main, "<form", "</form>");
        // Enter in a field presses the first button, which is that of the form.
        let first = between(form, "<button", ">");
        assert!(!first.contains("name=") && form.contains("name=\"search\" value=\"true\" formnovalidate"));
        assert!(form.contains("The first 50 can be chosen"), "{form}");
    }
    // The one that the address names is chosen, though it is not among the first.
    let last = tree.other_customer.to_string();
    let page = browser.get(&format!("/console/users/new?organization_id={last}")).await.expect(200).text();
    assert_eq!(chosen(&page), last);
});

api_test!(no_organization_is_chosen_where_there_are_several, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    for address in ["/console/users/new", "/console/systems/new"] {
        let page = browser.get(address).await.expect(200).text();
        assert_eq!(chosen(&page), "", "{address}");
        assert!(page.contains("<option value=\"\" disabled selected>Choose an organization"), "{page}");
    }
    let fields = [("name", "A"), ("email", "a@example.org"), ("user_role_ids", "admin")];
    let wrong = browser.post("/console/users/new", &fields).await.expect(422).text();
    assert!(wrong.contains("id=\"organization_id-wrong\"") && chosen(&wrong).is_empty(), "{wrong}");
    // One that was destroyed meanwhile.
    let gone = t.app.platform.fresh::<bailiwick_domain::OrgId>().to_string();
    let fields = [&fields[..], &[("organization_id", gone.as_str())]].concat();
    let wrong = browser.post("/console/users/new", &fields).await.expect(422).text();
    assert!(wrong.contains("This organization does not exist."), "{wrong}");
    // A customer has only their own, and an application or a webhook begins with the present or own one.
    let admin = t.user(tree.customer, &["admin"]).await;
    let page = Browser::of(&t, &admin).await.get("/console/users/new").await.expect(200).text();
    assert_eq!(chosen(&page), tree.customer.to_string());
    let page = browser.get("/console/timeline/webhooks/new").await.expect(200).text();
    assert_eq!(chosen(&page), owner.org.to_string());
    let page = browser.get("/console/organizations/new?family=customer").await.expect(200).text();
    assert_eq!(chosen(&page), owner.org.to_string());
});
