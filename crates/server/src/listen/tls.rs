//! TLS of the listener: a certificate and its key from two files, which can be replaced at run time. Connections keep
//! the certificate they began with.

use super::certificate_dates::{Validity, validity};
use bailiwick_domain::Ts;
use rustls::{
    Error as TlsError, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
    server::ParsedCertificate,
    sign::{CertifiedKey, SingleCertAndKey},
};
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};
use tokio_rustls::TlsAcceptor;

/// The service warns of a certificate that expires sooner: a renewal program would have renewed it by then.
const SOON: Duration = Duration::from_secs(10 * 86_400);

/// The files of the certificate, and the certificate in use.
#[derive(Debug)]
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    present: RwLock<Present>,
}

#[derive(Clone, Debug)]
struct Present {
    config: Arc<ServerConfig>,
    /// Of the certificate in the chain that expires first; none if that cannot be read.
    validity: Option<Validity>,
}

/// Why the files cannot be used.
#[derive(Debug)]
pub struct Unusable {
    /// The setting of the file.
    pub setting: &'static str,
    /// A text for the operator that names the file.
    pub why: String,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.why)
    }
}

impl Tls {
    /// Reads the two files (PEM): the certificate with those that lead to its authority, and its private key.
    ///
    /// # Errors
    /// They cannot be read or do not belong together.
    pub fn open(certificate: &Path, key: &Path) -> Result<Tls, Unusable> {
        let present = RwLock::new(read(certificate, key)?);
        Ok(Tls { certificate: certificate.to_owned(), key: key.to_owned(), present })
    }

    /// Reads the files again; new connections then use their content.
    ///
    /// # Errors
    /// As [`Tls::open`]; the certificate in use stays.
    pub fn reload(&self) -> Result<(), Unusable> {
        let fresh = read(&self.certificate, &self.key)?;
        *self.present.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// For one connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.present().config)
    }

    fn present(&self) -> Present {
        self.present.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// When the certificate in use ends.
    pub fn expires_at(&self) -> Option<Ts> {
        self.present().validity.map(|validity| validity.until)
    }

    /// The problem with the validity of the certificate in use.
    pub fn complaint(&self, now: Ts) -> Option<String> {
        let problem = complaint(self.present().validity?, now)?;
        Some(format!("the certificate in {} (http.tls_certificate) {problem}", self.certificate.display()))
    }
}

/// The problem with this validity.
fn complaint(Validity { from, until }: Validity, now: Ts) -> Option<String> {
    let day = until.rfc3339(0);
    // Of a short-lived certificate, the last third of its life.
    let soon = SOON.min(until.since(from) / 3);
    if now >= until {
        Some(format!("has expired on {day}: clients refuse it"))
    } else if now < from {
        Some(format!("is good from {} on only: clients refuse it until then", from.rfc3339(0)))
    } else if until.since(now) < soon {
        Some(format!(
            "expires on {day}, in {} days: renew it and send SIGHUP",
            until.since(now).as_secs() / 86_400
        ))
    } else {
        None
    }
}

/// TLS 1.2 and 1.3 with the protocols of the front.
fn read(certificate: &Path, key: &Path) -> Result<Present, Unusable> {
    let message_of =
        |setting, path: &Path, why: &str| Unusable { setting, why: format!("{}: {why}", path.display()) };
    let of_certificate = |why: &str| message_of("http.tls_certificate", certificate, why);
    let of_key = |why: &str| message_of("http.tls_key", key, why);
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|e| of_certificate(&unread(&e)))?;
    if chain.is_empty() {
        return Err(of_certificate("holds no certificate in PEM"));
    }
    for (n, one) in chain.iter().enumerate() {
        let parsed = ParsedCertificate::try_from(one);
        // Chain certificates of an unknown form are sent all the same, because clients may support it.
        let is_none =
            matches!(&parsed, Err(TlsError::InvalidCertificate(rustls::CertificateError::BadEncoding)));
        if is_none || n == 0 && parsed.is_err() {
            return Err(of_certificate(&format!("block {} is no certificate", n + 1)));
        }
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| of_key(&unread(&e)))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let signing = provider.key_provider.load_private_key(secret);
    let signing =
        signing.map_err(|_| of_key("is no private key that can be used (RSA, ECDSA or Ed25519)"))?;
    let validity = chain.iter().filter_map(|one| validity(one)).min_by_key(|validity| validity.until);
    let both = CertifiedKey::new(chain, signing);
    match both.keys_match() {
        Ok(()) | Err(TlsError::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {}
        Err(_) => {
            let why = format!("and {} (http.tls_key) do not belong together", key.display());
            let setting = "http.tls_certificate";
            return Err(Unusable { setting, why: format!("{} {why}", certificate.display()) });
        }
    }
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| of_certificate(&e.to_string()))?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(both)));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Present { config: Arc::new(config), validity })
}

/// Why a file could not be read.
fn unread(error: &pem::Error) -> String {
    match error {
        pem::Error::Io(e) => e.to_string(),
        pem::Error::NoItemsFound => "holds no key in PEM".to_owned(),
        other => format!("is not PEM: {other}"),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "routes without the application")]

    use super::super::{Connections, Limits, Options, Server, bind, start};
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

    /// `head_timeout`: for the handshake and for the head of the first request.
    fn serving(directory: &Path, head_timeout: Duration) -> (Server, Arc<Tls>) {
        let tls = Arc::new(Tls::open(&directory.join("cert.pem"), &directory.join("key.pem")).unwrap());
        let options = Options { workers: NonZeroUsize::new(1), head_timeout, ..Options::default() };
        let router = Router::new().route("/", get(|| async { "hello" }));
        let address = "127.0.0.1:0".parse().unwrap();
        let connections = Connections::new(Limits { open: 100, of_one_address: 100, trusted: Vec::new() });
        let bound = bind(address, options).unwrap();
        (start(bound, connections, Some(tls.clone()), move |_| router.clone()).unwrap(), tls)
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
        let (mut server, tls) = serving(dir.path(), Duration::from_secs(60));
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
            // An unusable file changes nothing.
            fs::write(dir.path().join("cert.pem"), "no certificate").unwrap();
            assert!(tls.reload().unwrap_err().why.contains("cert.pem"));
            ask(&mut connect(&server, &new).await.unwrap()).await;
            server.drain().await;
            assert_eq!(first.read(&mut [0; 8]).await.unwrap(), 0, "closed as TLS closes");
        });
        server.close();
    }

    #[test]
    fn connections_without_tls_are_closed_and_keys_must_fit() {
        let dir = tempfile::tempdir().unwrap();
        renew(dir.path());
        let (server, _) = serving(dir.path(), Duration::from_millis(400));
        Runtime::new().unwrap().block_on(async {
            for sent in ["GET / HTTP/1.1\r\nhost: localhost\r\n\r\n", "\u{16}"] {
                let mut plain = TcpStream::connect(server.address()).await.unwrap();
                plain.write_all(sent.as_bytes()).await.unwrap();
                let mut answer = Vec::new();
                // The connection may be closed before all of the request was read.
                let _ = plain.read_to_end(&mut answer).await;
                assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
            }
        });
        server.close();
        let own = fs::read(dir.path().join("key.pem")).unwrap();
        renew(dir.path());
        fs::write(dir.path().join("key.pem"), own).unwrap();
        let refused = Tls::open(&dir.path().join("cert.pem"), &dir.path().join("key.pem")).unwrap_err();
        assert!(refused.why.contains("key.pem"), "{refused}");
    }

    #[test]
    fn the_end_is_announced_in_time() {
        let (day, from) = (86_400, 1_700_000_000);
        let warning = |days: i64, now: i64| {
            let validity = Validity { from: Ts::from_secs(from), until: Ts::from_secs(from + days * day) };
            complaint(validity, Ts::from_secs(from + now)).unwrap_or_default()
        };
        assert_eq!(warning(90, 0), "");
        assert_eq!(warning(90, 80 * day), "");
        assert!(warning(90, 80 * day + 1).starts_with("expires on 2024-02-12T22:13:20Z, in 9 days"));
        assert!(warning(90, 90 * day).starts_with("has expired on"));
        assert!(warning(90, -1).starts_with("is good from"));
        // One for six days is renewed after four.
        assert_eq!(warning(6, 4 * day), "");
        assert!(warning(6, 4 * day + 1).starts_with("expires on"));
    }
}
