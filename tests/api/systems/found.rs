//! The results kept from an earlier search or total hide no change: answers are those of the rows after every write.

use super::*;
use bailiwick_fleet::inventory;

const SEARCH: &str = "?search=Marker&sort_by=name&sort_direction=asc";

#[track_caller]
fn holds(reply: &Reply, expected: &[&str]) {
    assert_eq!(names(reply), expected);
    assert_eq!(reply.data()["pagination"]["total_count"], expected.len());
}

async fn search_finds(t: &Test, who: &[&Persona], expected: &[&str]) {
    for who in who {
        holds(&get(t, who, SEARCH).await, expected);
        // Requests for other orders and other pages use the systems found before.
        let page = get(t, who, "?search=Marker&sort_by=status&page_size=1&page=1").await;
        assert_eq!(page.data()["pagination"]["total_count"], expected.len());
    }
}

async fn act(t: &Test, who: &Persona, id: &str, verb: &str) {
    match verb {
        "delete" => t.delete(&format!("/api/systems/{id}")),
        "destroy" => t.delete(&format!("/api/systems/{id}/destroy")),
        _ => t.patch(&format!("/api/systems/{id}/{verb}")),
    }
    .bearer(&who.token)
    .send()
    .await
    .expect(200);
}

api_test!(a_search_sees_every_change_of_what_it_finds, |t| async move {
    let tree = t.tree().await;
    let (owner, c) = (t.owner().await, t.user(tree.customer, &["admin"]).await);
    let both = [&owner, &c];
    search_finds(&t, &both, &[]).await;
    let first = made(&t, &c, tree.customer, "marker 1").await;
    search_finds(&t, &both, &["marker 1"]).await;
    let other = made(&t, &c, tree.customer, "plain").await;
    search_finds(&t, &both, &["marker 1"]).await;
    put(&t, &c, text(&other, "id"), json!({"name": "marker 2"})).await.expect(200);
    search_finds(&t, &both, &["marker 1", "marker 2"]).await;
    put(&t, &c, text(&other, "id"), json!({"name": "plain"})).await.expect(200);
    search_finds(&t, &both, &["marker 1"]).await;
    // An inventory document changes a column that is searched.
    register(&t, text(&other, "system_secret")).await.expect(200);
    let document = json!({"networking": {"fqdn": "marker.example.org"}, "os": {"type": "nethserver"}});
    let (key, secret) = (text(&other, "system_key"), text(&other, "system_secret"));
    t.post("/systems/inventory").basic(key, secret).json(document).send().await.expect(202);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    search_finds(&t, &both, &["marker 1", "plain"]).await;
    let id = text(&first, "id");
    for (verb, expected) in [
        ("suspend", vec!["marker 1", "plain"]),
        ("delete", vec!["plain"]),
        ("restore", vec!["marker 1", "plain"]),
        ("delete", vec!["plain"]),
        ("destroy", vec!["plain"]),
    ] {
        act(&t, &owner, id, verb).await;
        search_finds(&t, &both, &expected).await;
    }
    // Elsewhere now, and then under an organization that is deleted.
    put(&t, &owner, text(&other, "id"), json!({"organization_id": tree.other_customer})).await.expect(200);
    search_finds(&t, &[&owner], &["plain"]).await;
    search_finds(&t, &[&c], &[]).await;
    t.delete_organization(tree.other_customer).await;
    search_finds(&t, &both, &[]).await;
    t.patch(&format!("/api/customers/{}/restore", tree.other_customer))
        .bearer(&owner.token)
        .send()
        .await
        .expect(200);
    search_finds(&t, &[&owner], &["plain"]).await;
});
