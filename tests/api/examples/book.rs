//! Calls an operation, keeps the request and the answer, and hides values that differ from run to run or are secret.

use bailiwick_api::routes::{Route, table};
use bailiwick_testkit::{Reply, Test, seed::Seeded};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

/// Most bytes of a page of the book.
const MOST_BYTES: usize = 8192;
/// Lists longer than that are cut, in answers of more than [`LONG`] bytes.
const FEW: usize = 2;
const LONG: usize = 2048;
/// The number of an event, which depends on other events of the same time.
const SEQUENCE: &str = "68";
/// A picture of a drawn secret.
const QR_CODE: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 45 45\">…</svg>";
/// States of alerts are words; what is longer is sealed.
const LONGEST_STATE: usize = 64;
/// Fields with values that are secret or drawn.
const SECRETS: [&str; 6] = ["system_secret", "system_key", "token", "secret", "key_public", "fingerprint"];

/// The credential that a call carries.
pub enum Who<'a> {
    Nobody,
    Bearer(&'a str),
    Basic(&'a str, &'a str),
}

impl<'a> From<&'a bailiwick_testkit::Persona> for Who<'a> {
    fn from(persona: &'a bailiwick_testkit::Persona) -> Who<'a> {
        Who::Bearer(&persona.token)
    }
}

impl<'a> From<&'a Seeded> for Who<'a> {
    fn from(system: &'a Seeded) -> Who<'a> {
        Who::Basic(&system.key, &system.secret)
    }
}

/// A body.
pub enum Sent<'a> {
    Nothing,
    Json(Value),
    /// Parts of a form: name, type of a file, content.
    Form(&'a [(&'a str, Option<&'a str>, &'a [u8])]),
    Bytes(&'a str),
}

impl From<Value> for Sent<'_> {
    fn from(body: Value) -> Self {
        if body.is_null() { Sent::Nothing } else { Sent::Json(body) }
    }
}

impl Sent<'_> {
    /// As the reference shows it; files that are no text are left out.
    fn shown(&self) -> Option<Value> {
        let part = |(name, _, bytes): &(&str, Option<&str>, &[u8])| {
            Some(((*name).to_owned(), json!(std::str::from_utf8(bytes).ok()?)))
        };
        match self {
            Sent::Nothing | Sent::Bytes(_) => None,
            Sent::Json(body) => Some(body.clone()),
            Sent::Form(parts) => {
                let parts: Map<String, Value> = parts.iter().filter_map(part).collect();
                (!parts.is_empty()).then_some(Value::Object(parts))
            }
        }
    }
}

fn form(parts: &[(&str, Option<&str>, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, kind, bytes) in parts {
        out.extend(format!("--frontier\r\nContent-Disposition: form-data; name=\"{name}\"").bytes());
        if let Some(kind) = kind {
            out.extend(format!("; filename=\"{name}\"\r\nContent-Type: {kind}").bytes());
        }
        out.extend(b"\r\n\r\n");
        out.extend(*bytes);
        out.extend(b"\r\n");
    }
    out.extend(b"--frontier--\r\n");
    out
}

/// Every operation with its request and its answer.
pub struct Book<'t> {
    pub test: &'t Test,
    routes: BTreeMap<String, Route>,
    pages: BTreeMap<String, Value>,
    hidden: Vec<(String, String)>,
    ids: HashMap<String, usize>,
}

impl<'t> Book<'t> {
    pub fn new(test: &'t Test) -> Book<'t> {
        let routes = table().into_iter().map(|route| (route.operation.clone(), route)).collect();
        Book { test, routes, pages: BTreeMap::new(), hidden: Vec::new(), ids: HashMap::new() }
    }

    /// Calls the operation at this path, which must succeed, and records it. Returns the `data` of the answer, or
    /// the answer itself where there is no envelope.
    pub async fn call<'a>(
        &mut self,
        who: impl Into<Who<'a>>,
        operation: &str,
        path: &str,
        sent: impl Into<Sent<'a>>,
    ) -> Value {
        let reply = self.send(who.into(), operation, path, &sent.into()).await;
        let Ok(answer) = serde_json::from_slice::<Value>(&reply.body) else { return Value::Null };
        if answer["code"].is_number() { answer["data"].clone() } else { answer }
    }

    /// The same without a body.
    pub async fn ask<'a>(&mut self, who: impl Into<Who<'a>>, operation: &str, path: &str) -> Value {
        self.call(who, operation, path, Value::Null).await
    }

    async fn send(&mut self, who: Who<'_>, operation: &str, path: &str, sent: &Sent<'_>) -> Reply {
        let route = self.routes.get(operation).unwrap_or_else(|| panic!("no operation {operation}")).clone();
        assert!(fits(&route.path, path), "{operation} is at {}, not at {path}", route.path);
        // Each call has its own time, so that an order by time is always the same.
        self.test.advance(Duration::from_secs(1));
        let call = self.test.call(route.method.clone(), &format!("/api{path}"));
        let call = match who {
            Who::Nobody => call,
            Who::Bearer(token) => call.bearer(token),
            Who::Basic(name, secret) => call.basic(name, secret),
        };
        let call = match sent {
            Sent::Nothing => call,
            Sent::Json(body) => call.json(body.clone()),
            Sent::Form(parts) => {
                call.header("content-type", "multipart/form-data; boundary=frontier").body(form(parts))
            }
            Sent::Bytes(text) => {
                call.header("content-length", &text.len().to_string()).body((*text).to_owned())
            }
        };
        let reply = call.send().await;
        assert_eq!(reply.status.as_u16(), route.success, "{operation} {path}: {}", reply.text());
        self.keep(&route, path, sent, &reply);
        reply
    }

    fn keep(&mut self, route: &Route, path: &str, sent: &Sent<'_>, reply: &Reply) {
        let kind = reply.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
        let is_shown = route.is_described() || route.is_proxied();
        let answer = match kind {
            _ if !is_shown => None,
            "application/json" => Some(reply.json()),
            _ if kind.starts_with("text/") && !reply.body.is_empty() => Some(json!(reply.text())),
            _ => None,
        };
        let mut page = Map::new();
        page.insert("request".to_owned(), json!(format!("{} {path}", route.method)));
        page.extend(sent.shown().map(|sent| ("sent".to_owned(), sent)));
        if let Some(mut answer) = answer {
            self.settle(&mut answer);
            page.insert("type".to_owned(), json!(kind));
            page.insert("answer".to_owned(), answer);
        }
        self.page(&route.operation, Value::Object(page));
    }

    /// Keeps the first event of a stream.
    pub fn keep_stream(&mut self, operation: &str, path: &str, text: &str) {
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        for line in &mut lines {
            if line.starts_with("id: ") {
                *line = format!("id: {SEQUENCE}");
            } else if let Some(data) = line.strip_prefix("data: ") {
                let mut data: Value = serde_json::from_str(data).unwrap();
                self.settle(&mut data);
                data.sort_all_objects();
                *line = format!("data: {data}");
            }
        }
        let text = lines.join("\n");
        let page = json!({"request": format!("GET {path}"), "type": "text/event-stream", "answer": text});
        self.page(operation, page);
    }

    /// The first time an operation is called is the one that is shown.
    fn page(&mut self, operation: &str, page: Value) {
        let page: Value = serde_json::from_str(&self.anonymous(&page.to_string())).unwrap();
        self.pages.entry(operation.to_owned()).or_insert(page);
    }

    /// Shows something else in its place.
    pub fn hide(&mut self, what: &str, shown: &str) {
        // A replacement may come back as input: it stands for itself.
        let is_known = |(before, after): &(String, String)| before == what || after == what;
        if !what.is_empty() && !self.hidden.iter().any(is_known) {
            self.hidden.push((what.to_owned(), shown.to_owned()));
        }
    }

    /// Replaces secrets and drawn values by others of the same form, wherever answers name them from now on. Durations
    /// and numbers of events get values that are the same in every run.
    fn settle(&mut self, answer: &mut Value) {
        match answer {
            Value::Array(items) => items.iter_mut().for_each(|item| self.settle(item)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    match value {
                        Value::String(text) if key == "qr_code" => *text = QR_CODE.to_owned(),
                        Value::Array(codes) if key == "recovery_codes" => {
                            codes.iter().filter_map(Value::as_str).for_each(|code| self.hide_whole(code));
                        }
                        Value::String(text) if key == "sequence" => *text = SEQUENCE.to_owned(),
                        Value::String(text)
                            if key == "challenge" || (key == "state" && text.len() > LONGEST_STATE) =>
                        {
                            self.hide_whole(text);
                        }
                        Value::String(text) => self.hide_secret(key, text),
                        Value::Number(_) if key == "duration_ms" => *value = json!(12),
                        value => self.settle(value),
                    }
                }
            }
            _ => {}
        }
    }

    fn hide_secret(&mut self, key: &str, text: &str) {
        if text.starts_with("eyJ") {
            let number = self.hidden.len() + 1;
            let (claims, signature) = (drawn(number, 8), drawn(number, 43));
            let shown = format!("eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJqdGkiOiI{claims}ifQ.{signature}");
            self.hide(text, &shown);
        } else if key == "download_url" {
            let token = text.rsplit('/').next().unwrap_or_default();
            self.hide(token, &drawn(self.hidden.len() + 1, 43));
        } else if SECRETS.contains(&key) {
            // The part before the separator names the kind of the secret; some secrets have a public part.
            let rest = text.split_once(['_', '-']).map_or(text, |(_, rest)| rest);
            for part in rest.split('.') {
                let is_upper = !part.bytes().any(|b| b.is_ascii_lowercase());
                let mut like = drawn(self.hidden.len() + 1, part.len()).into_bytes().into_iter();
                let replaced = part.chars().map(|c| match like.next().map(char::from) {
                    Some(other) if is_upper && c != '-' => other.to_ascii_uppercase(),
                    Some(other) if !['-', '='].contains(&c) => other,
                    _ => c,
                });
                let shown: String = replaced.collect();
                self.hide(part, &shown);
            }
        }
    }

    /// Replaces all of a drawn text but the hyphens of a recovery code.
    fn hide_whole(&mut self, text: &str) {
        let like = drawn(self.hidden.len() + 1, text.len().min(LONGEST_STATE));
        let is_grouped = text.len() == 19;
        let keep = |(c, other): (char, char)| if c == '-' && is_grouped { c } else { other };
        let shown: String = text.chars().zip(like.chars()).map(keep).collect();
        self.hide(text, &shown);
    }

    /// Ids become numbers in the order of their first sight.
    fn anonymous(&mut self, text: &str) -> String {
        let replaced =
            self.hidden.iter().fold(text.to_owned(), |text, (what, shown)| text.replace(what, shown));
        let mut out = String::with_capacity(replaced.len());
        let mut rest = replaced.as_str();
        while let Some(c) = rest.chars().next() {
            if let Some(id) = rest.get(..36).filter(|id| uuid::Uuid::try_parse(id).is_ok()) {
                let next = self.ids.len() + 1;
                let number = *self.ids.entry(id.to_owned()).or_insert(next);
                out.push_str(&format!("01950000-0000-7000-8000-{number:012}"));
                rest = &rest[36..];
            } else {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        out
    }

    /// The file: every operation has its page, and none is long.
    pub fn finish(mut self) -> String {
        let missing: Vec<&String> =
            self.routes.keys().filter(|name| !self.pages.contains_key(*name)).collect();
        assert!(missing.is_empty(), "operations that were never called: {missing:?}");
        for (operation, page) in &mut self.pages {
            if page.to_string().len() > LONG {
                cut(&mut page["answer"]);
            }
            let length = page.to_string().len();
            assert!(length <= MOST_BYTES, "{operation}: {length} bytes are too many for an example");
        }
        let mut pages = serde_json::to_value(&self.pages).unwrap();
        pages.sort_all_objects();
        serde_json::to_string_pretty(&pages).unwrap() + "\n"
    }
}

/// Long lists end early.
fn cut(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.truncate(FEW);
            items.iter_mut().for_each(cut);
        }
        Value::Object(fields) => fields.values_mut().for_each(cut),
        _ => {}
    }
}

/// So many characters that look drawn and are always the same.
fn drawn(number: usize, length: usize) -> String {
    let seed = bailiwick_testkit::SeededEntropy::new(u64::try_from(number).unwrap_or_default() << 20);
    let mut bytes = vec![0; length];
    bailiwick_domain::Entropy::fill(&seed, &mut bytes);
    bytes.into_iter().map(|byte| char::from(b"0123456789abcdef"[usize::from(byte % 16)])).collect()
}

fn fits(template: &str, address: &str) -> bool {
    let template = template.replace("{service}", "services/mimir/alertmanager");
    let path = address.split('?').next().unwrap_or(address);
    let (template, path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len() && template.iter().zip(path).all(|(a, b)| *a == b || a.starts_with('{'))
}
