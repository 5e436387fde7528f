//! `bailiwick health`

use super::print;
use crate::config::{BasePath, Config};
use bailiwick_app::own_port;
use clap::Args;
use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

/// Time for the whole question. `/ready` gives the database three seconds of it.
const TIME: Duration = Duration::from_secs(5);

/// `bailiwick health`
#[derive(Clone, Copy, Debug, Args)]
pub struct HealthArgs {
    /// Ask whether it accepts requests: it is not stopping, and its database can be written
    #[arg(long)]
    pub ready: bool,
}

/// What to ask, and which answers are good.
#[derive(Debug, PartialEq, Eq)]
struct Question {
    setting: &'static str,
    address: SocketAddr,
    tls: bool,
    path: String,
    /// Any answer is good: it shows that the process works.
    any: bool,
}

/// Prints one line when the service is well; the error says what is wrong.
pub async fn run(config: &Config, args: HealthArgs) -> Result<(), String> {
    let question = question(config, args.ready);
    let Question { setting, address, tls, path, any } = question;
    if address.port() == 0 {
        return Err(format!(
            "{setting} has port 0: the service chose its port at the start, which one is not known"
        ));
    }
    let scheme = if tls { "https" } else { "http" };
    let url = format!("{scheme}://{address}{path}");
    let state = if args.ready { "ready" } else { "alive" };
    match own_port::status(address, tls, &path, TIME).await {
        Ok(status) if any || status == 200 => {
            print(&format!("{state}: {url} answers {status}\n"));
            Ok(())
        }
        Ok(status) => Err(format!("not {state}: {url} answers {status}")),
        Err(why) => Err(format!("not {state}: {url}: {why}")),
    }
}

/// The listener for operators answers until the end of the process and while the database does not, so it is asked if
/// there is one.
fn question(config: &Config, ready: bool) -> Question {
    if let Some(address) = config.metrics.listen {
        let path = if ready { "/ready" } else { "/live" }.to_owned();
        return Question { setting: "metrics.listen", address: here(address), tls: false, path, any: false };
    }
    // The page at `/` needs no database, and `/health` looks at it.
    let path = if ready { format!("{}/health", first_base(config)) } else { "/".to_owned() };
    let (address, tls) = (here(config.http.listen), config.http.tls_certificate.is_some());
    Question { setting: "http.listen", address, tls, path, any: !ready }
}

/// A path before the routes of the interface; nothing where they are at the root.
fn first_base(config: &Config) -> &str {
    let bases = &config.http.base_paths;
    let is_at_root = bases.iter().any(|base| base.before_route().is_empty());
    bases.first().filter(|_| !is_at_root).map_or("", BasePath::before_route)
}

/// The address under which a program on this machine reaches the listener.
fn here(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        other => other,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn question_of(settings: &[(&str, &str)], ready: bool) -> Question {
        let flags: Vec<_> = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        question(&config::load(None, std::iter::empty(), &flags).unwrap(), ready)
    }

    #[test]
    fn every_address_is_asked_on_loopback() {
        for (listen, address) in [
            ("0.0.0.0:8080", "127.0.0.1:8080"),
            ("[::]:8080", "[::1]:8080"),
            ("127.0.0.2:81", "127.0.0.2:81"),
            ("192.0.2.7:8443", "192.0.2.7:8443"),
        ] {
            assert_eq!(question_of(&[("http.listen", listen)], false).address, address.parse().unwrap());
        }
    }

    #[test]
    fn the_listener_for_operators_is_asked_first() {
        let front = question_of(&[], false);
        assert_eq!((front.setting, &*front.path, front.tls, front.any), ("http.listen", "/", false, true));
        let front = question_of(&[], true);
        assert_eq!(
            (front.setting, &*front.path, front.tls, front.any),
            ("http.listen", "/health", false, false)
        );
        for (bases, path) in [("/api", "/api/health"), ("/v1,/api", "/v1/health"), ("/api,/", "/health")] {
            assert_eq!(question_of(&[("http.base_paths", bases)], true).path, path);
        }
        let settings = [
            ("metrics.listen", "0.0.0.0:9464"),
            ("metrics.token", "long-enough-to-use"),
            ("http.tls_certificate", "cert.pem"),
            ("http.tls_key", "key.pem"),
        ];
        assert!(question_of(&settings[2..], false).tls);
        for (ready, path) in [(false, "/live"), (true, "/ready")] {
            let operations = question_of(&settings, ready);
            assert_eq!((operations.setting, &*operations.path), ("metrics.listen", path));
            assert!(!operations.tls && !operations.any);
            assert_eq!(operations.address, "127.0.0.1:9464".parse().unwrap());
        }
    }
}
