//! Forms: their bodies, and what is wrong with their fields.

use crate::{failure::Failure, texts};
use axum::extract::{FromRequest, Request};
use bailiwick_app::App;
use bailiwick_domain::Error;
use bailiwick_platform::{
    Platform, RequestContext,
    conditions::{Condition, Editable, Version},
};
use bailiwick_web::{Language, read};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Largest form body.
pub(crate) const MAX_FORM_BYTES: usize = 256 * 1024;
/// Longest name of a field.
const LONGEST_NAME: usize = 100;
/// The fields for keys and values of free data.
const FREE_DATA: [&str; 2] = ["data_key", "data_value"];
/// How long a form may take to arrive.
pub(crate) const FORM_TIME: Duration = Duration::from_secs(30);

/// The fields of a form, as sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl FromRequest<App> for Form {
    type Rejection = Failure;
    async fn from_request(request: Request, _: &App) -> Result<Form, Failure> {
        let bytes = read(request.into_body(), MAX_FORM_BYTES, FORM_TIME).await?;
        Ok(Form::read(&bytes))
    }
}

impl Form {
    /// The fields of a body.
    pub(crate) fn read(body: &[u8]) -> Form {
        Form(form_urlencoded::parse(body).into_owned().collect())
    }

    /// The fields as JSON, from which the record of an impersonation hides secrets by their names: `a.0.b` as members
    /// of members, free data below its own keys. None for a name that no form has, which may be anything.
    pub(crate) fn to_json(&self) -> Option<Value> {
        let mut all = Map::new();
        for (name, value) in self.0.iter().filter(|(name, _)| !FREE_DATA.contains(&&**name)) {
            let is_plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
            if !is_plain || name.is_empty() || name.len() > LONGEST_NAME {
                return None;
            }
            let mut parts = name.splitn(3, '.');
            let mut entry = all.entry(parts.next()?);
            for part in parts {
                let inner = entry.or_insert_with(|| Value::Object(Map::new()));
                entry = inner.as_object_mut()?.entry(part);
            }
            match entry.or_insert(Value::Null) {
                Value::Object(_) => return None,
                Value::Array(values) => values.push(json!(value)),
                slot if slot.is_null() => *slot = json!(value),
                slot => *slot = json!([slot.take(), value]),
            }
        }
        let free = data_of(&self.free_data());
        if !free.is_empty() {
            all.insert("custom_data".to_owned(), Value::Object(free));
        }
        Some(Value::Object(all))
    }

    /// The first value of a field; empty where there is none. Browsers send line ends as CR LF.
    pub(crate) fn text(&self, name: &str) -> String {
        let value = self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        value.unwrap_or_default().replace("\r\n", "\n")
    }

    /// Whether a field is there with something in it.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, value)| key == name && !value.is_empty())
    }

    /// All values of a repeated field that have something in them.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.0
            .iter()
            .filter(|(key, value)| key == name && !value.is_empty())
            .map(|(_, v)| v.clone())
            .collect()
    }

    /// The context of a change that counts only while the entity is in the state that the form was made from: its
    /// hidden field `seen` stands for `If-Match`. Without the field there is no condition.
    pub(crate) fn conditional(&self, context: &RequestContext) -> RequestContext {
        if self.has("seen") { conditional_on(context, &self.text("seen")) } else { context.clone() }
    }

    /// The fields whose names begin with a text, each with the rest of its name and its value.
    pub(crate) fn pairs_after(&self, start: &str) -> impl Iterator<Item = (String, String)> {
        self.0
            .iter()
            .filter_map(move |(key, value)| Some((key.strip_prefix(start)?.to_owned(), value.clone())))
    }

    /// Of these fields.
    #[cfg(test)]
    pub(crate) const fn of(fields: Vec<(String, String)>) -> Form {
        Form(fields)
    }

    /// The rows of free data that have something in them. What is stored of them: [`data_of`].
    pub(crate) fn free_data(&self) -> Vec<(String, String)> {
        let all = |name: &str| -> Vec<&String> {
            self.0.iter().filter(|(k, _)| k == name).map(|(_, v)| v).collect()
        };
        let [keys, values] = FREE_DATA.map(all);
        let pairs = keys.into_iter().zip(values);
        let pairs = pairs.map(|(k, v)| (k.trim().to_owned(), v.replace("\r\n", "\n")));
        pairs.filter(|(k, v)| !k.is_empty() || !v.is_empty()).collect()
    }
}

/// Free data as they are stored: rows without a key are none.
pub(crate) fn data_of(rows: &[(String, String)]) -> Map<String, Value> {
    let with_key = rows.iter().filter(|(key, _)| !key.is_empty());
    with_key.map(|(key, value)| (key.clone(), json!(value))).collect()
}

/// The state of an entity, for the hidden field `seen` of its form.
pub(crate) fn etag(platform: &Platform, entity: &impl Editable) -> bailiwick_domain::Result<String> {
    Ok(Version::of(platform, entity)?.tag(platform, b""))
}

/// The context of a change that counts only while the entity is in this state.
pub(crate) fn conditional_on(context: &RequestContext, etag: &str) -> RequestContext {
    let mut context = context.clone();
    context.conditions.if_match = Condition::read(std::iter::once(etag.as_bytes()));
    context
}

/// Whether another person changed the entity after the form was made.
pub(crate) fn is_outdated(error: &Error) -> bool {
    matches!(error, Error::PreconditionFailed(_))
}

/// What is wrong with the fields of a form, beside each; none where the error is not about fields.
pub(crate) fn problems(language: Language, error: &Error) -> Option<Value> {
    problems_by(language, error, |key| key.split('.').next().unwrap_or(key))
}

/// As [`problems`], or that another person changed the entity after the form was made.
pub(crate) fn problems_or_outdated(language: Language, error: &Error) -> Option<Value> {
    let outdated = || is_outdated(error).then(|| json!({"outdated": texts::find(language, "form_outdated")}));
    problems(language, error).or_else(outdated)
}

/// What is wrong with the fields of a form; `name` maps each key of the error to a field.
pub(crate) fn problems_by(
    language: Language,
    error: &Error,
    name: impl for<'k> Fn(&'k str) -> &'k str,
) -> Option<Value> {
    let Error::Invalid(fields) = error else { return None };
    let mut problems = Map::new();
    for field in fields {
        let key = format!("problem_{}", field.message.replace(' ', "_"));
        let text = texts::find(language, &key).unwrap_or(&field.message);
        problems.entry(name(&field.key).to_owned()).or_insert_with(|| json!(text));
    }
    Some(Value::Object(problems))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_written_as_json_by_the_names_of_its_fields() {
        let form = Form::read(
            b"name=A+b&on=1&on=2&list.0.url=https%3A%2F%2Fx&list.1.url=&a.b.c.d=x&data_key=api_key&data_value=s&data_key=&data_value=",
        );
        let json = json!({"name": "A b", "on": ["1", "2"], "list": {"0": {"url": "https://x"}, "1": {"url": ""}},
            "a": {"b": {"c.d": "x"}}, "custom_data": {"api_key": "s"}});
        assert_eq!(form.to_json(), Some(json));
        for odd in ["{\"password\":\"x\"}", "a=1&a.b=2", "a.b=1&a=2", "=x", "a%20b=1"] {
            assert_eq!(Form::read(odd.as_bytes()).to_json(), None, "{odd}");
        }
    }
}
