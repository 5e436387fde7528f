//! Single exchanges with an issuer, within the limits of spec: conventions#limits.

use super::IssuerError;
use crate::with_causes;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Semaphore, time::timeout};
use tracing::field::Empty;

/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(90);
/// Idle connections to one host.
const IDLE_PER_HOST: usize = 20;
/// For the TCP handshake.
const CONNECT: Duration = Duration::from_secs(5);
/// Requests about tokens on their way at once.
const ABOUT_TOKENS: usize = 50;
/// Requests for the description and the keys at once; separate, so that many tokens do not delay the fetch of new keys.
const DOCUMENTS: usize = 4;
/// How long a request waits for a place.
const TURN: Duration = Duration::from_secs(1);

/// How long an issuer may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Until the head of an answer is there.
    pub head: Duration,
    /// For a whole request.
    pub total: Duration,
}

impl Default for Times {
    fn default() -> Times {
        Times { head: Duration::from_secs(15), total: Duration::from_secs(30) }
    }
}

/// Connections to the hosts of an issuer.
#[derive(Clone)]
pub(crate) struct Connections {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    about_tokens: Arc<Semaphore>,
    documents: Arc<Semaphore>,
    times: Times,
}

/// The subject of a request: each has places of its own.
#[derive(Clone, Copy)]
pub(crate) enum About {
    /// The issuer itself.
    Issuer,
    /// A token, which any client may have shown.
    Token,
}

/// One answer, read whole.
pub(crate) struct WholeAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Connections {
    pub(crate) fn new(times: Times) -> Result<Connections, String> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT));
        tcp.enforce_http(false);
        let tls = HttpsConnectorBuilder::new()
            .with_native_roots()
            .map_err(|e| format!("root certificates cannot be read: {e}"))?
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_PER_HOST)
            .build(tls);
        let [about_tokens, documents] =
            [ABOUT_TOKENS, DOCUMENTS].map(|turns| Arc::new(Semaphore::new(turns)));
        Ok(Connections { client, about_tokens, documents, times })
    }

    pub(crate) const fn times(&self) -> Times {
        self.times
    }

    /// Sends a request and reads the whole answer, of at most `most` bytes.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        about: About,
        within: Duration,
        most: usize,
    ) -> Result<WholeAnswer, IssuerError> {
        let span = tracing::trace_span!(
            "call",
            call = "identity provider",
            method = request.method().as_str(),
            http.response.status_code = Empty,
            error.type = Empty,
        );
        let turns = match about {
            About::Issuer => &self.documents,
            About::Token => &self.about_tokens,
        };
        let turn = timeout(TURN, turns.acquire()).await;
        let _turn = turn.ok().and_then(Result::ok).ok_or(IssuerError::Busy)?;
        let whole = async {
            let head = timeout(self.times.head, self.client.request(request)).await;
            let response = head.map_err(|_| IssuerError::TimedOut)?.map_err(|e| match e.is_connect() {
                true => IssuerError::NotConnected(with_causes(&e)),
                false => IssuerError::Unreachable(with_causes(&e)),
            })?;
            let (head, body) = response.into_parts();
            Ok(WholeAnswer { status: head.status, headers: head.headers, body: read(body, most).await? })
        };
        let answered = timeout(within, whole).await.unwrap_or(Err(IssuerError::TimedOut));
        match &answered {
            Ok(answered) => span.record("http.response.status_code", answered.status.as_u16()),
            Err(_) => span.record("error.type", "no_answer"),
        };
        answered
    }
}

/// A request with the headers that all of them have.
pub(crate) fn request(method: Method, url: &str, body: Bytes) -> Result<Request<Full<Bytes>>, IssuerError> {
    let target: Uri = url.parse().map_err(|e| IssuerError::Unreachable(format!("an address: {e}")))?;
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = target;
    let headers = request.headers_mut();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(crate::USER_AGENT));
    Ok(request)
}

/// A header that no log shows.
pub(crate) fn secret_value(text: &str) -> Result<HeaderValue, IssuerError> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| IssuerError::Unreachable("a credential that fits no header".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

async fn read(mut body: Incoming, most: usize) -> Result<Bytes, IssuerError> {
    let too_large = || IssuerError::Unreachable(format!("an answer of more than {most} bytes"));
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|e| IssuerError::Unreachable(with_causes(&e)))?;
        let Ok(data) = frame.into_data() else { continue };
        if all.len() + data.len() > most {
            return Err(too_large());
        }
        all.extend_from_slice(&data);
    }
    Ok(all.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn fifty_tokens_are_asked_about_at_once_and_keys_have_turns_of_their_own() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/introspect", silent.local_addr().unwrap());
        let times = Times { head: TURN * 3, total: TURN * 3 };
        let connections = Connections::new(times).unwrap();
        let ask = async |about: About| {
            let request = request(Method::POST, &url, Bytes::new()).unwrap();
            connections.send(request, about, times.total, 1024).await.map(|_| ()).unwrap_err()
        };
        // Taken and never answered.
        let taking = async {
            let mut taken = Vec::new();
            while let Ok(Ok((stream, _))) = timeout(times.total, silent.accept()).await {
                taken.push(stream);
            }
            taken.len()
        };
        let about_tokens = join_all((0..ABOUT_TOKENS + 7).map(|_| ask(About::Token)));
        let (ends, keys, taken) = tokio::join!(about_tokens, ask(About::Issuer), taking);
        let busy = ends.iter().filter(|end| matches!(end, IssuerError::Busy)).count();
        assert_eq!((busy, taken), (7, ABOUT_TOKENS + 1));
        assert!(matches!(keys, IssuerError::TimedOut), "{keys}");
    }
}
