//! One request as its bytes, and the dice by which it is made.

use bailiwick_domain::ports::random;
use bailiwick_testkit::SeededEntropy;
use std::io::Write as _;

/// The same throws for the same seed.
pub(super) struct Dice(SeededEntropy);

impl Dice {
    pub(super) const fn new(seed: u64) -> Dice {
        Dice(SeededEntropy::new(seed))
    }

    /// From 0 to below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (u64::from_le_bytes(random(&self.0)) % n.max(1) as u64) as usize
    }

    /// Once in `n` times.
    pub(super) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// Arbitrary bytes, fewer than `most`.
    pub(super) fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most)).map(|_| self.below(256) as u8).collect()
    }
}

/// How the request marks the end of its body.
#[derive(Clone, Debug)]
pub(super) enum Framing {
    /// `Content-Length`, right.
    Length,
    /// Chunks of this many bytes.
    Chunks(usize),
    /// These lines, and after the head the body as it is.
    Lines(Vec<u8>),
}

/// A request being put together.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) method: String,
    /// Path and query, as sent.
    pub(super) target: Vec<u8>,
    /// Header lines before those that every request has.
    pub(super) before: Vec<Vec<u8>>,
    /// Header lines after them.
    pub(super) after: Vec<Vec<u8>>,
    pub(super) body: Vec<u8>,
    pub(super) framing: Framing,
    /// Nothing of it may come to the router as a change.
    pub(super) is_broken: bool,
    /// The body, before it was compressed.
    pub(super) plain: Option<Vec<u8>>,
}

impl Draft {
    pub(super) fn new(method: &str, target: &str, body: &str) -> Draft {
        Draft {
            method: method.to_owned(),
            target: format!("{}{target}", super::P).into_bytes(),
            before: Vec::new(),
            after: Vec::new(),
            body: body.as_bytes().to_vec(),
            framing: Framing::Length,
            is_broken: false,
            plain: None,
        }
    }

    pub(super) fn line(&mut self, line: impl AsRef<[u8]>) {
        self.after.push(line.as_ref().to_vec());
    }

    /// Where one request ends and the next begins is not decided by the client: its connection is of no further use.
    pub(super) const fn is_last(&self) -> bool {
        matches!(self.framing, Framing::Lines(_))
    }

    pub(super) fn is_post(&self) -> bool {
        self.method == "POST"
    }

    /// As it goes over the wire.
    pub(super) fn bytes(&self, credential: &str, id: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.body.len() + 512);
        let mut line = |text: &[u8]| {
            out.extend_from_slice(text);
            out.extend_from_slice(b"\r\n");
        };
        line(&[self.method.as_bytes(), b" ", &self.target, b" HTTP/1.1"].concat());
        self.before.iter().for_each(|text| line(text));
        line(b"Host: evil.example");
        line(format!("Authorization: Basic {credential}").as_bytes());
        line(format!("X-Request-Id: {id}").as_bytes());
        let has_type = |text: &Vec<u8>| text.to_ascii_lowercase().starts_with(b"content-type:");
        if self.is_post() && !self.before.iter().chain(&self.after).any(has_type) {
            line(b"Content-Type: application/json");
        }
        self.after.iter().for_each(|text| line(text));
        match &self.framing {
            Framing::Length => line(format!("Content-Length: {}", self.body.len()).as_bytes()),
            Framing::Chunks(_) => line(b"Transfer-Encoding: chunked"),
            Framing::Lines(lines) => line(lines),
        }
        line(b"");
        match self.framing {
            Framing::Chunks(size) => {
                for chunk in self.body.chunks(size.max(1)) {
                    let _ = write!(out, "{:x}\r\n", chunk.len());
                    out.extend_from_slice(chunk);
                    out.extend_from_slice(b"\r\n");
                }
                out.extend_from_slice(b"0\r\n\r\n");
            }
            _ => out.extend_from_slice(&self.body),
        }
        out
    }
}
