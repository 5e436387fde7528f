//! Asks a service on this machine whether it answers, for `bailiwick health`.

use crate::plain_request::{any_certificate, ask};
use http::Method;
use rustls::pki_types::ServerName;
use std::{net::SocketAddr, time::Duration};
use tokio::{net::TcpStream, time::timeout};

/// Sends `GET <path>` to the address, with TLS or without, and returns the status of the answer. The certificate is not
/// checked: it names the address of the clients, and this asks the own port. The error says why there is no answer of
/// this service: each has the header `Api-Version`.
pub async fn status(address: SocketAddr, tls: bool, path: &str, time: Duration) -> Result<u16, String> {
    let late = |_| format!("no answer within {} s", time.as_secs());
    timeout(time, get(address, tls, path)).await.map_err(late)?
}

async fn get(address: SocketAddr, tls: bool, path: &str) -> Result<u16, String> {
    let stream = TcpStream::connect(address).await.map_err(|e| e.to_string())?;
    let host = address.to_string();
    let answer = if tls {
        let connector = any_certificate().map_err(|e| e.to_string())?;
        let stream = connector.connect(ServerName::from(address.ip()), stream).await;
        ask(stream.map_err(|e| e.to_string())?, Method::GET, &host, path).await?
    } else {
        ask(stream, Method::GET, &host, path).await?
    };
    if !answer.headers.contains_key("api-version") {
        return Err(format!("another program answers there, with {}", answer.status.as_u16()));
    }
    Ok(answer.status.as_u16())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_port_that_accepts_and_says_nothing_is_given_up() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = silent.local_addr().unwrap();
        for tls in [false, true] {
            let answer = status(address, tls, "/", Duration::from_millis(20)).await;
            assert!(answer.is_err_and(|why| why.starts_with("no answer within")));
        }
    }
}
