//! Applications: the lists in documents, and the changes by management (spec: applications#intake,
//! applications#operations; guarantees#systems; organizations#counts, organizations#filters).

use bailiwick_domain::OrgId;
use bailiwick_fleet::inventory;
use bailiwick_store::sql::Q;
use bailiwick_testkit::{Persona, Reply, Test, api_test, seed::Seeded};
use serde_json::{Value, json};
use std::time::Duration;

mod changes;
mod intake;
mod list;
mod stats;

const NS8: &[u8] = include_bytes!("../../crates/inventory/tests/data/inventory-ns8.json");

async fn get(t: &Test, who: &Persona, path: &str) -> Reply {
    t.get(&format!("/api{path}")).bearer(&who.token).send().await
}

async fn data(t: &Test, who: &Persona, path: &str) -> Value {
    get(t, who, path).await.expect(200).data()
}

async fn put(t: &Test, who: &Persona, id: &str, body: Value) -> Reply {
    t.put(&format!("/api/applications/{id}")).bearer(&who.token).json(body).send().await
}

async fn delete(t: &Test, who: &Persona, path: &str) -> Reply {
    t.delete(&format!("/api{path}")).bearer(&who.token).send().await
}

pub async fn assign(t: &Test, who: &Persona, id: &str, to: impl serde::Serialize) -> Reply {
    let path = format!("/api/applications/{id}/assign");
    t.patch(&path).bearer(&who.token).json(json!({"organization_id": to})).send().await
}

pub async fn unassign(t: &Test, who: &Persona, id: &str) -> Reply {
    t.patch(&format!("/api/applications/{id}/unassign")).bearer(&who.token).send().await
}

/// A document is accepted and worked on.
pub async fn send(t: &Test, s: &Seeded, body: impl Into<Vec<u8>>) {
    t.post("/systems/inventory").basic(&s.key, &s.secret).body(body.into()).send().await.expect(202);
    inventory::run_until_idle(&t.app.fleet).await.unwrap();
    // Where there is another process it may have taken the document and be at it still.
    let waiting = "SELECT CAST(COUNT(*) AS BIGINT) FROM inventory_queue";
    let is_used = async || Q::new(waiting).count(&t.app.platform.db).await.unwrap() == 0;
    bailiwick_testkit::eventually("the document is used", is_used).await;
}

/// A cluster with these modules.
pub fn cluster(modules: Value) -> Vec<u8> {
    let facts = json!({"cluster": {"fqdn": "c.example"}, "nodes": {}, "modules": modules});
    json!({"installation": "nethserver", "facts": facts}).to_string().into_bytes()
}

/// A listed module.
pub fn module(id: &str, instance_of: &str) -> Value {
    json!({"id": id, "module": instance_of, "name": instance_of, "version": "1.0", "certification_level": 4,
        "node": "1", "source": "ghcr.io/x"})
}

/// The listed applications by module id.
async fn by_module(t: &Test, who: &Persona, query: &str) -> std::collections::BTreeMap<String, Value> {
    let rows = data(t, who, &format!("/applications?page_size=100&{query}")).await;
    let rows = rows["applications"].as_array().unwrap().clone();
    rows.into_iter().map(|row| (row["module_id"].as_str().unwrap().to_owned(), row)).collect()
}

pub async fn id_of(t: &Test, who: &Persona, module_id: &str) -> String {
    let rows = by_module(t, who, "").await;
    rows[module_id]["id"].as_str().unwrap().to_owned()
}

async fn total(t: &Test, who: &Persona, query: &str) -> u64 {
    data(t, who, &format!("/applications?{query}")).await["pagination"]["total_count"].as_u64().unwrap()
}

/// The stored counters equal the counted rows.
pub async fn figures_are_true(t: &Test) {
    const LISTED: &str = "a.deleted_at IS NULL AND a.is_user_facing AND a.certification_level >= 4 \
         AND s.deleted_at IS NULL";
    let from = "FROM applications a JOIN systems s ON s.id = a.system_id";
    let same = async |stored: &str, counted: String| {
        let stored: Vec<(String, i64, i64)> = Q::new(stored).all(&t.app.platform.db).await.unwrap();
        let counted: Vec<(String, i64, i64)> = Q::new(&counted).all(&t.app.platform.db).await.unwrap();
        assert_eq!(stored, counted);
    };
    let hex = |column: &str| format!("[[CAST({column} AS text)||hex({column})]]");
    let key = format!("{} || instance_of || '|' || version || '|' || name", hex("home_id"));
    same(
        &format!("SELECT {key}, unassigned, assigned FROM application_counts ORDER BY 1"),
        format!(
            "SELECT {}, CAST(SUM(CASE WHEN a.organization_id IS NULL THEN 1 ELSE 0 END) AS BIGINT), \
             CAST(SUM(CASE WHEN a.organization_id IS NULL THEN 0 ELSE 1 END) AS BIGINT) {from} WHERE {LISTED} \
             GROUP BY 1 ORDER BY 1",
            key.replace("home_id", "a.home_id")
                .replace("instance_of", "a.instance_of")
                .replace("version", "a.version")
                .replace("|| name", "|| COALESCE(a.name, '')")
        ),
    )
    .await;
    let key = format!("{} || {}", hex("organization_id"), hex("home_id"));
    same(
        &format!("SELECT {key}, applications, listed FROM assignment_counts ORDER BY 1"),
        format!(
            "SELECT {}, CAST(COUNT(*) AS BIGINT), CAST(SUM(CASE WHEN a.is_user_facing THEN 1 ELSE 0 END) AS BIGINT) \
             {from} WHERE a.deleted_at IS NULL AND a.certification_level >= 4 AND s.deleted_at IS NULL \
             AND a.organization_id IS NOT NULL GROUP BY 1 ORDER BY 1",
            key.replace("organization_id", "a.organization_id").replace("home_id", "a.home_id")
        ),
    )
    .await;
    same(
        &format!(
            "SELECT {}, applications, CAST(0 AS BIGINT) FROM organization_counts WHERE applications <> 0 ORDER BY 1",
            hex("organization_id")
        ),
        format!(
            "SELECT {}, CAST(COUNT(*) AS BIGINT), CAST(0 AS BIGINT) {from} WHERE {LISTED} GROUP BY 1 ORDER BY 1",
            hex("a.home_id")
        ),
    )
    .await;
}

/// The same with ids and keys that differ from run to run replaced by words.
fn steady(mut value: Value, words: &[(&str, &str)]) -> Value {
    let mut text = value.to_string();
    for (what, word) in words {
        text = text.replace(what, word);
    }
    value = serde_json::from_str(&text).unwrap();
    value
}
