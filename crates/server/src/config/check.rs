//! Rules over values that are each well formed.

use super::{AlertingMode, Config, Problem, clients};
use std::time::Duration;

/// Fewest bytes of the secret (contract 01 §2.2).
pub(super) const SECRET_BYTES: usize = 32;

/// Longest life of a token: a mistyped unit should not make one for years.
const LONGEST_LIFETIME: Duration = Duration::from_secs(90 * 86_400);

/// Adds what is wrong with the configuration as a whole. A rule over a setting that has a problem already stays silent:
/// its default stands in the place of the unreadable value.
pub(super) fn rules(config: &Config, problems: &mut Vec<Problem>) {
    let mut refuse = |bad: bool, paths: &[&str], message: &str| {
        let told = problems.iter().any(|problem| paths.contains(&problem.setting.as_str()));
        if let Some(path) = paths.first().filter(|_| bad && !told) {
            problems.push(Problem::new(path, config.origin(path), message));
        }
    };
    let short =
        |secret: &Option<super::Secret>| secret.as_ref().is_some_and(|s| s.reveal().len() < SECRET_BYTES);
    refuse(short(&config.general.secret), &["secret"], "is shorter than 32 bytes");
    refuse(short(&config.general.previous_secret), &["previous_secret"], "is shorter than 32 bytes");

    refuse(config.http.base_paths.is_empty(), &["http.base_paths"], "names no path");
    refuse(config.http.workers > 1024, &["http.workers"], "is above 1024");

    let email = &config.owner.email;
    let parts = email.split_once('@').filter(|(name, host)| !name.is_empty() && host.contains('.'));
    let malformed = parts.is_none() || email.contains(char::is_whitespace) || email.matches('@').count() != 1;
    refuse(malformed, &["owner.email"], "is not an address like owner@portal.example");

    let tokens = &config.tokens;
    for (path, life) in [
        ("tokens.access_lifetime", tokens.access_lifetime),
        ("tokens.refresh_lifetime", tokens.refresh_lifetime),
    ] {
        refuse(life < Duration::from_secs(60), &[path], "is shorter than one minute");
        refuse(life > LONGEST_LIFETIME, &[path], "is longer than 90 days");
    }
    let inverted = tokens.refresh_lifetime < tokens.access_lifetime;
    let both = ["tokens.refresh_lifetime", "tokens.access_lifetime"];
    refuse(inverted, &both, "is shorter than tokens.access_lifetime");

    let remote = config.alerting.mode == AlertingMode::Remote;
    let address = config.alerting_remote.url.is_some();
    let both = ["alerting.remote.url", "alerting.mode"];
    refuse(remote && !address, &both, "must be set in mode `remote`");
    refuse(!remote && address, &both, "needs alerting.mode `remote`");

    let prefix = config.systems.key_prefix.as_str();
    let plain = prefix.len() <= 32 && prefix.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    refuse(!plain, &["systems.key_prefix"], "is not made of at most 32 letters A to Z and digits");

    problems.extend(clients::problems(&config.clients));
}
