//! Files in a `multipart/form-data` body: one named part or a form with a few, read within limits after the use case
//! has let the caller in.

use axum::{
    body::{Body, BodyDataStream},
    extract::{FromRequest, Request},
};
use bailiwick_directory::{avatars, rebranding::Part};
use bailiwick_domain::Error;
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use http::header;
use serde_json::json;
use std::{convert::Infallible, time::Duration};

/// Longest time without a byte (spec: conventions#limits).
const PROGRESS: Duration = Duration::from_secs(15);
/// Bytes beside the named part that a body may have: boundaries, headers, other small parts.
const BESIDE: u64 = 64 * 1024;

/// Most parts of a form: more than any operation has names.
const PARTS: usize = 32;

/// A body that has not been read yet.
#[derive(Debug)]
pub struct Upload {
    content_type: Option<String>,
    body: Body,
}

impl<S: Send + Sync> FromRequest<S> for Upload {
    type Rejection = Infallible;
    async fn from_request(request: Request, _: &S) -> Result<Upload, Infallible> {
        let content_type = request.headers().get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|v| v.to_str().ok()).map(str::to_owned);
        Ok(Upload { content_type, body: request.into_body() })
    }
}

/// Why there is no file; each operation has error texts of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadFault {
    /// Not `multipart/form-data`, or not well formed.
    Malformed,
    /// No part of that name.
    Missing,
    /// The part has this many bytes, or the body so many more than the limit that counting was given up here.
    TooLarge(u64),
    /// No byte for 15 s, or too long in all.
    TimedOut,
}

/// Why the body ended early; passed through the multipart reader.
#[derive(Debug, thiserror::Error)]
enum Cut {
    #[error("no progress")]
    Stalled,
    #[error("longer than anybody counts")]
    Endless,
    #[error("the connection broke")]
    Broken,
}

impl Upload {
    /// The bytes of the first part with this name: at most `limit` of them, the whole body within `total`.
    pub async fn part(self, name: &str, limit: u64, total: Duration) -> Result<Bytes, UploadFault> {
        tokio::time::timeout(total, self.read(name, limit)).await.unwrap_or(Err(UploadFault::TimedOut))
    }

    /// All parts of a body of at most `most` bytes; of each part as many bytes are kept as `limit_of` returns for its name.
    /// A body with a longer announced length is refused unread.
    pub async fn parts(
        self,
        most: u64,
        total: Duration,
        limit_of: impl Fn(&str) -> u64,
    ) -> Result<Vec<Part>, UploadFault> {
        let announced = http_body::Body::size_hint(&self.body).lower();
        if announced > most {
            return Err(UploadFault::TooLarge(announced));
        }
        tokio::time::timeout(total, self.read_all(most, limit_of)).await.unwrap_or(Err(UploadFault::TimedOut))
    }

    async fn read_all(self, most: u64, limit_of: impl Fn(&str) -> u64) -> Result<Vec<Part>, UploadFault> {
        let mut form = self.form(most)?;
        let fault = |e: multer::Error| fault(&e, most + 1);
        let mut parts = Vec::new();
        while let Some(mut part) = form.next_field().await.map_err(fault)? {
            let name = part.name().ok_or(UploadFault::Malformed)?.to_owned();
            if parts.len() == PARTS {
                return Err(UploadFault::Malformed);
            }
            // The text of the header, which the use case checks.
            let content_type = part.headers().get(header::CONTENT_TYPE);
            let content_type = content_type.map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned());
            let (mut size, mut bytes, limit) = (0, BytesMut::new(), limit_of(&name));
            while let Some(chunk) = part.chunk().await.map_err(fault)? {
                size += chunk.len() as u64;
                if size <= limit {
                    bytes.extend_from_slice(&chunk);
                }
            }
            parts.push(Part { name, content_type, size, bytes: bytes.freeze() });
        }
        Ok(parts)
    }

    /// The form, cut off behind `most` bytes.
    fn form(self, most: u64) -> Result<multer::Multipart<'static>, UploadFault> {
        let boundary = self.content_type.as_deref().map(multer::parse_boundary);
        let Some(Ok(boundary)) = boundary else { return Err(UploadFault::Malformed) };
        Ok(multer::Multipart::new(counted(self.body.into_data_stream(), most), boundary))
    }

    async fn read(self, name: &str, limit: u64) -> Result<Bytes, UploadFault> {
        let mut parts = self.form(limit.saturating_mul(2).saturating_add(BESIDE))?;
        let mut size: u64 = 0;
        let fault = |e: &multer::Error, size: u64| fault(e, size.max(limit + 1));
        while let Some(mut part) = parts.next_field().await.map_err(|e| fault(&e, 0))? {
            if part.name() != Some(name) {
                continue;
            }
            let mut bytes = BytesMut::new();
            while let Some(chunk) = part.chunk().await.map_err(|e| fault(&e, size))? {
                size += chunk.len() as u64;
                // Counted to its end, because the answer names the size; kept only up to the limit.
                if size <= limit {
                    bytes.extend_from_slice(&chunk);
                }
            }
            return if size > limit { Err(UploadFault::TooLarge(size)) } else { Ok(bytes.freeze()) };
        }
        Err(UploadFault::Missing)
    }
}

/// Time for the whole body of a picture of a user.
const PICTURE: Duration = Duration::from_secs(30);

/// The picture of a user in the part `avatar` (spec: account#avatars).
///
/// # Errors
/// A body without it, one that is too large or too slow.
pub async fn picture(upload: Upload) -> bailiwick_domain::Result<Bytes> {
    upload.part("avatar", avatars::MAX_BYTES, PICTURE).await.map_err(|fault| match fault {
        UploadFault::Malformed => Error::bad_request("invalid multipart form"),
        UploadFault::Missing => Error::bad_request("avatar file is required"),
        UploadFault::TimedOut => Error::SlowBody,
        UploadFault::TooLarge(size) => Error::TooLarge {
            message: "avatar exceeds maximum size of 500KB".into(),
            data: json!({"max_size": avatars::MAX_BYTES, "actual_size": size}),
        },
    })
}

/// The reason why reading stopped; `size` is reported for a body without end.
fn fault(e: &multer::Error, size: u64) -> UploadFault {
    match e {
        multer::Error::StreamReadFailed(cut) => match cut.downcast_ref::<Cut>() {
            Some(Cut::Stalled) => UploadFault::TimedOut,
            Some(Cut::Endless) => UploadFault::TooLarge(size),
            _ => UploadFault::Malformed,
        },
        _ => UploadFault::Malformed,
    }
}

/// The body with a limit on the time between two frames and on all bytes.
fn counted(body: BodyDataStream, most: u64) -> impl Stream<Item = Result<Bytes, Cut>> {
    stream::unfold(Some((body, 0)), move |state| async move {
        let (mut body, received) = state?;
        let frame = match tokio::time::timeout(PROGRESS, body.next()).await {
            Err(_) => Err(Cut::Stalled),
            Ok(None) => return None,
            Ok(Some(Err(_))) => Err(Cut::Broken),
            Ok(Some(Ok(frame))) => Ok(frame),
        };
        let received = received + frame.as_ref().map_or(0, Bytes::len) as u64;
        match frame {
            Ok(_) if received > most => Some((Err(Cut::Endless), None)),
            Ok(frame) => Some((Ok(frame), Some((body, received)))),
            Err(cut) => Some((Err(cut), None)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "multipart/form-data; boundary=XX";

    fn body(parts: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, bytes) in parts {
            let head = format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
            out.extend_from_slice(head.as_bytes());
            out.extend_from_slice(bytes);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"--XX--\r\n");
        out
    }

    async fn read(
        content_type: Option<&str>,
        body: impl Into<Body>,
        limit: u64,
    ) -> Result<Bytes, UploadFault> {
        let upload = Upload { content_type: content_type.map(str::to_owned), body: body.into() };
        upload.part("file", limit, Duration::from_secs(60)).await
    }

    #[tokio::test]
    async fn the_first_part_of_that_name_within_the_limit() {
        let sent = body(&[("other", b"no"), ("file", b"yes\r\n--X"), ("file", b"late")]);
        assert_eq!(read(Some(FORM), sent.clone(), 8).await, Ok(Bytes::from_static(b"yes\r\n--X")));
        assert_eq!(read(Some(FORM), sent, 7).await, Err(UploadFault::TooLarge(8)));
        assert_eq!(read(Some(FORM), body(&[("file", b"")]), 7).await, Ok(Bytes::new()));
        assert_eq!(read(Some(FORM), body(&[("other", b"x")]), 7).await, Err(UploadFault::Missing));
    }

    #[tokio::test]
    async fn what_is_no_form_is_malformed() {
        let whole = body(&[("file", b"yes")]);
        for content_type in [None, Some("application/json"), Some("multipart/form-data"), Some("x\u{e9}")] {
            assert_eq!(read(content_type, whole.clone(), 9).await, Err(UploadFault::Malformed));
        }
        for sent in [&b""[..], b"--XX", b"no boundary at all", &whole[..whole.len() - 12]] {
            assert_eq!(read(Some(FORM), sent.to_vec(), 9).await, Err(UploadFault::Malformed), "{sent:?}");
        }
    }

    #[tokio::test]
    async fn a_body_without_end_is_not_read_to_its_end() {
        let head = Bytes::from(body(&[("file", b"")])[..50].to_vec());
        let endless = stream::iter([head]).chain(stream::repeat(Bytes::from(vec![b'x'; 8192])));
        let sent = Body::from_stream(endless.map(Ok::<_, Infallible>));
        let outcome = read(Some(FORM), sent, 10_000).await;
        assert!(matches!(outcome, Err(UploadFault::TooLarge(size)) if size > 10_000), "{outcome:?}");
    }

    #[tokio::test]
    async fn a_body_that_takes_too_long_is_given_up() {
        let head = Bytes::from(body(&[("file", b"")])[..50].to_vec());
        let stalled = stream::iter([head]).chain(stream::pending());
        let sent = Body::from_stream(stalled.map(Ok::<_, Infallible>));
        let upload = Upload { content_type: Some(FORM.to_owned()), body: sent };
        let outcome = upload.part("file", 10, Duration::from_millis(1)).await;
        assert_eq!(outcome, Err(UploadFault::TimedOut));
    }
}
