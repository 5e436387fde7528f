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
/// How long a form may take to arrive.
pub(crate) const FORM_TIME: Duration = Duration::from_secs(30);

/// The fields of a form, as sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl FromRequest<App> for Form {
    type Rejection = Failure;
    async fn from_request(request: Request, _: &App) -> Result<Form, Failure> {
        let bytes = read(request.into_body(), MAX_FORM_BYTES, FORM_TIME).await?;
        Ok(Form(form_urlencoded::parse(&bytes).into_owned().collect()))
    }
}

impl Form {
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

    /// The context of a change that counts only while the entity is in the state that the form was made from: its hidden
    /// field `seen` stands for `If-Match`. Without the field there is no condition.
    pub(crate) fn conditional(&self, context: &RequestContext) -> RequestContext {
        let mut context = context.clone();
        if self.has("seen") {
            context.conditions.if_match = Condition::read(std::iter::once(self.text("seen").as_bytes()));
        }
        context
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

    /// Pairs of two repeated fields, those without a key left out.
    pub(crate) fn pairs(&self, key: &str, value: &str) -> Vec<(String, String)> {
        let all = |name: &str| -> Vec<&String> {
            self.0.iter().filter(|(k, _)| k == name).map(|(_, v)| v).collect()
        };
        let pairs = all(key).into_iter().zip(all(value));
        pairs.map(|(k, v)| (k.trim().to_owned(), v.clone())).filter(|(k, _)| !k.is_empty()).collect()
    }
}

/// The state of an entity, for the hidden field `seen` of its form.
pub(crate) fn seen(platform: &Platform, entity: &impl Editable) -> bailiwick_domain::Result<String> {
    Ok(Version::of(platform, entity)?.tag(platform, b""))
}

/// Whether another person changed the entity after the form was made.
pub(crate) fn is_outdated(error: &Error) -> bool {
    matches!(error, Error::PreconditionFailed(_))
}

/// What is wrong with the fields of a form, beside each; none where the error is not about fields.
pub(crate) fn problems(language: Language, error: &Error) -> Option<Value> {
    problems_by(language, error, |key| key.split('.').next().unwrap_or(key))
}

/// The same with a name of the field for each key of the error.
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
