//! Every row of the operation tables, called once and kept as a snapshot: success and each refusal, in the words of the
//! specification, the same on both engines (spec: organizations#operations for each family, spec: users#operations).

use bailiwick_domain::OrgType;
use bailiwick_testkit::{Persona, Test, api_test};
use serde_json::{Value, json};
use std::{collections::HashMap, fmt::Write};

mod families;
mod people;

/// A conversation: each request with its answer, ids replaced by numbers in the order of their first sight.
struct Transcript<'t> {
    test: &'t Test,
    ids: HashMap<String, usize>,
    text: String,
}

impl<'t> Transcript<'t> {
    fn new(test: &'t Test) -> Transcript<'t> {
        Transcript { test, ids: HashMap::new(), text: String::new() }
    }

    /// Sends a request and records the exchange; returns `data`.
    async fn call(&mut self, who: &Persona, method: &str, path: &str, body: Value) -> Value {
        let call = self.test.call(method.parse().unwrap(), &format!("/api{path}")).bearer(&who.token);
        let call = if body.is_null() { call } else { call.json(body.clone()) };
        let reply = call.send().await;
        assert_eq!(reply.json()["code"], reply.status.as_u16(), "{}", reply.text());
        let sent = if body.is_null() { String::new() } else { format!(" {body}") };
        let request = self.anonymous(&format!("{method} {path}{sent}"));
        let answer = self.anonymous(&reply.text());
        writeln!(self.text, "{request}\n    {answer}").unwrap();
        reply.data()
    }

    /// The same without a body.
    async fn ask(&mut self, who: &Persona, method: &str, path: &str) -> Value {
        self.call(who, method, path, Value::Null).await
    }

    fn anonymous(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let Some(id) = rest.get(..36).filter(|id| uuid::Uuid::try_parse(id).is_ok()) {
                let next = self.ids.len() + 1;
                let number = *self.ids.entry(id.to_owned()).or_insert(next);
                write!(out, "#{number}").unwrap();
                rest = &rest[36..];
            } else {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        out
    }
}

/// The id of an answer.
fn id(data: &Value) -> String {
    data["id"].as_str().unwrap().to_owned()
}

const UNKNOWN: &str = "0195fada-0000-7000-8000-00000000dead";
