//! Rebranding: on and off, names and pictures, inheritance and rights.

use super::{Browser, ORIGIN, between};
use axum::http::Method;
use bailiwick_domain::OrgId;
use bailiwick_testkit::{Reply, Test, api_test};

const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"10\" height=\"10\"/>";

/// Sends a form with a name and one file, the other files left empty as browsers do.
async fn send(browser: &Browser<'_>, path: &str, name: &str, file: (&str, &str)) -> Reply {
    let mut body = format!("--XX\r\nContent-Disposition: form-data; name=\"product_name\"\r\n\r\n{name}\r\n");
    for (asset, text) in [file, ("background_image", "")] {
        let (media, text) =
            if text.is_empty() { ("application/octet-stream", "") } else { ("image/svg+xml", text) };
        body.push_str(&format!(
            "--XX\r\nContent-Disposition: form-data; name=\"{asset}\"; filename=\"a\"\r\nContent-Type: {media}\r\n\r\n{text}\r\n"
        ));
    }
    body.push_str("--XX--\r\n");
    let call = browser.call(Method::POST, path).header("origin", ORIGIN);
    browser.keep(call.header("content-type", "multipart/form-data; boundary=XX").body(body).send().await)
}

fn tab(id: OrgId) -> String {
    format!("/console/organizations/{id}/rebranding")
}

api_test!(names_and_pictures_are_set_shown_inherited_and_removed, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let browser = Browser::of(&t, &owner).await;
    let here = tab(tree.distributor);
    let list = browser.get("/console/rebranding?search=alfa").await.expect(200).text();
    assert!(list.contains("No organization has its own.") && list.contains(&here), "{list}");
    let off = browser.get(&here).await.expect(200).text();
    assert!(off.contains("No rebranding") && !off.contains("multipart/form-data"), "{off}");
    send(&browser, &format!("{here}/ns8"), "Cloud", ("favicon", SVG)).await.expect(403);
    browser.post(&here, &[("on", "true")]).await.expect(303);
    let on = browser.get(&here).await.expect(200).text();
    assert!(on.contains("Own rebranding") && on.contains("multipart/form-data"), "{on}");
    assert!(browser.get("/console/rebranding").await.expect(200).text().contains(&here));

    let saved = send(&browser, &format!("{here}/ns8"), "Cloud & <Co>", ("favicon", SVG)).await.expect(303);
    let page = browser.get(saved.header("location").unwrap()).await.expect(200).text();
    assert!(page.contains("Cloud &amp; &lt;Co&gt;") && page.contains("Saved."), "{page}");
    let picture = format!("{here}/ns8/favicon");
    assert!(page.contains(&format!("src=\"{picture}\"")), "{page}");
    let file = browser.get(&picture).await.expect(200);
    assert_eq!((file.text().as_str(), file.header("content-type")), (SVG, Some("image/svg+xml")));
    assert!(file.header("content-security-policy").unwrap().contains("sandbox"));
    let etag = file.header("etag").unwrap().to_owned();
    browser.call(Method::GET, &picture).header("if-none-match", &etag).send().await.expect(304);

    let below = browser.get(&tab(tree.customer)).await.expect(200).text();
    assert!(below.contains("Inherited") && below.contains(&format!("src=\"{picture}\"")), "{below}");
    let beside = browser.get(&tab(tree.other_customer)).await.expect(200).text();
    assert!(!beside.contains("<img"), "{beside}");

    let active = SVG.replace("/>", "><script/></svg>");
    let wrong = send(&browser, &format!("{here}/ns8"), "", ("favicon", &active)).await.expect(422).text();
    assert!(between(&wrong, "id=\"ns8-favicon-wrong\">", "<").contains("content that could run"), "{wrong}");
    let text =
        send(&browser, &format!("{here}/ns8"), "", ("logo_dark_rect", "no picture")).await.expect(422).text();
    let field = between(&text, "id=\"ns8-logo_dark_rect\"", ">");
    assert!(field.contains("aria-invalid=\"true\" autofocus"), "{field}");
    let says = between(&text, "id=\"ns8-logo_dark_rect-wrong\">", "<");
    assert_eq!(says, "Files of this kind are not taken here. These are: PNG, WEBP, SVG.");
    assert_eq!(text.matches("autofocus").count(), 1);
    let long =
        send(&browser, &format!("{here}/ns8"), &"x".repeat(101), ("favicon", "")).await.expect(422).text();
    assert!(long.contains("id=\"ns8-name-wrong\">The name is longer than 100 bytes."), "{long}");
    let wrong = send(&browser, &format!("{here}/ns8"), " ", ("favicon", "")).await.expect(422).text();
    assert!(wrong.contains("autofocus>Choose a file or write a name."), "{wrong}");
    send(&browser, &format!("{here}/nothing"), "x", ("favicon", "")).await.expect(404);

    browser.post(&format!("{here}/ns8/remove/favicon"), &[]).await.expect(303);
    browser.get(&picture).await.expect(404);
    browser.post(&format!("{here}/ns8/remove"), &[]).await.expect(303);
    assert!(!browser.get(&here).await.expect(200).text().contains("Cloud"));
    browser.post(&here, &[]).await.expect(303);
    assert!(browser.get(&here).await.expect(200).text().contains("No rebranding"));
});

async fn with_rebranding(t: &Test, id: OrgId) {
    let owner = t.owner().await;
    let browser = Browser::of(t, &owner).await;
    browser.post(&tab(id), &[("on", "true")]).await.expect(303);
    send(&browser, &format!("{}/ns8", tab(id)), "Cloud", ("favicon", SVG)).await.expect(303);
}

api_test!(only_owners_change_it_and_nobody_sees_what_is_above, |t| async move {
    let tree = t.tree().await;
    with_rebranding(&t, tree.distributor).await;
    for org in [tree.owner, tree.distributor, tree.reseller, tree.customer] {
        for role in ["super", "reader"] {
            let user = t.user(org, &[role]).await;
            let browser = Browser::of(&t, &user).await;
            let may = org == tree.owner && role == "super";
            browser.get("/console/rebranding").await.expect(200);
            let here = tab(tree.customer);
            let page = browser.get(&here).await;
            if page.status != 200 {
                continue;
            }
            let page = page.text();
            assert_eq!(page.contains("name=\"on\""), may, "{role} of {org}");
            let sees_source = org == tree.owner || org == tree.distributor;
            assert_eq!(page.contains("Alfa Distributor"), sees_source, "{role} of {org}: {page}");
            assert_eq!(page.contains("<img"), sees_source, "{role} of {org}");
            if !may {
                browser.post(&here, &[("on", "true")]).await.expect(403);
                browser.post(&here, &[]).await.expect(403);
                send(&browser, &format!("{here}/ns8"), "x", ("favicon", SVG)).await.expect(403);
                browser.post(&format!("{here}/ns8/remove"), &[]).await.expect(403);
                browser.post(&format!("{here}/ns8/remove/favicon"), &[]).await.expect(403);
            }
            let missing: OrgId = t.app.platform.fresh();
            for tail in ["", "/ns8/favicon"] {
                let mut pages = Vec::new();
                for id in [tree.other_customer, missing] {
                    if org != tree.owner {
                        pages.push(browser.get(&format!("{}{tail}", tab(id))).await.expect(404).body);
                    }
                }
                assert!(pages.windows(2).all(|pair| pair[0] == pair[1]), "{role} of {org}: {tail}");
            }
        }
    }
});
