//! A page costs the same number of statements whatever is on it (spec: guarantees#organizations rule 29).

use bailiwick_domain::OrgType;
use bailiwick_testkit::{Engine, Persona, Test};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tracing::{Event, Metadata, Subscriber, span};

/// Counts the statements that the driver sends within the span of a request, so none of the background's.
#[derive(Clone, Default)]
struct Statements {
    sent: Arc<AtomicU64>,
    /// Entered spans of requests.
    depth: Arc<AtomicU64>,
}

impl Subscriber for Statements {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "sqlx::query" || (metadata.is_span() && metadata.name() == "request")
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, _: &Event<'_>) {
        let is_in_request = self.depth.load(Ordering::SeqCst) > 0;
        self.sent.fetch_add(is_in_request.into(), Ordering::SeqCst);
    }
    fn enter(&self, _: &span::Id) {
        self.depth.fetch_add(1, Ordering::SeqCst);
    }
    fn exit(&self, _: &span::Id) {
        self.depth.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Rows and statements of a list that has changed since it was last read, so no cache answers.
async fn cost(t: &Test, who: &Persona, path: &str, sent: &AtomicU64) -> (usize, u64) {
    let before = sent.load(Ordering::SeqCst);
    let data = t.get(path).bearer(&who.token).send().await.expect(200).data();
    let rows = data.as_object().unwrap().values().find_map(|v| v.as_array()).unwrap().len();
    (rows, sent.load(Ordering::SeqCst) - before)
}

// One thread, so that the count holds the statements of this test only. The statements are the same text on both
// engines, but SQLite runs them elsewhere.
// Proves spec: guarantees#organizations 29.
#[tokio::test]
async fn a_page_of_any_length_costs_the_same_statements() {
    let t = Test::start(Engine::Postgres, |_| {}).await;
    let owner = t.owner().await;
    let statements = Statements::default();
    let sent = statements.sent.clone();
    let counting = tracing::Dispatch::new(statements);
    // With a single subscriber, tracing would decide once, on the first thread that comes by, and never ask again.
    let _second = tracing::Dispatch::new(Statements::default());
    let _counting = tracing::dispatcher::set_default(&counting);
    let tree = t.tree().await;
    let d = t.user(tree.distributor, &["super"]).await;
    let lists = ["distributors", "resellers", "customers", "users", "systems"];
    let mut costs = Vec::new();
    // The first round fills every list; an empty one may cost less.
    for more in [2, 12] {
        for n in 0..more {
            let d = t.organization(tree.owner, OrgType::Distributor, &format!("D{more}{n}")).await;
            let r = t.organization(tree.distributor, OrgType::Reseller, &format!("R{n}")).await;
            let c = t.organization(r, OrgType::Customer, &format!("C{n}")).await;
            for org in [d, r, c] {
                t.user(org, &["reader"]).await;
                t.system(org).await;
            }
        }
        let mut round = Vec::new();
        for list in lists {
            round.push(cost(&t, &owner, &format!("/api/{list}?page_size=100"), &sent).await);
            if list != "distributors" {
                round.push(cost(&t, &d, &format!("/api/{list}?page_size=100&search=a"), &sent).await);
            }
        }
        costs.push(round);
    }
    for (few, many) in costs[0].iter().zip(&costs[1]) {
        assert!(few.1 > 0, "nothing is counted");
        assert!(many.0 >= few.0 && many.1 == few.1, "{few:?} became {many:?}");
    }
    assert!(costs[1].iter().filter(|c| c.0 > 10).count() > 5, "{costs:?}");
}
