//! Converts the configuration into the settings of the use cases.

use crate::config::{self, Config, HostName};
use bailiwick_domain::rebranding::Product;
use bailiwick_platform::Secret;
use bailiwick_settings::{
    AllowedHosts, Bucket, IdentityMode, Issuer, Logto, Mail, ObjectLocation, RemoteRouter, Router,
    RouterKind, Security, Settings,
};
use std::sync::Arc;

/// The settings of a checked configuration; `secret` is the configured one or that of the data directory.
pub fn settings(config: &Config, secret: &config::Secret) -> Settings {
    let mut settings = Settings::defaults(&config.public_url(), secret.reveal().as_bytes().to_vec());
    fill(config, &mut settings);
    settings.build = crate::build::build();
    let app_url = config.general.app_url.as_ref();
    settings.app_url = app_url.map(|url| url.as_str().trim_end_matches('/').to_owned());
    let previous = config.general.previous_secret.as_ref();
    settings.previous_secret = previous.map(|secret| Secret::new(secret.reveal().as_bytes().to_vec()));
    settings.tokens.issuer = config.token_issuer();
    settings.tokens.audience = config.token_audience();
    settings.provider.clients = config.clients.clone();
    complete_identity(config, &mut settings.identity);
    // The check of the configuration has found these rules usable.
    let rules = config.systems.inventory_rules.as_deref();
    settings.systems.inventory_rules =
        rules.and_then(|path| config::inventory_rules(path).ok()).map(Arc::new);
    if let Router::Remote(router) = &mut settings.alerting.router {
        *router = remote_router(&config.alerting_remote);
    }
    settings.alerting.zone = config.alerting.timezone.zone().clone();
    settings.alerting.allowed_hosts = allowed_hosts(&config.alerting_webhook.allowed_hosts);
    if !config.alerting.catalogue.is_empty() {
        settings.alerting.catalogue = config.alerting.catalogue.clone();
    }
    settings.assets.location = objects(config);
    settings.rebranding.products.sort_by_key(Product::order);
    settings.mail = mail(config);
    settings
}

/// Carries over what the use cases read as it is configured. A new section that has such settings gets its line here.
fn fill(config: &Config, settings: &mut Settings) {
    config.general.fill(settings);
    config.http.fill(settings);
    config.console.fill(settings);
    config.identity.fill(settings);
    config.owner.fill(settings);
    config.tokens.fill(settings);
    config.impersonation.fill(settings);
    config.events.fill(settings);
    config.alerting.fill(settings);
    config.alerting_history.fill(settings);
    config.alerting_remote.fill(settings);
    config.alerting_telegram.fill(settings);
    config.alerting_limits.fill(settings);
    config.systems.fill(settings);
    config.assets.fill(settings);
    config.rebranding.fill(settings);
    config.limits.fill(settings);
}

/// Gives a mode its issuer or tenant. The check of the configuration has found the required settings.
fn complete_identity(config: &Config, mode: &mut IdentityMode) {
    match mode {
        IdentityMode::Embedded => {}
        IdentityMode::Oidc(issuer) => **issuer = oidc(config),
        IdentityMode::Logto(tenant) => **tenant = logto(config),
    }
}

fn oidc(config: &Config) -> Issuer {
    let oidc = &config.identity_oidc;
    let mut issuer = Issuer::new(oidc.issuer.as_ref().map_or("", |url| url.as_str()), "");
    oidc.fill(&mut issuer);
    issuer.introspection = oidc.introspection_client_id.clone().zip(oidc.introspection_client_secret.clone());
    issuer
}

/// The check of the configuration has found the address.
fn remote_router(remote: &config::AlertingRemote) -> RemoteRouter {
    RemoteRouter {
        url: remote.url.as_ref().map_or("", |url| url.as_str()).to_owned(),
        prefix: remote.prefix.before_route().to_owned(),
        kind: remote.kind,
        is_provisioned: remote.kind != RouterKind::Plain,
    }
}

fn logto(config: &Config) -> Logto {
    let logto = &config.identity_logto;
    let tenant = format!("https://{}.logto.app", logto.tenant_id.as_deref().unwrap_or_default());
    let or_default = |url: &Option<config::HttpUrl>, path: &str| {
        url.as_ref().map_or_else(|| format!("{tenant}/{path}"), |url| url.as_str().to_owned())
    };
    let secret = logto.app_secret.as_ref().map(Secret::reveal).cloned().unwrap_or_default();
    let app_id = logto.app_id.clone().unwrap_or_default();
    let mut issuer = Issuer::new(&or_default(&logto.issuer, "oidc"), "");
    // The times of the keys count in this mode too.
    config.identity_oidc.fill(&mut issuer);
    logto.fill(&mut issuer);
    Logto {
        management_url: or_default(&logto.management_url, "api"),
        resource: logto.management_resource.clone().unwrap_or_else(|| format!("{tenant}/api")),
        domain: logto.tenant_domain.clone(),
        owner_organization_id: logto.owner_organization_id.clone(),
        owner_user_id: logto.owner_user_id.clone(),
        ..Logto::new(issuer, &app_id, &secret)
    }
}

fn allowed_hosts(hosts: &[config::AllowedHost]) -> AllowedHosts {
    let (mut names, mut networks) = (Vec::new(), Vec::new());
    for host in hosts {
        match host {
            config::AllowedHost::Name(name) => names.push(name.clone()),
            config::AllowedHost::Range(range) => networks.push(*range),
        }
    }
    AllowedHosts::new(names, networks)
}

fn mail(config: &Config) -> Option<Mail> {
    let smtp = &config.smtp;
    let (host, from) = smtp.host.as_ref().map(|host| host.as_str().to_owned()).zip(smtp.from.clone())?;
    let public = config.http.public_url.as_ref().and_then(|url| url.url().host_str());
    let hello = smtp.hello.as_ref().map(HostName::as_str).or(public).map(str::to_owned);
    let port = u16::try_from(smtp.port.get()).unwrap_or(587);
    let security = match smtp.tls {
        // The port on which TLS always comes first (RFC 8314).
        Security::StartTls if port == 465 => Security::Tls,
        security => security,
    };
    Some(Mail {
        host,
        port,
        security,
        credentials: smtp.username.clone().zip(smtp.password.clone()),
        authority: smtp.ca_file.as_ref().and_then(|path| std::fs::read(path).ok()),
        from,
        from_name: smtp.from_name.clone(),
        hello,
    })
}

fn objects(config: &Config) -> ObjectLocation {
    let assets = &config.assets;
    let keys = assets.access_key.clone().zip(assets.secret_key.clone());
    match (assets.bucket.clone(), keys) {
        (Some(name), Some((access_key, secret_key))) => ObjectLocation::Bucket(Bucket {
            endpoint: assets.endpoint.as_ref().map(|url| url.as_str().to_owned()),
            region: assets.region.as_str().to_owned(),
            name,
            access_key,
            secret_key,
            prefix: assets.prefix.as_ref().map(|prefix| prefix.as_str().to_owned()).unwrap_or_default(),
            path_style: assets.path_style,
        }),
        _ => ObjectLocation::Files(
            assets.directory.clone().unwrap_or_else(|| config.general.data_dir.join("assets")),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_settings::Assets;

    /// Tests run with the defaults of the use cases. Most rows take theirs from there; this also holds for the settings
    /// that are derived here. The build and the place of objects belong to the installation.
    #[test]
    fn an_empty_configuration_has_the_defaults_of_the_use_cases() {
        let config = config::load(None, std::iter::empty(), &[]).unwrap();
        let secret = "x".repeat(32);
        let configured = settings(&config, &Secret::new(secret.clone()));
        let defaults = Settings::defaults(&config.public_url(), secret.into_bytes());
        let expected = Settings {
            build: configured.build,
            assets: Assets { location: configured.assets.location.clone(), ..defaults.assets },
            ..defaults
        };
        assert_eq!(format!("{configured:#?}"), format!("{expected:#?}"));
    }

    #[test]
    fn the_service_introduces_itself_to_a_mail_server_by_its_public_host() {
        const SMTP: &str = "[smtp]\nhost = \"mail.example\"\nfrom = \"a@b.example\"\n";
        const PUBLIC: &str = "[http]\npublic_url = \"https://fleet.example:8443\"\n";
        for (file, hello) in [
            (format!("{PUBLIC}{SMTP}"), Some("fleet.example")),
            (format!("{PUBLIC}{SMTP}hello = \"out.example\"\n"), Some("out.example")),
            (SMTP.to_owned(), None),
        ] {
            let config = config::load(Some(&file), std::iter::empty(), &[]).unwrap();
            assert_eq!(mail(&config).unwrap().hello.as_deref(), hello, "{file}");
        }
    }
}
