//! Answers whose rows are loaded in portions: a small answer is sent whole, a large one as its rows are read.

use crate::error::Outcome;
use axum::{body::Body, response::Response};
use bailiwick_domain::{Error, Result};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, header};
use serde::Serialize;
use std::future::Future;

/// The parts of an answer around its rows.
#[derive(Debug)]
pub struct Frame {
    head: String,
    tail: String,
}

impl Frame {
    /// `{"code":200,"message":…,"data":{NAME:[` rows `],` the members of `rest` `}}`.
    pub fn new(message: &str, name: &str, rest: &impl Serialize) -> Result<Frame> {
        let message = serde_json::to_string(message).map_err(Error::internal)?;
        let name = serde_json::to_string(name).map_err(Error::internal)?;
        let rest = serde_json::to_string(rest).map_err(Error::internal)?;
        let members =
            rest.strip_prefix('{').ok_or_else(|| Error::internal("what is beside rows has members"))?;
        let comma = if members.len() > 1 { "," } else { "" };
        let head = format!(r#"{{"code":200,"message":{message},"data":{{{name}:["#);
        Ok(Frame { head, tail: format!("]{comma}{members}}}") })
    }

    /// The answer. The first portion is loaded before anything is sent, so that a fault has its proper answer. A fault
    /// in a later portion breaks the connection, so no client takes it for the end of the answer.
    pub async fn fill<L, F>(self, portions: Vec<Vec<i64>>, load: L) -> Outcome<Response>
    where
        L: Fn(Vec<i64>) -> F + Send + 'static,
        F: Future<Output = Result<Vec<String>>> + Send + 'static,
    {
        let mut portions = portions.into_iter();
        let mut text = self.head;
        if let Some(first) = portions.next() {
            text.push_str(&load(first).await?.join(","));
        }
        let body = if portions.len() == 0 {
            text.push_str(&self.tail);
            Body::from(text)
        } else {
            let is_empty = text.ends_with('[');
            let start = Progress { ready: Some(text), portions, tail: Some(self.tail), is_empty, load };
            Body::from_stream(stream::try_unfold(start, step))
        };
        let mut response = Response::new(body);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(response)
    }
}

struct Progress<L> {
    ready: Option<String>,
    portions: std::vec::IntoIter<Vec<i64>>,
    tail: Option<String>,
    is_empty: bool,
    load: L,
}

async fn step<L, F>(mut progress: Progress<L>) -> Result<Option<(Bytes, Progress<L>)>>
where
    L: Fn(Vec<i64>) -> F,
    F: Future<Output = Result<Vec<String>>>,
{
    if let Some(text) = progress.ready.take() {
        return Ok(Some((text.into(), progress)));
    }
    let Some(portion) = progress.portions.next() else {
        return Ok(progress.tail.take().map(|tail| (tail.into(), progress)));
    };
    let rows = (progress.load)(portion).await.inspect_err(|e| {
        tracing::error!(error = %e, "an answer was broken off");
    })?;
    let comma = if progress.is_empty || rows.is_empty() { "" } else { "," };
    progress.is_empty &= rows.is_empty();
    Ok(Some((format!("{comma}{}", rows.join(",")).into(), progress)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use serde_json::{Value, json};

    async fn filled(portions: Vec<Vec<i64>>, rest: Value) -> Value {
        let frame = Frame::new("a \"b\"", "rows", &rest).unwrap();
        // Odd rows have vanished meanwhile.
        let load = |ids: Vec<i64>| async move {
            Ok(ids.into_iter().filter(|id| id % 2 == 0).map(|id| id.to_string()).collect())
        };
        let response = frame.fill(portions, load).await.unwrap();
        serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
    }

    #[tokio::test]
    async fn every_answer_is_one_json_value() {
        for (portions, rows) in [
            (vec![], json!([])),
            (vec![vec![2, 4]], json!([2, 4])),
            (vec![vec![1], vec![2, 4], vec![3], vec![6]], json!([2, 4, 6])),
            (vec![vec![2], vec![1], vec![3]], json!([2])),
            (vec![vec![1], vec![3]], json!([])),
        ] {
            let found = filled(portions, json!({"count": 1})).await;
            assert_eq!(found, json!({"code": 200, "message": "a \"b\"", "data": {"rows": rows, "count": 1}}));
        }
        assert_eq!(filled(vec![vec![2]], json!({})).await["data"], json!({"rows": [2]}));
    }

    #[tokio::test]
    async fn a_late_fault_breaks_the_answer_off_and_an_early_one_is_an_error() {
        let load = |ids: Vec<i64>| async move {
            if ids == [7] { Err(Error::internal("gone")) } else { Ok(vec!["1".to_owned()]) }
        };
        let frame = || Frame::new("m", "rows", &json!({})).unwrap();
        assert!(frame().fill(vec![vec![7], vec![1]], load).await.is_err());
        let response = frame().fill(vec![vec![1], vec![7]], load).await.unwrap();
        assert!(response.into_body().collect().await.is_err());
    }
}
