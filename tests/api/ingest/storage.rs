//! What documents cost in the database, measured on a series as a cluster sends it.

use super::*;
use bailiwick_testkit::parts::postgres::cluster;

/// The PostgreSQL tables of documents and of the rows that follow from them.
const TABLES: [&str; 5] =
    ["inventory_records", "inventory_bases", "inventory_diffs", "inventory_alerts", "system_activity"];

/// Bytes of everything that documents and what follows from them take for good. The queue is empty by then; SQLite uses
/// its room again at once, PostgreSQL when it has cleaned up, which is not left to chance here.
async fn stored_bytes(t: &Test) -> i64 {
    assert_eq!(count(t, "inventory_queue").await, 0);
    if t.engine == Engine::Postgres {
        let (_, database) = t.database_url.rsplit_once('/').unwrap();
        let clean_up = format!("VACUUM FULL {}", TABLES.join(", "));
        cluster().await.unwrap().query(database, &clean_up).await.unwrap();
    }
    let text = format!(
        "[[SELECT CAST(SUM(pg_total_relation_size(c.oid)) AS bigint) FROM pg_class c WHERE c.relkind = 'r' \
         AND c.relname IN ('{}')\
         ||SELECT (p.page_count - f.freelist_count) * s.page_size FROM pragma_page_count p, pragma_freelist_count f, \
         pragma_page_size s]]",
        TABLES.join("', '")
    );
    Q::new(&text).one::<(i64,)>(&t.app.platform.db).await.unwrap().0
}

/// The sample after that many reports: counters move with every one, versions and users now and then.
fn report(n: u64) -> String {
    let mut document: Value = serde_json::from_slice(NS8).unwrap();
    let facts = &mut document["facts"];
    for (index, (_, node)) in facts["nodes"].as_object_mut().unwrap().iter_mut().enumerate() {
        node["uptime_seconds"] = json!(1_000_000 + n * 28_800 + index as u64);
        for (part, used) in [("swap", 12 + n % 7), ("system", 13_000 + n * 37 % 900)] {
            node["memory"][part]["used_bytes"] = json!(used);
            node["memory"][part]["available_bytes"] = json!(32_000 - used);
        }
    }
    let modules = facts["modules"].as_array_mut().unwrap();
    let length = modules.len() as u64;
    for (index, module) in modules.iter_mut().enumerate() {
        let index = index as u64;
        if n / 3 % length == index {
            module["version"] = json!(format!("2.0.{n}"));
        }
        if module.get("active_users").is_some() {
            module["active_users"] = json!(100 + (n / 5 + index) % 9);
        }
        // Sets come in any order.
        if let Some(names) = module.get_mut("fqdns").and_then(Value::as_array_mut) {
            let middle = n as usize % names.len().max(1);
            names.rotate_left(middle);
        }
    }
    document.to_string()
}

api_test!(
    an_unchanged_document_adds_next_to_nothing,
    |s| s.systems.inventories_per_hour = 1_000,
    |t| async move {
        let tree = t.tree().await;
        let s = t.system(tree.customer).await;
        let one_more = async || {
            send(&t, &s, NS8).await.expect(202);
            inventory::run_until_idle(&t.app.fleet).await.unwrap();
        };
        for _ in 0..4 {
            one_more().await;
        }
        let before = stored_bytes(&t).await;
        const MORE: i64 = 100;
        for _ in 0..MORE {
            one_more().await;
        }
        let each = (stored_bytes(&t).await - before) / MORE;
        assert!(each <= 300, "{each} bytes each");
        assert_eq!((count(&t, "inventory_records").await, count(&t, "inventory_bases").await), (1, 1));
    }
);

api_test!(
    a_changed_document_adds_a_fraction_of_itself,
    |s| s.systems.inventories_per_hour = 1_000,
    |t| async move {
        let tree = t.tree().await;
        let s = t.system(tree.customer).await;
        let one_more = async |n| {
            send(&t, &s, report(n)).await.expect(202);
            inventory::run_until_idle(&t.app.fleet).await.unwrap();
        };
        one_more(0).await;
        let before = stored_bytes(&t).await;
        const MORE: i64 = 90;
        for n in 1..=MORE {
            one_more(n as u64).await;
        }
        let each = (stored_bytes(&t).await - before) / MORE;
        let (size,): (i64,) =
            Q::new("SELECT MIN(data_size) FROM inventory_records").one(&t.app.platform.db).await.unwrap();
        assert_eq!(count(&t, "inventory_records").await, MORE + 1);
        assert!(count(&t, "inventory_diffs").await >= MORE, "some change matters");
        assert!(each * 100 <= size * 15, "{each} bytes each, of {size}");
        // Every text is still as it was received.
        let records: Vec<(i64, String)> = Q::new("SELECT id, data_hash FROM inventory_records ORDER BY id")
            .all(&t.app.platform.db)
            .await
            .unwrap();
        let hashes: std::collections::HashSet<&String> = records.iter().map(|record| &record.1).collect();
        assert_eq!(hashes.len(), records.len());
    }
);
