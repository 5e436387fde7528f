//! A form that is sent after its session has ended.

use super::{Browser, ORIGIN, between};
use bailiwick_testkit::{Reply, Test, api_test};

/// Sends a form without a session.
async fn send(t: &Test, path: &str, form: &[(&str, &str)]) -> Reply {
    let call = t.post(path).header("origin", ORIGIN).header("referer", &format!("{ORIGIN}{path}"));
    call.form(form).send().await
}

/// The hidden fields of the form in a page.
fn hidden_fields(page: &str) -> Vec<(String, String)> {
    let fields = page.split("<input type=\"hidden\" name=\"").skip(1);
    let plain = |text: &str| text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    fields
        .map(|rest| (rest.split('"').next().unwrap().to_owned(), plain(between(rest, "value=\"", "\""))))
        .collect()
}

api_test!(a_session_that_has_ended_gives_the_fields_back, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let organization = tree.customer.to_string();
    let fields = [
        ("organization_id", organization.as_str()),
        ("name", "Rack <7>"),
        ("notes", "two\nlines"),
        ("data_key", "floor"),
        ("data_value", "3"),
    ];
    let page = send(&t, "/console/systems/new", &fields).await.expect(401).text();
    assert!(page.contains("Your session had ended; nothing was saved"), "{page}");
    assert!(page.contains("Rack &lt;7&gt;") && page.contains("action=\"/console/systems/new\""), "{page}");
    assert!(
        page.contains("href=\"/console/sign-in?page=%2Fconsole%2Fsystems%2Fnew\" target=\"_blank\""),
        "{page}"
    );
    // After the sign-in the form goes out as it was.
    let hidden_fields = hidden_fields(&page);
    let hidden_fields: Vec<(&str, &str)> =
        hidden_fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(hidden_fields, fields);
    let browser = Browser::of(&t, &owner).await;
    let made = browser.post("/console/systems/new", &hidden_fields).await.expect(200).text();
    assert!(made.contains("Rack &lt;7&gt;"));
});

api_test!(secrets_are_typed_again_and_what_has_no_fields_leads_back, |t| async move {
    let fields = [("current_password", "Old-Horse-4"), ("new_password", "New-Horse-5"), ("name", "Anna")];
    let page = send(&t, "/console/account/password", &fields).await.expect(401).text();
    assert!(!page.contains("Old-Horse-4") && !page.contains("New-Horse-5"), "{page}");
    assert!(page.contains("name=\"new_password\" type=\"password\"") && page.contains("Anna"), "{page}");
    let hook = [("name", "hook"), ("url", "https://hooks.example/T0/secret-part")];
    let page = send(&t, "/console/timeline/webhooks/new", &hook).await.expect(401).text();
    assert!(!page.contains("secret-part") && page.contains("name=\"url\" type=\"password\""), "{page}");
    let free =
        [("data_key", "api_key"), ("data_value", "s3cret"), ("data_key", "floor"), ("data_value", "3rd")];
    let page = send(&t, "/console/systems/new", &free).await.expect(401).text();
    assert!(!page.contains("s3cret") && page.contains("3rd") && page.contains("api_key"), "{page}");
    let bare = send(&t, "/console/systems/x/suspend", &[]).await.expect(401).text();
    assert!(bare.contains("nothing was saved") && !bare.contains("<form"), "{bare}");
    // The way out needs no session.
    let out = send(&t, "/console/sign-out", &[]).await.expect(303);
    assert_eq!(out.header("location"), Some("/console/sign-in"));
    // A form from elsewhere is not given back.
    t.post("/console/systems/new").form(&[("name", "x")]).send().await.expect(403);
});
