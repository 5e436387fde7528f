//! Connections to the mail server: few at once, each kept a while for the next message. The conversation is led step by
//! step, because only what the server says from the recipient on is about recipient and message.

use lettre::{
    Message,
    transport::smtp::{
        Error,
        authentication::{Credentials, Mechanism},
        client::{AsyncSmtpConnection, AsyncTokioStream, Tls, TlsParameters},
        commands::{Auth, Data, Ehlo, Mail, Rcpt},
        extension::{ClientId, MailBodyParameter, MailParameter},
        response::Response,
    },
};
use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::Semaphore,
};

/// Longest time for the connection itself.
const CONNECT: Duration = Duration::from_secs(20);
/// Connections open at once.
pub const CONNECTIONS: u32 = 8;
/// How long a connection is kept for the next message.
const IDLE: Duration = Duration::from_secs(30);
/// Questions of the server during a sign-in.
const CHALLENGES: usize = 10;

/// Why a message was not taken.
pub(super) struct Untaken {
    /// What the server or the network has said.
    pub(super) text: String,
    /// The server's reply code.
    pub(super) code: Option<u16>,
    /// It is about the recipient or the message. Otherwise the operator can repair it.
    pub(super) is_about_mail: bool,
}

impl Untaken {
    fn before(text: impl Into<String>) -> Untaken {
        Untaken { text: text.into(), code: None, is_about_mail: false }
    }

    /// The server's answer to the recipient or to what follows; a lost connection is none.
    fn of_mail(error: &Error) -> Untaken {
        Untaken { is_about_mail: error.status().is_some(), ..Untaken::from(error) }
    }
}

impl From<&Error> for Untaken {
    fn from(error: &Error) -> Untaken {
        let code = error.status().map(u16::from);
        Untaken { text: error.to_string(), code, is_about_mail: false }
    }
}

impl From<Error> for Untaken {
    fn from(error: Error) -> Untaken {
        Untaken::from(&error)
    }
}

/// A server that has been greeted, and signed in at.
struct Open {
    connection: AsyncSmtpConnection,
    /// What the server offers, in capitals: each line of its answer to EHLO.
    offers: Vec<String>,
}

pub(super) struct Connections {
    host: String,
    port: u16,
    tls: Tls,
    hello: ClientId,
    credentials: Option<Credentials>,
    turns: Semaphore,
    idle: Mutex<Vec<(Open, Instant)>>,
}

impl Connections {
    /// None is opened yet.
    pub(super) fn new(
        (host, port): (String, u16),
        tls: Tls,
        hello: ClientId,
        credentials: Option<Credentials>,
    ) -> Connections {
        let turns = Semaphore::new(CONNECTIONS as usize);
        Connections { host, port, tls, hello, credentials, turns, idle: Mutex::default() }
    }

    /// Host and port of the server.
    pub(super) fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Hands a message over; the server's answer to it.
    pub(super) async fn send(&self, message: &Message) -> Result<Response, Untaken> {
        let _turn = self.turns.acquire().await.map_err(|e| Untaken::before(e.to_string()))?;
        let mut open = match self.idle_connection().await {
            Some(open) => open,
            None => self.open().await?,
        };
        match open.hand_over(message).await {
            Ok(reply) => {
                self.idle().push((open, Instant::now()));
                Ok(reply)
            }
            Err(untaken) => {
                open.connection.abort().await;
                Err(untaken)
            }
        }
    }

    /// Ends the kept ones.
    pub(super) async fn close(&self) {
        let all = std::mem::take(&mut *self.idle());
        for (mut open, _) in all {
            open.connection.abort().await;
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<(Open, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one that was used last and still answers.
    async fn idle_connection(&self) -> Option<Open> {
        loop {
            let (mut open, since) = self.idle().pop()?;
            if since.elapsed() < IDLE && open.connection.test_connected().await {
                return Some(open);
            }
            open.connection.abort().await;
        }
    }

    async fn open(&self) -> Result<Open, Untaken> {
        let mut connection = self.connect().await?;
        match self.enter(&mut connection).await {
            Ok(offers) => Ok(Open { connection, offers }),
            Err(untaken) => {
                connection.abort().await;
                Err(untaken)
            }
        }
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, Untaken> {
        let (server, hello) = ((self.host.as_str(), self.port), &self.hello);
        match &self.tls {
            Tls::Required(parameters) => self.start_tls(parameters).await,
            Tls::Wrapper(parameters) => {
                let tls = Some(parameters.clone());
                Ok(AsyncSmtpConnection::connect_tokio1(server, Some(CONNECT), hello, tls, None).await?)
            }
            _ => Ok(AsyncSmtpConnection::connect_tokio1(server, Some(CONNECT), hello, None, None).await?),
        }
    }

    async fn start_tls(&self, parameters: &TlsParameters) -> Result<AsyncSmtpConnection, Untaken> {
        let stream = TcpStream::connect((self.host.as_str(), self.port));
        let stream = tokio::time::timeout(CONNECT, stream).await;
        let stream = stream.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let stream = stream.map_err(|why| Untaken::before(format!("Connection error: {why}")))?;
        let stream = Box::new(Capitals { stream, is_on: true });
        let mut connection = AsyncSmtpConnection::connect_with_transport(stream, &self.hello).await?;
        if let Err(why) = connection.starttls(parameters.clone(), &self.hello).await {
            connection.abort().await;
            return Err(why.into());
        }
        Ok(connection)
    }

    /// Asks what the server offers and signs in. The client library reads keywords in capitals only (RFC 5321 §2.4: in
    /// any case), so they are asked for once more.
    async fn enter(&self, connection: &mut AsyncSmtpConnection) -> Result<Vec<String>, Untaken> {
        let offered = connection.command(Ehlo::new(self.hello.clone())).await?;
        let offers: Vec<String> = offered.message().skip(1).map(str::to_ascii_uppercase).collect();
        let Some(credentials) = &self.credentials else { return Ok(offers) };
        let mechanism = mechanism(&offers).ok_or_else(|| {
            Untaken::before("the server offers no sign-in with a password (AUTH PLAIN or LOGIN)")
        })?;
        let mut reply = connection.command(Auth::new(mechanism, credentials.clone(), None)?).await?;
        for _ in 0..CHALLENGES {
            if !reply.has_code(334) {
                return Ok(offers);
            }
            let answer = Auth::new_from_response(mechanism, credentials.clone(), &reply)?;
            reply = connection.command(answer).await?;
        }
        Err(Untaken::before("the server asks too much during the sign-in"))
    }
}

/// The first of ours that the server offers: `AUTH PLAIN LOGIN`, of old servers `AUTH=LOGIN`.
fn mechanism(offers: &[String]) -> Option<Mechanism> {
    let lines = offers.iter().filter_map(|line| line.strip_prefix("AUTH"));
    let words: Vec<&str> = lines.flat_map(|line| line.split([' ', '='])).collect();
    [("PLAIN", Mechanism::Plain), ("LOGIN", Mechanism::Login)]
        .into_iter()
        .find(|(word, _)| words.contains(word))
        .map(|(_, mechanism)| mechanism)
}

impl Open {
    async fn hand_over(&mut self, message: &Message) -> Result<Response, Untaken> {
        let (envelope, bytes) = (message.envelope(), message.formatted());
        let mut parameters = Vec::new();
        let from = envelope.from().into_iter();
        let is_plain = from.chain(envelope.to()).all(|address| AsRef::<str>::as_ref(address).is_ascii());
        if !is_plain {
            parameters.push(self.needs("SMTPUTF8", MailParameter::SmtpUtfEight)?);
        }
        if !bytes.is_ascii() {
            let body = MailParameter::Body(MailBodyParameter::EightBitMime);
            parameters.push(self.needs("8BITMIME", body)?);
        }
        let connection = &mut self.connection;
        connection.command(Mail::new(envelope.from().cloned(), parameters)).await?;
        for to in envelope.to() {
            connection.command(Rcpt::new(to.clone(), Vec::new())).await.map_err(|e| Untaken::of_mail(&e))?;
        }
        connection.command(Data).await.map_err(|e| Untaken::of_mail(&e))?;
        connection.message(&bytes).await.map_err(|e| Untaken::of_mail(&e))
    }

    /// The parameter, where the server can do what it stands for.
    fn needs(&self, keyword: &str, parameter: MailParameter) -> Result<MailParameter, Untaken> {
        match self.offers.iter().any(|line| line.split(' ').next() == Some(keyword)) {
            true => Ok(parameter),
            false => Err(Untaken {
                text: format!("the message needs {keyword}, which the server does not offer"),
                code: None,
                is_about_mail: true,
            }),
        }
    }
}

/// Reads in capitals until STARTTLS is sent: the client library does not know the keyword in small letters.
#[derive(Debug)]
struct Capitals {
    stream: TcpStream,
    is_on: bool,
}

impl AsyncTokioStream for Capitals {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

impl AsyncRead for Capitals {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if self.is_on {
            buffer.filled_mut().iter_mut().skip(before).for_each(|byte| byte.make_ascii_uppercase());
        }
        polled
    }
}

impl AsyncWrite for Capitals {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if bytes.starts_with(b"STARTTLS") {
            self.is_on = false;
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
