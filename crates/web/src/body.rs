//! The body of a request.

use axum::body::Body;
use bailiwick_domain::Error;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use std::time::Duration;

/// Reads a body of at most `limit` bytes: 15 s without progress or `total` in all is a 408, more bytes a 413.
pub async fn read(body: Body, limit: usize, total: Duration) -> Result<Bytes, Error> {
    let too_large =
        || Error::TooLarge { message: "request body too large".into(), data: serde_json::Value::Null };
    let mut body = body;
    if http_body::Body::size_hint(&body).lower() > limit as u64 {
        return Err(too_large());
    }
    let whole = async {
        let mut bytes = BytesMut::new();
        loop {
            let frame = tokio::time::timeout(Duration::from_secs(15), body.frame()).await;
            match frame.map_err(|_| Error::SlowBody)? {
                None => return Ok(bytes.freeze()),
                Some(Err(_)) => return Err(Error::bad_request("request body could not be read")),
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else { continue };
                    if bytes.is_empty() && http_body::Body::is_end_stream(&body) && data.len() <= limit {
                        return Ok(data);
                    }
                    if bytes.len() + data.len() > limit {
                        return Err(too_large());
                    }
                    bytes.extend_from_slice(&data);
                }
            }
        }
    };
    tokio::time::timeout(total, whole).await.unwrap_or(Err(Error::SlowBody))
}
