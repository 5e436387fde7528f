//! TLS of the listener: a certificate and its key from two files, exchanged while it runs. Connections keep what they
//! began with.

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};
use tokio_rustls::TlsAcceptor;

/// Where the certificate is, and what is in use of it.
#[derive(Debug)]
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    present: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads the two files (PEM): the certificate with those that lead to its authority, and its private key.
    ///
    /// # Errors
    /// A text for the operator when they cannot be read or do not belong together.
    pub fn open(certificate: &Path, key: &Path) -> Result<Tls, String> {
        let present = RwLock::new(Arc::new(read(certificate, key)?));
        Ok(Tls { certificate: certificate.to_owned(), key: key.to_owned(), present })
    }

    /// Reads the files again; from then on new connections get what they hold.
    ///
    /// # Errors
    /// As [`Tls::open`]; what was in use stays so.
    pub fn reload(&self) -> Result<(), String> {
        let fresh = Arc::new(read(&self.certificate, &self.key)?);
        *self.present.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// For one connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.present.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// TLS 1.2 and 1.3 with the protocols that the front speaks.
fn read(certificate: &Path, key: &Path) -> Result<ServerConfig, String> {
    let told = |path: &Path, why: String| format!("{}: {why}", path.display());
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|e| told(certificate, e.to_string()))?;
    if chain.is_empty() {
        return Err(told(certificate, "holds no certificate".to_owned()));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| told(key, e.to_string()))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|e| told(key, e.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::super::{Connections, Limits, Options, Server, start};
    use super::*;
    use axum::{Router, routing::get};
    use base64::{Engine, prelude::BASE64_STANDARD};
    use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
    use std::{fs, num::NonZeroUsize, time::Duration};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
        runtime::Runtime,
    };
    use tokio_rustls::{TlsConnector, client::TlsStream};

    /// A fresh certificate for `localhost` in the two files; returns it.
    fn renew(directory: &Path) -> CertificateDer<'static> {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(directory.join("cert.pem"), pem("CERTIFICATE", made.cert.der())).unwrap();
        fs::write(directory.join("key.pem"), pem("PRIVATE KEY", &made.signing_key.serialize_der())).unwrap();
        made.cert.der().clone()
    }

    fn pem(what: &str, der: &[u8]) -> String {
        format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", BASE64_STANDARD.encode(der))
    }

    fn serving(directory: &Path) -> (Server, Arc<Tls>) {
        let tls = Arc::new(Tls::open(&directory.join("cert.pem"), &directory.join("key.pem")).unwrap());
        let options = Options {
            workers: NonZeroUsize::new(1),
            head_timeout: Duration::from_millis(400),
            ..Options::default()
        };
        let router = Router::new().route("/", get(|| async { "hello" }));
        let address = "127.0.0.1:0".parse().unwrap();
        let connections = Connections::new(Limits { open: 100, of_one_address: 100, trusted: Vec::new() });
        (start(address, options, connections, Some(tls.clone()), move |_| router.clone()).unwrap(), tls)
    }

    async fn connect(
        server: &Server,
        trusted: &CertificateDer<'static>,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(trusted.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let stream = TcpStream::connect(server.address()).await?;
        TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost").unwrap(), stream).await
    }

    async fn ask(stream: &mut TlsStream<TcpStream>) -> String {
        stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut text = String::new();
        while !text.ends_with("hello") {
            let mut bytes = [0; 1024];
            let n = stream.read(&mut bytes).await.unwrap();
            assert!(n > 0, "{text}");
            text.push_str(std::str::from_utf8(&bytes[..n]).unwrap());
        }
        text
    }

    #[test]
    fn a_new_certificate_is_for_new_connections() {
        let dir = tempfile::tempdir().unwrap();
        let old = renew(dir.path());
        let (mut server, tls) = serving(dir.path());
        let runtime = Runtime::new().unwrap();
        runtime.block_on(async {
            let mut first = connect(&server, &old).await.unwrap();
            assert_eq!(first.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
            assert!(ask(&mut first).await.starts_with("HTTP/1.1 200 OK"));
            let new = renew(dir.path());
            assert!(connect(&server, &old).await.is_ok(), "not before it is read again");
            tls.reload().unwrap();
            assert!(connect(&server, &old).await.is_err());
            let mut second = connect(&server, &new).await.unwrap();
            ask(&mut first).await;
            ask(&mut second).await;
            // What cannot be used changes nothing.
            fs::write(dir.path().join("cert.pem"), "no certificate").unwrap();
            assert!(tls.reload().unwrap_err().contains("cert.pem"));
            ask(&mut connect(&server, &new).await.unwrap()).await;
            server.drain().await;
            assert_eq!(first.read(&mut [0; 8]).await.unwrap(), 0, "closed as TLS closes");
        });
        server.close();
    }

    #[test]
    fn who_does_not_speak_tls_is_let_go_and_keys_must_fit() {
        let dir = tempfile::tempdir().unwrap();
        renew(dir.path());
        let (server, _) = serving(dir.path());
        Runtime::new().unwrap().block_on(async {
            for said in ["GET / HTTP/1.1\r\nhost: localhost\r\n\r\n", "\u{16}"] {
                let mut plain = TcpStream::connect(server.address()).await.unwrap();
                plain.write_all(said.as_bytes()).await.unwrap();
                let mut answer = Vec::new();
                // It may be closed with what was sent unread.
                let _ = plain.read_to_end(&mut answer).await;
                assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
            }
        });
        server.close();
        let own = fs::read(dir.path().join("key.pem")).unwrap();
        renew(dir.path());
        fs::write(dir.path().join("key.pem"), own).unwrap();
        let refused = Tls::open(&dir.path().join("cert.pem"), &dir.path().join("key.pem")).unwrap_err();
        assert!(refused.contains("key.pem"), "{refused}");
    }
}
