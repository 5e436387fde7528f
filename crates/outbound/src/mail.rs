//! Outgoing mail: the only code that speaks SMTP. A pool of few connections, every step with a time limit.
//!
//! The callers decide the content and the retries; this module reports whether a failure may pass.

mod connections;
mod notice;

pub use connections::CONNECTIONS;
pub use notice::Notice;

use bailiwick_domain::{Secret, fold::one_line, host::canonical_host, validate::Email};
use connections::{Connections, Untaken};
use lettre::{
    Address, Message,
    message::{
        Mailbox, MessageBuilder, MultiPart,
        header::{HeaderName, HeaderValue},
    },
    transport::smtp::{
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

/// Longest time for a whole message.
const WHOLE: Duration = Duration::from_secs(60);
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
    pub subject: String,
    /// The message as text.
    pub text: String,
    /// The message as HTML.
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
    connections: Connections,
    from: Mailbox,
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
        let from: Address =
            Email::sent_form(&server.from).parse().map_err(|e| format!("the sender's address: {e}"))?;
        let host = canonical_host(&server.host).into_owned();
        let tls = || {
            let mut parameters = TlsParameters::builder(host.clone());
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
        let tls = tls.map_err(|e| format!("the certificate authority: {e}"))?;
        let hello = server.hello.map_or_else(ClientId::default, |hello| match hello.parse() {
            Ok(IpAddr::V4(address)) => ClientId::Ipv4(address),
            Ok(IpAddr::V6(address)) => ClientId::Ipv6(address),
            Err(_) => ClientId::Domain(hello),
        });
        let credentials = server.credentials;
        let credentials =
            credentials.map(|(user, password)| Credentials::new(user, password.reveal().clone()));
        let from = Mailbox::new(server.from_name.as_deref().map(one_line), from);
        let connections = Connections::new((host, server.port), tls, hello, credentials);
        Ok(Mailer { connections, from })
    }

    /// Sends a message; without an error, the server has accepted it. Returns the server with what it has said.
    ///
    /// # Errors
    /// See [`MailError`].
    pub async fn send(&self, letter: &Letter) -> Result<String, MailError> {
        let message = self.message(letter)?;
        let server = self.connections.address();
        match tokio::time::timeout(WHOLE, self.connections.send(&message)).await {
            Err(_) => Err(MailError::Delayed(format!("{server}: no end after {} s", WHOLE.as_secs()))),
            Ok(Err(untaken)) => Err(judge(&server, &untaken)),
            Ok(Ok(reply)) => {
                let lines: Vec<&str> = reply.message().collect();
                Ok(format!("{server}: {} {}", reply.code(), lines.join(" ")))
            }
        }
    }

    /// Ends the kept connections.
    pub async fn close(&self) {
        self.connections.close().await;
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
        let to: Address = Email::sent_form(head.to).parse().map_err(|e| refused("the address", &e))?;
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

/// Only a permanent answer about the recipient or the message, once the recipient was named, is final (RFC 5321 §4.2.3,
/// RFC 3463). The operator can repair any other permanent answer (no service, no relaying, the account, a policy), so
/// the mail is retried.
fn judge(server: &str, untaken: &Untaken) -> MailError {
    let text = format!("{server}: {}", untaken.text);
    let says = |words: &[&str]| words.iter().any(|word| untaken.text.contains(word));
    let is_final = match untaken.code {
        Some(550..=553 | 556) => !says(&["5.3.", "5.4.", "5.7.", "relay"]),
        Some(554 | 555) => says(&["5.1.", "5.2.", "5.6."]),
        _ => false,
    };
    if untaken.is_about_mail && is_final { MailError::Refused(text) } else { MailError::Delayed(text) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test that cannot go on fails")]
    use super::*;
    use tokio::{
        io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
        net::TcpListener,
    };

    /// Nobody listens there.
    fn server() -> Server {
        Server {
            host: "127.0.0.1".into(),
            port: 1,
            security: Security::None,
            credentials: None,
            authority: None,
            from: "noreply@example.org".into(),
            from_name: None,
            hello: None,
        }
    }

    pub(super) fn mailer(from: &str, from_name: &str) -> Mailer {
        Mailer::new(Server { from: from.into(), from_name: Some(from_name.into()), ..server() }).unwrap()
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
    async fn a_domain_goes_out_as_servers_know_it() {
        let letter = Letter { to: "mario@münchen.example".into(), ..letter() };
        let message = mailer("help@köln.example", "Fleet").message(&letter).unwrap();
        assert_eq!(message.envelope().to()[0].to_string(), "mario@xn--mnchen-3ya.example");
        assert_eq!(message.envelope().from().unwrap().to_string(), "help@xn--kln-sna.example");
        assert!(message.formatted().is_ascii());
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

    /// A server that says these lines, one to each line it reads; returns its port and what it has read.
    async fn scripted(lines: &'static [&'static str]) -> (u16, tokio::task::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let (reader, mut writer) = stream.into_split();
            let (mut reader, mut read) = (BufReader::new(reader).lines(), Vec::new());
            for line in lines {
                writer.write_all(line.as_bytes()).await.unwrap();
                match reader.next_line().await {
                    Ok(Some(received)) => read.push(received),
                    _ => break,
                }
            }
            read
        });
        (port, served)
    }

    #[tokio::test]
    async fn only_a_reply_about_the_recipient_is_final() {
        const HELLO: &str = "220 ready\r\n";
        const OFFERS: &str = "250-mail.example\r\n250 8BITMIME\r\n";
        for (lines, is_final) in [
            (&[HELLO, "550 bad host name\r\n"][..], false),
            (&["554 5.1.0 not you\r\n"], false),
            (&[HELLO, OFFERS, OFFERS, "550 5.1.8 bad sender\r\n"], false),
            (&[HELLO, OFFERS, OFFERS, "250 ok\r\n", "550 5.1.1 no\r\n"], true),
            (&[HELLO, OFFERS, OFFERS, "250 ok\r\n", "550 5.7.1 no relaying\r\n"], false),
            (&[HELLO, OFFERS, OFFERS, "250 ok\r\n", "450 later\r\n"], false),
        ] {
            let (port, served) = scripted(lines).await;
            let mailer =
                Mailer::new(Server { port, hello: Some("fleet.example".into()), ..server() }).unwrap();
            let error = mailer.send(&letter()).await.unwrap_err();
            assert_eq!(matches!(error, MailError::Refused(_)), is_final, "{lines:?}: {error}");
            assert!(error.to_string().starts_with(&format!("127.0.0.1:{port}: ")), "{error}");
            let received = served.await.unwrap();
            assert!(
                received.first().is_none_or(|line| line == "EHLO fleet.example" || line == "QUIT"),
                "{received:?}"
            );
        }
    }

    #[tokio::test]
    async fn keywords_count_in_any_case() {
        const OFFERS: &str = "250-mail.example\r\n250-8bitmime\r\n250 Auth plain\r\n";
        let lines: &[&str] = &[
            "220 ready\r\n",
            OFFERS,
            OFFERS,
            "235 welcome\r\n",
            "250 sender\r\n",
            "250 recipient\r\n",
            "354 go on\r\n",
        ];
        let (port, served) = scripted(lines).await;
        let credentials = Some(("fleet".to_owned(), Secret::new("hunter2".to_owned())));
        let mailer =
            Mailer::new(Server { port, credentials, hello: Some("::1".into()), ..server() }).unwrap();
        let sent = tokio::spawn(async move { mailer.send(&letter()).await });
        let received = served.await.unwrap();
        let expected = [
            "EHLO [IPv6:::1]",
            "EHLO [IPv6:::1]",
            "AUTH PLAIN ",
            "MAIL FROM:<noreply",
            "RCPT TO:<m@",
            "DATA",
        ];
        for (received, expected) in received.iter().zip(expected) {
            assert!(received.starts_with(expected), "{received} {expected}");
        }
        assert!(received.len() > expected.len(), "{received:?}");
        assert!(sent.await.unwrap().is_err(), "the server has ended in the middle of the message");
    }

    #[tokio::test]
    async fn a_server_without_tls_gets_no_mail_and_a_lowercase_keyword_counts() {
        const NONE: &[&str] = &["220 ready\r\n", "250 mail.example\r\n"];
        const SMALL: &[&str] = &["220 ready\r\n", "250-mail.example\r\n250 starttls\r\n"];
        for (lines, last_line) in [(NONE, "QUIT"), (SMALL, "STARTTLS")] {
            let (port, served) = scripted(lines).await;
            let mailer = Mailer::new(Server { port, security: Security::StartTls, ..server() }).unwrap();
            assert!(matches!(mailer.send(&letter()).await, Err(MailError::Delayed(_))));
            assert_eq!(served.await.unwrap().last().map(String::as_str), Some(last_line));
        }
    }

    #[test]
    fn a_sender_that_is_no_address_is_an_error() {
        let server = Server { from: "nobody".into(), ..server() };
        assert!(Mailer::new(server).is_err());
    }
}
