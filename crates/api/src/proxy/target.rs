//! The meaning of each path (spec: alerts#paths).

use bailiwick_settings::Settings;
use http::Method;
use percent_encoding::percent_decode_str;

/// Where the interface is mounted.
#[derive(Debug)]
pub(super) struct Mounts {
    /// `{base}/services/` and `{base}/api/services/` for every base path.
    prefixes: Vec<String>,
    /// `{backend}/{alert_router}/`.
    router: String,
    /// `{base}/proxy/alerts` for every base path, if older pairs are accepted.
    aliases: Vec<String>,
    /// `{base}/organizations/` for every base path.
    organizations: Vec<String>,
}

/// The target of a path below `services/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// `/-/ready`
    Ready,
    /// `/-/healthy`
    Healthy,
    /// `/metrics`
    Metrics,
    /// Anything below `/api/v1`.
    V1,
    /// A push by an older path (spec: systems-interface#older-paths).
    Alias,
    /// The path after `/api/v2`, decoded, without a slash at the end: `/alerts`, or empty.
    V2(String),
    /// The alerts of an organization.
    Organization(PathScope, OfOrganization),
    /// Nothing.
    Unknown,
}

/// What a path of an organization's alerts names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OfOrganization {
    /// `/metrics`
    Metrics,
    /// Anything below `/api/v1`.
    V1,
    /// The path as in [`Target::V2`].
    V2(String),
}

/// Whose alerts a path names (spec: alerts-of-organizations#paths).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathScope {
    /// The id of the organization, as sent.
    pub(super) organization: String,
    /// `tree`: also everything below it.
    pub(super) with_descendants: bool,
}

impl Mounts {
    pub(super) fn new(settings: &Settings) -> Mounts {
        let mut prefixes: Vec<String> = settings
            .base_paths
            .iter()
            .flat_map(|base| ["/services/", "/api/services/"].map(|tail| format!("{base}{tail}")))
            .collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        let alerting = &settings.alerting;
        let aliases = settings.base_paths.iter().filter(|_| settings.systems.legacy_aliases);
        Mounts {
            prefixes,
            router: format!("{}/{}/", alerting.backend_segment, alerting.router_segment),
            aliases: aliases.map(|base| format!("{base}/proxy/alerts")).collect(),
            organizations: settings.base_paths.iter().map(|base| format!("{base}/organizations/")).collect(),
        }
    }

    /// `None` when the path is neither below `services/` nor an alias nor the alerts of an organization.
    pub(super) fn target(&self, path: &str) -> Option<Target> {
        if let Some(rest) = self.aliases.iter().find_map(|alias| path.strip_prefix(alias.as_str())) {
            let rest = rest.strip_suffix('/').unwrap_or(rest);
            return matches!(rest, "" | "/api/v2/alerts").then_some(Target::Alias);
        }
        if let Some(rest) = self.organizations.iter().find_map(|base| path.strip_prefix(base.as_str())) {
            return of_organization(rest);
        }
        let below = self.prefixes.iter().find_map(|prefix| path.strip_prefix(prefix.as_str()))?;
        let Some(inner) = below.strip_prefix(self.router.as_str()) else { return Some(Target::Unknown) };
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        Some(match inner {
            "-/ready" => Target::Ready,
            "-/healthy" => Target::Healthy,
            "metrics" => Target::Metrics,
            _ => match (below_version(inner, "api/v2"), below_version(inner, "api/v1")) {
                (Some(rest), _) => Target::V2(decoded(rest)),
                (None, Some(_)) => Target::V1,
                (None, None) => Target::Unknown,
            },
        })
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// `{id}/alertmanager/…` and `{id}/tree/alertmanager/…`.
fn of_organization(path: &str) -> Option<Target> {
    let (id, rest) = path.split_once('/')?;
    let below = rest.strip_prefix("tree/");
    let inner = below.unwrap_or(rest).strip_prefix("alertmanager/")?;
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    let place = PathScope { organization: decoded(id), with_descendants: below.is_some() };
    let asked = match (below_version(inner, "api/v2"), below_version(inner, "api/v1")) {
        (Some(rest), _) => OfOrganization::V2(decoded(rest)),
        (None, Some(_)) => OfOrganization::V1,
        (None, None) if inner == "metrics" => OfOrganization::Metrics,
        (None, None) => return None,
    };
    Some(Target::Organization(place, asked))
}

impl OfOrganization {
    /// The operation for a method.
    pub(super) fn route(&self, method: &Method) -> Result<V2<'_>, NoRoute> {
        match self {
            OfOrganization::Metrics => metrics_route(method),
            OfOrganization::V1 => Err(NoRoute::Path),
            OfOrganization::V2(path) => organization_route(path, method),
        }
    }
}

impl PathScope {
    /// The operation id of its row.
    pub(super) const fn operation(&self, operation: &V2<'_>) -> Option<&'static str> {
        Some(match (operation, self.with_descendants) {
            (V2::PushAlerts, _) => return None,
            (V2::ListAlerts, false) => "listOrganizationAlerts",
            (V2::ListAlerts, true) => "listTreeAlerts",
            (V2::ListGroups, false) => "listOrganizationAlertGroups",
            (V2::ListGroups, true) => "listTreeAlertGroups",
            (V2::ListSilences, false) => "listOrganizationSilences",
            (V2::ListSilences, true) => "listTreeSilences",
            (V2::SetSilence, false) => "setOrganizationSilence",
            (V2::SetSilence, true) => "setTreeSilence",
            (V2::GetSilence(_), false) => "getOrganizationSilence",
            (V2::GetSilence(_), true) => "getTreeSilence",
            (V2::ExpireSilence(_), false) => "expireOrganizationSilence",
            (V2::ExpireSilence(_), true) => "expireTreeSilence",
            (V2::Status, false) => "getOrganizationRouterStatus",
            (V2::Status, true) => "getTreeRouterStatus",
            (V2::Metrics, false) => "getOrganizationRouterMetrics",
            (V2::Metrics, true) => "getTreeRouterMetrics",
            (V2::Receivers, false) => "listOrganizationReceivers",
            (V2::Receivers, true) => "listTreeReceivers",
        })
    }
}

impl Target {
    /// The operation id of its row; `None` when it has none.
    pub(super) fn operation(&self, method: &Method) -> Option<&'static str> {
        match self {
            Target::Ready => Some("isRouterReady"),
            Target::Healthy => Some("isRouterHealthy"),
            Target::Metrics => Some("getRouterMetrics"),
            Target::Alias => Some("pushAlertsAlias"),
            Target::Organization(place, asked) => {
                asked.route(method).ok().and_then(|operation| place.operation(&operation))
            }
            Target::V1 | Target::Unknown => None,
            Target::V2(path) => v2_route(path, method).ok().map(|operation| match operation {
                V2::ListAlerts => "listOwnAlerts",
                V2::PushAlerts => "pushAlerts",
                V2::ListGroups => "listOwnAlertGroups",
                V2::ListSilences => "listOwnSilences",
                V2::SetSilence => "setSilence",
                V2::GetSilence(_) => "getSilence",
                V2::ExpireSilence(_) => "expireSilence",
                V2::Status => "getRouterStatus",
                V2::Receivers => "listReceivers",
                V2::Metrics => "getRouterMetrics",
            }),
        }
    }
}

/// The path after the version: empty, or beginning with a slash.
fn below_version<'p>(path: &'p str, version: &str) -> Option<&'p str> {
    path.strip_prefix(version).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum V2<'p> {
    ListAlerts,
    PushAlerts,
    ListGroups,
    ListSilences,
    SetSilence,
    GetSilence(&'p str),
    ExpireSilence(&'p str),
    Status,
    Receivers,
    /// Beside the versions.
    Metrics,
}

/// Why there is no operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoRoute {
    /// Unknown path.
    Path,
    /// Known path; these are the methods it has.
    Method(&'static str),
}

/// The operation of the path of metrics.
pub(super) fn metrics_route<'p>(method: &Method) -> Result<V2<'p>, NoRoute> {
    if method == Method::GET { Ok(V2::Metrics) } else { Err(NoRoute::Method("GET")) }
}

/// The operation of a path below `/api/v2`.
pub(super) fn v2_route<'p>(path: &'p str, method: &Method) -> Result<V2<'p>, NoRoute> {
    let (get, post, delete) = (method == Method::GET, method == Method::POST, method == Method::DELETE);
    match path {
        "/alerts" if get => Ok(V2::ListAlerts),
        "/alerts" if post => Ok(V2::PushAlerts),
        "/silences" if get => Ok(V2::ListSilences),
        "/silences" if post => Ok(V2::SetSilence),
        "/alerts" | "/silences" => Err(NoRoute::Method("POST,GET")),
        "/alerts/groups" if get => Ok(V2::ListGroups),
        "/status" if get => Ok(V2::Status),
        "/receivers" if get => Ok(V2::Receivers),
        "/alerts/groups" | "/status" | "/receivers" => Err(NoRoute::Method("GET")),
        _ => {
            let id = path.strip_prefix("/silences/").or_else(|| path.strip_prefix("/silence/"));
            let id = id.filter(|id| !id.is_empty() && !id.contains('/')).ok_or(NoRoute::Path)?;
            match (get, delete) {
                (true, _) => Ok(V2::GetSilence(id)),
                (_, true) => Ok(V2::ExpireSilence(id)),
                _ => Err(NoRoute::Method("DELETE,GET")),
            }
        }
    }
}

/// The operation of a path below `/api/v2` of an organization: nothing can be pushed there, and a silence has the one
/// spelling that tools use.
pub(super) fn organization_route<'p>(path: &'p str, method: &Method) -> Result<V2<'p>, NoRoute> {
    match v2_route(path, method) {
        Ok(V2::PushAlerts) => Err(NoRoute::Method("GET")),
        Err(NoRoute::Method(_)) if path == "/alerts" => Err(NoRoute::Method("GET")),
        _ if path.starts_with("/silences/") => Err(NoRoute::Path),
        route => route,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts() -> Mounts {
        Mounts::new(&Settings::defaults("http://127.0.0.1:8080", vec![7; 32]))
    }

    #[test]
    fn every_base_path_leads_to_the_same() {
        let m = mounts();
        for base in
            ["", "/api", "/api/api", "/backend/api", "/backend/api/api", "/collect/api", "/collect/api/api"]
        {
            let path = format!("{base}/services/mimir/alertmanager/api/v2/alerts");
            assert_eq!(m.target(&path), Some(Target::V2("/alerts".to_owned())), "{path}");
            assert_eq!(m.target(&format!("{path}/")), Some(Target::V2("/alerts".to_owned())), "{path}");
        }
    }

    #[test]
    fn aliases_are_there_where_older_pairs_are_of_use() {
        let mut settings = Settings::defaults("http://127.0.0.1:8080", vec![7; 32]);
        for base in ["", "/api", "/backend/api", "/collect/api"] {
            assert_eq!(mounts().target(&format!("{base}/proxy/alerts")), None);
        }
        settings.systems.legacy_aliases = true;
        let m = Mounts::new(&settings);
        for base in ["", "/api", "/backend/api", "/collect/api"] {
            for path in ["", "/", "/api/v2/alerts", "/api/v2/alerts/"] {
                assert_eq!(
                    m.target(&format!("{base}/proxy/alerts{path}")),
                    Some(Target::Alias),
                    "{base}{path}"
                );
            }
            for path in ["x", "/api/v2", "/api/v2/silences", "/api/v2/alertsx", "//"] {
                assert_eq!(m.target(&format!("{base}/proxy/alerts{path}")), None, "{base}{path}");
            }
        }
    }

    #[test]
    fn only_what_is_below_services_is_taken() {
        let m = mounts();
        for path in
            ["/", "/services", "/servicesx/a", "/systems/info", "/x/services/mimir/alertmanager/-/ready"]
        {
            assert_eq!(m.target(path), None, "{path}");
        }
        for path in [
            "/services/",
            "/services/mimir",
            "/services/mimir/alertmanager",
            "/services/mimir/alertmanager/",
            "/services/mimir/api/v2/status",
            "/services/mimir/alertmanager/alertmanager/api/v2/status",
            "/services/mimir/api/v1/status/buildinfo",
            "/services/mimir/alertmanager/api/v3/alerts",
            "/services/mimir/alertmanager/api/v2x",
            "/services/mimir/alertmanager/-/reload",
            "/services/other/alertmanager/api/v2/alerts",
            "/services/mimir/alertmanager/../alertmanager/api/v2/alerts",
        ] {
            assert_eq!(m.target(path), Some(Target::Unknown), "{path}");
        }
        let p = "/services/mimir/alertmanager";
        assert_eq!(m.target(&format!("{p}/-/ready/")), Some(Target::Ready));
        assert_eq!(m.target(&format!("{p}/-/healthy")), Some(Target::Healthy));
        assert_eq!(m.target(&format!("{p}/metrics")), Some(Target::Metrics));
        assert_eq!(m.target(&format!("{p}/api/v1")), Some(Target::V1));
        assert_eq!(m.target(&format!("{p}/api/v1/status/buildinfo")), Some(Target::V1));
        assert_eq!(m.target(&format!("{p}/api/v2")), Some(Target::V2(String::new())));
        assert_eq!(
            m.target(&format!("{p}/api/v2/silence/a%20b")),
            Some(Target::V2("/silence/a b".to_owned()))
        );
    }

    #[test]
    fn operations() {
        let (both, one) = (Err(NoRoute::Method("POST,GET")), Err(NoRoute::Method("DELETE,GET")));
        for (path, method, expected) in [
            ("/alerts", Method::GET, Ok(V2::ListAlerts)),
            ("/alerts", Method::POST, Ok(V2::PushAlerts)),
            ("/alerts", Method::PUT, both),
            ("/alerts", Method::HEAD, both),
            ("/silences", Method::OPTIONS, both),
            ("/silence/x", Method::GET, Ok(V2::GetSilence("x"))),
            ("/silences/x", Method::DELETE, Ok(V2::ExpireSilence("x"))),
            ("/silences/x", Method::POST, one),
            ("/alerts/groups", Method::GET, Ok(V2::ListGroups)),
            ("/alerts/groups", Method::POST, Err(NoRoute::Method("GET"))),
            ("/silence", Method::GET, Err(NoRoute::Path)),
            ("/silence/", Method::GET, Err(NoRoute::Path)),
            ("/silence/x/y", Method::GET, Err(NoRoute::Path)),
            ("/nope", Method::GET, Err(NoRoute::Path)),
            ("", Method::GET, Err(NoRoute::Path)),
        ] {
            assert_eq!(v2_route(path, &method), expected, "{method} {path}");
        }
    }

    #[test]
    fn organizations_have_what_tools_ask() {
        let m = mounts();
        let v2 = |path: &str| OfOrganization::V2(path.to_owned());
        let place = |with_descendants| PathScope { organization: "x-1".to_owned(), with_descendants };
        for (path, expected) in [
            ("/organizations/x-1/alertmanager/api/v2/alerts/", Some((false, v2("/alerts")))),
            ("/api/organizations/x%2D1/tree/alertmanager/api/v2/silence/7", Some((true, v2("/silence/7")))),
            ("/organizations/x-1/alertmanager/api/v2", Some((false, v2("")))),
            ("/organizations/x-1/alertmanager/api/v1/alerts", Some((false, OfOrganization::V1))),
            ("/organizations/x-1/tree/alertmanager/metrics", Some((true, OfOrganization::Metrics))),
            ("/organizations/x-1/alertmanager/metrics/", Some((false, OfOrganization::Metrics))),
            ("/organizations/x-1/alertmanager/metricsx", None),
            ("/organizations/x-1/alertmanager/api/v20", None),
            ("/organizations/x-1/tree/api/v2/alerts", None),
            ("/organizations/x-1", None),
            ("/organizations", None),
        ] {
            let expected = expected.map(|(tree, asked)| Target::Organization(place(tree), asked));
            assert_eq!(m.target(path), expected, "{path}");
        }
        let route = |method: Method, path| organization_route(path, &method);
        assert_eq!(route(Method::GET, "/alerts"), Ok(V2::ListAlerts));
        assert_eq!(route(Method::POST, "/alerts"), Err(NoRoute::Method("GET")));
        assert_eq!(route(Method::PUT, "/alerts"), Err(NoRoute::Method("GET")));
        assert_eq!(route(Method::PUT, "/silences"), Err(NoRoute::Method("POST,GET")));
        assert_eq!(route(Method::DELETE, "/silence/7"), Ok(V2::ExpireSilence("7")));
        assert_eq!(route(Method::GET, "/silences/7"), Err(NoRoute::Path));
    }
}
