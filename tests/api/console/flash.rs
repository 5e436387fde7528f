//! The note about what a form has done: on the next page, once, and never of its address.

use super::{Browser, set_cookie};
use bailiwick_testkit::api_test;

const COOKIE: &str = "bailiwick-console-note";

api_test!(a_note_is_shown_once_and_only_on_its_page, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let address = format!("/console/organizations/{}", tree.customer);
    let shown = "The organization is suspended, with everything below it.";
    let sent = browser.post(&format!("{address}/suspend"), &[]).await.expect(303);
    assert_eq!(sent.header("location"), Some(address.as_str()));
    let cookie =
        sent.headers.get_all("set-cookie").iter().find(|line| line.to_str().unwrap().starts_with(COOKIE));
    let cookie = cookie.unwrap().to_str().unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("Max-Age=60"), "{cookie}");
    assert!(!cookie.contains("suspend"), "it is sealed: {cookie}");
    // Another page, in another tab, neither shows it nor takes it away.
    let other = browser.get("/console/systems").await.expect(200);
    assert!(!other.text().contains(shown) && set_cookie(&other, COOKIE).is_none());
    let page = browser.get(&address).await.expect(200);
    assert!(page.text().contains(shown), "{}", page.text());
    assert_eq!(set_cookie(&page, COOKIE).as_deref(), Some(""));
    assert!(!browser.get(&address).await.expect(200).text().contains(shown), "a reload");
    // A parameter in the address shows no message.
    let forged = browser.get(&format!("{address}?done=organization_destroy")).await.expect(200).text();
    assert!(!forged.contains("class=\"note good\""), "{forged}");
});
