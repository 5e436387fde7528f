//! The guide at `/docs/guide`: its pages, its search, its files, at every base path.

use bailiwick_api::routes::table;
use bailiwick_testkit::{Reply, Test, api_test};
use std::{collections::BTreeSet, io::Read};

async fn get(t: &Test, path: &str) -> Reply {
    t.get(path).send().await
}

/// Addresses that a page leads to or fetches, without anchors.
fn addresses(page: &str) -> BTreeSet<String> {
    let after = |key: &'static str| page.split(key).skip(1).filter_map(|rest| rest.split('"').next());
    let all = after(" href=\"").chain(after(" src=\"")).chain(after(" action=\""));
    let all = all.filter(|address| !address.starts_with("data:") && !address.contains("://"));
    all.filter_map(|address| address.split('#').next().filter(|path| !path.is_empty()).map(str::to_owned))
        .collect()
}

api_test!(every_page_is_reached_by_links_at_every_base_path, |t| async move {
    for base in ["", "/backend/api"] {
        let mut ahead = vec![format!("{base}/docs/guide"), format!("{base}/docs")];
        let mut visited: BTreeSet<String> = ahead.iter().cloned().collect();
        let mut operations = 0;
        while let Some(address) = ahead.pop() {
            let reply = get(&t, &address).await.expect(200);
            assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{address}");
            operations += u32::from(address.contains("/operations/"));
            if reply.header("content-type") != Some("text/html; charset=utf-8") {
                continue;
            }
            for next in addresses(&reply.text()) {
                if next == "/console/" {
                    continue;
                }
                assert!(next.starts_with(&format!("{base}/docs")), "{address}: {next}");
                if visited.insert(next.clone()) {
                    ahead.push(next);
                }
            }
        }
        assert_eq!(operations as usize, table().len());
        let pages = visited.iter().filter(|address| address.contains("/guide/")).count();
        assert!(pages > 60, "{pages}");
    }
});

api_test!(a_page_has_a_policy_a_tag_and_is_packed, |t| async move {
    let path = "/docs/guide/specification/openid-provider";
    let page = get(&t, path).await.expect(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; "), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
    let text = page.text();
    assert!(!text.contains("<script") && !text.contains(" style="), "a page of the guide needs no scripts");
    assert!(text.contains("id=\"browser-login\"") && text.contains("On this page"), "{text}");

    let packed = t.get(path).header("accept-encoding", "gzip").send().await.expect(200);
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut unpacked).unwrap();
    assert!(unpacked == page.body);
    for reply in [&page, &packed] {
        let tag = reply.header("etag").unwrap();
        let again = t.get(path).header("if-none-match", tag).send().await.expect(304);
        assert!(again.body.is_empty() && again.header("etag") == page.header("etag"));
    }
    t.get(path).header("if-none-match", "\"other\"").send().await.expect(200);
    // The theme of the console counts, and is another state of the page.
    let dark = t.get(path).header("cookie", "bailiwick-theme=dark").send().await.expect(200);
    assert!(dark.text().contains("<html lang=\"en\" data-theme=\"dark\">"));
    assert!(dark.header("etag") != page.header("etag"));
    let other = t.get(path).header("cookie", "bailiwick-theme=\"><script>").send().await.expect(200);
    assert_eq!(other.text(), text);
});

api_test!(a_page_that_is_not_there_is_a_404_in_the_same_look, |t| async move {
    for path in [
        "/docs/guide/none",
        "/docs/guide/../guide/none",
        "/docs/guide/%2e%2e/%2e%2e/etc/passwd",
        "/docs/guide/tools.md",
        "/docs/guide/README",
        "/docs/guide/%3Cscript%3E",
        "/docs/guide/%ff%00",
        "/docs/guide/pictures/none.png",
        "/docs/guide/pictures/..%2fREADME.md",
        "/docs/operations/none",
        "/api/docs/guide/none",
    ] {
        let page = get(&t, path).await.expect(404);
        let text = page.text();
        assert!(text.contains("<h1>No such page</h1>") && !text.contains("<script>"), "{path}: {text}");
        assert!(page.header("content-security-policy").is_some(), "{path}");
    }
    get(&t, "/docs/other").await.expect_message(404, "api not found");
    get(&t, "/docs/assets/other.css").await.expect_message(404, "api not found");
    t.post("/docs/guide").send().await.expect_message(404, "api not found");
});

api_test!(pictures_are_sent_as_they_are, |t| async move {
    let picture = t.get("/docs/guide/pictures/system.png").header("accept-encoding", "gzip").send().await;
    let picture = picture.expect(200);
    assert_eq!(
        (picture.header("content-type"), picture.header("content-encoding")),
        (Some("image/png"), None)
    );
    assert!(picture.body.starts_with(b"\x89PNG"));
    let tag = picture.header("etag").unwrap();
    t.get("/docs/guide/pictures/system.png").header("if-none-match", tag).send().await.expect(304);
    let diagram = t.get("/docs/guide/pictures/diagram-internals-ingest-1.svg").send().await.expect(200);
    assert_eq!(diagram.header("content-type"), Some("image/svg+xml"));
    assert!(diagram.header("content-security-policy").is_some_and(|policy| policy.ends_with("sandbox")));
});

api_test!(the_search_finds_pages_and_operations, |t| async move {
    let page = get(&t, "/docs/guide/search?q=second+factor").await.expect(200).text();
    assert!(page.contains("<mark>") && page.contains("#second-factors\""), "{page}");
    // Pages come first, and no text shows its form.
    assert!(page.find("id=\"guide\"") < page.find("id=\"operations\"") && !page.contains('`'), "{page}");
    let page = get(&t, "/api/docs/guide/search?q=createSys").await.expect(200).text();
    assert!(page.contains("href=\"/api/docs/operations/createSystem\""), "{page}");
    // Fewer than all are shown, and the page says so.
    let many = get(&t, "/docs/guide/search?q=the").await.expect(200).text();
    assert!(many.contains("These are the best") && many.matches("<p>").count() < 70, "{many}");
    let none = get(&t, "/docs/guide/search?q=nosuchwordanywhere").await.expect(200).text();
    assert!(none.contains("Nothing has all of these words"), "{none}");
});

api_test!(no_query_breaks_the_search, |t| async move {
    let long = "a%20".repeat(20_000);
    for query in [
        "",
        "?",
        "?q",
        "?q=",
        "?q=%00",
        "?q=%ff%fe",
        "?q=%3Cscript%3Ealert(1)%3C/script%3E",
        "?q=%22%20autofocus%20onfocus=alert(1)%20x=%22",
        "?q=%EE%80%80%EE%80%81%EE%80%82",
        "?q=%27%20OR%201=1%20--",
        "?q={{7*7}}",
        "?q=a&q=b",
        "?x=y&&==&q",
        &format!("?q={}", &long[..40_000]),
    ] {
        for path in ["/docs/guide/search", "/docs"] {
            let page = get(&t, &format!("{path}{query}")).await.expect(200).text();
            assert!(page.contains("<h1>") && !page.contains("<script>"), "{query}");
            assert!(!page.contains(" onfocus=alert(1) x=\""), "{query}");
            assert!(page.len() < 300_000, "{query}: {}", page.len());
        }
    }
});

api_test!(
    the_guide_is_below_configured_base_paths,
    |settings| settings.base_paths = vec!["/portal".to_owned()],
    |t| async move {
        let page = get(&t, "/portal/docs/guide/tools").await.expect(200).text();
        assert!(page.contains("href=\"/portal/docs/guide/alerting\""), "{page}");
        let page = get(&t, "/docs").await.expect(200).text();
        assert!(page.contains("data-root=\"/docs\" data-base=\"/portal\""), "{page}");
        get(&t, "/api/docs/guide").await.expect_message(404, "api not found");
    }
);
