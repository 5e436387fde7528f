//! `GET /systems/{id}/reachability` (spec: systems#reachability).

use super::load;
use crate::Fleet;
use bailiwick_domain::{Error, Result, SystemId};
use bailiwick_outbound::reachability::Candidate;
use bailiwick_policy::Caller;
use std::net::IpAddr;

/// The result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reachability {
    /// Whether anything answered.
    pub reachable: bool,
    /// The address that answered, else the first that was tried; empty when none may be tried.
    pub url: String,
}

/// Connects to the appliance at the name it has reported. A user may do so ten times a minute.
pub async fn reachability(service: &Fleet, caller: &Caller, id: Option<SystemId>) -> Result<Reachability> {
    let system = load(service, caller, id).await?.system;
    let user = caller.user_id().ok_or_else(|| Error::internal("a person asks for reachability"))?;
    service.reachability_checks.check(&user)?;
    let nothing = Reachability { reachable: false, url: String::new() };
    let candidates = candidates(system.system_type.as_deref(), &system.fqdn);
    let Some(first) = candidates.first() else { return Ok(nothing) };
    let Some(addresses) = service.reach.resolve(&system.fqdn).await else { return Ok(nothing) };
    for candidate in &candidates {
        if service.reach.answers(&system.fqdn, &addresses, candidate).await {
            return Ok(Reachability { reachable: true, url: candidate.url.clone() });
        }
    }
    Ok(Reachability { reachable: false, url: first.url.clone() })
}

fn candidates(system_type: Option<&str>, fqdn: &str) -> Vec<Candidate> {
    // An IPv6 address needs its brackets in a URL.
    let is_bare_v6 = fqdn.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6());
    let host = if is_bare_v6 { format!("[{fqdn}]") } else { fqdn.to_owned() };
    let candidate =
        |suffix: &str, port, path| Candidate { url: format!("https://{host}{suffix}"), port, path };
    match system_type {
        _ if fqdn.is_empty() => Vec::new(),
        Some("ns8") => vec![candidate("/cluster-admin", 443, "/cluster-admin")],
        Some("nsec") => vec![candidate(":443", 443, "/"), candidate(":9090", 9090, "/")],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_each_family_answers() {
        let urls = |system_type, fqdn| -> Vec<String> {
            candidates(system_type, fqdn).into_iter().map(|c| c.url).collect()
        };
        assert_eq!(urls(Some("ns8"), "ns1.acme.example"), ["https://ns1.acme.example/cluster-admin"]);
        assert_eq!(urls(Some("nsec"), "fw.example"), ["https://fw.example:443", "https://fw.example:9090"]);
        assert_eq!(urls(Some("nsec"), "2001:db8::1")[1], "https://[2001:db8::1]:9090");
        for (system_type, fqdn) in [(Some("ns8"), ""), (None, "a.example"), (Some("other"), "a.example")] {
            assert_eq!(urls(system_type, fqdn), [""; 0]);
        }
    }
}
