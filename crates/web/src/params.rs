//! The query of a request.

use axum::extract::FromRequestParts;
use bailiwick_domain::{Error, Keywords, PageRequest, Parameter, Result, Set};
use http::request::Parts;
use std::convert::Infallible;

/// The query as repeated keys (spec: conventions#lists).
#[derive(Clone, Debug, Default)]
pub struct Params(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> std::result::Result<Params, Infallible> {
        Ok(Params::parse(parts.uri.query().unwrap_or_default()))
    }
}

impl Params {
    /// From the raw query.
    pub fn parse(query: &str) -> Params {
        Params(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    /// The parameters without empty values: a field of a form that was left empty is no filter.
    pub fn filled(mut self) -> Params {
        self.0.retain(|(_, value)| !value.is_empty());
        self
    }

    /// The first value of a key.
    pub fn one(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// The direction of a list that begins with the latest or largest: descending unless the query says otherwise. A
    /// `sort_by` that is none of `orders` asks for the default order and ignores the direction (spec:
    /// conventions#lists).
    pub fn falling<T: Copy>(&self, orders: &Keywords<T>) -> &'static str {
        let is_usual = self.one("sort_by").is_some_and(|by| orders.parse(by).is_none());
        if !is_usual && self.one("sort_direction") == Some("asc") { "asc" } else { "desc" }
    }

    /// The number of a key, or the nearest one from 1 to `most`; `usual` without a number.
    pub fn number(&self, key: &str, most: u64, usual: u64) -> u64 {
        let sent = self.one(key).and_then(|number| number.parse::<i128>().ok());
        sent.map_or(usual, |n| u64::try_from(n.clamp(1, most.into())).unwrap_or(most))
    }

    /// The first value of a key that is not blank.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.one(key).filter(|v| !v.trim().is_empty())
    }

    /// All values of a key, as sent.
    pub fn many(&self, key: &str) -> Vec<String> {
        self.0.iter().filter(|(k, _)| k == key).map(|(_, v)| v.clone()).collect()
    }

    /// The filter that the query asks for.
    pub fn filter<F: Default + 'static>(
        &self,
        parameters: impl IntoIterator<Item = &'static Parameter<F>>,
    ) -> F {
        let mut filter = F::default();
        for Parameter { key, set, .. } in parameters {
            match set {
                Set::Text(set) => {
                    if let Some(text) = self.text(key) {
                        set(&mut filter, text.to_owned());
                    }
                }
                Set::Each(set) => {
                    let values = self.many(key);
                    if !values.is_empty() {
                        set(&mut filter, values);
                    }
                }
                Set::Flag(set) => {
                    if self.is_true(key) {
                        set(&mut filter);
                    }
                }
            }
        }
        filter
    }

    /// Whether the key has exactly the value `true`.
    pub fn is_true(&self, key: &str) -> bool {
        self.one(key) == Some("true")
    }

    /// `cursor`: empty at the beginning of a walk, none where pages have numbers (spec: conventions#cursors).
    ///
    /// # Errors
    /// 400 with a `page` beside it.
    pub fn cursor(&self) -> Result<Option<&str>> {
        let cursor = self.one("cursor");
        if cursor.is_some() && self.one("page").is_some() {
            return Err(Error::field("cursor", "not_with_page"));
        }
        Ok(cursor)
    }

    /// `page` and `page_size`.
    pub fn page(&self, default_size: u64) -> PageRequest {
        PageRequest::parse(self.one("page"), self.one("page_size"), default_size)
    }
}

/// A repeated key: absent = no filter; malformed values match nothing, so they may leave an empty one.
pub fn values<T>(params: &Params, key: &str, parse: impl Fn(String) -> Option<T>) -> Option<Vec<T>> {
    let sent = params.many(key);
    (!sent.is_empty()).then(|| sent.into_iter().filter_map(parse).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_outside_is_the_nearest_one_inside() {
        let number = |query: &str| Params::parse(query).number("n", 50, 10);
        for (query, expected) in [
            ("n=1", 1),
            ("n=50", 50),
            ("n=0", 1),
            ("n=-5", 1),
            ("n=-99999999999999999999", 1),
            ("n=51", 50),
            ("n=99999999999999999999", 50),
            ("n=1.5", 10),
            ("n=x", 10),
            ("n=", 10),
            ("", 10),
        ] {
            assert_eq!(number(query), expected, "{query}");
        }
    }
}
