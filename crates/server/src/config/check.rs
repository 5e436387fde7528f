//! Rules over several settings, each well-formed by itself.

use super::{Config, DatabaseUrl, HttpUrl, Problem, clients};
use bailiwick_app::Catalogue;
use bailiwick_fleet::inventory::Rules;
use bailiwick_settings::{IdentityMode, ImageHome, Router};
use std::{collections::HashSet, time::Duration};
use url::Host;

/// Fewest bytes of the secret (spec: authentication#service-tokens).
pub(super) const SECRET_BYTES: usize = 32;

/// Shortest secret of the history webhook (spec: alerts#history-webhook).
const SECRET_CHARACTERS: usize = 32;
/// Longest life of a token: a mistyped unit should not make one for years.
const LONGEST_LIFETIME: Duration = Duration::from_secs(90 * 86_400);

/// A day more than a consent lasts at most (spec: impersonation#requests-while-impersonating).
const LONGEST_CONSENT: Duration = Duration::from_secs(8 * 86_400);

/// Adds the problems of the configuration as a whole. A rule over a setting that already has a problem is skipped: only
/// the default is there in place of the unreadable value.
pub(super) fn rules(config: &Config, problems: &mut Vec<Problem>) {
    let mut refuse = |bad: bool, paths: &[&str], message: &str| {
        let is_reported = problems.iter().any(|problem| paths.contains(&problem.setting.as_str()));
        if let Some(path) = paths.first().filter(|_| bad && !is_reported) {
            problems.push(Problem::new(path, config.origin(path), message));
        }
    };
    secrets(config, &mut refuse);
    http(config, &mut refuse);
    database(config, &mut refuse);
    observation(config, &mut refuse);
    refuse(!is_address(&config.owner.email), &["owner.email"], "is not an address like owner@portal.example");
    tokens(config, &mut refuse);
    retention(config, &mut refuse);
    alerting(config, &mut refuse);
    systems(config, &mut refuse);
    assets(config, &mut refuse);
    rebranding(config, &mut refuse);
    smtp(config, &mut refuse);
    identity(config, &mut refuse);
    logto(config, &mut refuse);
    generated_passwords(config, &mut refuse);
    second_factors(config, &mut refuse);
    problems.extend(clients::problems(&config.clients));
}

/// The secrets of the service.
fn secrets(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
    let short =
        |secret: &Option<super::Secret>| secret.as_ref().is_some_and(|s| s.reveal().len() < SECRET_BYTES);
    refuse(short(&config.general.secret), &["secret"], "is shorter than 32 bytes");
    refuse(short(&config.general.previous_secret), &["previous_secret"], "is shorter than 32 bytes");
}

/// The listener.
fn http(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
    refuse(config.http.base_paths.is_empty(), &["http.base_paths"], "names no path");
    refuse(config.http.workers > 1024, &["http.workers"], "is above 1024");

    let connections = [config.http.max_connections, config.http.max_connections_per_address];
    for (connections, path) in
        connections.into_iter().zip(["http.max_connections", "http.max_connections_per_address"])
    {
        refuse(connections == Some(0), &[path], "is 0");
    }

    let (certificate, key) = ("http.tls_certificate", "http.tls_key");
    let has = (config.http.tls_certificate.is_some(), config.http.tls_key.is_some());
    refuse(has == (true, false), &[key, certificate], "must be set with http.tls_certificate");
    refuse(has == (false, true), &[certificate, key], "must be set with http.tls_key");
    let is_plain = config.http.public_url.as_ref().is_some_and(|url| url.url().scheme() == "http");
    let both = ["http.public_url", certificate];
    refuse(
        is_plain && has.0,
        &both,
        "begins with http://, but with http.tls_certificate the service speaks TLS",
    );
    let most = Duration::from_secs(300);
    refuse(config.http.drain_delay > Some(most), &["http.drain_delay"], "is longer than 5 minutes");
}

/// The database.
fn database(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
    let (read, all) = ("database.read_url", "database.url");
    let is_file = |url: &DatabaseUrl| matches!(url, DatabaseUrl::Sqlite(_));
    let replica = config.database.read_url.as_ref();
    refuse(replica.is_some_and(is_file), &[read], "does not begin with postgres:// or postgresql://");
    let alone = replica.is_some() && is_file(&config.database_url());
    refuse(alone, &[read, all], "needs a PostgreSQL in database.url: it is the address of its replica");
}

/// Metrics and traces.
fn observation(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
    let metrics = &config.metrics;
    let is_open = metrics.listen.is_some_and(|address| !address.ip().to_canonical().is_loopback());
    let both = ["metrics.token", "metrics.listen"];
    refuse(
        is_open && metrics.token.is_none(),
        &both,
        "must be set unless metrics.listen is a loopback address",
    );
    let front = config.http.listen;
    let is_taken = metrics.listen.is_some_and(|own| {
        let (a, b) = (own.ip(), front.ip());
        own.port() == front.port() && own.port() != 0 && (a == b || a.is_unspecified() || b.is_unspecified())
    });
    refuse(
        is_taken,
        &["metrics.listen", "http.listen"],
        "is the address of http.listen: it needs a port of its own",
    );
    let is_short = metrics.token.as_ref().is_some_and(|token| token.reveal().len() < 16);
    refuse(is_short, &["metrics.token"], "is shorter than 16 characters");
    let telemetry = &config.telemetry;
    let path = "telemetry.otlp_authorization";
    let authorization = telemetry.otlp_authorization.as_ref();
    let both = [path, "telemetry.otlp_endpoint"];
    refuse(
        authorization.is_some() && telemetry.otlp_endpoint.is_none(),
        &both,
        "needs telemetry.otlp_endpoint",
    );
    let is_plain = |secret: &super::Secret| secret.reveal().bytes().all(|b| (b' '..=b'~').contains(&b));
    refuse(!authorization.is_none_or(is_plain), &[path], "has characters that a header cannot have");
    refuse(telemetry.service_name.len() > 255, &["telemetry.service_name"], "is longer than 255 bytes");
}

/// Lives of tokens.
fn tokens(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
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
}

/// How long records are kept.
fn retention(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
    let (path, retention) = ("impersonation.audit_retention", config.impersonation.audit_retention);
    // The longest consent: the record of a session must last as long as its token.
    refuse(retention < LONGEST_CONSENT, &[path], "is shorter than 8 days");

    let (path, retention) = ("events.retention", config.events.retention);
    refuse(retention < Duration::from_secs(3600), &[path], "is shorter than one hour");
}

/// The alert router, its history and its times.
fn alerting(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
    let remote = matches!(config.alerting.mode, Router::Remote(_));
    let address = config.alerting_remote.url.is_some();
    let both = ["alerting.remote.url", "alerting.mode"];
    refuse(remote && !address, &both, "must be set in mode `remote`");
    refuse(!remote && address, &both, "needs alerting.mode `remote`");

    let history = &config.alerting_history;
    let path = "alerting.history_webhook.secret";
    // Counted in characters: a secret that is long in bytes only is too short all the same.
    let is_short = history.secret.as_ref().is_some_and(|s| s.reveal().chars().count() < SECRET_CHARACTERS);
    refuse(is_short, &[path], "is shorter than 32 characters");
    let both = [path, "alerting.history_webhook.url"];
    let alone = history.url.is_some() && history.secret.is_none();
    refuse(alone, &both, "must be set with alerting.history_webhook.url");
    let alerting = &config.alerting;
    for (path, time) in [
        ("alerting.resolve_timeout", alerting.resolve_timeout),
        ("alerting.group_interval", alerting.group_interval),
        ("alerting.repeat_interval", alerting.repeat_interval),
    ] {
        refuse(time < Duration::from_secs(1), &[path], "is shorter than one second");
    }
    for (path, time) in [
        ("alerting.resolve_timeout", alerting.resolve_timeout),
        ("alerting.group_wait", alerting.group_wait),
        ("alerting.group_interval", alerting.group_interval),
        ("alerting.repeat_interval", alerting.repeat_interval),
    ] {
        refuse(time > LONGEST_LIFETIME, &[path], "is longer than 90 days");
    }

    let names = config.alerting.catalogue.len();
    refuse(names > 1000, &["alerting.catalogue"], "has more than 1000 names");
}

/// Systems and their inventory.
fn systems(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
    let prefix = config.systems.key_prefix.as_str();
    let plain = prefix.len() <= 32 && prefix.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    refuse(!plain, &["systems.key_prefix"], "is not made of at most 32 letters A to Z and digits");

    let unusable = config.systems.inventory_rules.as_deref().and_then(|path| inventory_rules(path).err());
    refuse(unusable.is_some(), &["systems.inventory_rules"], unusable.as_deref().unwrap_or_default());
}

/// Images and the bucket.
fn assets(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
    let assets = &config.assets;
    let has_bucket = assets.bucket.is_some();
    for (path, is_set) in [
        ("assets.access_key", assets.access_key.is_some()),
        ("assets.secret_key", assets.secret_key.is_some()),
    ] {
        refuse(has_bucket != is_set, &[path, "assets.bucket"], "must be set together with assets.bucket");
    }
    let in_bucket = assets.images == ImageHome::Bucket;
    refuse(in_bucket && !has_bucket, &["assets.images", "assets.bucket"], "needs assets.bucket");
    let prefix = assets.prefix.is_some();
    refuse(prefix && !has_bucket, &["assets.prefix", "assets.bucket"], "needs assets.bucket");
    let is_numeric = |url: &HttpUrl| url.url().host().is_some_and(|host| !matches!(host, Host::Domain(_)));
    let nameless = !assets.path_style && assets.endpoint.as_ref().is_some_and(is_numeric);
    let named = ["assets.path_style", "assets.endpoint"];
    refuse(nameless, &named, "cannot be false where assets.endpoint has an address in the place of a name");
    let address = assets.endpoint.is_some();
    refuse(address && !has_bucket, &["assets.endpoint", "assets.bucket"], "needs assets.bucket");
    let both = assets.directory.is_some() && has_bucket;
    refuse(both, &["assets.directory", "assets.bucket"], "cannot be combined with assets.bucket");
    let (path, life) = (["assets.download_lifetime"], assets.download_lifetime);
    refuse(life < Duration::from_secs(1), &path, "is shorter than one second");
    refuse(life > Duration::from_secs(900), &path, "is longer than 15 minutes");
}

/// Products that can be rebranded.
fn rebranding(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
    let products = &config.rebranding.products;
    let ids: HashSet<&str> = products.iter().map(|product| product.id.as_str()).collect();
    refuse(ids.len() < products.len(), &["rebranding.products"], "has an id twice");
    refuse(products.len() > 100, &["rebranding.products"], "has more than 100 products");
}

/// The mail server.
fn smtp(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
    let smtp = &config.smtp;
    let has_host = smtp.host.is_some();
    refuse(smtp.port.get() > 65_535, &["smtp.port"], "is above 65535");
    refuse(has_host && smtp.from.is_none(), &["smtp.from", "smtp.host"], "must be set with smtp.host");
    let malformed = smtp.from.as_ref().is_some_and(|from| !is_address(from));
    let why = "is not an address like noreply@portal.example; the name of the sender is smtp.from_name";
    refuse(malformed, &["smtp.from"], why);
    let both = ["smtp.password", "smtp.username"];
    refuse(
        smtp.username.is_some() != smtp.password.is_some(),
        &both,
        "must be set together with smtp.username",
    );
    let unreadable = smtp.ca_file.as_ref().and_then(|path| std::fs::read(path).err());
    let why = unreadable.map(|why| format!("cannot be read: {why}"));
    refuse(why.is_some(), &["smtp.ca_file"], why.as_deref().unwrap_or_default());
}

/// The settings that mode `oidc` needs, and those that have no effect without it.
fn identity(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
    let (oidc, is_oidc) = (&config.identity_oidc, matches!(config.identity.mode, IdentityMode::Oidc(_)));
    let both = ["identity.oidc.issuer", "identity.mode"];
    refuse(is_oidc && oidc.issuer.is_none(), &both, "must be set in mode `oidc`");
    refuse(!is_oidc && oidc.issuer.is_some(), &both, "needs identity.mode `oidc`");
    let nobody = oidc.client_ids.is_empty() && !oidc.accept_any_client;
    let nobody = nobody && !config.clients.iter().any(|client| client.first_party);
    let paths = ["identity.oidc.client_ids", "identity.oidc.accept_any_client", "identity.mode"];
    refuse(is_oidc && nobody, &paths, "must name the client of the user interface in mode `oidc`");
    let (id, secret) = ("identity.oidc.introspection_client_id", "identity.oidc.introspection_client_secret");
    let alone = oidc.introspection_client_id.is_some() != oidc.introspection_client_secret.is_some();
    let (set, other) = if oidc.introspection_client_id.is_some() { (secret, id) } else { (id, secret) };
    refuse(alone, &[set, other], &format!("must be set together with {other}"));
    let second = Duration::from_secs(1);
    for (path, time, most, words) in [
        ("identity.oidc.keys_cache", oidc.keys_cache, 86_400, "is longer than one day"),
        ("identity.oidc.keys_timeout", oidc.keys_timeout, 30, "is longer than 30 seconds"),
    ] {
        refuse(time < second, &[path], "is shorter than one second");
        refuse(time > Duration::from_secs(most), &[path], words);
    }
}

/// The settings that mode `logto` needs. They may be set in other modes: deployments have them in their environment.
fn logto(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
    let (logto, is_logto) = (&config.identity_logto, config.identity.mode.logto().is_some());
    for (path, is_set) in [
        ("identity.logto.tenant_id", logto.tenant_id.is_some()),
        ("identity.logto.app_id", logto.app_id.is_some()),
        ("identity.logto.app_secret", logto.app_secret.is_some()),
    ] {
        refuse(is_logto && !is_set, &[path, "identity.mode"], "must be set in mode `logto`");
    }
    let nobody = logto.client_ids.is_empty() && !logto.accept_any_client;
    let nobody = nobody && !config.clients.iter().any(|client| client.first_party);
    let paths = ["identity.logto.client_ids", "identity.logto.accept_any_client", "identity.mode"];
    refuse(is_logto && nobody, &paths, "must name the client of the user interface in mode `logto`");
    let is_word = |text: &String, more: &[u8]| {
        (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || more.contains(&b))
    };
    let wrong = logto.tenant_id.as_ref().is_some_and(|id| !is_word(id, b"-"));
    refuse(wrong, &["identity.logto.tenant_id"], "is not made of at most 64 letters, digits and `-`");
    for (path, id) in [
        ("identity.logto.app_id", &logto.app_id),
        ("identity.logto.owner_organization_id", &logto.owner_organization_id),
        ("identity.logto.owner_user_id", &logto.owner_user_id),
    ] {
        let wrong = id.as_ref().is_some_and(|id| !is_word(id, b"-_"));
        refuse(wrong, &[path], "is not made of at most 64 letters, digits, `-` and `_`");
    }
    let is_host = |text: &String| {
        text.contains('.') && matches!(Host::parse(text), Ok(Host::Domain(host)) if host == *text)
    };
    let wrong = logto.tenant_domain.as_ref().is_some_and(|domain| !is_host(domain));
    refuse(wrong, &["identity.logto.tenant_domain"], "is not a host name like login.example.org");
    let resource = &logto.management_resource;
    let wrong = resource.as_ref().is_some_and(|uri| url::Url::parse(uri).is_err());
    refuse(wrong, &["identity.logto.management_resource"], "is not an absolute URI");
}

/// Passwords that the service makes.
fn generated_passwords(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
    let life = config.identity.generated_password_lifetime;
    let path = ["identity.generated_password_lifetime"];
    refuse(life < Duration::from_secs(3600), &path, "is shorter than one hour");
    refuse(life > LONGEST_LIFETIME, &path, "is longer than 90 days");
}

/// Who needs a second factor.
fn second_factors(config: &Config, refuse: &mut impl FnMut(bool, &[&str], &str)) {
    let is_role = |role: &String| Catalogue::built_in().user_role(role).is_some();
    let is_unknown = !config.identity.second_factor_roles.iter().all(is_role);
    refuse(is_unknown, &["identity.second_factor_roles"], "names a role that does not exist");
    let is_long = config.identity.second_factor_grace.0 > Duration::from_secs(365 * 86_400);
    refuse(is_long, &["identity.second_factor_grace"], "is longer than a year");
}

/// The rules in a file, or the problem with them.
pub(crate) fn inventory_rules(path: &std::path::Path) -> Result<Rules, String> {
    let text = std::fs::read_to_string(path).map_err(|why| format!("cannot be read: {why}"))?;
    Rules::compile(&text).map_err(|why| format!("cannot be used: {why}"))
}

/// An address of this kind: `owner@portal.example`.
fn is_address(text: &str) -> bool {
    let parts = text.split_once('@').filter(|(name, host)| !name.is_empty() && host.contains('.'));
    parts.is_some() && !text.contains(char::is_whitespace) && text.matches('@').count() == 1
}
