//! The API reference at `/docs`, and what its document says.

use bailiwick_api::{openapi::document, routes::table};
use bailiwick_testkit::{Reply, Test, api_test};
use serde_json::Value;
use std::io::Read;

async fn get(t: &Test, path: &str) -> Reply {
    t.get(path).send().await
}

/// Addresses in a page that a browser would fetch.
fn fetched(page: &str) -> Vec<&str> {
    let after = |key: &'static str| page.split(key).skip(1).filter_map(|rest| rest.split('"').next());
    after("src=\"").chain(after("href=\"")).chain(after("data-document=\"")).collect()
}

api_test!(the_reference_is_served_at_every_base_path_and_asks_nobody_else, |t| async move {
    for base in ["", "/api", "/backend/api", "/collect/api"] {
        for slash in ["", "/"] {
            let page = get(&t, &format!("{base}/docs{slash}")).await.expect(200);
            assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
            let policy = page.header("content-security-policy").unwrap().to_owned();
            assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
            assert!(
                !policy.contains("http") && !policy.contains('*') && !policy.contains("unsafe-eval"),
                "{policy}"
            );
            let text = page.text();
            assert!(!text.contains("<script>") && !text.contains(" on"), "no script stands in the page");
            let addresses = fetched(&text);
            assert!(addresses.len() >= 5);
            for address in addresses.into_iter().filter(|a| !a.starts_with("data:")) {
                assert!(address.starts_with(&format!("{base}/docs/")), "{address}");
                let file = get(&t, address).await.expect(200);
                assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
                assert_eq!(file.header("content-security-policy"), Some(policy.as_str()));
            }
        }
    }
    let start = get(&t, "/docs/start.js").await.expect(200).text();
    assert!(start.contains("validatorUrl: null") && !start.contains("://"));
    get(&t, "/docs/other.js").await.expect_message(404, "api not found");
});

api_test!(the_viewer_is_sent_as_it_is_kept, |t| async move {
    for (file, content_type) in [
        ("swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
        ("swagger-ui.css", "text/css; charset=utf-8"),
        ("openapi.json", "application/json"),
    ] {
        let path = format!("/docs/{file}");
        let plain = get(&t, &path).await.expect(200);
        assert_eq!(
            (plain.header("content-type"), plain.header("content-encoding")),
            (Some(content_type), None)
        );
        let packed = t.get(&path).header("accept-encoding", "gzip").send().await.expect(200);
        assert_eq!(packed.header("content-encoding"), Some("gzip"));
        assert!(packed.body.len() < 1024 * 1024, "{file} has {} bytes", packed.body.len());
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == plain.body, "{file}");
    }
});

api_test!(
    the_document_names_the_base_paths_of_this_service,
    |settings| settings.base_paths = vec!["/portal".to_owned()],
    |t| async move {
        for base in ["", "/portal"] {
            let served = get(&t, &format!("{base}/docs/openapi.json")).await.expect(200).json();
            assert_eq!(served["servers"], serde_json::json!([{"url": "/portal"}]));
            assert_eq!(served["paths"], document()["paths"]);
        }
        get(&t, "/api/docs").await.expect_message(404, "api not found");
    }
);

fn operations() -> Vec<(String, Value)> {
    let document = document();
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, item): (&String, &Value)| {
        let item = item.as_object().unwrap().clone();
        item.into_iter()
            .map(move |(method, operation)| (format!("{method} {path}"), operation))
            .collect::<Vec<_>>()
    };
    paths.iter().flat_map(of_path).collect()
}

#[test]
fn every_operation_is_described() {
    let operations = operations();
    assert_eq!(operations.len(), table().len());
    for (what, operation) in &operations {
        for key in ["summary", "description"] {
            assert!(operation[key].as_str().is_some_and(|text| text.len() > 3), "{what} has no {key}");
        }
        assert_eq!(operation["tags"].as_array().unwrap().len(), 1, "{what}");
        for permission in operation["x-permissions"].as_array().into_iter().flatten() {
            let named = format!("`{}`", permission.as_str().unwrap());
            assert!(operation["description"].as_str().unwrap().contains(&named), "{what}: {named}");
        }
        for parameter in operation["parameters"].as_array().unwrap() {
            assert!(parameter["name"].is_string() && parameter["schema"].is_object(), "{what}: {parameter}");
        }
        let answers = operation["responses"].as_object().unwrap();
        assert!(answers.keys().any(|status| status.starts_with('2')), "{what}");
        let is_proxied = what.contains("/{service}/") || what.contains(" /proxy/alerts");
        assert!(is_proxied || answers.contains_key("500"), "{what} has no error answers");
    }
    let with_example = |(_, operation): &&(String, Value)| {
        let answers = operation["responses"].as_object().unwrap();
        answers.iter().any(|(status, answer)| {
            status.starts_with('2') && answer["content"]["application/json"]["examples"].is_object()
        })
    };
    let shown = operations.iter().filter(with_example).count();
    assert!(shown >= 40, "only {shown} operations have examples");
}

/// An example is an answer of the operation that it stands at.
#[test]
fn examples_have_the_status_they_stand_at() {
    let mut seen = 0;
    for (what, operation) in operations() {
        for (status, answer) in operation["responses"].as_object().unwrap() {
            let examples = answer["content"]["application/json"]["examples"].as_object();
            for example in examples.into_iter().flat_map(|all| all.values()) {
                seen += 1;
                assert_eq!(example["value"]["code"].to_string(), *status, "{what}");
            }
        }
    }
    assert!(seen > 100, "{seen}");
}
