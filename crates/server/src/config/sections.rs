//! Every setting of the service. A new one is a row here; names, checks, schema and reference follow from it. A setting
//! that a use case reads has its field and its default in `bailiwick_settings`, and its row names the field.

use super::{
    addresses::{BasePath, DatabaseUrl, HostName, HttpUrl, Origin},
    alerting::{AllowedHost, TimeZone},
    assets::KeyPrefix,
    log_filter::LogFilter,
    section::section,
    value::{AnyDuration, Size},
    value_types::{LogFormat, Ratio, Secret, Word},
};
use bailiwick_domain::rebranding::Product;
use bailiwick_settings::{
    CatalogueEntry, ImageHome, ImpersonationScope, Language, Network, Router, RouterKind, Security, Settings,
};
use std::{net::SocketAddr, num::NonZeroU32, path::PathBuf, time::Duration};

section! {
    /// Settings that belong to no section.
    General in "", keys "", fills Settings;
    /// Directory of everything the service writes: the SQLite file, the generated secret, backups of systems.
    data_dir: PathBuf = "./data";
    /// Secret of at least 32 bytes from which all signing and sealing keys are derived. When unset, one is made at the
    /// first start and kept in `<data_dir>/secret`. All processes on one database need the same: the database knows it
    /// by a fingerprint, and a process with another one does not start (docs/security.md).
    secret: Option<Secret>, older "JWT_SECRET";
    /// A second secret that is accepted but not used for anything new: the next one before it takes over, and the one
    /// before the present one afterwards (docs/security.md).
    previous_secret: Option<Secret>;
    /// Public address of another user interface than the console, used in links and as a redirect origin. When unset,
    /// `http.public_url`; links of mails and notifications then lead to the console, unless `console.enabled` is off or
    /// `http.static_dir` is set.
    app_url: Option<HttpUrl>, older "APP_URL";
    /// Whether variables with the names of older deployments (below) win over the configuration file. Otherwise the
    /// file wins, and a warning names each variable that it overrides.
    older_names: bool = "false";
    /// Language of mails and alerts for organizations and recipients that name none, and of imported rows: `en` or
    /// `it`.
    language: Language => language;
}

section! {
    /// Listening and the public address.
    Http in "http", keys "http.", fills Settings;
    /// Address and port to listen on.
    listen: SocketAddr = "127.0.0.1:8080", older "LISTEN_ADDRESS";
    /// File with the certificate (PEM) and those that lead to its authority; with it the service speaks TLS (1.2 and
    /// 1.3). Read again at SIGHUP; a warning is logged ten days before it expires. None = plain HTTP, for use behind a
    /// TLS proxy or on this machine.
    tls_certificate: Option<PathBuf>;
    /// File with the certificate's private key (PEM).
    tls_key: Option<PathBuf>;
    /// Address under which clients reach the service; the OpenID issuer is `<public_url>/oidc`. When unset, `http://`
    /// (with a certificate `https://`) and the listening address.
    public_url: Option<Origin>;
    /// Paths below which the whole API answers.
    base_paths: Vec<BasePath> => base_paths;
    /// Directory with the files of the web user interface (`index.html`, `assets` …), served beside the API on paths
    /// without a base. Read at the start and at SIGHUP.
    static_dir: Option<PathBuf> => static_dir;
    /// Threads that serve connections; 0 = one per processor.
    workers: u32 = "0";
    /// Connections that may be open at the same time. At the limit the connection that is idle longest is closed. When
    /// unset, what the limit of open files leaves after a reserve of 1,024 (of half of a small limit) for the database,
    /// files and outgoing requests, and at most 16,384.
    max_connections: Option<u32>;
    /// Connections that one client address may have open: an IPv4 address or an IPv6 network of 64 bits. Proxies of
    /// `http.trusted_proxies` have no such limit. When unset, a quarter of all.
    max_connections_per_address: Option<u32>;
    /// Addresses of reverse proxies whose `X-Forwarded-For` is believed.
    trusted_proxies: Vec<Network> => trusted_proxies;
    /// How long after a signal to stop connections are still accepted, while `/ready` of `metrics.listen` already says
    /// no: time for a load balancer to notice. At most 5 minutes; none = they are refused at once.
    drain_delay: Option<Duration>;
    /// Origins from which browsers may call the API; none = no cross-origin calls.
    cors_origins: Vec<Origin> => cors_origins;
}

section! {
    /// The web console.
    Console in "console", keys "console.", fills Settings;
    /// Whether there is one, at `<public_url>/console/`.
    enabled: bool => console.enabled;
    /// Client of the console at the issuer of the modes `oidc` and `logto`, with the redirect address
    /// `<public_url>/console/signed-in`. Unless it is set, nobody can sign in to the console in these modes.
    client_id: Option<String> => console.client_id;
    /// Secret of that client. None = a public client.
    client_secret: Option<Secret> => console.client_secret;
}

section! {
    /// Storage.
    Database in "database", keys "database.", fills Settings;
    /// `sqlite:<path>` or `postgres://…`. When unset, `sqlite:<data_dir>/bailiwick.db`.
    url: Option<DatabaseUrl>, older "DATABASE_URL";
    /// Address of a streaming replica of that PostgreSQL (`postgres://…`). Lists, exports, figures and pages are read
    /// from it whenever it has caught up, otherwise from `database.url` (docs/deployment.md). None = there is no
    /// replica.
    read_url: Option<DatabaseUrl>;
    /// Most connections to PostgreSQL (as many again to its replica), or readers of SQLite, at a time.
    max_connections: NonZeroU32 = "16";
}

section! {
    /// The owner organization and its first user, made at the first start.
    Owner in "owner", keys "owner.", fills Settings;
    /// E-mail address of the first user.
    email: String => owner.email;
    /// Password of the first user. When unset, one is made and printed once. Of no use in mode `oidc`; in mode
    /// `logto` the account that is made there gets it.
    password: Option<Secret> => owner.password;
    /// Name of the first user.
    name: String => owner.name;
    /// Name of the owner organization.
    organization: String => owner.organization;
}

section! {
    /// The service's own tokens.
    Tokens in "tokens", keys "tokens.", fills Settings;
    /// Life of an access token; clients expect at least 25 minutes.
    access_lifetime: Duration => tokens.access, older "JWT_EXPIRATION";
    /// Life of a refresh token.
    refresh_lifetime: Duration => tokens.refresh, older "JWT_REFRESH_EXPIRATION";
    /// Age of the sign-in that sensitive operations accept; `0s` = any, for clients that cannot ask people to sign in
    /// again.
    fresh_sign_in: AnyDuration => tokens.fresh_sign_in;
    /// `iss` of the tokens. When unset, the host name of `http.public_url`.
    issuer: Option<String>;
    /// `aud` of the tokens. When unset, `<public_url>/api`.
    audience: Option<String>;
}

section! {
    /// Acting as another user with their consent.
    Impersonation in "impersonation", keys "impersonation.", fills Settings;
    /// What is needed besides the user's consent: `hierarchy`, that the user's organization is the impersonator's own
    /// or below it; `consent`, nothing.
    scope: ImpersonationScope => impersonation.scope;
    /// How long sessions that are over, and the record of what was done in them, are kept.
    audit_retention: Duration => impersonation.audit_retention;
}

section! {
    /// Alerts and silences.
    Alerting in "alerting", keys "alerting.", fills Settings;
    /// `embedded`: kept by the service; `remote`: kept by the router of `alerting.remote`.
    mode: Router => alerting.router;
    /// First path segment of the alerting proxy: `/services/<backend_segment>/<router_segment>`.
    backend_segment: Word => alerting.backend_segment;
    /// Second path segment of the alerting proxy.
    router_segment: Word => alerting.router_segment;
    /// How long an alert without an end stays active after its last push.
    resolve_timeout: Duration => alerting.resolve_timeout;
    /// How long the first message about a group of alerts waits for others of the group.
    group_wait: Duration => alerting.timing.group_wait;
    /// How long after a message the next one with something new about the same group is sent.
    group_interval: Duration => alerting.timing.group_interval;
    /// How long after a message the same is sent again when nothing has changed.
    repeat_interval: Duration => alerting.timing.repeat_interval;
    /// Time zone of the times in messages, by its IANA name.
    timezone: TimeZone = "UTC";
    /// How long an expired silence is kept by the embedded router.
    silence_retention: Duration => alerting.silence_retention;
    /// How long resolved alerts stay in the history, and what people did about alerts stays in its record. Six months
    /// have 184 days at most.
    history_retention: Duration => alerting.history_retention;
    /// Alertmanager version reported to clients, which choose features by it.
    reported_version: Word => alerting.reported_version;
    /// Label `managed_by` of alerts the service raises itself.
    managed_by: Word => alerting.managed_by;
    /// Names of alerts that `GET /filters/alerts` offers beside those seen: `<name>:<severity>` or
    /// `<name>:<severity>:<service>`. When unset, the 25 that appliances are known to send.
    catalogue: Vec<CatalogueEntry>;
}

section! {
    /// The remote alert router. It believes the tenant header: it must be reachable by the service only.
    AlertingRemote in "alerting.remote", keys "alerting.remote.", fills Settings;
    /// Base address. Needed in mode `remote`.
    url: Option<HttpUrl>;
    /// Path between the base address and `/api/v2`; `/` in front of an Alertmanager without one.
    prefix: BasePath = "/alertmanager";
    /// `mimir`, `cortex`, or `plain`: one single-tenant Alertmanager.
    kind: RouterKind = "mimir";
    /// Whether it delivers to Microsoft Teams by workflows, as Alertmanager does since 0.28. A router that does not
    /// would refuse the whole configuration of an organization.
    teams: bool => alerting.remote_teams;
}

section! {
    /// The webhook by which a remote router tells the service what was resolved.
    AlertingHistory in "alerting.history_webhook", keys "alerting.history_webhook.", fills Settings;
    /// Address under which the remote router reaches the service: `<public address>/api/alert_history`.
    url: Option<HttpUrl> => alerting.history_url;
    /// Secret of at least 32 characters that the router must present. Without it every call is refused.
    secret: Option<Secret> => alerting.history_secret;
}

section! {
    /// Webhooks that people configure. A remote router delivers them by itself: fence its outgoing traffic too.
    AlertingWebhook in "alerting.webhook", keys "alerting.webhook.", fills Settings;
    /// Hosts (by name) and address ranges that webhooks may go to although they are not public.
    allowed_hosts: Vec<AllowedHost>;
}

section! {
    /// Telegram messages of the embedded router. A remote router delivers them by itself.
    AlertingTelegram in "alerting.telegram", keys "alerting.telegram.", fills Settings;
    /// Whether messages go to Telegram.
    enabled: bool => alerting.telegram;
}

section! {
    /// Limits of the alerting proxy.
    AlertingLimits in "alerting.limits", keys "alerting.limits.", fills Settings;
    /// Largest request body, also after decoding.
    body: Size => alerting.limits.body_bytes;
    /// Alerts in one request.
    alerts_per_request: NonZeroU32 => alerting.limits.content.alerts_per_request;
    /// Requests a system may make per second, in the long run.
    requests_per_second: NonZeroU32 => alerting.limits.requests_per_second;
    /// Requests a system may make at once.
    request_burst: NonZeroU32 => alerting.limits.request_burst;
    /// Active alerts of one system.
    alerts_per_system: NonZeroU32 => alerting.limits.alerts_per_system;
    /// Active alerts of one organization.
    alerts_per_tenant: NonZeroU32 => alerting.limits.alerts_per_tenant;
    /// Labels of one alert.
    labels: NonZeroU32 => alerting.limits.content.labels;
    /// Length of a label name.
    label_name: Size => alerting.limits.content.name_bytes;
    /// Length of a label value.
    label_value: Size => alerting.limits.content.label_value_bytes;
    /// Annotations of one alert.
    annotations: NonZeroU32 => alerting.limits.content.annotations;
    /// Length of an annotation value.
    annotation_value: Size => alerting.limits.content.annotation_value_bytes;
    /// Size of one alert.
    alert: Size => alerting.limits.content.alert_bytes;
    /// Active and pending silences of one system.
    silences_per_system: NonZeroU32 => alerting.limits.silences_per_system;
    /// Active and pending silences of one organization.
    silences_per_tenant: NonZeroU32 => alerting.limits.silences_per_tenant;
    /// Size of one silence.
    silence: Size => alerting.limits.content.silence_bytes;
    /// Longest silence, counted from now.
    silence_duration: Duration => alerting.limits.content.silence_length;
    /// Matchers of one silence.
    matchers: NonZeroU32 => alerting.limits.content.matchers;
    /// Length of a regular expression in a matcher.
    regex: Size => alerting.limits.content.expression_bytes;
    /// Memory for the compiled regular expressions of one silence, and of the filters of one query.
    compiled_per_silence: Size => alerting.limits.content.compiled_bytes;
    /// Memory for the compiled regular expressions of all silences of one system.
    compiled_per_system: Size => alerting.limits.compiled_per_system;
    /// Memory for the compiled regular expressions of all silences of one organization.
    compiled_per_tenant: Size => alerting.limits.compiled_per_tenant;
    /// Requests of one system in flight.
    in_flight_per_system: NonZeroU32 => alerting.limits.in_flight_per_system;
    /// Requests to a remote router in flight.
    in_flight_to_router: NonZeroU32 => alerting.limits.in_flight;
    /// How many waiting pushes of one organization are sent to a remote router in one request, which has the id of the
    /// first; 1 = each in a request of its own.
    pushes_together: NonZeroU32 => alerting.limits.pushes_together;
    /// Time for a GET or DELETE to the router, all tries together.
    read_timeout: Duration => alerting.limits.read_timeout;
    /// Time for a POST to the router, all tries together.
    write_timeout: Duration => alerting.limits.write_timeout;
}

section! {
    /// Events for other software (docs/events.md).
    Events in "events", keys "events.", fills Settings;
    /// How long an event can be read and delivered.
    retention: Duration => events.retention;
    /// How many events are kept at most. Each organization has an equal share, and what one does not use is shared
    /// among the others; beyond its share, its oldest events go first.
    most: NonZeroU32 => events.most;
    /// How many subscriptions (webhooks) an organization may have.
    subscriptions: NonZeroU32 => events.subscriptions;
    /// A subscription to which nothing could be delivered for so long is switched off.
    disable_after: Duration => events.disable_after;
}

section! {
    /// Systems.
    Systems in "systems", keys "systems.", fills Settings;
    /// Beginning of new system keys: `<key_prefix>-XXXX-…`.
    key_prefix: Word => systems.key_prefix;
    /// A system whose last heartbeat is older is inactive.
    liveness_timeout: Duration => systems.liveness_timeout;
    /// How often systems are checked for silence.
    check_interval: Duration => systems.check_interval;
    /// How often the alert about a silent system is posted again.
    link_alert_refresh: Duration => systems.link_alert_refresh;
    /// How long after a registration the same call from the same address is answered again.
    registration_repeat_window: Duration => systems.registration_repeat;
    /// How many inventory documents a system may send at once, and in an hour in the long run. Each process counts for
    /// itself.
    inventories_per_hour: NonZeroU32 => systems.inventories_per_hour;
    /// Entries that a list in an inventory document may have: the elements of an array, the keys of an object.
    inventory_list_entries: NonZeroU32 => systems.inventory_list_entries;
    /// How many applications a system may have. A document that lists more is refused. Applications that a system no
    /// longer lists count too: the longest missing ones are removed for new ones.
    applications: NonZeroU32 => systems.applications;
    /// A file with the rules that give changes of inventory their category, severity and significance (JSON), instead
    /// of the built-in ones (`crates/inventory/src/diff/rules.json`).
    inventory_rules: Option<PathBuf>;
    /// Address ranges that reachability checks may connect to although they are not public, for laboratories.
    reachability_networks: Vec<Network> => systems.reachability_networks;
    /// The most systems whose credentials a process keeps in memory, each about 0.9 kB. It reads those of further
    /// systems from the database at each request: with more systems, let the balancer send a system to one process
    /// (docs/deployment.md).
    credential_cache: NonZeroU32 => systems.credential_cache;
    /// Whether the paths below `/proxy/` are served, for appliances that still know only an older pair of id and secret
    /// (docs/import.md).
    legacy_aliases: bool => systems.legacy_aliases;
}

section! {
    /// Where backups of systems are kept: files, or a bucket that speaks the S3 protocol. Optionally images too.
    Assets in "assets", keys "assets.", fills Settings;
    /// Where new files of rebranding and new pictures of users are stored: `database`, or `bucket`,
    /// that of `assets.bucket`. A change does not move existing files: `bailiwick assets move` does
    /// (docs/rebranding.md).
    images: ImageHome => assets.images;
    /// Directory of the files. When unset, `<data_dir>/assets`; several processes on one database need the same.
    directory: Option<PathBuf>;
    /// Name of a bucket to use in the place of files. Let a lifecycle rule of the bucket remove unfinished uploads
    /// after a day.
    bucket: Option<String>;
    /// Address of the bucket's storage. When unset, that of the region at Amazon.
    endpoint: Option<HttpUrl>;
    /// Region of the bucket.
    region: Word = "us-east-1";
    /// Prefix of the keys of all objects in the bucket, such as `fleet` or `fleet/production`. A change does not move
    /// existing objects.
    prefix: Option<KeyPrefix>;
    /// Whether requests name the bucket in their paths (`<endpoint>/<bucket>`); `false` for a storage that wants
    /// it in the name of the host (`<bucket>.<endpoint>`).
    path_style: bool = "true";
    /// Key id for the bucket.
    access_key: Option<String>;
    /// Secret key for the bucket.
    secret_key: Option<Secret>;
    /// How long a link to a backup can be used, at most 15 minutes.
    download_lifetime: Duration => assets.download_lifetime;
}

section! {
    /// Rebranding: names and pictures that an organization gives to the products its systems run.
    Rebranding in "rebranding", keys "rebranding.", fills Settings;
    /// What can be rebranded: `<id>:<display name>:<type>`, the type being `application` or `system`. A product that is
    /// removed here is no longer shown; its stored names and pictures stay.
    products: Vec<Product> => rebranding.products;
    /// Base path in the asset paths that systems receive, `/` for none. When unset, that of their request.
    asset_base_path: Option<BasePath> => rebranding.asset_base_path;
    /// Whether users with `manage:systems` may upload and delete assets of organizations within their reach, their own
    /// included. Rebranding itself is turned on and off by owners only.
    organizations_manage_assets: bool => rebranding.organizations_manage_assets;
}

section! {
    /// Outgoing mail. Without a host nothing is sent, and everything else works.
    Smtp in "smtp", keys "smtp.", fills Settings;
    /// Name or address of the mail server.
    host: Option<HostName>, older "SMTP_HOST";
    /// Port of the mail server.
    port: NonZeroU32 = "587", older "SMTP_PORT";
    /// `starttls` (mandatory; on port 465 TLS from the first byte), `tls` from the first byte, or `none` for a
    /// relay on the same machine. The older name also takes `true` (`starttls`) and `false` (`none`).
    tls: Security = "starttls", older "SMTP_TLS";
    /// The name by which the service introduces itself to the server (EHLO). When unset, the host of `http.public_url`,
    /// else the name of this machine.
    hello: Option<HostName>;
    /// A file with the certificate (PEM) of an authority to believe besides those of the system.
    ca_file: Option<PathBuf>;
    /// Account at the server; none = no sign-in.
    username: Option<String>, older "SMTP_USERNAME";
    /// Its password.
    password: Option<Secret>, older "SMTP_PASSWORD";
    /// Address of the sender; also the one that mails name for questions. Needed with a host.
    from: Option<String>, older "SMTP_FROM";
    /// Name of the sender.
    from_name: Option<String>, older "SMTP_FROM_NAME";
}

section! {
    /// Limits of the API.
    Limits in "limits", keys "limits.", fills Settings;
    /// Largest JSON body.
    json_body: Size => limits.body_bytes;
    /// Largest inventory document, as received and as decoded.
    inventory_body: Size => systems.inventory_max_bytes;
    /// Requests per second and address to the token endpoints, in the long run.
    token_requests_per_second: NonZeroU32 => limits.token_requests_per_second;
    /// Requests of one address to the token endpoints at once.
    token_request_burst: NonZeroU32 => limits.token_request_burst;
    /// Requests per second with one personal API key, in the long run.
    api_key_requests_per_second: NonZeroU32 => limits.api_key_requests_per_second;
    /// Requests with one personal API key at once.
    api_key_request_burst: NonZeroU32 => limits.api_key_request_burst;
    /// Requests per second and address for pictures of users, in the long run.
    avatar_requests_per_second: NonZeroU32 => limits.avatar_requests_per_second;
    /// Requests of one address for pictures of users at once.
    avatar_request_burst: NonZeroU32 => limits.avatar_request_burst;
    /// Failed passwords per account and address within `password_window`.
    password_failures: NonZeroU32 => limits.password_failures;
    /// Failed passwords per account within `password_window`.
    password_failures_per_account: NonZeroU32 => limits.password_failures_per_account;
    /// Failed passwords per address within `password_window`.
    password_failures_per_address: NonZeroU32 => limits.password_failures_per_address;
    /// Time over which failed passwords are counted.
    password_window: Duration => limits.password_window;
    /// Mails for a forgotten password per account in an hour.
    forgotten_mails: NonZeroU32 => limits.forgotten_mails;
    /// Requests for such mails per client address in an hour; those beyond are answered alike and sent nothing.
    forgotten_mails_per_address: NonZeroU32 => limits.forgotten_mails_per_address;
    /// Mails that the people of an organization cause in an hour: new users, imported ones, changed addresses, tests of
    /// recipients.
    mails_per_organization: NonZeroU32 => limits.mails_per_organization;
    /// Such mails to one address in an hour.
    mails_per_recipient: NonZeroU32 => limits.mails_per_recipient;
    /// Failed system sign-ins and registrations per address and key in a minute.
    system_auth_failures: NonZeroU32 => limits.system_failures;
}

section! {
    /// Metrics and health endpoints: `/metrics` for Prometheus, `/live` and `/ready` (docs/observability.md).
    Metrics in "metrics", keys "metrics.", fills Settings;
    /// Address and port of a listener of its own for them; none = they are not served.
    listen: Option<SocketAddr>;
    /// Token that `/metrics` wants to be shown (`Authorization: Bearer`), at least 16 characters. Must be set unless
    /// the listener's address is a loopback one.
    token: Option<Secret>;
}

section! {
    /// Traces for an OpenTelemetry collector (docs/observability.md).
    Telemetry in "telemetry", keys "telemetry.", fills Settings;
    /// Base address of its OTLP receiver for HTTP, such as `http://127.0.0.1:4318`; `/v1/traces` is added. None = there
    /// are no traces.
    otlp_endpoint: Option<HttpUrl>;
    /// What it is sent as `Authorization`, such as `Bearer …`.
    otlp_authorization: Option<Secret>;
    /// Which part of the traces is kept, 0 to 1. Also of those that a caller keeps (`traceparent`).
    sample_ratio: Ratio = "1";
    /// What the service calls itself there (`service.name`).
    service_name: String = "bailiwick";
}

section! {
    /// Logging, to the standard error.
    Log in "log", keys "log.", fills Settings;
    /// What is logged: `error`, `warn`, `info`, `debug` or `trace`, or a filter that gives parts of the program another
    /// level, such as `warn,bailiwick_api=debug`.
    level: LogFilter = "info";
    /// `text` for people, `json` for collectors.
    format: LogFormat = "text";
}
