//! One request to the Management API with its token (spec: logto#calls).

use super::{Access, Inner, LogtoClient, LogtoError, LogtoRefusal, Token};
use crate::issuer::{
    IssuerError, Times,
    exchange::{self, About, Connections, WholeAnswer},
    read, unexpected,
};
use bailiwick_domain::{Clock, Entropy, Ts, ports::random};
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::Mutex;

/// Largest answer.
const ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// A token is not used in its last seconds.
const TOKEN_MARGIN: Duration = Duration::from_secs(30);
/// Longest life that is believed of a token.
const TOKEN_LIFE: Duration = Duration::from_secs(86_400);
/// Tries after 429.
const AGAIN: u32 = 5;
/// Longest wait that a call accepts from Logto.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time before a retry, whatever Logto asks for.
const LATEST: Duration = Duration::from_secs(4 * 3600);
/// Longest wait between two tries without a request of Logto's.
const LONGEST_WAIT: Duration = Duration::from_secs(8);
/// Rows of one page.
const PAGE: usize = 100;
/// Pages of one list.
const PAGES: usize = 200;

/// Whether a request may wait when Logto limits requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhenBusy {
    /// A user waits for the answer.
    Direct,
    /// A worker asks.
    Worker,
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: u64,
}

impl LogtoClient {
    /// A client; connects when it is first used.
    ///
    /// # Errors
    /// The root certificates of the system cannot be read.
    pub fn new(
        access: Access,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<LogtoClient, String> {
        let connections = Connections::new(Times { total: access.timeout, ..Times::default() })?;
        let token = Mutex::new(None);
        Ok(LogtoClient(Arc::new(Inner { access, connections, clock, entropy, token })))
    }

    /// Sends a request and sorts the answer out.
    pub(super) async fn call(
        &self,
        pace: WhenBusy,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<WholeAnswer, LogtoError> {
        self.call_noting(pace, method, path, body, &AtomicBool::new(false)).await
    }

    /// Calls the management API; `is_unknown` is set while the request was sent and its outcome is unknown.
    pub(super) async fn call_noting(
        &self,
        pace: WhenBusy,
        method: Method,
        path: &str,
        body: Option<&Value>,
        is_unknown: &AtomicBool,
    ) -> Result<WholeAnswer, LogtoError> {
        let Inner { access, connections, .. } = &*self.0;
        let url = format!("{}{path}", access.base);
        let (mut renewed, mut waits) = (false, 0);
        loop {
            let token = self.token().await?;
            let bytes = body.map_or_else(Bytes::new, |body| body.to_string().into());
            let mut request = exchange::request(method.clone(), &url, bytes)?;
            let headers = request.headers_mut();
            headers.insert(header::AUTHORIZATION, exchange::secret_value(&format!("Bearer {token}"))?);
            if body.is_some() {
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            }
            is_unknown.store(true, Ordering::SeqCst);
            let sent = connections.send(request, About::Token, access.timeout, ANSWER_BYTES).await;
            if matches!(sent, Err(IssuerError::NotConnected(_) | IssuerError::Busy)) {
                is_unknown.store(false, Ordering::SeqCst);
            }
            let answered = sent?;
            let (status, timeout) = (answered.status, StatusCode::REQUEST_TIMEOUT);
            if status.is_success() || (status.is_client_error() && status != timeout) {
                is_unknown.store(false, Ordering::SeqCst);
            }
            match answered.status {
                StatusCode::UNAUTHORIZED if !renewed => {
                    renewed = true;
                    self.forget(&token).await;
                }
                StatusCode::TOO_MANY_REQUESTS if pace == WhenBusy::Worker && waits < AGAIN => {
                    let wait = self.wait(&answered, waits);
                    if wait > QUEUE_TIMEOUT {
                        return Err(LogtoError::Later(self.0.clock.now().plus(wait.min(LATEST))));
                    }
                    waits += 1;
                    tokio::time::sleep(wait).await;
                }
                _ => return sorted(answered, &method, path),
            }
        }
    }

    /// How long to wait: the time in the answer, else twice as long as before plus a small random part.
    fn wait(&self, answered: &WholeAnswer, waits: u32) -> Duration {
        let retry_after = answered.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
        if let Some(wait) = retry_after.and_then(|text| retry_delay(text.trim(), self.0.clock.now())) {
            return wait;
        }
        let pace = self.0.access.pace;
        let [chance] = random::<1>(&*self.0.entropy);
        let wait = pace.saturating_mul(1 << waits.min(10)).min(LONGEST_WAIT);
        wait + pace.saturating_mul(u32::from(chance)) / 256
    }

    /// The present token, or a new one.
    async fn token(&self) -> Result<String, LogtoError> {
        let Inner { access, connections, clock, token, .. } = &*self.0;
        // Held while a new one is fetched: all waiting callers share one request.
        let mut held = token.lock().await;
        if let Some(token) = held.as_ref().filter(|token| clock.now() < token.until) {
            return Ok(token.text.clone());
        }
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "client_credentials")
            .append_pair("client_id", &access.id)
            .append_pair("client_secret", &access.secret)
            .append_pair("resource", &access.resource)
            .append_pair("scope", "all")
            .finish();
        let mut request = exchange::request(Method::POST, &access.token_url, form.into())?;
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(header::CONTENT_TYPE, form_type);
        let answered = connections.send(request, About::Issuer, access.timeout, ANSWER_BYTES).await?;
        if answered.status != StatusCode::OK {
            return Err(unexpected(&answered, "token of the management application").into());
        }
        let granted: Granted = read(&answered, "token of the management application")?;
        let life = Duration::from_secs(granted.expires_in).min(TOKEN_LIFE);
        let until = clock.now().plus(life.saturating_sub(TOKEN_MARGIN));
        *held = Some(Token { text: granted.access_token.clone(), until });
        Ok(granted.access_token)
    }

    /// Drops a refused token, unless another one has replaced it already.
    async fn forget(&self, token: &str) {
        let mut held = self.0.token.lock().await;
        if held.as_ref().is_some_and(|held| held.text == token) {
            *held = None;
        }
    }

    /// All pages of a list (spec: authorizationrule 31). `query` ends with `&` or is empty.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        pace: WhenBusy,
        path: &str,
        query: &str,
    ) -> Result<Vec<T>, LogtoError> {
        let mut all = Vec::new();
        for page in 1..=PAGES {
            let path = format!("{path}?{query}page={page}&page_size={PAGE}");
            let answered = self.call(pace, Method::GET, &path, None).await?;
            let total = answered.headers.get("total-number").and_then(|value| value.to_str().ok());
            let total = total.and_then(|text| text.trim().parse::<usize>().ok());
            let rows: Vec<T> = read(&answered, "a list")?;
            let found = rows.len();
            all.extend(rows);
            let is_last = total.map_or(found < PAGE, |total| all.len() >= total || found == 0);
            if is_last {
                return Ok(all);
            }
        }
        Err(IssuerError::Unreachable(format!("a list of more than {PAGES} pages")).into())
    }
}

/// The wait of a `Retry-After` header: seconds or a date (RFC 9110 §10.2.3).
fn retry_delay(text: &str, now: Ts) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let time = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Ts(time.as_microsecond()).since(now))
}

/// The answer, or the error it stands for.
fn sorted(answered: WholeAnswer, method: &Method, path: &str) -> Result<WholeAnswer, LogtoError> {
    let status = answered.status;
    if status.is_success() {
        return Ok(answered);
    }
    // Ids are in the path, and nothing secret.
    let what = || format!("{method} {}", path.split('?').next().unwrap_or_default());
    match status.as_u16() {
        404 => Err(LogtoError::Missing),
        405 => Err(LogtoError::Unsupported),
        408 => Err(IssuerError::TimedOut.into()),
        // The request is not to blame for these.
        401 | 403 | 429 => Err(unexpected(&answered, &what()).into()),
        400..=499 => match LogtoRefusal::read(status.as_u16(), &answered.body) {
            Some(refusal) => Err(LogtoError::Refused(refusal)),
            None => Err(unexpected(&answered, &what()).into()),
        },
        _ => Err(unexpected(&answered, &what()).into()),
    }
}
