//! One connection: HTTP/1.1 by hyper, the router behind it, and the time limits hyper has no setting for.
//!
//! hyper's own head timeout also runs between requests, so one limit would have to serve for both, and it makes a timer
//! per request. Here a connection has one timer, moved only when it fires or when a nearer deadline appears.

use super::{
    Options, Tls,
    connection_state::{BUSY, ConnectionState, HEAD, IDLE, LINGER, RequestInWork, Timer},
    connections::ConnectionSlot,
    unread_bodies::{AbandonedBody, LINGER_BYTES, TrackedBody},
};
use axum::{
    Router,
    body::{Body, Bytes, HttpBody},
    extract::{ConnectInfo, Request},
    response::Response,
};
use hyper::{
    body::{Frame, Incoming, SizeHint},
    header::{CONNECTION, EXPECT, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    io::{self, IoSlice},
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use tower::Service;

/// Read buffer of a connection at most; hyper grows it from 8 KiB as bodies need it.
const BUFFER_BYTES: usize = 256 * 1024;

/// The state that the connections of one worker share.
pub(super) struct Front {
    http: http1::Builder,
    router: Router,
    options: Options,
    tls: Option<Arc<Tls>>,
}

impl Front {
    pub(super) fn new(router: Router, options: Options, tls: Option<Arc<Tls>>) -> Front {
        let mut http = http1::Builder::new();
        http.header_read_timeout(None)
            .keep_alive(true)
            .max_header_size(options.head_bytes)
            .max_buf_size(BUFFER_BYTES.max(options.head_bytes));
        // Resolves the router's layers once instead of at every request.
        Front { http, router: router.with_state(()), options, tls }
    }

    /// Serves one connection to its end.
    pub(super) async fn serve(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        slot: ConnectionSlot,
        stop: CancellationToken,
    ) {
        if let Err(why) = stream.set_nodelay(true) {
            tracing::debug!("cannot switch off delays to {peer}: {why}");
        }
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let Some(tls) = &self.tls else { return self.speak(stream, peer, slot, stop).await };
        // On the heap, so that plain connections do not carry its size.
        let shaken = Box::pin(timeout(self.options.head_timeout, tls.acceptor().accept(stream)));
        let shaken = tokio::select! {
            shaken = shaken => shaken,
            () = slot.state.asked_to_end() => return,
            () = stop.cancelled() => return,
        };
        match shaken {
            Ok(Ok(stream)) => Box::pin(self.speak(stream, peer, slot, stop)).await,
            Ok(Err(why)) => tracing::debug!("TLS of {peer}: {why}"),
            Err(_) => tracing::debug!("TLS of {peer}: timed out"),
        }
    }

    /// Serves HTTP.
    async fn speak<S>(&self, stream: S, peer: SocketAddr, slot: ConnectionSlot, stop: CancellationToken)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let state = &slot.state;
        let io = TokioIo::new(Watched { stream, state: Arc::clone(state), taken: 0 });
        let service = service_fn(|request| self.answer(request, peer, state));
        let mut connection = pin!(self.http.serve_connection(io, service));
        let mut timer = Timer::new(state, self.options);
        let mut stopped = pin!(stop.cancelled());
        let mut stopping = false;
        poll_fn(|cx| {
            if !stopping && stopped.as_mut().poll(cx).is_ready() {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            if let Poll::Ready(ended) = connection.as_mut().poll(cx) {
                if let Err(why) = ended {
                    tracing::debug!("connection of {peer}: {why}");
                }
                return Poll::Ready(());
            }
            // After polling the connection, so that a request that has arrived counts.
            while state.poll_asked_to_end(cx).is_ready() {
                if state.phase() != BUSY {
                    tracing::debug!("connection of {peer}: closed while idle to make room");
                    return Poll::Ready(());
                }
                // It ends with the answer instead.
                connection.as_mut().graceful_shutdown();
                slot.stay();
            }
            timer.poll(cx).map(|()| tracing::debug!("connection of {peer}: timed out"))
        })
        .await;
    }

    /// Passes one request to the router.
    fn answer(
        &self,
        mut request: Request<Incoming>,
        peer: SocketAddr,
        state: &Arc<ConnectionState>,
    ) -> impl Future<Output = Result<Response<Answer>, Infallible>> + use<> {
        let busy = RequestInWork::begin(state);
        request.extensions_mut().insert(ConnectInfo(peer));
        let left = (!request.body().is_end_stream()).then(AbandonedBody::default);
        let is_awaited = left.is_some() && request.headers().contains_key(EXPECT);
        let answer = self.router.clone().call(request.map(|body| TrackedBody::new(body, left.clone())));
        async move {
            let mut response = answer.await?;
            if let Some(left) = left
                && !left.is_over(is_awaited).await
            {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                busy.0.is_unread.store(true, Relaxed);
            }
            Ok(response.map(|body| Answer { body, _busy: busy }))
        }
    }
}

/// An answer's body that records its end.
struct Answer {
    body: Body,
    _busy: RequestInWork,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The socket; it records when bytes arrive and when the client stops taking bytes.
struct Watched<S> {
    stream: S,
    state: Arc<ConnectionState>,
    /// Bytes taken after the last answer.
    taken: usize,
}

impl<S: AsyncRead + Unpin> Watched<S> {
    /// Reads and drops further bytes until the client ends or sends too much; the connection's timer ends it, too.
    fn linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut bytes = [0; 8 * 1024];
        while self.taken < LINGER_BYTES {
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => self.taken += buffer.filled().len(),
                Poll::Ready(_) => break,
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before && self.state.phase() == IDLE {
            self.state.enter(HEAD);
        }
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.state.wrote(&wrote);
        wrote
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.state.wrote(&wrote);
        wrote
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.state.phase() != LINGER {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            if !self.state.is_unread.load(Relaxed) {
                return Poll::Ready(Ok(()));
            }
            self.state.enter(LINGER);
        }
        self.linger(cx).map(Ok)
    }
}
