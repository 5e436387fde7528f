//! Checks every answer in tests against the interface document.

pub mod matching;

use crate::Reply;
use bailiwick_domain::fold::fold;
use http::Method;
use serde_json::Value;
use std::{cmp::Ordering, collections::HashMap, sync::LazyLock};

/// Arrays that an answer may lack although the document describes them; all others are present, empty or not (spec:
/// acceptance#guarantees rule 17).
const MAY_BE_LEFT_OUT: [(&str, &str); 2] = [
    // Refusals that do not concern a form have no `data`, or another kind.
    ("Error", "errors"),
    // Only if there is a choice (spec: imports-and-exports#import-of-users).
    ("IssueOutput", "candidates"),
];

/// The published document, with every array required.
struct Published {
    document: Value,
    /// By method and number of segments; those with fewer parameters come first.
    operations: HashMap<(Method, usize), Vec<Operation>>,
}

/// An operation of the document.
struct Operation {
    /// The segments of its path; none for a parameter.
    row: Vec<Option<String>>,
    /// Its keys below `paths`.
    keys: [String; 2],
}

static PUBLISHED: LazyLock<Published> = LazyLock::new(|| {
    let mut document = bailiwick_api::openapi::document();
    let names = arrays(&document);
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        for (name, schema) in schemas {
            require_arrays(name, schema, &names);
        }
    }
    let mut operations: HashMap<_, Vec<Operation>> = HashMap::new();
    for (path, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            require_arrays(path, &mut operation["responses"], &names);
            let method: Method = method.to_ascii_uppercase().parse().expect("a method");
            let (row, keys) = (segments(path), [path.clone(), method.as_str().to_lowercase()]);
            operations.entry((method, row.len())).or_default().push(Operation { row, keys });
        }
    }
    for rows in operations.values_mut() {
        rows.sort_by_key(|of| of.row.iter().filter(|part| part.is_none()).count());
    }
    Published { document, operations }
});

/// Named schemas that are arrays themselves.
fn arrays(document: &Value) -> Vec<String> {
    let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
    let arrays = schemas.filter(|(_, schema)| schema["type"] == "array");
    arrays.map(|(name, _)| format!("#/components/schemas/{name}")).collect()
}

fn require_arrays(name: &str, schema: &mut Value, arrays: &[String]) {
    let is_array = |part: &Value| {
        part["type"] == "array"
            || part["$ref"].as_str().is_some_and(|to| arrays.iter().any(|name| name == to))
    };
    if let Some(properties) = schema["properties"].as_object() {
        let is_free = |property: &str| MAY_BE_LEFT_OUT.contains(&(name, property));
        let of_arrays = properties.iter().filter(|(property, part)| is_array(part) && !is_free(property));
        let of_arrays: Vec<Value> = of_arrays.map(|(property, _)| property.as_str().into()).collect();
        let required = schema.as_object_mut().expect("a schema").entry("required");
        let required = required.or_insert_with(|| Value::Array(Vec::new())).as_array_mut().expect("names");
        required.retain(|name| !of_arrays.contains(name));
        required.extend(of_arrays);
    }
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(|part| require_arrays(name, part, arrays)),
        Value::Object(words) => words.values_mut().for_each(|part| require_arrays(name, part, arrays)),
        _ => {}
    }
}

fn segments(path: &str) -> Vec<Option<String>> {
    // One parameter stands for two segments, and the one before them is fixed: `services/<name>/<router>`.
    let path = path.replace("/{service}", "/services/{name}/{router}");
    let part = |part: &str| (!part.starts_with('{')).then(|| part.to_owned());
    path.trim_matches('/').split('/').map(part).collect()
}

impl Published {
    /// The operation at this path, below any base.
    fn operation(&self, method: &Method, path: &str) -> Option<&Value> {
        let path = path.split('?').next().unwrap_or(path);
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let is_providers =
            parts.contains(&"oidc") || parts.contains(&"interaction") || parts.contains(&"docs");
        let fits = |row: &[Option<String>], parts: &[&str]| {
            row.iter().zip(parts).all(|(want, have)| want.as_deref().is_none_or(|want| want == *have))
        };
        // Below an alert router there are no management operations, whatever its name.
        let is_router = |part: &&str| ["services", "alertmanager"].contains(part);
        let last = parts.iter().position(is_router).map_or(parts.len(), |at| at + 1);
        let from = 0..if is_providers { 0 } else { last };
        // If two operations match, the one with fewer parameters is meant.
        let best = |parts: &[&str]| {
            self.operations.get(&(method.clone(), parts.len()))?.iter().find(|of| fits(&of.row, parts))
        };
        let [path, method] = &from.into_iter().find_map(|from| best(parts.get(from..)?))?.keys;
        self.document["paths"][path].get(method)
    }

    fn answer<'a>(&'a self, operation: &'a Value, status: &str) -> Option<&'a Value> {
        let responses = &operation["responses"];
        let answer = responses.get(status).or_else(|| responses.get("default"))?;
        match answer["$ref"].as_str() {
            Some(name) => self.document.pointer(name.trim_start_matches('#')),
            None => Some(answer),
        }
    }
}

/// The violations of the document by an answer; none where the document does not describe it.
pub fn differences(method: &Method, path: &str, reply: &Reply) -> Vec<String> {
    let published = &*PUBLISHED;
    let Some(operation) = published.operation(method, path) else { return Vec::new() };
    let is_json = reply.header("content-type").is_some_and(|kind| kind.starts_with("application/json"));
    if !is_json || reply.body.is_empty() || reply.headers.contains_key("content-encoding") {
        return Vec::new();
    }
    let body = match serde_json::from_slice::<Value>(&reply.body) {
        Ok(body) => body,
        // A number of a document that no f64 holds: it is returned as it was sent.
        Err(e) if e.to_string().starts_with("number out of range") => return Vec::new(),
        Err(e) => return vec![format!("no JSON: {e}")],
    };
    if reply.status.is_success() && operation["responses"].get(reply.status.as_str()).is_none() {
        return vec![format!("{} is no success of this operation", reply.status)];
    }
    let mut wrong = misplaced(operation, path, &body);
    let content = published.answer(operation, reply.status.as_str()).and_then(|answer| answer.get("content"));
    match content.and_then(|content| content.get("application/json")).and_then(|json| json.get("schema")) {
        Some(schema) => wrong.extend(matching::differences(&published.document, schema, &body)),
        None => wrong.push(format!("no JSON is published for {}", reply.status)),
    }
    wrong
}

/// Rows in another order than `x-order` states, in the answer to a request without an order of its own.
fn misplaced(operation: &Value, path: &str, body: &Value) -> Vec<String> {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    let parameters: Vec<(String, String)> =
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let one = |key: &str| parameters.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let is_usual =
        one("sort_by") == Some("") || (one("sort_by").is_none() && one("sort_direction").is_none());
    if !is_usual || one("after").is_some() {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    for (rows, keys) in operation["x-order"].as_object().into_iter().flatten() {
        let data = &body["data"];
        let rows = if rows.is_empty() { data } else { &data[rows.as_str()] };
        let keys: Vec<&str> = keys.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let rows = rows.as_array().map_or(&[][..], Vec::as_slice);
        let is_in = |key: &str, row: &Value| {
            row.pointer(&format!("/{}", key.trim_start_matches('-').replace('.', "/"))).is_some()
        };
        let unknown = keys.iter().filter(|key| !rows.is_empty() && !rows.iter().any(|row| is_in(key, row)));
        wrong.extend(unknown.map(|key| format!("no row has {key}, by which they go")));
        for pair in rows.windows(2) {
            let orderings = keys.iter().map(|key| compared(key, &pair[0], &pair[1]));
            if orderings.into_iter().find(|orderings| orderings.is_ne()) == Some(Ordering::Greater) {
                wrong.push(format!("by {keys:?} this stands wrongly: {} {}", pair[0], pair[1]));
            }
        }
    }
    wrong
}

/// By one field; a minus before its name reverses the order.
fn compared(key: &str, one: &Value, other: &Value) -> Ordering {
    let name = key.trim_start_matches('-');
    let field = |row: &Value| name.split('.').fold(row.clone(), |value, part| value[part].clone());
    let (one, other) = (field(one), field(other));
    let ordering = match (&one, &other) {
        (Value::String(one), Value::String(other)) => {
            match (one.parse::<jiff::Timestamp>(), other.parse::<jiff::Timestamp>()) {
                (Ok(one), Ok(other)) => one.cmp(&other),
                _ if name.ends_with("name") => fold(one).cmp(&fold(other)),
                // Numbers that are too large for some readers.
                _ if one.bytes().chain(other.bytes()).all(|b| b.is_ascii_digit()) => {
                    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
                }
                _ => one.cmp(other),
            }
        }
        _ => one.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal),
    };
    if key.starts_with('-') { ordering.reverse() } else { ordering }
}

/// The statuses that a retry can resolve (spec: clients#checklist row 14).
const TRANSIENT: [u16; 6] = [408, 429, 500, 502, 503, 504];

/// The problem with `Retry-After`: the statuses that a retry can resolve must have it, and no others.
fn seconds(reply: &Reply) -> Option<String> {
    let after = reply.header("retry-after");
    let is_good = match TRANSIENT.contains(&reply.status.as_u16()) {
        true => after.and_then(|s| s.parse::<u64>().ok()).is_some_and(|s| (1..=3600).contains(&s)),
        false => after.is_none(),
    };
    (!is_good).then(|| format!("Retry-After of {}: {after:?}", reply.status))
}

/// The problem with the tag of an answer: reads of one entity have one, and only they are answered by 304.
fn tag(method: &Method, path: &str, reply: &Reply) -> Option<String> {
    let published = &*PUBLISHED;
    let answers = &published.operation(method, path)?["responses"];
    let is_published = answers["200"]["headers"]["ETag"].is_object();
    // The document of a router has no tag: several layers can give the same one.
    let is_another = path.contains("format=yaml");
    match reply.status.as_u16() {
        200 if is_published && !is_another && !reply.headers.contains_key("etag") => {
            Some("there is no ETag".to_owned())
        }
        304 if is_published && !reply.body.is_empty() => Some("a 304 has a body".to_owned()),
        412 if answers.get("412").is_none() && !is_published => Some("412 is not published".to_owned()),
        _ => None,
    }
}

/// Fails if an answer violates the document, above all by a null or missing array, or if its `Retry-After` is wrong.
pub fn check(method: &Method, path: &str, reply: &Reply) {
    let mut wrong: Vec<String> = seconds(reply).into_iter().collect();
    // Pages for people are no operations, whatever their paths end in.
    if path != "/" && !path.starts_with("/console") {
        wrong.extend(differences(method, path, reply));
        wrong.extend(tag(method, path, reply));
    }
    assert!(wrong.is_empty(), "{method} {path} answers {}: {wrong:#?}\n{}", reply.status, reply.text());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wrong(method: Method, path: &str, status: u16, body: &Value) -> Vec<String> {
        let headers =
            [(http::header::CONTENT_TYPE, "application/json".parse().unwrap())].into_iter().collect();
        let status = http::StatusCode::from_u16(status).unwrap();
        differences(&method, path, &Reply { status, headers, body: body.to_string().into() })
    }

    #[test]
    fn an_array_that_is_null_or_left_out_is_found_below_any_base() {
        let answer = |data: Value| json!({"code": 200, "message": "m", "data": data});
        let page = json!({"page": 1, "page_size": 1, "total_count": 0, "total_pages": 0, "has_next": false, "has_prev": false});
        for base in ["", "/api", "/portal/of/mine"] {
            let path = format!("{base}/systems?page=1");
            let check = |data: Value| wrong(Method::GET, &path, 200, &answer(data));
            assert_eq!(check(json!({"systems": [], "pagination": page})).len(), 0, "{base}");
            assert_eq!(check(json!({"pagination": page})), [".data: systems is missing"]);
            let null = check(json!({"systems": null, "pagination": page}));
            assert_eq!(null, [".data.systems: null is no \"array\""]);
            let router = format!("{base}/services/x/y/api/v2/alerts");
            assert_eq!(wrong(Method::GET, &router, 200, &json!([])).len(), 0);
            assert_ne!(wrong(Method::GET, &router, 200, &json!([{"labels": {}}])).len(), 0);
        }
        assert_ne!(wrong(Method::GET, "/me", 202, &answer(json!({}))).len(), 0);
        assert_eq!(wrong(Method::GET, "/oidc/me", 200, &json!({})).len(), 0);
        assert_eq!(wrong(Method::GET, "/api/nope", 200, &json!({})).len(), 0);
        assert_eq!(wrong(Method::GET, "/api/services/x/y/api/v1/alerts", 410, &json!("gone")).len(), 0);
    }

    #[test]
    fn rows_that_stand_wrongly_are_found_unless_somebody_asked_for_it() {
        let row = |at: &str, id: &str| json!({"created_at": at, "id": id});
        let problems = |query: &str, rows: Value| {
            let published = PUBLISHED.operation(&Method::GET, "/api/users").unwrap();
            misplaced(published, &format!("/api/users{query}"), &json!({"data": {"users": rows}})).len()
        };
        let (old, new) = ("2026-03-04T10:00:00Z", "2026-03-04T10:00:00.5Z");
        assert_eq!(problems("", json!([row(new, "a"), row(old, "c"), row(old, "b")])), 0);
        for wrong in [json!([row(old, "a"), row(new, "b")]), json!([row(old, "b"), row(old, "c")])] {
            for query in ["", "?page=1", "?sort_by=&sort_direction=asc"] {
                assert_eq!(problems(query, wrong.clone()), 1, "{query} {wrong}");
            }
            for query in ["?sort_by=name", "?sort_direction=asc"] {
                assert_eq!(problems(query, wrong.clone()), 0, "{query}");
            }
        }
        let name = |one: &str, other: &str| compared("name", &json!({"name": one}), &json!({"name": other}));
        assert_eq!((name("b", "A"), name("É", "é")), (Ordering::Greater, Ordering::Equal));
    }

    /// `totals` is no id.
    #[test]
    fn a_fixed_path_goes_before_one_with_an_id() {
        let published = &*PUBLISHED;
        let name = |path: &str| published.operation(&Method::GET, path).unwrap()["operationId"].clone();
        assert_eq!(name("/api/users/totals"), "getUsersTotals");
        assert_eq!(name("/api/users/0195fada"), "getUser");
    }
}
