//! The configuration as an operator meets it.

mod mistakes;

use super::*;
use bailiwick_domain::Entropy;
use std::{
    fs,
    sync::atomic::{AtomicU8, Ordering},
    time::Duration,
};

/// Variables of a test.
fn variables(pairs: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    pairs.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect::<Vec<_>>().into_iter()
}

/// Flags of a test.
fn flags(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    variables(pairs).collect()
}

fn loaded(file: &str, env: &[(&str, &str)], set: &[(&str, &str)]) -> Config {
    load(Some(file), variables(env), &flags(set)).unwrap()
}

fn problems(file: &str, env: &[(&str, &str)]) -> Vec<String> {
    let found = load(Some(file), variables(env), &[]).unwrap_err();
    found.iter().map(ToString::to_string).collect()
}

/// Entropy that gives other bytes at each call.
struct Counting(AtomicU8);

impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill_with(|| self.0.fetch_add(1, Ordering::Relaxed));
    }
}

#[test]
fn nothing_at_all_is_a_configuration() {
    let config = load(None, variables(&[]), &[]).unwrap();
    assert_eq!(config.http.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.public_url(), "http://127.0.0.1:8080");
    assert_eq!(config.app_url(), "http://127.0.0.1:8080");
    assert_eq!(config.database_url(), DatabaseUrl::Sqlite("./data/bailiwick.db".into()));
    assert_eq!(
        (config.token_issuer().as_str(), config.token_audience().as_str()),
        ("127.0.0.1", "http://127.0.0.1:8080/api")
    );
    assert_eq!(config.tokens.access_lifetime, Duration::from_secs(1800));
    assert_eq!(config.tokens.refresh_lifetime, Duration::from_secs(604_800));
    assert_eq!(config.alerting.resolve_timeout, Duration::from_secs(21_600));
    assert_eq!(config.alerting_limits.silence_duration, Duration::from_secs(366 * 86_400));
    assert_eq!(config.systems.liveness_timeout, Duration::from_secs(1200));
    let paths: Vec<&str> = config.http.base_paths.iter().map(BasePath::as_str).collect();
    assert_eq!(paths, ["/", "/api", "/backend/api", "/collect/api"]);
    assert!(config.general.secret.is_none() && config.owner.password.is_none());
}

#[test]
fn later_sources_win() {
    let file = "[http]\nlisten = \"127.0.0.1:1\"\nworkers = 1\n[limits]\njson_body = \"2 MiB\"\n";
    let env =
        [("BAILIWICK_HTTP__LISTEN", "127.0.0.1:2"), ("LISTEN_ADDRESS", "127.0.0.1:9"), ("PATH", "/bin")];
    assert_eq!(loaded(file, &[], &[]).http.listen.port(), 1);
    // A name of older deployments wins over nothing but the default, unless it may.
    assert_eq!(loaded("", &env[1..], &[]).http.listen.port(), 9);
    assert_eq!(loaded(file, &env[1..], &[]).http.listen.port(), 1);
    let older = ("BAILIWICK_OLDER_NAMES", "true");
    assert_eq!(loaded(file, &[env[1], older], &[]).http.listen.port(), 9);
    assert_eq!(loaded(&format!("older_names = true\n{file}"), &env[1..], &[]).http.listen.port(), 9);
    let off = [("older_names", "false")];
    assert_eq!(loaded(file, &[env[1], older], &off).http.listen.port(), 1);
    assert_eq!(loaded(file, &env, &[]).http.listen.port(), 2);
    let config = loaded(file, &env, &[("http.listen", "127.0.0.1:3")]);
    assert_eq!(
        (config.http.listen.port(), config.http.workers, config.limits.json_body),
        (3, 1, Size(2 << 20))
    );
}

#[test]
fn an_empty_variable_is_not_set() {
    let config = loaded("", &[("BAILIWICK_HTTP__LISTEN", ""), ("BAILIWICK_SECRET", "")], &[]);
    assert_eq!(config.http.listen.port(), 8080);
    assert!(config.general.secret.is_none());
}

#[test]
fn rules_over_several_settings_are_reported_together() {
    let file = "secret = \"short-secret\"\n[alerting]\nmode = \"remote\"\n[owner]\nemail = \"me\"\n\
        [tokens]\naccess_lifetime = \"2h\"\nrefresh_lifetime = \"1h\"\n[systems]\nkey_prefix = \"a-b\"\n";
    let messages = problems(file, &[]);
    let names: Vec<&str> = messages.iter().filter_map(|line| line.split(' ').next()).collect();
    let wanted =
        ["secret", "owner.email", "tokens.refresh_lifetime", "alerting.remote.url", "systems.key_prefix"];
    assert_eq!(names, wanted);
    assert!(!messages.concat().contains("short-secret"));
}

#[test]
fn settings_of_alert_messages_are_checked() {
    let file = "[alerting]\ntimezone = \"Europe/Rome\"\ngroup_wait = \"5s\"\n[alerting.telegram]\nenabled = true\n\
        [alerting.webhook]\nallowed_hosts = [\"chat.lan\", \"10.0.0.0/8\"]\n\
        [alerting.history_webhook]\nurl = \"https://portal.example/api/alert_history\"\n\
        secret = \"thirty-two bytes of a shared secret\"\n";
    let read = loaded(file, &[], &[]);
    assert!(read.alerting_telegram.enabled && read.alerting.group_wait == Duration::from_secs(5));
    assert_eq!(read.alerting_webhook.allowed_hosts.len(), 2);
    let wrong = "[alerting]\ntimezone = \"Mars/Olympus\"\ngroup_interval = \"0s\"\n[alerting.telegram]\nenabled = \"yes\"\n\
        [alerting.webhook]\nallowed_hosts = [\"http://x\"]\n[alerting.history_webhook]\nsecret = \"short-secret\"\n";
    let messages = problems(wrong, &[]);
    let mut names: Vec<&str> = messages.iter().filter_map(|line| line.split(' ').next()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "alerting.group_interval",
            "alerting.history_webhook.secret",
            "alerting.telegram.enabled",
            "alerting.timezone",
            "alerting.webhook.allowed_hosts",
        ]
    );
    assert!(!messages.concat().contains("short-secret"));
    // Sixteen characters, however many bytes they take.
    let wide = problems(&format!("[alerting.history_webhook]\nsecret = \"{}\"\n", "é".repeat(16)), &[]);
    assert!(wide[0].ends_with("is shorter than 32 characters"), "{wide:?}");
    let alone = problems("[alerting.history_webhook]\nurl = \"https://portal.example/x\"\n", &[]);
    assert!(alone[0].starts_with("alerting.history_webhook.secret"), "{alone:?}");
}

#[test]
fn clients_are_registered_by_table_and_the_default_one_takes_more_addresses() {
    let digest = "41ef4bb0b23661e66301aac36066912dac037827b4ae63a7b1165a5aa93ed4eb";
    let file = format!(
        "[identity]\nredirect_uris = [\"http://localhost:1/other\"]\n\
        [identity.clients.console]\nredirect_uris = [\"https://console.example/cb?a=b\", \"app.example:/cb\"]\n\
        post_logout_redirect_uris = [\"https://console.example/\"]\nsecret_sha256 = \"{digest}\"\n\
        [identity.clients.\"a.b\"]\nredirect_uris = [\"https://b.example/cb\"]\n"
    );
    let env =
        [("BAILIWICK_IDENTITY__POST_LOGOUT_REDIRECT_URIS", "https://one.example/,https://two.example/")];
    let config = loaded(&file, &env, &[("app_url", "https://ui.example/")]);
    let text = effective(&config);
    assert!(!text.contains(digest) && text.contains("[identity.clients.\"a.b\"]"), "{text}");
    assert_eq!(effective(&loaded(&text.replace("***", digest), &[], &[])).matches("example/cb").count(), 2);

    let settings =
        crate::settings::settings(&config, &Secret::new("0123456789abcdef0123456789abcdef".to_owned()));
    let of = |id: &str| bailiwick_identity::oidc::clients::find(&settings, id).unwrap();
    assert!(of("console").may_redirect_to("https://console.example/cb?a=b") && !of("console").is_public());
    assert!(of("console").may_redirect_to("app.example:/cb"));
    assert!(of("console").may_return_to("https://console.example/") && of("console").is_first_party());
    assert!(of("a.b").may_redirect_to("https://b.example/cb") && of("a.b").is_public());
    assert!(!of("bailiwick").may_redirect_to("https://b.example/cb"));
    assert!(of("bailiwick").may_redirect_to("http://localhost:1/other"));
    assert!(of("bailiwick").may_redirect_to("https://ui.example/login-redirect"));
    assert!(of("bailiwick").may_return_to("https://ui.example/login"));
    assert!(of("bailiwick").may_return_to("https://two.example/"));
    let schema = schema();
    let client = &schema["properties"]["identity"]["properties"]["clients"]["additionalProperties"];
    assert_eq!(client["properties"]["redirect_uris"]["minItems"], 1);
}

#[test]
fn third_party_applications_are_clients_with_an_entry_of_their_own() {
    let file = "[identity.clients.wiki]\nredirect_uris = [\"https://wiki.example/cb\"]\nfirst_party = false\n\
        name = \"Wiki\"\nlogin_url = \"https://wiki.example/\"\naccess_control = { organization_roles = [\"Reseller\"] }\n";
    let config = loaded(file, &[], &[]);
    let application = &config.clients[0].application;
    assert_eq!((application.name.as_deref(), config.clients[0].first_party), (Some("Wiki"), false));
    assert_eq!(application.access_control.as_ref().unwrap().organization_roles, ["Reseller"]);
    // The effective configuration can be read again.
    assert_eq!(loaded(&effective(&config), &[], &[]).clients[0].application, *application);
    let wrong = "[identity.clients.a]\nredirect_uris = [\"https://a.example/\"]\nname = \"A\"\n\
        [identity.clients.b]\nredirect_uris = [\"https://b.example/\"]\nfirst_party = false\nlogin_url = \"javascript:1\"\n\
        access_control = { organization_ids = [\"x\"] }\n\
        [identity.clients.c]\nredirect_uris = [\"https://c.example/\"]\nfirst_party = false\n\
        access_control = { organisations = [] }\n";
    let messages = problems(wrong, &[]);
    for part in [
        "clients.a (configuration file): name, description",
        "clients.b (configuration file): access_control.organization_ids: `x` is not an id",
        "clients.b (configuration file): `javascript:1` has a scheme",
        "clients.c (configuration file): cannot be read: unknown field `organisations`",
    ] {
        assert_eq!(messages.iter().filter(|line| line.contains(part)).count(), 1, "{part}\n{messages:#?}");
    }
}

#[test]
fn an_external_issuer_needs_its_address_and_a_client() {
    let messages = problems("[identity]\nmode = \"oidc\"\n", &[]);
    assert_eq!(messages.len(), 2, "{messages:#?}");
    assert!(messages[0].starts_with("identity.oidc.issuer (default): must be set"), "{messages:#?}");
    assert!(
        messages[1].starts_with("identity.oidc.client_ids (default): must name the client"),
        "{messages:#?}"
    );
    let messages = problems("[identity.oidc]\nissuer = \"https://id.example\"\n", &[]);
    assert_eq!(messages, ["identity.oidc.issuer (configuration file): needs identity.mode `oidc`"]);
    let oidc = "[identity]\nmode = \"oidc\"\n[identity.oidc]\nissuer = \"https://id.example/realms/a/\"\n\
        introspection_client_id = \"api\"\nkeys_timeout = \"31s\"\n";
    let messages =
        problems(oidc, &[("BAILIWICK_IDENTITY__OIDC__CLIENT_IDS", "web"), ("JWKS_CACHE_TTL", "2d")]);
    for start in [
        "identity.oidc.introspection_client_secret (default): must be set together",
        "identity.oidc.keys_cache (variable JWKS_CACHE_TTL): is longer than one day",
        "identity.oidc.keys_timeout (configuration file): is longer than 30 seconds",
    ] {
        assert!(messages.iter().any(|line| line.starts_with(start)), "{start}\n{messages:#?}");
    }
    assert_eq!(messages.len(), 3, "{messages:#?}");
    let env = [
        ("BAILIWICK_IDENTITY__OIDC__CLIENT_IDS", "web,app"),
        ("BAILIWICK_IDENTITY__OIDC__INTROSPECTION_CLIENT_SECRET", "hunter2"),
    ];
    let config = loaded(&oidc.replace("31s", "9s"), &env, &[]);
    let secret = Secret::new("x".repeat(32));
    let settings = crate::settings::settings(&config, &secret);
    let issuer = settings.identity.issuer().unwrap();
    assert_eq!((issuer.url.as_str(), issuer.client_ids.len()), ("https://id.example/realms/a", 2));
    assert!(issuer.introspection.is_some() && issuer.link_by_email && !issuer.accept_any_client);
    assert!(!format!("{settings:?}").contains("hunter2"));
}

#[test]
fn a_logto_tenant_needs_its_id_an_application_and_a_client() {
    let messages = problems("[identity]\nmode = \"logto\"\n", &[]);
    for name in ["tenant_id", "app_id", "app_secret", "client_ids"] {
        let start = format!("identity.logto.{name} (default): must ");
        assert!(messages.iter().any(|line| line.starts_with(&start)), "{start}\n{messages:#?}");
    }
    assert_eq!(messages.len(), 4, "{messages:#?}");
    let wrong = "[identity]\nmode = \"logto\"\n[identity.logto]\ntenant_id = \"a/b\"\napp_id = \"a b\"\n\
        app_secret = \"hunter2\"\nclient_ids = [\"spa\"]\ntenant_domain = \"https://x.example\"\nowner_user_id = \"\"\n\
        management_resource = \"relative\"\n";
    let messages = problems(wrong, &[]);
    assert_eq!(messages.len(), 5, "{messages:#?}");
    assert!(!messages.concat().contains("hunter2"));

    let names = [
        ("BAILIWICK_IDENTITY__MODE", "logto"),
        ("BAILIWICK_IDENTITY__LOGTO__CLIENT_IDS", "spa"),
        ("LOGTO_TENANT_ID", "abc123"),
        ("LOGTO_TENANT_DOMAIN", "login.example.org"),
        ("LOGTO_BACKEND_APP_ID", "m2m"),
        ("LOGTO_BACKEND_APP_SECRET", "hunter2hunter2"),
        ("JWKS_CACHE_TTL", "2m"),
        ("JWKS_HTTP_TIMEOUT", "3s"),
    ];
    let secret = Secret::new("x".repeat(32));
    let settings = crate::settings::settings(&loaded("", &names, &[]), &secret);
    let logto = settings.identity.logto().unwrap();
    let issuer = settings.identity.issuer().unwrap();
    assert_eq!(issuer.url, "https://abc123.logto.app/oidc");
    assert_eq!(logto.management_url, "https://abc123.logto.app/api");
    assert_eq!(logto.resource, "https://abc123.logto.app/api");
    assert_eq!(logto.domain.as_deref(), Some("login.example.org"));
    assert_eq!((issuer.keys_life.as_secs(), issuer.keys_timeout.as_secs()), (120, 3));
    let (id, introspection) = issuer.introspection.as_ref().unwrap();
    assert_eq!((id.as_str(), introspection.reveal().as_str()), ("m2m", "hunter2hunter2"));
    assert!(!format!("{settings:?}").contains("hunter2"));
    let own = "[identity.logto]\nissuer = \"http://logto:3001/oidc/\"\nmanagement_url = \"http://logto:3001/api/\"\n\
        management_resource = \"https://default.logto.app/api\"\n";
    let settings = crate::settings::settings(&loaded(own, &names, &[]), &secret);
    let logto = settings.identity.logto().unwrap();
    assert_eq!(logto.issuer.url, "http://logto:3001/oidc");
    assert_eq!(logto.management_url, "http://logto:3001/api");
    assert_eq!(logto.resource, "https://default.logto.app/api");
}

#[test]
fn problems_of_clients_are_reported_among_the_others() {
    let file = "colour = \"red\"\n[identity]\nredirect_uris = [\"/relative\"]\n\
        [identity.clients.bailiwick]\nredirect_uris = [\"https://a.example/#x\"]\nsecret_sha256 = \"plain-hunter2\"\n\
        [identity.clients.theirs]\nredirect_uris = []\nfirst_party = false\n\
        [identity.clients.typo]\nredirect_uri = \"https://a.example/\"\n\
        [identity.clients.text]\nredirect_uris = \"https://a.example/\"\n";
    let messages = problems(file, &[("BAILIWICK_IDENTITY__CLIENTS__X__SECRET", "hunter2")]);
    for start in [
        "colour (configuration file)",
        "identity.redirect_uris (configuration file): `/relative` has the item `/relative`, which is not an absolute URI",
        "identity.clients.bailiwick (configuration file): this id belongs",
        "identity.clients.bailiwick (configuration file): `https://a.example/#x` must not have a fragment",
        "identity.clients.bailiwick (configuration file): the secret must be given as 64 hex digits",
        "identity.clients.theirs (configuration file): a public client of a third party needs login_url",
        "identity.clients.theirs (configuration file): at least one redirect URI",
        "identity.clients.typo (configuration file): cannot be read: unknown field `redirect_uri`",
        "identity.clients.text (configuration file): cannot be read: invalid type",
        "identity.clients.x.secret (variable BAILIWICK_IDENTITY__CLIENTS__X__SECRET): is not a setting",
    ] {
        assert_eq!(
            messages.iter().filter(|line| line.starts_with(start)).count(),
            1,
            "{start}\n{messages:#?}"
        );
    }
    assert_eq!(messages.len(), 10, "{messages:#?}");
    assert!(!messages.concat().contains("hunter2"));
    assert!(
        problems("[identity]\nclients = 1\n", &[])[0]
            .starts_with("identity.clients (configuration file): must be")
    );
}

#[test]
fn a_broken_file_is_reported_by_line_without_its_text() {
    let messages = problems("data_dir = \"x\"\nsecret = hunter2hunter2\n", &[]);
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].contains("line 2") && !messages[0].contains("hunter2"), "{messages:?}");
}

#[test]
fn secrets_come_by_value_or_by_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
    let path = path.to_str().unwrap();
    let secret = |config: Config| config.general.secret.map(|s| s.reveal().to_owned());
    let wanted = Some("0123456789abcdef0123456789abcdef".to_owned());
    assert_eq!(secret(loaded(&format!("secret_file = \"{path}\""), &[], &[])), wanted);
    assert_eq!(secret(loaded("", &[("BAILIWICK_SECRET_FILE", path)], &[])), wanted);
    let owner = loaded("", &[("BAILIWICK_OWNER_PASSWORD_FILE", path)], &[]).owner;
    assert_eq!(owner.password.as_ref().map(Secret::reveal), wanted.as_ref());

    let both = [("BAILIWICK_SECRET_FILE", path), ("BAILIWICK_SECRET", "0123456789abcdef0123456789abcdef")];
    assert!(problems("", &both)[0].contains("is given twice"));
    assert!(problems("", &[("BAILIWICK_SECRET_FILE", "/no/such/file")])[0].contains("cannot read the file"));
    assert!(problems("", &[("BAILIWICK_DATA_DIR_FILE", path)])[0].contains("is not a setting"));
}

#[test]
fn names_of_older_deployments_are_understood() {
    let env = [
        ("LISTEN_ADDRESS", ":9090"),
        ("APP_URL", "https://ui.example/"),
        ("API_BASE_URL", "https://portal.example/v1"),
        ("JWT_SECRET", "0123456789abcdef0123456789abcdef"),
        ("JWT_EXPIRATION", "1h0m0s"),
        ("JWT_REFRESH_EXPIRATION", "240h"),
        ("DATABASE_URL", "postgres://u:p@db/bailiwick"),
        ("BAILIWICK_OWNER_EMAIL", "me@portal.example"),
        ("BAILIWICK_OWNER_PASSWORD", "a long password"),
        ("LOGTO_TENANT_ID", "unused"),
    ];
    let config = loaded("", &env, &[]);
    assert_eq!(config.http.listen.to_string(), "0.0.0.0:9090");
    assert_eq!(
        (config.app_url().as_str(), config.public_url().as_str()),
        ("https://ui.example", "https://portal.example")
    );
    assert_eq!(config.http.base_paths.last().map(BasePath::as_str), Some("/v1"));
    assert_eq!(config.http.base_paths.len(), 5);
    assert_eq!(config.tokens.access_lifetime, Duration::from_secs(3600));
    assert_eq!(config.tokens.refresh_lifetime, Duration::from_secs(864_000));
    assert_eq!(config.owner.email, "me@portal.example");
    assert!(matches!(config.database_url(), DatabaseUrl::Postgres(_)));
    assert_eq!(loaded("", &[("API_BASE_URL", "/api")], &[]).http.base_paths.len(), 4);
    assert!(
        problems("", &[("API_BASE_URL", "api")])[0].starts_with("http.base_paths (variable API_BASE_URL)")
    );
}

#[test]
fn mail_is_off_unless_complete_and_its_password_does_not_show() {
    assert!(loaded("", &[("SMTP_PORT", "25"), ("SMTP_TLS", "true")], &[]).smtp.host.is_none());
    let env = [
        ("SMTP_HOST", "mail.example.org"),
        ("SMTP_PORT", "2525"),
        ("SMTP_USERNAME", "fleet"),
        ("SMTP_PASSWORD", "hunter2hunter2"),
        ("SMTP_FROM", "fleet@example.org"),
        ("SMTP_FROM_NAME", "Fleet"),
        ("SMTP_TLS", "false"),
    ];
    let config = loaded("", &env, &[]);
    assert_eq!((config.smtp.port.get(), config.smtp.tls), (2525, bailiwick_settings::Security::None));
    assert_eq!(config.smtp.from_name.as_deref(), Some("Fleet"));
    assert!(!format!("{config:?}{}", effective(&config)).contains("hunter2"));
    let found = problems(
        "[smtp]\nhost = \"mail.example.org\"\nport = 70000\nusername = \"fleet\"\nca_file = \"/no/such/file\"\ntls = \"maybe\"",
        &[],
    );
    for path in ["smtp.port", "smtp.from", "smtp.password", "smtp.ca_file", "smtp.tls"] {
        assert!(found.iter().any(|problem| problem.starts_with(path)), "{path} in {found:?}");
    }
    assert!(problems("", &[("SMTP_HOST", "h"), ("SMTP_FROM", "nobody")])[0].contains("is not an address"));
}

#[test]
fn rules_of_inventory_are_checked_at_start() {
    for (file, why) in [("/no/such/file", "cannot be read"), ("Cargo.toml", "cannot be used: expected value")]
    {
        let found = problems(&format!("[systems]\ninventory_rules = \"{file}\""), &[]);
        assert!(found.len() == 1 && found[0].contains(why), "{found:?}");
    }
    let config = loaded("[systems]\ninventory_rules = \"../inventory/src/diff/rules.json\"", &[], &[]);
    assert!(
        crate::settings::settings(&config, &Secret::new("s".repeat(32))).systems.inventory_rules.is_some()
    );
}

#[test]
fn every_setting_has_a_name_a_default_that_reads_and_one_variable() {
    load(None, variables(&[]), &[]).unwrap();
    let mut names: Vec<String> = settings().map(Setting::variable).collect();
    assert!(names.contains(&"BAILIWICK_ALERTING__REMOTE__URL".to_owned()));
    names.sort();
    names.dedup();
    assert_eq!(names.len(), settings().count());
    for setting in settings().filter(|setting| setting.kind.form != Form::List) {
        if let Some(default) = setting.default() {
            let config = loaded("", &[], &[(setting.path, default.as_str())]);
            assert_eq!(config.origin(setting.path), "flag");
        }
    }
}

#[test]
fn the_effective_configuration_reads_back_and_covers_secrets() {
    let file = "secret = \"hunter2hunter2hunter2hunter2hunter2\"\n[http]\ntrusted_proxies = [\"10.0.0.0/8\"]\n\
        [database]\nurl = \"postgres://me:hunter2@db/x\"\n";
    let text = effective(&loaded(file, &[("BAILIWICK_LOG__FORMAT", "json")], &[]));
    assert!(!text.contains("hunter2"), "{text}");
    assert!(text.contains("format = \"json\" # variable BAILIWICK_LOG__FORMAT"), "{text}");
    assert!(text.contains("trusted_proxies = [\"10.0.0.0/8\"] # configuration file"), "{text}");
    let readable = text.replace("\"***\"", "\"0123456789abcdef0123456789abcdef\"");
    let again = effective(&loaded(&readable, &[], &[]));
    let values = |text: &str| {
        text.lines().map(|line| line.split(" # ").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(values(&again), values(&readable.replace("\"0123456789abcdef0123456789abcdef\"", "\"***\"")));
}

#[test]
fn the_schema_names_every_setting_and_nothing_else() {
    let schema = schema();
    for setting in settings() {
        let pointer = format!("/properties/{}", setting.path.replace('.', "/properties/"));
        let found = schema.pointer(&pointer).unwrap_or_else(|| panic!("{pointer}"));
        assert!(found["description"].as_str().is_some_and(|text| text.len() > 10), "{pointer}");
    }
    assert_eq!(schema["properties"]["alerting"]["properties"]["remote"]["additionalProperties"], false);
    assert_eq!(schema["properties"]["alerting"]["properties"]["mode"]["enum"][1], "remote");
    assert_eq!(schema["properties"]["http"]["properties"]["base_paths"]["default"][1], "/api");
    assert_eq!(schema["properties"]["secret_file"]["type"], "string");
}

#[test]
fn the_reference_page_is_current() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let written = fs::read_to_string(page).unwrap();
    assert_eq!(written, reference(), "run `bailiwick config docs > docs/configuration.md`");
}

#[test]
fn a_secret_is_made_once_and_kept_private() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("fresh/data");
    let config = loaded("", &[], &[("data_dir", data.to_str().unwrap())]);
    let entropy = Counting(AtomicU8::new(0));
    assert!(find_secret(&config).unwrap().is_none());
    let made = make_secret(&config, &entropy).unwrap();
    assert!(made.secret.reveal().len() >= 32 && made.origin.contains("fresh/data/secret"));
    assert_eq!(make_secret(&config, &entropy).unwrap().secret, made.secret);
    assert_eq!(fs::read_dir(&data).unwrap().count(), 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(data.join("secret")).unwrap().permissions().mode() & 0o777, 0o600);
    }
    fs::write(data.join("secret"), "too short\n").unwrap();
    assert!(find_secret(&config).unwrap_err().contains("shorter than 32 bytes"));
    let file = "secret = \"0123456789abcdef0123456789abcdef\"";
    let set = loaded(file, &[], &[("data_dir", data.to_str().unwrap())]);
    let found = find_secret(&set).unwrap().unwrap();
    assert!(file.contains(found.secret.reveal()));
    assert_eq!(found.origin, "secret (configuration file)");
}
