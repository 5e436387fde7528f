//! Whether a document can replace a released one without breaking its clients (docs/versioning.md).
//!
//! Later versions may require less of requests, never more; their answers may contain more, never less. So schemas are
//! compared in a direction: of two types that differ, the wider one is right for requests, the narrower one for
//! answers.

use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashSet};

const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];
/// Bounds that may only rise for requests and only fall for answers; and the reverse.
const UPPER: [&str; 4] = ["maxLength", "maxItems", "maximum", "maxProperties"];
const LOWER: [&str; 4] = ["minLength", "minItems", "minimum", "minProperties"];

/// The side that writes the values of a schema.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Direction {
    Request,
    /// As a request, but a list or bound may be added later: a query still means the same as before.
    Parameter,
    Answer,
}

/// Every way in which `new` breaks a promise of `old`; none when it can replace it.
pub fn breaking_changes(old: &Value, new: &Value) -> Vec<String> {
    let mut check = Check { old, new, seen: HashSet::new(), found: Vec::new() };
    for (path, item) in object(&old["paths"]) {
        for method in METHODS.into_iter().filter(|method| !item[*method].is_null()) {
            let what = format!("{} {path}", method.to_uppercase());
            match &new["paths"][path][method] {
                Value::Null => check.report(&what, "is gone"),
                operation => check.operation(&what, &item[method], operation),
            }
        }
    }
    check.found
}

struct Check<'a> {
    old: &'a Value,
    new: &'a Value,
    /// Pairs of named schemas already compared, because schemas may refer to themselves.
    seen: HashSet<(String, String, Direction)>,
    found: Vec<String>,
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn texts(value: &Value) -> BTreeSet<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The types a schema allows; none when it allows any.
fn types(schema: &Value) -> Option<BTreeSet<&str>> {
    match &schema["type"] {
        Value::String(one) => Some(BTreeSet::from([one.as_str()])),
        Value::Array(_) => Some(texts(&schema["type"])),
        _ => None,
    }
}

fn resolve<'a>(document: &'a Value, mut schema: &'a Value) -> &'a Value {
    // More steps than any chain of names has.
    for _ in 0..16 {
        let Some(name) = schema["$ref"].as_str().and_then(|r| r.strip_prefix("#/")) else { break };
        schema = name.split('/').fold(document, |value, key| &value[key]);
    }
    schema
}

impl<'a> Check<'a> {
    fn report(&mut self, what: &str, how: &str) {
        self.found.push(format!("{what} {how}"));
    }

    fn operation(&mut self, what: &str, old: &'a Value, new: &'a Value) {
        if old["operationId"] != new["operationId"] {
            self.report(what, "has another operationId");
        }
        let more: Vec<&str> =
            texts(&new["x-permissions"]).difference(&texts(&old["x-permissions"])).copied().collect();
        if !more.is_empty() {
            self.report(what, &format!("needs {} now", more.join(", ")));
        }
        let security = |operation: &'a Value| operation["security"].as_array().cloned().unwrap_or_default();
        let (before, now) = (security(old), security(new));
        if before.iter().any(|one| !now.contains(one)) || (before.is_empty() && !now.is_empty()) {
            self.report(what, "no longer takes a credential that it took");
        }
        self.parameters(what, old, new);
        self.body(what, &old["requestBody"], &new["requestBody"]);
        for (status, answer) in object(&old["responses"]) {
            let what = format!("{what} answer {status}");
            match &new["responses"][status] {
                // Errors are recognized by their envelope; the set of possible errors is not promised.
                Value::Null if status.starts_with('2') => self.report(&what, "is gone"),
                now => self.content(&what, &answer["content"], &now["content"], Direction::Answer),
            }
        }
    }

    fn parameters(&mut self, what: &str, old: &'a Value, new: &'a Value) {
        let all = |operation: &'a Value| operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
        let is_same = |a: &Value, b: &Value| a["name"] == b["name"] && a["in"] == b["in"];
        for before in all(old) {
            let what = format!("{what} parameter {}", before["name"].as_str().unwrap_or_default());
            match all(new).iter().find(|now| is_same(before, now)) {
                None => self.report(&what, "is gone"),
                Some(now) => {
                    if now["required"] == true && before["required"] != true {
                        self.report(&what, "is required now");
                    }
                    self.schema(&what, &before["schema"], &now["schema"], Direction::Parameter);
                }
            }
        }
        for now in all(new).iter().filter(|now| now["required"] == true) {
            if !all(old).iter().any(|before| is_same(before, now)) {
                let what = format!("{what} parameter {}", now["name"].as_str().unwrap_or_default());
                self.report(&what, "is new and required");
            }
        }
    }

    fn body(&mut self, what: &str, old: &'a Value, new: &'a Value) {
        let what = format!("{what} body");
        if new["required"] == true && old["required"] != true {
            self.report(&what, "is required now");
        }
        if !old.is_null() {
            self.content(&what, &old["content"], &new["content"], Direction::Request);
        }
    }

    fn content(&mut self, what: &str, old: &'a Value, new: &'a Value, direction: Direction) {
        for (media_type, before) in object(old) {
            match new.get(media_type) {
                None if new.is_null() && direction == Direction::Answer => {}
                None => self.report(what, &format!("has no {media_type} any more")),
                Some(now) => self.schema(what, &before["schema"], &now["schema"], direction),
            }
        }
    }

    fn schema(&mut self, what: &str, old: &'a Value, new: &'a Value, direction: Direction) {
        if let (Some(a), Some(b)) = (old["$ref"].as_str(), new["$ref"].as_str())
            && !self.seen.insert((a.to_owned(), b.to_owned(), direction))
        {
            return;
        }
        let (old, new) = (resolve(self.old, old), resolve(self.new, new));
        // A value that was not described has promised nothing.
        if old.is_null() {
            return;
        }
        if new.is_null() {
            return self.report(what, "is described no more");
        }
        self.alternatives(what, old, new, direction);
        self.narrowness(what, old, new, direction);
        self.properties(what, old, new, direction);
        if !old["items"].is_null() {
            self.schema(&format!("{what}[]"), &old["items"], &new["items"], direction);
        }
        if old["additionalProperties"].is_object() {
            let key = "additionalProperties";
            self.schema(&format!("{what}.*"), &old[key], &new[key], direction);
        }
    }

    /// `oneOf` and `anyOf`: for each alternative on the side that must be covered, one that covers it.
    fn alternatives(&mut self, what: &str, old: &'a Value, new: &'a Value, direction: Direction) {
        for key in ["oneOf", "anyOf"] {
            let list = |schema: &'a Value| schema[key].as_array().map_or(&[][..], Vec::as_slice);
            let (before, now) = (list(old), list(new));
            if before.is_empty() && now.is_empty() {
                continue;
            }
            let is_covered = |a: &'a Value, b: &'a Value| {
                let mut check =
                    Check { old: self.old, new: self.new, seen: self.seen.clone(), found: Vec::new() };
                check.schema(what, a, b, direction);
                check.found.is_empty()
            };
            let is_whole = match direction {
                Direction::Request | Direction::Parameter => {
                    before.iter().all(|a| now.iter().any(|b| is_covered(a, b)))
                }
                Direction::Answer => now.iter().all(|b| before.iter().any(|a| is_covered(a, b))),
            };
            if !is_whole || before.is_empty() != now.is_empty() {
                self.report(what, "has other alternatives");
            }
        }
    }

    /// Types, enumerations and bounds.
    fn narrowness(&mut self, what: &str, old: &Value, new: &Value, direction: Direction) {
        // `taken` must accept all values of `given`.
        let (given, taken) = match direction {
            Direction::Request | Direction::Parameter => (old, new),
            Direction::Answer => (new, old),
        };
        let word = if direction == Direction::Answer { "promises" } else { "takes" };
        let may_begin = direction == Direction::Parameter;
        let fits = match (types(given), types(taken)) {
            (_, None) => true,
            (None, Some(_)) => false,
            // Every integer is a number.
            (Some(given), Some(taken)) => {
                given.iter().all(|t| taken.contains(t) || (*t == "integer" && taken.contains("number")))
            }
        };
        let has_parts = ["oneOf", "anyOf", "allOf"].iter().any(|key| !given[*key].is_null());
        if !fits && !has_parts {
            self.report(what, &format!("{word} fewer types"));
        }
        for key in ["enum", "const"] {
            let list = |schema: &Value| match &schema[key] {
                Value::Null => None,
                Value::Array(values) => Some(values.clone()),
                one => Some(vec![one.clone()]),
            };
            let fits = match (list(given), list(taken)) {
                (_, None) => true,
                (None, Some(_)) => may_begin,
                (Some(given), Some(taken)) => given.iter().all(|value| taken.contains(value)),
            };
            if !fits {
                self.report(what, &format!("{word} fewer values"));
            }
        }
        let exceeds = |keys: [&'static str; 4], beyond: fn(f64, f64) -> bool| {
            keys.into_iter().find(|key| match (given[*key].as_f64(), taken[*key].as_f64()) {
                (_, None) => false,
                (None, Some(_)) => !may_begin,
                (Some(given), Some(taken)) => beyond(given, taken),
            })
        };
        let bounds = [exceeds(UPPER, |a, b| a > b), exceeds(LOWER, |a, b| a < b)];
        for key in bounds.into_iter().flatten() {
            self.report(what, &format!("has a narrower {key}"));
        }
    }

    fn properties(&mut self, what: &str, old: &'a Value, new: &'a Value, direction: Direction) {
        let (mut before, mut now) = (Properties::default(), Properties::default());
        before.collect(self.old, old, 0);
        now.collect(self.new, new, 0);
        for (name, schema) in &before.schemas {
            let what = format!("{what}.{name}");
            match now.schemas.iter().find(|(other, _)| other == name) {
                None => self.report(&what, "is gone"),
                Some((_, other)) => self.schema(&what, schema, other, direction),
            }
        }
        let (more, fewer) =
            (now.required.difference(&before.required), before.required.difference(&now.required));
        let (changed, how): (Vec<&str>, _) = match direction {
            Direction::Request | Direction::Parameter => (more.copied().collect(), "is required now"),
            Direction::Answer => (fewer.copied().collect(), "may be left out now"),
        };
        for name in changed {
            // A removed one has been reported already.
            if now.schemas.iter().any(|(other, _)| *other == name) {
                self.report(&format!("{what}.{name}"), how);
            }
        }
    }
}

/// The properties of an object with those of its parts.
#[derive(Default)]
struct Properties<'a> {
    schemas: Vec<(&'a str, &'a Value)>,
    required: BTreeSet<&'a str>,
}

impl<'a> Properties<'a> {
    fn collect(&mut self, document: &'a Value, schema: &'a Value, depth: usize) {
        // Deeper than any schema of the document.
        if depth > 16 {
            return;
        }
        let schema = resolve(document, schema);
        self.schemas.extend(object(&schema["properties"]).map(|(name, schema)| (name.as_str(), schema)));
        self.required.extend(texts(&schema["required"]));
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.collect(document, part, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests;
