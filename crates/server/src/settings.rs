//! Converts the configuration into the settings of the use cases.

use crate::config::{self, AlertingMode, Config};
use bailiwick_domain::rebranding::Product;
use bailiwick_platform::Secret;
use bailiwick_settings::{
    AlertLimits, Alerting, AllowedHosts, Assets, Bucket, CatalogueEntry, Console, ContentLimits, Events,
    IdentityMode, Impersonation, Issuer, Limits, Logto, Mail, Network, ObjectLocation, Owner, Provider,
    Rebranding, RemoteRouter, Router, RouterKind, SHORT_OUTAGE, Security, Settings, Systems, Timing, Tokens,
};
use std::sync::Arc;

/// The settings of a checked configuration; `secret` is the configured one or that of the data directory.
pub fn settings(config: &Config, secret: &config::Secret) -> Settings {
    let defaults = Settings::defaults(&config.public_url(), secret.reveal().as_bytes().to_vec());
    Settings {
        build: crate::build::build(),
        app_url: config.app_url().trim_end_matches('/').to_owned(),
        base_paths: config.http.base_paths.iter().map(|base| base.before_route().to_owned()).collect(),
        static_dir: config.http.static_dir.clone(),
        trusted_proxies: config.http.trusted_proxies.iter().map(network).collect(),
        cors_origins: config.http.cors_origins.iter().map(|origin| origin.as_str().to_owned()).collect(),
        previous_secret: config
            .general
            .previous_secret
            .as_ref()
            .map(|secret| Secret::new(secret.reveal().as_bytes().to_vec())),
        owner: owner(config),
        tokens: Tokens {
            issuer: config.token_issuer(),
            audience: config.token_audience(),
            access: config.tokens.access_lifetime,
            refresh: config.tokens.refresh_lifetime,
            ..defaults.tokens
        },
        identity: identity(config),
        provider: Provider {
            clients: config.clients.clone(),
            redirect_uris: uris(&config.identity.redirect_uris),
            post_logout_redirect_uris: uris(&config.identity.post_logout_redirect_uris),
            generated_password: config.identity.generated_password_lifetime,
            ..defaults.provider
        },
        impersonation: Impersonation {
            scope: config.impersonation.scope,
            audit_retention: config.impersonation.audit_retention,
        },
        systems: Systems {
            key_prefix: config.systems.key_prefix.as_str().to_owned(),
            liveness_timeout: config.systems.liveness_timeout,
            check_interval: config.systems.check_interval,
            link_alert_refresh: config.systems.link_alert_refresh,
            registration_repeat: config.systems.registration_repeat_window,
            inventory_max_bytes: config.limits.inventory_body.bytes(),
            // The check of the configuration has found these rules usable.
            inventory_rules: config
                .systems
                .inventory_rules
                .as_deref()
                .and_then(|path| config::inventory_rules(path).ok())
                .map(Arc::new),
            reachability_networks: config.systems.reachability_networks.iter().map(network).collect(),
            legacy_aliases: config.systems.legacy_aliases,
        },
        alerting: alerting(config),
        events: Events {
            retention: config.events.retention,
            most: config.events.most.get().into(),
            subscriptions: config.events.subscriptions.get().into(),
            disable_after: config.events.disable_after,
        },
        limits: limits(config),
        console: Console {
            enabled: config.console.enabled,
            client_id: config.console.client_id.clone(),
            client_secret: config
                .console
                .client_secret
                .as_ref()
                .map(|secret| Secret::new(secret.reveal().to_owned())),
        },
        mail: mail(&config.smtp),
        assets: assets(config),
        rebranding: rebranding(&config.rebranding),
        ..defaults
    }
}

fn identity(config: &Config) -> IdentityMode {
    let oidc = &config.identity_oidc;
    if config.identity.mode == config::IdentityMode::Logto {
        return IdentityMode::Logto(Box::new(logto(config)));
    }
    let (config::IdentityMode::Oidc, Some(issuer)) = (config.identity.mode, &oidc.issuer) else {
        return IdentityMode::Embedded;
    };
    let secret = oidc.introspection_client_secret.as_ref();
    let secret = secret.map(|secret| Secret::new(secret.reveal().to_owned()));
    IdentityMode::Oidc(Box::new(Issuer {
        client_ids: oidc.client_ids.clone(),
        accept_any_client: oidc.accept_any_client,
        audiences: oidc.audiences.clone(),
        introspection: oidc.introspection_client_id.clone().zip(secret),
        link_by_email: oidc.link_by_email,
        keys_life: oidc.keys_cache,
        keys_timeout: oidc.keys_timeout,
        ..Issuer::new(issuer.as_str(), "")
    }))
}

/// The check of the configuration has found the required settings.
fn logto(config: &Config) -> Logto {
    let (oidc, logto) = (&config.identity_oidc, &config.identity_logto);
    let tenant = format!("https://{}.logto.app", logto.tenant_id.as_deref().unwrap_or_default());
    let or_default = |url: &Option<config::HttpUrl>, path: &str| {
        url.as_ref().map_or_else(|| format!("{tenant}/{path}"), |url| url.as_str().to_owned())
    };
    let secret = logto.app_secret.as_ref().map(|secret| secret.reveal().to_owned()).unwrap_or_default();
    let app_id = logto.app_id.clone().unwrap_or_default();
    let issuer = Issuer {
        client_ids: logto.client_ids.clone(),
        accept_any_client: logto.accept_any_client,
        audiences: logto.audiences.clone(),
        link_by_email: logto.link_by_email,
        keys_life: oidc.keys_cache,
        keys_timeout: oidc.keys_timeout,
        ..Issuer::new(&or_default(&logto.issuer, "oidc"), "")
    };
    Logto {
        management_url: or_default(&logto.management_url, "api"),
        resource: logto.management_resource.clone().unwrap_or_else(|| format!("{tenant}/api")),
        domain: logto.tenant_domain.clone(),
        owner_organization_id: logto.owner_organization_id.clone(),
        owner_user_id: logto.owner_user_id.clone(),
        ..Logto::new(issuer, &app_id, &secret)
    }
}

fn uris(uris: &[config::ClientUri]) -> Vec<String> {
    uris.iter().map(|uri| uri.as_str().to_owned()).collect()
}

fn network(network: &config::Network) -> Network {
    network.0
}

fn owner(config: &Config) -> Owner {
    Owner {
        email: config.owner.email.clone(),
        password: config.owner.password.as_ref().map(|password| Secret::new(password.reveal().to_owned())),
        name: config.owner.name.clone(),
        organization: config.owner.organization.clone(),
    }
}

fn alerting(config: &Config) -> Alerting {
    let (alerting, remote) = (&config.alerting, &config.alerting_remote);
    let router = match (alerting.mode, &remote.url) {
        (AlertingMode::Remote, Some(url)) => Router::Remote(RemoteRouter {
            url: url.as_str().trim_end_matches('/').to_owned(),
            prefix: remote.prefix.before_route().to_owned(),
            kind: remote.kind,
            is_provisioned: remote.kind != RouterKind::Plain,
        }),
        _ => Router::Embedded,
    };
    Alerting {
        router,
        backend_segment: alerting.backend_segment.as_str().to_owned(),
        router_segment: alerting.router_segment.as_str().to_owned(),
        resolve_timeout: alerting.resolve_timeout,
        timing: Timing {
            group_wait: alerting.group_wait,
            group_interval: alerting.group_interval,
            repeat_interval: alerting.repeat_interval,
        },
        short_outage: SHORT_OUTAGE,
        silence_retention: alerting.silence_retention,
        history_retention: alerting.history_retention,
        managed_by: alerting.managed_by.as_str().to_owned(),
        reported_version: alerting.reported_version.as_str().to_owned(),
        zone: alerting.timezone.zone().clone(),
        history_url: config.alerting_history.url.as_ref().map(|url| url.as_str().to_owned()),
        history_secret: config
            .alerting_history
            .secret
            .as_ref()
            .map(|secret| Secret::new(secret.reveal().to_owned())),
        allowed_hosts: allowed_hosts(&config.alerting_webhook.allowed_hosts),
        telegram: config.alerting_telegram.enabled,
        catalogue: catalogue(&alerting.catalogue),
        telegram_api: bailiwick_settings::TELEGRAM_API.to_owned(),
        limits: alert_limits(&config.alerting_limits),
    }
}

fn allowed_hosts(hosts: &[config::AllowedHost]) -> AllowedHosts {
    let (mut names, mut networks) = (Vec::new(), Vec::new());
    for host in hosts {
        match host {
            config::AllowedHost::Name(name) => names.push(name.clone()),
            config::AllowedHost::Range(range) => networks.push(network(range)),
        }
    }
    AllowedHosts::new(names, networks)
}

fn catalogue(configured: &[config::AlertName]) -> Vec<CatalogueEntry> {
    if configured.is_empty() {
        return CatalogueEntry::built_in();
    }
    configured.iter().map(|name| name.0.clone()).collect()
}

fn alert_limits(limits: &config::AlertingLimits) -> AlertLimits {
    AlertLimits {
        body_bytes: limits.body.bytes(),
        content: ContentLimits {
            alerts_per_request: limits.alerts_per_request.get() as usize,
            labels: limits.labels.get() as usize,
            name_bytes: limits.label_name.bytes(),
            label_value_bytes: limits.label_value.bytes(),
            annotations: limits.annotations.get() as usize,
            annotation_value_bytes: limits.annotation_value.bytes(),
            alert_bytes: limits.alert.bytes(),
            silence_bytes: limits.silence.bytes(),
            silence_length: limits.silence_duration,
            matchers: limits.matchers.get() as usize,
            expression_bytes: limits.regex.bytes(),
            ..ContentLimits::default()
        },
        requests_per_second: limits.requests_per_second.get(),
        request_burst: limits.request_burst.get(),
        alerts_per_system: limits.alerts_per_system.get().into(),
        alerts_per_tenant: limits.alerts_per_tenant.get().into(),
        silences_per_system: limits.silences_per_system.get().into(),
        silences_per_tenant: limits.silences_per_tenant.get().into(),
        in_flight_per_system: limits.in_flight_per_system.get() as usize,
        in_flight: limits.in_flight_to_router.get() as usize,
        pushes_together: limits.pushes_together.get() as usize,
        read_timeout: limits.read_timeout,
        write_timeout: limits.write_timeout,
    }
}

fn mail(smtp: &config::Smtp) -> Option<Mail> {
    let (host, from) = smtp.host.clone().zip(smtp.from.clone())?;
    let port = u16::try_from(smtp.port.get()).unwrap_or(587);
    let security = match smtp.tls {
        // The port on which TLS always comes first (RFC 8314).
        Security::StartTls if port == 465 => Security::Tls,
        security => security,
    };
    let password = smtp.password.as_ref().map(|password| Secret::new(password.reveal().to_owned()));
    Some(Mail {
        host,
        port,
        security,
        credentials: smtp.username.clone().zip(password),
        authority: smtp.ca_file.as_ref().and_then(|path| std::fs::read(path).ok()),
        from,
        from_name: smtp.from_name.clone(),
    })
}

fn assets(config: &Config) -> Assets {
    let assets = &config.assets;
    let keys = assets.access_key.clone().zip(assets.secret_key.clone());
    let place = match (assets.bucket.clone(), keys) {
        (Some(name), Some((access_key, secret_key))) => ObjectLocation::Bucket(Bucket {
            endpoint: assets.endpoint.as_ref().map(|url| url.as_str().to_owned()),
            region: assets.region.as_str().to_owned(),
            name,
            access_key,
            secret_key: Secret::new(secret_key.reveal().to_owned()),
            prefix: assets.prefix.as_ref().map(|prefix| prefix.as_str().to_owned()).unwrap_or_default(),
            path_style: assets.path_style,
        }),
        _ => ObjectLocation::Files(
            assets.directory.clone().unwrap_or_else(|| config.general.data_dir.join("assets")),
        ),
    };
    Assets { place, images: assets.images, download_lifetime: assets.download_lifetime, ..Assets::default() }
}

fn rebranding(rebranding: &config::Rebranding) -> Rebranding {
    let mut products: Vec<_> = rebranding.products.iter().map(|product| product.0.clone()).collect();
    products.sort_by_key(Product::order);
    Rebranding {
        products,
        asset_base_path: rebranding.asset_base_path.as_ref().map(|base| base.before_route().to_owned()),
        organizations_manage_assets: rebranding.organizations_manage_assets,
    }
}

fn limits(config: &Config) -> Limits {
    let limits = &config.limits;
    Limits {
        body_bytes: limits.json_body.bytes(),
        password_failures: limits.password_failures.get(),
        password_failures_per_account: limits.password_failures_per_account.get(),
        password_failures_per_address: limits.password_failures_per_address.get(),
        password_window: limits.password_window,
        token_requests_per_second: limits.token_requests_per_second.get(),
        token_request_burst: limits.token_request_burst.get(),
        api_key_requests_per_second: limits.api_key_requests_per_second.get(),
        api_key_request_burst: limits.api_key_request_burst.get(),
        avatar_requests_per_second: limits.avatar_requests_per_second.get(),
        avatar_request_burst: limits.avatar_request_burst.get(),
        system_failures: limits.system_auth_failures.get(),
        forgotten_mails: limits.forgotten_mails.get(),
        forgotten_mails_per_address: limits.forgotten_mails_per_address.get(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests run with the defaults of the use cases, so these must be those of the configuration. What belongs to the
    /// installation differs: the build, the owner and the place of backups.
    #[test]
    fn an_empty_configuration_has_the_defaults_of_the_use_cases() {
        let config = config::load(None, std::iter::empty(), &[]).unwrap();
        let secret = "x".repeat(32);
        let configured = settings(&config, &config::Secret::new(secret.clone()));
        let defaults = Settings::defaults(&config.public_url(), secret.into_bytes());
        let expected = Settings {
            build: configured.build,
            owner: configured.owner.clone(),
            assets: Assets { place: configured.assets.place.clone(), ..defaults.assets },
            ..defaults
        };
        assert_eq!(format!("{configured:#?}"), format!("{expected:#?}"));
    }

    /// Every setting must have an effect.
    #[test]
    fn every_limit_of_the_alert_interface_arrives() {
        let given = [
            ("labels", "7"),
            ("label_name", "8 B"),
            ("label_value", "9 B"),
            ("annotations", "10"),
            ("annotation_value", "11 B"),
            ("alert", "12 B"),
            ("silence", "13 B"),
            ("silence_duration", "14d"),
            ("matchers", "15"),
            ("regex", "16 B"),
            ("alerts_per_request", "17"),
        ];
        let flags: Vec<(String, String)> = given
            .iter()
            .map(|(name, text)| (format!("alerting.limits.{name}"), (*text).to_owned()))
            .collect();
        let config = config::load(None, std::iter::empty(), &flags).unwrap();
        let limits = settings(&config, &config::Secret::new("x".repeat(32))).alerting.limits.content;
        let sizes = [
            limits.labels,
            limits.name_bytes,
            limits.label_value_bytes,
            limits.annotations,
            limits.annotation_value_bytes,
            limits.alert_bytes,
            limits.silence_bytes,
            limits.matchers,
            limits.expression_bytes,
            limits.alerts_per_request,
        ];
        assert_eq!(sizes, [7, 8, 9, 10, 11, 12, 13, 15, 16, 17]);
        assert_eq!(limits.silence_length, std::time::Duration::from_secs(14 * 86_400));
    }
}
