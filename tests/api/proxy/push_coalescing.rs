//! Pushes of one organization that are there at the same moment share a request to the router; those of two never do.

use super::*;
use bailiwick_outbound::{RouterClient, RouterConfig, RouterError, router_client::TenantRequest};
use bailiwick_testkit::{
    PATIENCE, api_test,
    parts::recorder::{Answer, Recorded, Recorder},
};
use futures_util::{FutureExt as _, future::join_all};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

const ORGS: [&str; 2] = ["org-a", "org-b"];

struct Clock;
impl bailiwick_domain::Clock for Clock {
    fn now(&self) -> Ts {
        Ts(1_000_000_000)
    }
}

fn client(upstream: &Recorder, pushes_together: usize) -> RouterClient {
    let config = RouterConfig {
        url: upstream.url(),
        prefix: "/alertmanager".to_owned(),
        kind: RouterKind::Mimir,
        in_flight: 256,
        pushes_together,
        read_timeout: PATIENCE,
        write_timeout: PATIENCE,
    };
    RouterClient::new(config, Arc::new(Clock)).unwrap()
}

/// Push number `n` of its organization.
async fn push(client: &RouterClient, tenant: &str, n: usize) -> Result<(), RouterError> {
    let id = format!("{tenant}-{n}");
    let body = format!(r#"[{{"labels":{{"alertname":"{tenant} {n}"}}}}]"#);
    client.push_alerts(TenantRequest { tenant, request_id: &id }, body.into()).await
}

/// Number of alerts of each request, by tenant; every alert is its tenant's.
fn batch_sizes(upstream: &Recorder) -> BTreeMap<String, Vec<usize>> {
    let mut sizes_by_tenant: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for request in upstream.take() {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/alertmanager/api/v2/alerts"));
        let [tenant] = request.values("x-scope-orgid")[..] else { panic!("{request:?}") };
        for name in names(&request) {
            assert!(name.starts_with(&format!("{tenant} ")), "{name} for {tenant}");
        }
        sizes_by_tenant.entry(tenant.to_owned()).or_default().push(names(&request).len());
    }
    sizes_by_tenant.values_mut().for_each(|sizes| sizes.sort_unstable());
    sizes_by_tenant
}

fn names(request: &Recorded) -> Vec<String> {
    let alerts = request.json().unwrap();
    let name = |alert: &Value| alert["labels"]["alertname"].as_str().unwrap().to_owned();
    alerts.as_array().unwrap().iter().map(name).collect()
}

/// Six pushes of each organization at the same moment, alternating.
async fn twelve(client: &RouterClient) -> Vec<Result<(), RouterError>> {
    join_all((0..12).map(|n| push(client, ORGS[n % 2], n))).await
}

fn map<const N: usize>(sizes: [(&str, &[usize]); N]) -> BTreeMap<String, Vec<usize>> {
    sizes.into_iter().map(|(tenant, sizes)| (tenant.to_owned(), sizes.to_vec())).collect()
}

#[tokio::test]
async fn what_is_there_at_the_same_moment_travels_together_and_tenants_apart() {
    let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
    for (most, sizes) in [(64, &[6][..]), (4, &[1, 1, 4]), (1, &[1; 6])] {
        assert!(twelve(&client(&upstream, most)).await.iter().all(Result::is_ok));
        assert_eq!(batch_sizes(&upstream), map([("org-a", sizes), ("org-b", sizes)]), "{most}");
    }
    // A lone push is a request of its own, under its own id.
    let client = client(&upstream, 64);
    for n in 0..3 {
        push(&client, "org-a", n).await.unwrap();
    }
    let ids: Vec<String> =
        upstream.take().iter().map(|r| r.value("x-request-id").unwrap().to_owned()).collect();
    assert_eq!(ids, ["org-a-0", "org-a-1", "org-a-2"]);
}

#[tokio::test]
async fn a_refusal_is_of_the_one_whose_fault_it_is() {
    let upstream = Recorder::start(|request| match names(request).iter().any(|name| name == "org-a 4") {
        true => Answer::json(400, &json!("bad thing")),
        false => Answer::status(200),
    })
    .await
    .unwrap();
    let results = twelve(&client(&upstream, 64)).await;
    for (n, result) in results.iter().enumerate() {
        match n {
            4 => assert!(matches!(result, Err(RouterError::Refused(reject)) if reject.status == 400)),
            _ => assert_eq!(*result, Ok(()), "{n}"),
        }
    }
    assert_eq!(batch_sizes(&upstream), map([("org-a", &[1, 1, 1, 1, 1, 1, 6]), ("org-b", &[6])]));
}

#[tokio::test]
async fn a_fault_is_everybodys_and_asks_the_router_no_more_often() {
    let upstream = Recorder::start(|_| Answer::status(429)).await.unwrap();
    for (answer, requests) in [
        (Answer::status(429).body("too many"), 1),
        (Answer::status(401), 1),
        (Answer::status(412), 1),
        (Answer::status(502), 3),
        (Answer::dropped(), 3),
    ] {
        let given = answer.clone();
        upstream.answer_by(move |_| given.clone());
        let results = twelve(&client(&upstream, 64)).await;
        assert!(
            results.iter().all(|result| *result == results[0] && result.is_err()),
            "{answer:?}: {results:?}"
        );
        let each = vec![6; requests];
        assert_eq!(batch_sizes(&upstream), map([("org-a", &each), ("org-b", &each)]), "{answer:?}");
    }
}

#[tokio::test]
async fn a_cancelled_push_does_not_cancel_others() {
    let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let client = client(&upstream, 64);
    // The first leaves before anything is sent: the other goes by itself.
    let mut first = Box::pin(push(&client, "org-a", 1));
    assert!(first.as_mut().now_or_never().is_none());
    let mut second = Box::pin(push(&client, "org-a", 2));
    assert!(second.as_mut().now_or_never().is_none());
    drop(first);
    second.await.unwrap();
    assert_eq!(upstream.take().iter().map(names).collect::<Vec<_>>(), [["org-a 2"]]);
    // One that was taken along leaves: the rest travels.
    let mut first = Box::pin(push(&client, "org-a", 3));
    assert!(first.as_mut().now_or_never().is_none());
    let mut second = Box::pin(push(&client, "org-a", 4));
    assert!(second.as_mut().now_or_never().is_none());
    drop(second);
    first.await.unwrap();
    assert!(upstream.take().iter().flat_map(names).any(|name| name == "org-a 3"));
    // And nothing is left behind.
    push(&client, "org-a", 5).await.unwrap();
    assert_eq!(upstream.take().iter().map(names).collect::<Vec<_>>(), [["org-a 5"]]);
}

#[tokio::test]
async fn what_is_large_goes_by_itself() {
    let upstream = Recorder::start(|_| Answer::status(200)).await.unwrap();
    let client = client(&upstream, 64);
    let large = |n: usize| {
        let (client, text) = (&client, "x".repeat(150 * 1024));
        async move {
            let body = format!(r#"[{{"labels":{{"alertname":"org-a {n}","text":"{text}"}}}}]"#);
            client.push_alerts(TenantRequest { tenant: "org-a", request_id: "large" }, body.into()).await
        }
    };
    assert!(join_all((0..3).map(large)).await.iter().all(Result::is_ok));
    assert_eq!(batch_sizes(&upstream), map([("org-a", &[1, 1, 1])]));
}

api_test!(pushes_of_two_organizations_never_share_a_request, |t| async move {
    let upstream = Recorder::start(|_| Answer::status(200).after(Duration::from_millis(50))).await.unwrap();
    let p = remote(&t, &upstream.url(), RouterKind::Mimir, |_| {}).await;
    let tree = p.tree().await;
    let mut systems = Vec::new();
    for n in 0..6 {
        let org = if n % 2 == 0 { tree.customer } else { tree.other_customer };
        systems.push((org.to_string(), Client { test: &p, system: p.system(org).await }));
    }
    // The machine decides how many pushes of a burst meet. Some do, so this test covers what it looks at.
    for _ in 0..20 {
        let pushes = (0..8).flat_map(|_| systems.iter());
        let replies =
            join_all(pushes.map(|(_, system)| system.push(r#"[{"labels":{"alertname":"A"}}]"#))).await;
        for reply in replies {
            assert_eq!(reply.expect(200).text(), "");
        }
        let requests = upstream.take();
        assert_eq!(requests.iter().map(|request| alerts_of(request, &systems)).sum::<usize>(), 48);
        if requests.len() < 48 {
            return;
        }
    }
    panic!("no two pushes of 20 bursts shared a request");
});

/// Number of alerts of a request, each of a system of the request's one tenant.
fn alerts_of(request: &Recorded, systems: &[(String, Client<'_>)]) -> usize {
    let [tenant] = request.values("x-scope-orgid")[..] else { panic!("{request:?}") };
    let alerts = request.json().unwrap();
    for alert in alerts.as_array().unwrap() {
        let labels = &alert["labels"];
        let (_, whose) = systems
            .iter()
            .find(|(org, system)| *org == tenant && labels["system_key"] == *system.system.key)
            .unwrap_or_else(|| panic!("{alert} for {tenant}"));
        assert_eq!(labels["system_id"], whose.system.id.to_string());
        assert_eq!(labels["organization_id"], tenant);
    }
    alerts.as_array().unwrap().len()
}

// An operator may have several.
#[tokio::test]
async fn a_fault_names_the_router() {
    let upstream = Recorder::start(|_| Answer::dropped()).await.unwrap();
    let Err(RouterError::Unavailable(message)) = push(&client(&upstream, 1), ORGS[0], 0).await else {
        panic!("it has answered")
    };
    let address = upstream.url().replace("http://", "");
    assert!(message.starts_with(&format!("{address}: ")), "{message}");
}
