//! The wizard of imports, for organizations and users.

use super::{Browser, ORIGIN, between};
use axum::http::Method;
use bailiwick_domain::OrgType;
use bailiwick_testkit::{Reply, api_test};

/// Sends a file as the form of the first step does.
async fn send(browser: &Browser<'_>, kind: &str, file: &str) -> Reply {
    let body = format!(
        "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\
         Content-Type: text/csv\r\n\r\n{file}\r\n--XX--\r\n"
    );
    let call = browser.call(Method::POST, &format!("/console/imports/{kind}")).header("origin", ORIGIN);
    call.header("content-type", "multipart/form-data; boundary=XX").body(body).send().await
}

const COLUMNS: &str =
    "company_name,description,vat_number,address,city,main_contact,email,phone,language,notes";

api_test!(a_file_of_organizations_is_looked_at_and_then_imported, |t| async move {
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let list = browser.get("/console/organizations/customers").await.expect(200).text();
    assert!(list.contains("href=\"/console/imports/customers\""));
    let first = browser.get("/console/imports/customers").await.expect(200).text();
    assert!(first.contains("multipart/form-data") && first.contains("<code>vat_number</code>"), "{first}");
    let template = browser.get("/console/imports/customers/template").await.expect(200);
    assert!(template.header("content-disposition").unwrap().contains("customers_import_template.csv"));
    assert!(template.text().starts_with(COLUMNS));
    let fault = send(&browser, "customers", "name\nx").await.expect(422).text();
    assert!(fault.contains("This file cannot be imported.") && fault.contains("missing columns"), "{fault}");

    let file = format!("{COLUMNS}\nAlfa <b>,,IT1,,Asti,,,,,\nBeta,,IT1,,,,,,,\n,,IT3,,,,nobody,,,\n");
    let check = send(&browser, "customers", &file).await.expect(200).text();
    for text in ["Alfa &lt;b&gt;", "stands in an earlier row too.", "is needed.", "cannot be read."] {
        assert!(check.contains(text), "{text}: {check}");
    }
    assert!(!check.contains("name=\"override\""), "nothing exists yet");
    let id = between(&check, "name=\"import_id\" value=\"", "\"").to_owned();
    let result = browser.post("/console/imports/customers/confirm", &[("import_id", &id)]).await;
    let result = result.expect(200).text();
    assert!(result.contains("created") && result.contains("The row has an error."), "{result}");
    // The parts of the page follow each other: how far the import is, its result, the end.
    let (before, after) = result.split_once("0 of 3 rows are done.").unwrap();
    assert!(
        before.contains("aria-current=\"step\"") && !before.contains("The row has an error."),
        "{result}"
    );
    assert!(after.ends_with("</html>\n") || after.ends_with("</html>"), "{after}");
    let made = between(&result, "<a href=\"/console/organizations/", "\"").to_owned();
    assert!(browser.get(&format!("/console/organizations/{made}")).await.expect(200).text().contains("Asti"));
    // A file counts once.
    browser.post("/console/imports/customers/confirm", &[("import_id", &id)]).await.expect(400);

    let again = format!("{COLUMNS}\nAlfa again,,IT1,,Asti,,,,,\n");
    for (fields, word) in [(&[][..], "left out"), (&[("override", "true")], "overwritten")] {
        let check = send(&browser, "customers", &again).await.expect(200).text();
        assert!(check.contains("name=\"override\"") && check.contains("exists already."), "{check}");
        let id = between(&check, "name=\"import_id\" value=\"", "\"").to_owned();
        let mut form = vec![("import_id", id.as_str())];
        form.extend_from_slice(fields);
        let result = browser.post("/console/imports/customers/confirm", &form).await.expect(200).text();
        assert!(result.contains(word), "{word}: {result}");
    }
    let page = browser.get(&format!("/console/organizations/{made}")).await.expect(200).text();
    assert!(page.contains("Alfa again"), "{page}");
});

api_test!(an_ambiguous_row_of_a_user_gets_the_chosen_organization, |t| async move {
    let tree = t.tree().await;
    let twin = t.organization(tree.other_reseller, OrgType::Customer, "Alfa Customer").await;
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let file = "email,name,phone,company_name,roles\nanna@one.example,Anna,,Alfa Customer,Admin\n";
    let check = send(&browser, "users", file).await.expect(200).text();
    assert!(check.contains("several organizations have this name."), "{check}");
    assert!(check.contains("name=\"row_2\"") && check.contains(&twin.to_string()), "{check}");
    let id = between(&check, "name=\"import_id\" value=\"", "\"").to_owned();
    let chosen = twin.to_string();
    let form = [("import_id", id.as_str()), ("row_2", &chosen)];
    let result = browser.post("/console/imports/users/confirm", &form).await.expect(200).text();
    assert!(result.contains("created"), "{result}");
    let users = browser.get(&format!("/console/organizations/{twin}/users")).await.expect(200).text();
    assert!(users.contains("anna@one.example"), "{users}");

    let check = send(&browser, "users", &file.replace("anna", "john")).await.expect(200).text();
    let id = between(&check, "name=\"import_id\" value=\"", "\"").to_owned();
    let result = browser.post("/console/imports/users/confirm", &[("import_id", &id), ("row_2", "")]).await;
    assert!(result.expect(200).text().contains("No organization was chosen."));
});

api_test!(people_import_what_they_may_create, |t| async move {
    let tree = t.tree().await;
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for role in ["super", "admin", "backoffice", "support", "reader"] {
            let user = t.user(org, &[role]).await;
            let browser = Browser::of(&t, &user).await;
            for kind in ["distributors", "resellers", "customers", "users"] {
                let request = t.post(&format!("/api/{kind}/import/confirm")).bearer(&user.token);
                let may = request.json(serde_json::json!({})).send().await.status == 400;
                let (page, form) = if may { (200, 422) } else { (403, 403) };
                browser.get(&format!("/console/imports/{kind}")).await.expect(page);
                send(&browser, kind, "").await.expect(form);
                if !may {
                    browser
                        .post(&format!("/console/imports/{kind}/confirm"), &[("import_id", "x")])
                        .await
                        .expect(403);
                    browser.get(&format!("/console/imports/{kind}/template")).await.expect(403);
                }
                let list = browser.get(&format!("/console/organizations/{kind}")).await;
                if kind != "users" && list.status == 200 {
                    let link = format!("href=\"/console/imports/{kind}\"");
                    assert_eq!(list.text().contains(&link), may, "{role} of {org}: {kind}");
                }
            }
            browser.get("/console/imports/systems").await.expect(404);
        }
    }
});
