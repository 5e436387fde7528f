//! One POST of JSON to an address that was checked just before: names are resolved, every address is checked, and the
//! connection goes to one of exactly these. So a name that resolves differently a moment later does no harm. No proxy,
//! no redirect, no connection kept.

use crate::{delivery::Failure, dns::Resolver, with_causes};
use bailiwick_alertmanager::webhook_target::{AllowedHosts, Target};
use bailiwick_domain::OrgId;
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::ConfigBuilderExt as _;
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, pki_types::ServerName};
use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use tracing::{Instrument, field::Empty};

/// Time for a whole try.
pub(crate) const TRY: Duration = Duration::from_secs(10);
/// Time for the name service when a configuration is saved, and for that and the wait for other names of the tenant.
const LOOK_UP: Duration = Duration::from_secs(3);
const LOOK_UP_WITH_WAIT: Duration = Duration::from_secs(6);
/// Time for the body of an answer, whose content is ignored.
const BODY: Duration = Duration::from_secs(1);
/// Bytes that are read of an answer.
const ANSWER_BYTES: usize = 64 * 1024;

/// The answer of a recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostAnswer {
    pub status: u16,
    /// `Retry-After`, where it is a number of seconds.
    pub retry_after: Option<Duration>,
}

impl PostAnswer {
    /// 2xx.
    pub const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }
}

/// Sends JSON to judged addresses.
#[derive(Clone)]
pub(crate) struct Poster {
    tls: Result<TlsConnector, String>,
    names: Arc<Resolver>,
}

impl Poster {
    /// With the name resolver and root certificates of the system.
    pub(crate) fn new() -> Poster {
        Poster::with_names(Resolver::of_the_system())
    }

    /// With names of one's own.
    pub(crate) fn with_names(names: Resolver) -> Poster {
        Poster { tls: tls(), names: Arc::new(names) }
    }

    /// Posts and waits for the answer; its body is ignored.
    ///
    /// # Errors
    /// See [`Failure`]: connection faults, 429 and 5xx may pass.
    pub(crate) async fn post(
        &self,
        tenant: OrgId,
        target: &Target,
        allowed: &AllowedHosts,
        body: Bytes,
    ) -> Result<(), Failure> {
        let PostAnswer { status, .. } = self.deliver(tenant, target, allowed, &[], body).await?;
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
        if status.is_success() {
            return Ok(());
        }
        let reason = format!("answered with status {}", status.as_u16());
        let may_pass = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        Err(if may_pass {
            Failure::temporary(reason, "refused")
        } else {
            Failure::permanent(reason, "refused")
        })
    }

    /// Posts with headers of the caller's; any status is a result.
    ///
    /// # Errors
    /// No answer was received.
    pub(crate) async fn deliver(
        &self,
        tenant: OrgId,
        target: &Target,
        allowed: &AllowedHosts,
        headers: &[(&'static str, String)],
        body: Bytes,
    ) -> Result<PostAnswer, Failure> {
        let span = tracing::trace_span!(
            "call",
            call = "notification",
            method = "POST",
            http.response.status_code = Empty,
            error.type = Empty,
        );
        let sent = self.exchange(tenant, target, allowed, headers, body).instrument(span.clone());
        let answered = match timeout(TRY, sent).await {
            Ok(answered) => answered,
            Err(_) => Err(Failure::temporary("no answer in time", "timed out")),
        };
        match &answered {
            Ok(answered) => span.record("http.response.status_code", answered.status),
            Err(_) => span.record("error.type", "not_delivered"),
        };
        answered
    }

    async fn exchange(
        &self,
        tenant: OrgId,
        target: &Target,
        allowed: &AllowedHosts,
        headers: &[(&'static str, String)],
        body: Bytes,
    ) -> Result<PostAnswer, Failure> {
        let request = request(target, headers, body)
            .map_err(|e| Failure::permanent("the address cannot be used", e))?;
        let addresses = self.judged(tenant, target, allowed, TRY).await?;
        let stream = connect(&addresses, target.port).await?;
        let broken = |e: &dyn std::error::Error| Failure::temporary("the connection broke", with_causes(e));
        if target.url.scheme() == "http" {
            return speak(stream, request).await.map_err(|e| broken(&e));
        }
        let no_tls = |e: &dyn std::fmt::Display| Failure::temporary("no TLS connection", e);
        let tls = self.tls.as_ref().map_err(|e| no_tls(e))?;
        let name = ServerName::try_from(target.host.clone())
            .map_err(|e| Failure::permanent("the address cannot be used", e))?;
        let stream = tls.connect(name, stream).await.map_err(|e| no_tls(&e))?;
        speak(stream, request).await.map_err(|e| broken(&e))
    }

    /// Whether the target's addresses are resolved in time and permitted; else the code of spec:
    /// alert-configuration#layers.
    pub(crate) async fn look_up(
        &self,
        tenant: OrgId,
        target: &Target,
        allowed: &AllowedHosts,
    ) -> Result<(), &'static str> {
        match timeout(LOOK_UP_WITH_WAIT, self.judged(tenant, target, allowed, LOOK_UP)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(refused)) if !refused.may_pass => Err("host_not_publicly_routable"),
            _ => Err("dns_resolution_failed"),
        }
    }

    /// The addresses of the target; if one of them is not permitted, none. `within`: time for the name service.
    async fn judged(
        &self,
        tenant: OrgId,
        target: &Target,
        allowed: &AllowedHosts,
        within: Duration,
    ) -> Result<Vec<IpAddr>, Failure> {
        let addresses = match target.address() {
            Some(address) => vec![address],
            None => {
                let addresses = self.names.find(tenant, &target.host, within).await;
                addresses.map_err(|e| Failure::temporary("the name cannot be resolved", e))?
            }
        };
        if addresses.is_empty() {
            return Err(Failure::temporary("the name cannot be resolved", "no address"));
        }
        // One internal address makes the whole answer suspect: it is an attack.
        if !target.is_allowed_by_name && !addresses.iter().all(|address| allowed.permits(*address)) {
            return Err(Failure::permanent("the address is not public", "refused by the address policy"));
        }
        Ok(addresses)
    }
}

/// Shared by the process: reading the root certificates takes some milliseconds and a few megabytes.
fn tls() -> Result<TlsConnector, String> {
    static TLS: OnceLock<Result<TlsConnector, String>> = OnceLock::new();
    TLS.get_or_init(read_tls).clone()
}

fn read_tls() -> Result<TlsConnector, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_native_roots()
        .map_err(|e| format!("root certificates cannot be read: {e}"))?
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn request(
    target: &Target,
    headers: &[(&'static str, String)],
    body: Bytes,
) -> Result<Request<Full<Bytes>>, http::Error> {
    let url = &target.url;
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let host = match (url.host_str().unwrap_or_default(), url.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_owned(),
    };
    let own = Request::builder();
    let own = headers.iter().fold(own, |request, (name, value)| request.header(*name, value));
    own.method(Method::POST)
        .uri(path)
        .header(header::HOST, host)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, crate::USER_AGENT)
        .header(header::CONNECTION, "close")
        .body(Full::new(body))
}

async fn connect(addresses: &[IpAddr], port: u16) -> Result<TcpStream, Failure> {
    // An equal share of the time for each address.
    let each = TRY / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
    let mut last = Failure::temporary("no connection", "timed out");
    for address in addresses {
        match timeout(each, TcpStream::connect(SocketAddr::new(*address, port))).await {
            Ok(Ok(stream)) => {
                // Only slower without.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(e)) => last = Failure::temporary("no connection", e),
            Err(_) => {}
        }
    }
    Err(last)
}

async fn speak<S>(stream: S, request: Request<Full<Bytes>>) -> Result<PostAnswer, hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let mut connection = std::pin::pin!(connection);
    let answer = async {
        let (head, body) = sender.send_request(request).await?.into_parts();
        // Reads a short body to its end, so that the recipient is not cut off; the content does not matter.
        let _ = timeout(BODY, Limited::new(body, ANSWER_BYTES).collect()).await;
        let delay = head.headers.get(header::RETRY_AFTER).and_then(|v| v.to_str().ok());
        let retry_after = delay.and_then(|v| v.trim().parse().ok()).map(Duration::from_secs);
        Ok::<_, hyper::Error>(PostAnswer { status: head.status.as_u16(), retry_after })
    };
    let mut answer = std::pin::pin!(answer);
    tokio::select! {
        answer = &mut answer => answer,
        // The connection may have delivered the answer just before it ended.
        _ = &mut connection => answer.await,
    }
}
