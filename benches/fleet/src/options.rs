//! The command line.

use crate::{
    processes::Process,
    schedule::{Kind, Pace},
};
use clap::Parser;
use std::{net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

/// Behaves like a fleet of systems and the people who watch it, and checks that nothing is lost or shown to others.
#[derive(Debug, Parser)]
#[command(name = "bench-fleet")]
pub(crate) struct Options {
    /// The file that `bailiwick demo --credentials` has written
    #[arg(long, value_name = "FILE")]
    pub credentials: PathBuf,
    /// File with one access token in each line; the first must belong to a user of the owner organization
    #[arg(long, value_name = "FILE")]
    pub people: PathBuf,
    /// Address of a service or of the load balancer in front; connections take turns among several
    #[arg(long = "service", value_name = "HOST:PORT", required = true, value_parser = address)]
    pub services: Vec<Arc<str>>,
    /// How many of the registered systems take part at most
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub systems: u32,
    /// Length of the run
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// How much faster than in reality everything happens
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    pub speed: f64,
    /// Share of a kind's own rate, such as heartbeat=1; `others` stands for the kinds that are not named
    #[arg(long = "share", value_name = "KIND=SHARE", value_parser = share)]
    pub shares: Vec<(Option<Kind>, f64)>,
    /// The same seed makes the same schedule
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Connections that are kept open
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub connections: u16,
    /// Threads of this program [default: one for each core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Systems of a thousand that have alerts
    #[arg(long, default_value_t = 2.0, value_parser = positive)]
    pub alerting: f64,
    /// People with an open page [default: one for a thousand systems, at least 10]
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub watchers: Option<u32>,
    /// Seconds for an answer
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub patience: u64,
    /// Seconds after the run for requests that are still due
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub drain: u64,
    /// Seconds for everything that was acknowledged to be found
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub settle: u64,
    /// So many systems are looked at afterwards for each of heartbeats, inventories, alerts and registrations; all, if
    /// there are no more
    #[arg(long, default_value_t = 20_000)]
    pub check: usize,
    /// A process whose processor time and memory are reported, with those below it
    #[arg(long = "process", value_name = "NAME=PID")]
    pub processes: Vec<Process>,
    /// File to which the report is added; it is printed anyway
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
}

impl Options {
    pub(crate) fn pace(&self) -> Pace {
        let others =
            self.shares.iter().rev().find(|(kind, _)| kind.is_none()).map_or(1.0, |(_, share)| *share);
        let of = |kind: &Kind| {
            let own = self.shares.iter().rev().find(|(named, _)| named.as_ref() == Some(kind));
            (*kind, own.map_or(others, |(_, share)| *share))
        };
        Pace { speed: self.speed, shares: Kind::ALL.iter().map(of).collect() }
    }

    pub(crate) const fn length(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|n| *n > 0.0 && *n <= 1e6);
    number.ok_or_else(|| "not a number above 0".to_owned())
}

fn share(text: &str) -> Result<(Option<Kind>, f64), String> {
    let (word, share) = text.split_once('=').ok_or("not KIND=SHARE")?;
    let share =
        share.parse::<f64>().ok().filter(|n| (0.0..=1e6).contains(n)).ok_or("not a share of at least 0")?;
    if word == "others" {
        return Ok((None, share));
    }
    let kind = Kind::of(word).ok_or_else(|| {
        let words: Vec<_> = Kind::ALL.iter().map(|kind| kind.word()).collect();
        format!("not `others` or one of {}", words.join(", "))
    })?;
    Ok((Some(kind), share))
}

/// An address of this machine: what is measured is not to be flooded by mistake.
fn address(text: &str) -> Result<Arc<str>, String> {
    let text = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
    let (host, port) = text.rsplit_once(':').ok_or("not HOST:PORT")?;
    port.parse::<u16>().map_err(|_| "not HOST:PORT")?;
    let host = host.trim_matches(['[', ']']);
    let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if is_here { Ok(text.into()) } else { Err("not an address of the loopback interface".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(more: &[&str]) -> Result<Options, clap::Error> {
        let needed = ["bench-fleet", "--credentials", "c", "--people", "p", "--service", "127.0.0.1:80"];
        Options::try_parse_from(needed.iter().chain(more))
    }

    #[test]
    fn shares_are_those_of_the_kind_or_of_the_others() {
        let shares = |more: &[&str]| {
            let pace = options(more).unwrap().pace();
            let of = |kind| pace.shares.iter().find(|(k, _)| *k == kind).unwrap().1;
            (of(Kind::Heartbeat), of(Kind::Watch))
        };
        assert_eq!(shares(&[]), (1.0, 1.0));
        assert_eq!(shares(&["--share", "others=0.1", "--share", "heartbeat=1"]), (1.0, 0.1));
        assert_eq!(shares(&["--share", "watch=0"]), (1.0, 0.0));
        for wrong in ["heartbeat", "heartbeat=-1", "beat=1", "watch=x"] {
            assert!(options(&["--share", wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_this_machine_is_loaded() {
        for good in ["127.0.0.1:80", "http://127.0.0.2:8080/", "localhost:1", "[::1]:80"] {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in ["192.0.2.1:80", "fleet.example.org:80", "127.0.0.1", "127.0.0.1:x", "https://localhost:1"]
        {
            assert!(address(bad).is_err(), "{bad}");
        }
        assert!(options(&["--speed", "0"]).is_err());
    }
}
