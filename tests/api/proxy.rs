//! The alert interface for systems (spec: alerts#system-interface), embedded and in front of other routers.

mod active_alert_limit;
mod alerts;
mod attacks;
pub(crate) mod conformance;
mod faults;
mod hostile;
mod limits;
mod prometheus;
mod push_coalescing;
mod queue;
mod recorder;
mod routes;
mod silences;
mod tools;
mod tools_guide;
mod vmalert;

use bailiwick_domain::Ts;
use bailiwick_settings::{RemoteRouter, Router, RouterKind};
use bailiwick_testkit::{Call, PATIENCE, Reply, Settings, Test, seed::Seeded};

/// Where the interface is mounted.
pub(crate) const P: &str = "/api/services/mimir/alertmanager";

/// The clock of tests stands still, so many requests in one test are one burst.
pub(crate) fn generous(settings: &mut Settings) {
    settings.alerting.limits.request_burst = 1_000_000;
    settings.limits.api_key_request_burst = 1_000_000;
}

/// A system at the interface.
pub(crate) struct Client<'t> {
    pub(crate) test: &'t Test,
    pub(crate) system: Seeded,
}

impl<'t> Client<'t> {
    /// A registered system of a customer.
    pub(crate) async fn new(test: &'t Test) -> Client<'t> {
        let tree = test.tree().await;
        Client { test, system: test.system(tree.customer).await }
    }

    pub(crate) fn call(&self, method: &str, path: &str) -> Call {
        self.test
            .call(method.parse().unwrap(), &format!("{P}{path}"))
            .basic(&self.system.key, &self.system.secret)
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.call("GET", path).send().await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.call("DELETE", path).send().await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<Vec<u8>>) -> Reply {
        self.call("POST", path).header("content-type", "application/json").body(body.into()).send().await
    }

    pub(crate) async fn push(&self, body: &str) -> Reply {
        self.post("/api/v2/alerts", body.to_owned()).await
    }

    /// The names of the listed alerts, sorted.
    pub(crate) async fn alert_names(&self, query: &str) -> Vec<String> {
        let reply = self.get(&format!("/api/v2/alerts{query}")).await.expect(200);
        let list = reply.json();
        let alerts = list.as_array().unwrap().iter();
        let mut names: Vec<String> =
            alerts.map(|a| a["labels"]["alertname"].as_str().unwrap_or_default().to_owned()).collect();
        names.sort();
        names
    }

    pub(crate) async fn silence(&self, body: &str) -> Reply {
        self.post("/api/v2/silences", body.to_owned()).await
    }
}

/// As much time for the router as a test has: on a busy machine no answer is late.
pub(crate) fn patient(settings: &mut Settings) {
    settings.alerting.limits.read_timeout = PATIENCE;
    settings.alerting.limits.write_timeout = PATIENCE;
}

/// The same engine again, with a router elsewhere.
pub(crate) async fn remote(
    t: &Test,
    url: &str,
    kind: RouterKind,
    change: impl FnOnce(&mut Settings),
) -> Test {
    Test::with(t.engine, with_router(t, url, kind, change)).await
}

/// As [`remote`], without background work: the service's own delivery would take what waits out of the test's
/// hands, and begin it before the test has moved the clock.
async fn remote_alone(t: &Test, url: &str, kind: RouterKind, change: impl FnOnce(&mut Settings)) -> Test {
    Test::without_background(t.engine, with_router(t, url, kind, change)).await
}

fn with_router(t: &Test, url: &str, kind: RouterKind, change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = (*t.app.settings).clone();
    let prefix = if kind == RouterKind::Plain { "" } else { "/alertmanager" };
    settings.alerting.router = Router::Remote(RemoteRouter {
        url: url.to_owned(),
        prefix: prefix.to_owned(),
        kind,
        // So that the upstream gets only the requests of a test.
        is_provisioned: false,
    });
    generous(&mut settings);
    patient(&mut settings);
    change(&mut settings);
    settings
}

/// The clock on the wall, which a real router goes by.
pub(crate) fn wall_clock() -> Ts {
    #[allow(clippy::disallowed_methods, reason = "a real router has no clock of ours")]
    let now = jiff::Timestamp::now();
    Ts::from(now)
}
