//! Outgoing mail: the only code that speaks SMTP. A pool of few connections, every step with a time limit.
//!
//! The callers decide the content and the retries; this module reports whether a failure may pass.

mod notice;

pub use notice::Notice;

use bailiwick_domain::{Secret, fold::one_line};
use lettre::{
    Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor,
    message::{
        Mailbox, MessageBuilder, MultiPart,
        header::{HeaderName, HeaderValue},
    },
    transport::smtp::{
        PoolConfig,
        authentication::Credentials,
        client::{Certificate, Tls, TlsParameters},
        extension::ClientId,
    },
};
use std::{
    fmt,
    net::IpAddr,
    time::{Duration, SystemTime},
};

/// Longest time for one step of the conversation.
const STEP: Duration = Duration::from_secs(20);
/// Longest time for a whole message.
const WHOLE: Duration = Duration::from_secs(60);
/// Connections open at once.
pub const CONNECTIONS: u32 = 8;
/// How long a connection is kept for the next message.
const IDLE: Duration = Duration::from_secs(30);

/// How the conversation is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// Not at all: for a relay on the same machine.
    None,
    /// STARTTLS, never without.
    StartTls,
    /// TLS from the first byte.
    Tls,
}

/// A server and the account at it.
#[derive(Clone, Debug)]
pub struct Server {
    /// Name or address; certificates are checked against it.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Protection.
    pub security: Security,
    /// User name and password.
    pub credentials: Option<(String, Secret<String>)>,
    /// A certificate authority (PEM) to trust besides the system's.
    pub authority: Option<Vec<u8>>,
    /// Address of the sender.
    pub from: String,
    /// The name of the sender.
    pub from_name: Option<String>,
    /// Name or address by which this program introduces itself (EHLO); none = the name of the machine.
    pub hello: Option<String>,
}

/// A message to one person.
#[derive(Clone, Debug)]
pub struct Letter {
    /// Same id = same message, so that a recipient can recognize a duplicate.
    pub id: String,
    /// Address.
    pub to: String,
    /// Name beside the address.
    pub to_name: String,
    /// Subject.
    pub subject: String,
    /// The message as text.
    pub text: String,
    /// The same as HTML.
    pub html: String,
    /// Its date, in microseconds since the epoch.
    pub date_micros: i64,
}

/// Why a message was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailError {
    /// A final refusal: the address is invalid, or the server refuses it permanently.
    Refused(String),
    /// May work later.
    Delayed(String),
}

impl fmt::Display for MailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MailError::Refused(why) | MailError::Delayed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for MailError {}

/// A connection pool to one server.
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    /// Host and port of the server, for messages.
    place: String,
}

impl fmt::Debug for Mailer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mailer")
    }
}

impl Mailer {
    /// Prepares the pool without connecting. Must be called on a tokio runtime, where it keeps its connections.
    ///
    /// # Errors
    /// An invalid sender address, or a certificate authority that cannot be read.
    pub fn new(server: Server) -> Result<Mailer, String> {
        let from: Address = server.from.parse().map_err(|e| format!("the sender's address: {e}"))?;
        let tls = || {
            let mut parameters = TlsParameters::builder(server.host.clone());
            if let Some(pem) = &server.authority {
                parameters = parameters.add_root_certificate(Certificate::from_pem(pem)?);
            }
            parameters.build()
        };
        let tls = match server.security {
            Security::None => Ok(Tls::None),
            Security::StartTls => tls().map(Tls::Required),
            Security::Tls => tls().map(Tls::Wrapper),
        };
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(server.host.clone())
            .port(server.port)
            .tls(tls.map_err(|e| format!("the certificate authority: {e}"))?)
            .timeout(Some(STEP))
            .pool_config(PoolConfig::new().max_size(CONNECTIONS).idle_timeout(IDLE));
        if let Some((user, password)) = server.credentials {
            builder = builder.credentials(Credentials::new(user, password.reveal().clone()));
        }
        if let Some(hello) = server.hello {
            builder = builder.hello_name(match hello.parse() {
                Ok(IpAddr::V4(address)) => ClientId::Ipv4(address),
                Ok(IpAddr::V6(address)) => ClientId::Ipv6(address),
                Err(_) => ClientId::Domain(hello),
            });
        }
        let from = Mailbox::new(server.from_name.as_deref().map(one_line), from);
        Ok(Mailer { transport: builder.build(), from, place: format!("{}:{}", server.host, server.port) })
    }

    /// Sends a message; without an error, the server has accepted it. Returns the server with what it has said.
    ///
    /// # Errors
    /// See [`MailError`].
    pub async fn send(&self, letter: &Letter) -> Result<String, MailError> {
        let message = self.message(letter)?;
        let place = &self.place;
        match tokio::time::timeout(WHOLE, self.transport.send(message)).await {
            Err(_) => Err(MailError::Delayed(format!("{place}: no end after {} s", WHOLE.as_secs()))),
            Ok(Err(error)) => Err(judge(place, &error)),
            Ok(Ok(reply)) => {
                Ok(format!("{place}: {} {}", reply.code(), reply.message().collect::<Vec<_>>().join(" ")))
            }
        }
    }

    /// Ends the kept connections.
    pub async fn close(&self) {
        self.transport.shutdown().await;
    }

    fn message(&self, letter: &Letter) -> Result<Message, MailError> {
        let head = Head {
            id: &letter.id,
            to: &letter.to,
            to_name: Some(&letter.to_name),
            subject: &letter.subject,
            date_micros: letter.date_micros,
        };
        self.begin(head)?
            .multipart(MultiPart::alternative_plain_html(letter.text.clone(), letter.html.clone()))
            .map_err(|e| refused("the message", &e))
    }
}

/// The headers that all mails have.
struct Head<'a> {
    id: &'a str,
    to: &'a str,
    to_name: Option<&'a str>,
    subject: &'a str,
    date_micros: i64,
}

impl Mailer {
    /// The beginning of an automatic message.
    fn begin(&self, head: Head<'_>) -> Result<MessageBuilder, MailError> {
        let to: Address = head.to.trim().parse().map_err(|e| refused("the address", &e))?;
        let micros = u64::try_from(head.date_micros).unwrap_or(0);
        Ok(Message::builder()
            .from(self.from.clone())
            // No absence notices, please (RFC 3834).
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ))
            .to(Mailbox::new(head.to_name.map(one_line), to))
            .subject(one_line(head.subject))
            .date(SystemTime::UNIX_EPOCH + Duration::from_micros(micros))
            .message_id(Some(format!("<{}@{}>", head.id, self.from.email.domain()))))
    }
}

fn refused(what: &str, e: &dyn fmt::Display) -> MailError {
    MailError::Refused(format!("{what}: {e}"))
}

/// Only a permanent answer about the recipient or the message is final (RFC 5321 §4.2.3, RFC 3463). The operator can
/// repair any other permanent answer (no service, no relaying, the account, a policy), so the mail is retried.
fn judge(place: &str, error: &lettre::transport::smtp::Error) -> MailError {
    let text = format!("{place}: {error}");
    let code = error.status().map(u16::from);
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let is_final = match code {
        Some(550..=553 | 556) => !says(&["5.3.", "5.4.", "5.7.", "relay"]),
        Some(554 | 555) => says(&["5.1.", "5.2.", "5.6."]),
        _ => false,
    };
    if error.is_permanent() && is_final { MailError::Refused(text) } else { MailError::Delayed(text) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
    use super::*;

    pub(super) fn mailer(from: &str, from_name: &str) -> Mailer {
        Mailer::new(Server {
            host: "127.0.0.1".into(),
            port: 1,
            security: Security::None,
            credentials: None,
            authority: None,
            from: from.into(),
            from_name: Some(from_name.into()),
            hello: None,
        })
        .unwrap()
    }

    fn letter() -> Letter {
        Letter {
            id: "1".into(),
            to: "m@example.org".into(),
            to_name: "Mario \"x\" <y@evil.example>\r\nBcc: z@evil.example".into(),
            subject: "Welcome to A\r\nBcc: z@evil.example\r\n\r\nbody ü".into(),
            text: "plain".into(),
            html: "<p>rich</p>".into(),
            date_micros: 0,
        }
    }

    #[tokio::test]
    async fn names_cannot_add_headers_or_recipients() {
        let message =
            mailer("noreply@example.org", "Fleet\r\nBcc: x@evil.example").message(&letter()).unwrap();
        let recipients: Vec<String> = message.envelope().to().iter().map(ToString::to_string).collect();
        assert_eq!(recipients, ["m@example.org"]);
        let text = String::from_utf8(message.formatted()).unwrap();
        let (head, _) = text.split_once("\r\n\r\n").unwrap();
        let unfolded = head.replace("\r\n ", " ");
        let names: Vec<&str> = unfolded.lines().filter_map(|l| l.split_once(':')).map(|(n, _)| n).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        let expected =
            ["Auto-Submitted", "Content-Type", "Date", "From", "MIME-Version", "Message-ID", "Subject", "To"];
        assert_eq!(sorted, expected, "{head}");
    }

    #[tokio::test]
    async fn what_is_no_address_is_refused_for_good_and_an_absent_server_is_not() {
        let bad = Letter { to: "a b@example.org".into(), ..letter() };
        assert!(matches!(
            mailer("noreply@example.org", "Fleet\r\nBcc: x@evil.example").send(&bad).await,
            Err(MailError::Refused(_))
        ));
        assert!(matches!(
            mailer("noreply@example.org", "Fleet\r\nBcc: x@evil.example").send(&letter()).await,
            Err(MailError::Delayed(_))
        ));
    }

    #[test]
    fn a_sender_that_is_no_address_is_an_error() {
        let server = Server {
            host: "127.0.0.1".into(),
            port: 1,
            security: Security::None,
            credentials: None,
            authority: None,
            from: "nobody".into(),
            from_name: None,
            hello: None,
        };
        assert!(Mailer::new(server).is_err());
    }
}
