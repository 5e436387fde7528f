//! One connection that asks and waits, HTTP/1.1 without TLS.

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use std::{sync::Arc, time::Duration};
use tokio::{net::TcpStream, task::JoinSet, time::timeout};

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub method: Method,
    pub path: String,
    pub authorization: String,
    /// JSON, unless it is empty.
    pub body: Bytes,
}

impl Call {
    pub(crate) fn get(path: impl Into<String>, authorization: &str) -> Call {
        Call {
            method: Method::GET,
            path: path.into(),
            authorization: authorization.to_owned(),
            body: Bytes::new(),
        }
    }

    pub(crate) fn post(path: impl Into<String>, authorization: String, body: impl Into<Bytes>) -> Call {
        Call { method: Method::POST, path: path.into(), authorization, body: body.into() }
    }
}

/// What came back.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub body: Bytes,
}

/// Why nothing came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No connection; the request was not sent.
    NotConnected,
    /// The connection ended before the end of the answer.
    Closed,
    /// No answer in time.
    TimedOut,
}

impl Failure {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Failure::NotConnected => "no connection",
            Failure::Closed => "connection closed before the answer",
            Failure::TimedOut => "no answer in time",
        }
    }
}

/// One connection to one address, opened when it is needed and again when the other side has closed it.
#[derive(Debug)]
pub(crate) struct Connection {
    /// `host:port`.
    address: Arc<str>,
    patience: Duration,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    sender: SendRequest<Full<Bytes>>,
    /// Ends with the connection.
    _driver: JoinSet<()>,
}

impl Connection {
    /// `patience`: for a connection, and for an answer.
    pub(crate) const fn new(address: Arc<str>, patience: Duration) -> Connection {
        Connection { address, patience, open: None }
    }

    /// A new one to the same address.
    pub(crate) fn another(&self) -> Connection {
        Connection::new(self.address.clone(), self.patience)
    }

    /// Opens it.
    ///
    /// # Errors
    /// [`Failure::NotConnected`].
    pub(crate) async fn open(&mut self) -> Result<(), Failure> {
        let connect = async {
            let stream = TcpStream::connect(&*self.address).await.ok()?;
            stream.set_nodelay(true).ok()?;
            let (sender, connection) = handshake(TokioIo::new(stream)).await.ok()?;
            let mut driver = JoinSet::new();
            driver.spawn(async move { connection.await.unwrap_or(()) });
            Some(Open { sender, _driver: driver })
        };
        self.open = timeout(self.patience, connect).await.ok().flatten();
        if self.open.is_some() { Ok(()) } else { Err(Failure::NotConnected) }
    }

    /// Sends a request and reads the answer. A request that could not be sent because the connection had been closed
    /// meanwhile is sent once more on a new one.
    ///
    /// # Errors
    /// [`Failure`]; the connection is given up.
    pub(crate) async fn ask(&mut self, call: &Call) -> Result<Answer, Failure> {
        let asked = timeout(self.patience, self.ask_patiently(call)).await.unwrap_or(Err(Failure::TimedOut));
        if asked.is_err() {
            self.open = None;
        }
        asked
    }

    async fn ask_patiently(&mut self, call: &Call) -> Result<Answer, Failure> {
        let mut request = self.request(call)?;
        for _ in 0..2 {
            let is_usable = match &mut self.open {
                Some(open) => open.sender.ready().await.is_ok(),
                None => false,
            };
            if !is_usable {
                self.open().await?;
            }
            let Some(open) = &mut self.open else { break };
            match open.sender.try_send_request(request).await {
                Ok(answer) => {
                    let status = answer.status().as_u16();
                    let body = answer.into_body().collect().await.map_err(|_| Failure::Closed)?;
                    return Ok(Answer { status, body: body.to_bytes() });
                }
                // Never sent when it is given back.
                Err(mut why) => request = why.take_message().ok_or(Failure::Closed)?,
            }
            self.open = None;
        }
        Err(Failure::NotConnected)
    }

    fn request(&self, call: &Call) -> Result<Request<Full<Bytes>>, Failure> {
        let mut request =
            Request::builder().method(&call.method).uri(&call.path).header(header::HOST, &*self.address);
        if !call.authorization.is_empty() {
            request = request.header(header::AUTHORIZATION, &call.authorization);
        }
        if !call.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        request.body(Full::new(call.body.clone())).map_err(|_| Failure::NotConnected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    async fn listener() -> (TcpListener, Connection) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        (listener, Connection::new(address.into(), Duration::from_secs(20)))
    }

    #[tokio::test]
    async fn a_connection_is_used_again_and_opened_anew() {
        let (listener, mut connection) = listener().await;
        let mut server = JoinSet::new();
        server.spawn(async move {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().await.unwrap();
                for keep in ["keep-alive", "close"] {
                    let mut bytes = [0; 1024];
                    let n = stream.read(&mut bytes).await.unwrap();
                    assert!(bytes[..n].starts_with(b"GET /me HTTP/1.1\r\n"));
                    let answer =
                        format!("HTTP/1.1 200 OK\r\nconnection: {keep}\r\ncontent-length: 2\r\n\r\n{{}}");
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            }
        });
        for _ in 0..4 {
            let answer = connection.ask(&Call::get("/me", "Bearer x")).await.unwrap();
            assert_eq!((answer.status, &*answer.body), (200, &b"{}"[..]));
        }
        assert!(server.join_next().await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn failures_are_told_apart() {
        let (listener, mut connection) = listener().await;
        let mut server = JoinSet::new();
        server.spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let read = stream.read(&mut [0; 1024]).await.unwrap();
            assert!(read > 0);
        });
        let call = Call::post("/x", String::new(), "[]");
        assert_eq!(connection.ask(&call).await.unwrap_err(), Failure::Closed);
        assert!(server.join_next().await.unwrap().is_ok());
        assert_eq!(connection.ask(&call).await.unwrap_err(), Failure::NotConnected);
    }
}
