//! The first page.

use super::{
    Browser,
    alerts::{alert, first, push},
};
use bailiwick_testkit::api_test;
use futures_util::future::join_all;
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

api_test!(home_shows_every_change_at_once_while_others_read_it, |t| async move {
    let tree = t.tree().await;
    let (owner, other) = (t.owner().await, t.user(tree.other_reseller, &["admin"]).await);
    let system = t.system(tree.customer).await;
    let (is_over, read) = (AtomicBool::new(false), AtomicU32::new(0));
    let own = Browser::of(&t, &owner).await;
    let everyone =
        [Browser::of(&t, &owner).await, Browser::of(&t, &owner).await, Browser::of(&t, &other).await];
    let readers = everyone.iter().enumerate().map(async |(n, browser)| {
        while !is_over.load(Ordering::SeqCst) {
            let home = browser.get("/console/").await.expect(200).text();
            assert!(n < 2 || !home.contains("Worst"), "another branch sees the alert: {home}");
            read.fetch_add(1, Ordering::SeqCst);
        }
    });
    let home = async || own.get("/console/").await.expect(200).text();
    let changes = async {
        for n in 0..8 {
            let name = format!("Worst{n}");
            push(&t, &system, json!([alert(&name, "critical")])).await;
            let page = home().await;
            assert!(page.contains(&name), "it fires: {page}");
            let address = first(&page, tree.customer);
            own.post(&format!("{address}/take"), &[]).await.expect(303);
            assert!(!home().await.contains(&name), "it is assigned");
        }
        // The others must have read some pages meanwhile.
        while read.load(Ordering::SeqCst) < 20 {
            tokio::task::yield_now().await;
        }
        is_over.store(true, Ordering::SeqCst);
    };
    tokio::join!(join_all(readers), changes);
});

api_test!(people_of_one_scope_see_the_same_and_those_of_another_their_own, |t| async move {
    let tree = t.tree().await;
    let (owner, reseller) = (t.owner().await, t.user(tree.reseller, &["admin"]).await);
    let elsewhere = t.user(tree.other_reseller, &["admin"]).await;
    let (ours, theirs) = (t.system(tree.customer).await, t.system(tree.other_customer).await);
    push(&t, &ours, json!([alert("Ours", "critical")])).await;
    push(&t, &theirs, json!([alert("Theirs", "critical")])).await;
    let mut browsers = Vec::new();
    for who in [&owner, &owner, &reseller, &reseller, &elsewhere, &elsewhere] {
        browsers.push(Browser::of(&t, who).await);
    }
    let pages =
        join_all(browsers.iter().map(async |browser| browser.get("/console/").await.expect(200).text()));
    let shown: Vec<_> =
        pages.await.iter().map(|page| (page.contains("Ours"), page.contains("Theirs"))).collect();
    let (both, first, second) = ((true, true), (true, false), (false, true));
    assert_eq!(shown, [both, both, first, first, second, second]);
});
