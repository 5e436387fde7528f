//! A notification of alerts as a mail (spec: alert-delivery#mail-and-telegram): the mails of one group form one thread.

use super::{Head, MailError, Mailer, WHOLE, connections::Untaken, refused};
use crate::delivery::Failure;
use lettre::{
    Message,
    message::{
        Body, MessageBuilder, MultiPart, SinglePart,
        header::{ContentTransferEncoding, ContentType},
    },
};

/// A notification to one address.
#[derive(Clone, Debug)]
pub struct Notice {
    /// Unique.
    pub id: String,
    /// Thread id; all mails of a group share it.
    pub thread: String,
    /// Address.
    pub to: String,
    pub subject: String,
    /// As text.
    pub text: String,
    /// As HTML; none = text only.
    pub html: Option<String>,
    /// Its date, in microseconds since the epoch.
    pub date_micros: i64,
}

impl Mailer {
    /// One try to send a notification.
    ///
    /// # Errors
    /// Connection faults and replies of the 4xx kind may pass.
    pub async fn notify(&self, notice: &Notice) -> Result<(), Failure> {
        let message = match self.notification(notice) {
            Ok(message) => message,
            Err(e) => return Err(Failure::permanent("the address cannot be used", e)),
        };
        match tokio::time::timeout(WHOLE, self.connections.send(&message)).await {
            Err(_) => Err(Failure::temporary("no answer in time", "timed out")),
            Ok(Ok(_)) => Ok(()),
            Ok(Err(untaken)) => Err(judge(&self.connections.address(), &untaken)),
        }
    }

    fn notification(&self, notice: &Notice) -> Result<Message, MailError> {
        let head = Head {
            id: &notice.id,
            to: &notice.to,
            to_name: None,
            subject: &notice.subject,
            date_micros: notice.date_micros,
        };
        let thread = format!("<alert-{}@{}>", notice.thread, self.from.email.domain());
        let builder = self.begin(head)?.in_reply_to(thread.clone()).references(thread);
        content(builder, notice).map_err(|e| refused("the message", &e))
    }
}

fn content(builder: MessageBuilder, notice: &Notice) -> Result<Message, lettre::error::Error> {
    let part = |kind: ContentType, text: &str| -> Result<SinglePart, lettre::error::Error> {
        let body = Body::new_with_encoding(text.to_owned(), ContentTransferEncoding::QuotedPrintable);
        // Any text can be written so.
        let body = body.map_err(|_| lettre::error::Error::NonAsciiChars)?;
        Ok(SinglePart::builder().header(kind).body(body))
    };
    let text = part(ContentType::TEXT_PLAIN, &notice.text)?;
    match &notice.html {
        None => builder.singlepart(text),
        Some(html) => {
            let html = part(ContentType::TEXT_HTML, html)?;
            builder.multipart(MultiPart::alternative().singlepart(text).singlepart(html))
        }
    }
}

fn judge(server: &str, untaken: &Untaken) -> Failure {
    let detail = format!("{server}: {}", untaken.text);
    match untaken.code {
        Some(code) if untaken.is_about_mail && code >= 500 => {
            Failure::permanent(format!("the mail server answered {code}"), detail)
        }
        Some(code) => Failure::temporary(format!("the mail server answered {code}"), detail),
        None if untaken.is_about_mail => Failure::permanent("the mail server cannot take it", detail),
        None => Failure::temporary("no connection to the mail server", detail),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
    use super::{super::tests::mailer, *};

    fn notice() -> Notice {
        Notice {
            id: "1".into(),
            thread: "0123456789abcdef".into(),
            to: "noc@example.org".into(),
            subject: "[FIRING:1] Città\r\nBcc: x@evil.example Milan".into(),
            text: "Gravità: à\nline".into(),
            html: Some("<p>à</p>".into()),
            date_micros: 0,
        }
    }

    fn written(notice: &Notice) -> String {
        String::from_utf8(mailer("alerts@example.org", "Fleet").notification(notice).unwrap().formatted())
            .unwrap()
    }

    #[tokio::test]
    async fn a_group_is_a_thread_and_a_label_adds_no_header() {
        let text = written(&notice());
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        for line in [
            "From: Fleet <alerts@example.org>",
            "To: noc@example.org",
            "Message-ID: <1@example.org>",
            "In-Reply-To: <alert-0123456789abcdef@example.org>",
            "References: <alert-0123456789abcdef@example.org>",
            "Auto-Submitted: auto-generated",
            "MIME-Version: 1.0",
            "Date: Thu, 01 Jan 1970 00:00:00 +0000",
        ] {
            assert!(head.lines().any(|l| l == line), "{line}\n{head}");
        }
        assert!(!head.lines().any(|l| l.starts_with("Bcc")), "{head}");
        assert!(head.contains("Content-Type: multipart/alternative"), "{head}");
        let plain = body.find("Content-Type: text/plain; charset=utf-8\r\n").unwrap();
        let html = body.find("Content-Type: text/html; charset=utf-8\r\n").unwrap();
        assert!(plain < html, "{body}");
        assert_eq!(body.matches("Content-Transfer-Encoding: quoted-printable").count(), 2, "{body}");
        assert!(body.contains("Gravit=C3=A0: =C3=A0"), "{body}");
    }

    #[tokio::test]
    async fn plain_is_text_only() {
        let text = written(&Notice { html: None, ..notice() });
        let head = text.split_once("\r\n\r\n").unwrap().0;
        assert!(head.contains("Content-Type: text/plain; charset=utf-8"), "{head}");
        assert!(
            head.contains("Content-Transfer-Encoding: quoted-printable") && !text.contains("html"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn an_absent_server_may_come_and_a_wrong_address_stays_wrong() {
        assert!(mailer("alerts@example.org", "Fleet").notify(&notice()).await.unwrap_err().may_pass);
        let bad = Notice { to: "a b@example.org".into(), ..notice() };
        assert!(!mailer("alerts@example.org", "Fleet").notify(&bad).await.unwrap_err().may_pass);
    }
}
