//! The headers and answers that operations on one entity with a tag have besides (docs/clients.md).

use crate::route::Route;
use http::Method;
use serde_json::{Map, Value, json};

const TAG: &str = "Tag of the entity as this answer shows it, for `If-Match` and `If-None-Match`.";

fn header(name: &str, about: &str) -> Value {
    // Without a pattern: generated Rust clients would need a library of regular expressions for it.
    let about = format!("{about} `*`, or tags with commas between them.");
    json!({"name": name, "in": "header", "required": false, "description": about, "schema": {"type": "string"}})
}

/// The headers that an operation heeds.
pub(super) fn parameters(route: &Route) -> Vec<Value> {
    const KNOWN: &str = "Tags of answers that the caller has already: 304 if the present one is among them.";
    const SEEN: &str = "Tags of states that the caller goes by: 412 unless the entity is in one of them.";
    const FIRST: &str = "412 if there is a layer already, or one in such a state.";
    match route.method {
        _ if !route.is_conditional => Vec::new(),
        Method::GET => vec![header("If-None-Match", KNOWN)],
        Method::POST if route.path.ends_with("/config") => {
            vec![header("If-Match", SEEN), header("If-None-Match", FIRST)]
        }
        _ => vec![header("If-Match", SEEN)],
    }
}

/// Adds the tag to the answers of a read, and the answer to a reader that already has the current version.
pub(super) fn complete(route: &Route, responses: &mut Map<String, Value>) {
    if !route.is_conditional || route.method != Method::GET {
        return;
    }
    let headers = json!({"ETag": {"description": TAG, "schema": {"type": "string"}}});
    let unchanged = "Nothing that the answer would show has changed; no body.";
    responses.insert("304".to_owned(), json!({"description": unchanged, "headers": headers}));
    if let Some(success) = responses.get_mut(&route.success.to_string()) {
        success["headers"] = headers;
    }
}

#[cfg(test)]
mod tests {
    use crate::openapi::document;

    #[test]
    fn operations_about_one_entity_say_what_they_heed() {
        let document = document();
        let mut found = 0;
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            for (method, operation) in item.as_object().into_iter().flatten() {
                let has = |name: &str| {
                    let mut all = operation["parameters"].as_array().into_iter().flatten();
                    all.any(|parameter| parameter["name"] == name && parameter["in"] == "header")
                };
                let answers = &operation["responses"];
                let (reads, writes) = (has("If-None-Match") && method == "get", has("If-Match"));
                assert!(!(reads && writes), "{method} {path}");
                assert_eq!(reads, answers["200"]["headers"]["ETag"].is_object(), "{method} {path}");
                assert_eq!(reads, answers["304"]["headers"]["ETag"].is_object(), "{method} {path}");
                assert_eq!(writes, answers["412"].is_object(), "{method} {path}");
                found += usize::from(reads || writes);
            }
        }
        // Three families and a promotion, users, systems, applications, a layer under two names.
        assert_eq!(found, 3 * 7 + 1 + 9 + 8 + 5 + 2 * 3);
    }
}
