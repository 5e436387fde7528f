//! Reads and writes HTTP/1.1 for the recorder.

use super::{Kind, Recorded};
use std::io::{Error, ErrorKind, Result};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

/// Longest line of a request head, bytes.
const LINE_LIMIT: u64 = 64 * 1024;
/// Largest body, bytes.
const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// One connection of a client.
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    number: u64,
    is_last: bool,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, number: u64) -> Self {
        Self { stream: BufReader::new(stream), number, is_last: false }
    }

    /// The next request; None when the client has closed the connection or has received the announcement of its end.
    pub(super) async fn read(&mut self) -> Result<Option<Recorded>> {
        if self.is_last {
            return Ok(None);
        }
        let Some(first) = self.line().await? else { return Ok(None) };
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next()) else {
            return Err(invalid("request line"));
        };
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (target, None),
        };
        let mut request = Recorded {
            connection: self.number,
            method: method.to_owned(),
            path: path.to_owned(),
            query,
            headers: self.headers().await?,
            body: Vec::new(),
        };
        let says = |name: &str, word: &str| {
            request.values(name).iter().any(|value| value.to_ascii_lowercase().contains(word))
        };
        self.is_last = says("connection", "close") || version == "HTTP/1.0";
        if says("expect", "100-continue") {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        request.body = if says("transfer-encoding", "chunked") {
            self.chunks().await?
        } else {
            let length = request.value("content-length").map_or(Ok(0), str::parse::<usize>);
            self.exactly(length.map_err(|_| invalid("content-length"))?).await?
        };
        Ok(Some(request))
    }

    /// Writes the answer; whether another request may follow on this connection.
    pub(super) async fn write(&mut self, method: &str, answer: &Kind) -> Result<bool> {
        match answer {
            Kind::Raw(bytes) => {
                self.stream.write_all(bytes).await?;
                self.stream.shutdown().await?;
                Ok(false)
            }
            Kind::Reply { status, headers, body } => {
                let mut bytes = format!("HTTP/1.1 {status} \r\n").into_bytes();
                for (name, value) in headers {
                    bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
                }
                let has_body = !matches!(status, 100..=199 | 204 | 304);
                if has_body {
                    bytes.extend_from_slice(format!("content-length: {}\r\n", body.len()).as_bytes());
                }
                if self.is_last {
                    bytes.extend_from_slice(b"connection: close\r\n");
                }
                bytes.extend_from_slice(b"\r\n");
                if has_body && method != "HEAD" {
                    bytes.extend_from_slice(body);
                }
                self.stream.write_all(&bytes).await?;
                Ok(!self.is_last)
            }
        }
    }

    /// One line without its end; None at the end of the stream.
    async fn line(&mut self) -> Result<Option<String>> {
        let mut bytes = Vec::new();
        (&mut self.stream).take(LINE_LIMIT).read_until(b'\n', &mut bytes).await?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let line = bytes.strip_suffix(b"\n").ok_or_else(|| invalid("line"))?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Ok(Some(String::from_utf8_lossy(line).into_owned()))
    }

    async fn headers(&mut self) -> Result<Vec<(String, String)>> {
        let mut headers = Vec::new();
        loop {
            let line = self.line().await?.ok_or_else(|| invalid("head"))?;
            if line.is_empty() {
                return Ok(headers);
            }
            let (name, value) = line.split_once(':').ok_or_else(|| invalid("header"))?;
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    async fn exactly(&mut self, length: usize) -> Result<Vec<u8>> {
        if length > BODY_LIMIT {
            return Err(invalid("body length"));
        }
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).await?;
        Ok(bytes)
    }

    async fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line().await?.ok_or_else(|| invalid("chunk"))?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| invalid("chunk size"))?;
            if size == 0 {
                // Trailers have the form of headers and are not kept.
                self.headers().await?;
                return Ok(body);
            }
            body.extend(self.exactly(size).await?);
            self.line().await?;
            if body.len() > BODY_LIMIT {
                return Err(invalid("body length"));
            }
        }
    }
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("not HTTP/1.1: {what}"))
}
