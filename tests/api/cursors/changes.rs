//! Rows come and go during a walk: each row that is there all the time is seen exactly once, in order.

use super::*;

/// A small generator: the same walk in every run.
struct Dice(u64);

impl Dice {
    fn next(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// The sort values of all rows, as the model knows them: none where there is none.
type Model = BTreeMap<String, Option<String>>;

async fn rows(t: &Test, table: &str, column: &str) -> Model {
    let column = format!("CAST({column} AS TEXT)");
    let sql = format!("SELECT r.id, {column} FROM {table} r WHERE r.deleted_at IS NULL");
    let found: Vec<(uuid::Uuid, Option<String>)> = Q::new(&sql).all(&t.app.platform.db).await.unwrap();
    found.into_iter().map(|(id, value)| (id.to_string(), value)).collect()
}

/// Inserts, removes or changes a row: a copy of another with its own id, so that equal values are frequent.
async fn change(t: &Test, dice: &mut Dice, (table, column): (&str, &str), present: &Model) {
    let ids: Vec<&String> = present.keys().collect();
    let id: uuid::Uuid = ids[dice.next(ids.len())].parse().unwrap();
    let other: uuid::Uuid = ids[dice.next(ids.len())].parse().unwrap();
    let mut tx = t.app.platform.db.begin().await.unwrap();
    let q = match dice.next(4) {
        0 => Q::new(&format!("UPDATE {table} SET deleted_at = created_at WHERE id = ?")).bind(id),
        1 => {
            let sql = format!(
                "UPDATE {table} SET deleted_at = NULL WHERE id IN (SELECT id FROM {table} WHERE \
                deleted_at IS NOT NULL ORDER BY id LIMIT 1)"
            );
            Q::new(&sql)
        }
        2 if column != "created_at" && column != "name_key" && column != "version" => {
            Q::new(&format!("UPDATE {table} SET {column} = NULL WHERE id = ?")).bind(id)
        }
        _ => {
            let sql = format!(
                "UPDATE {table} SET {column} = (SELECT o.{column} FROM {table} o WHERE o.id = ?) WHERE id = ?"
            );
            Q::new(&sql).bind(other).bind(id)
        }
    };
    q.run(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
}

api_test!(a_row_that_stays_is_seen_once, |t| async move {
    let plan = Plan { organizations: 30, systems: 90, users: Some(90), applications: false, seed: 9 };
    demo::fill(&t.app.fleet, &plan, &mut |_| {}).await.unwrap();
    let owner = t.owner().await;
    let mut dice = Dice(11);
    for (list, table, column, order) in [
        ("systems", "systems", "name_key", "name"),
        ("systems", "systems", "version", "version"),
        ("systems", "systems", "created_at", "created_at"),
        ("users", "users", "latest_login_at", "latest_login_at"),
        ("users", "users", "creator_key", "creator_name"),
    ] {
        for direction in ["asc", "desc"] {
            let name = format!("{list} by {order} {direction}");
            let mut steady = rows(&t, table, column).await;
            let (mut visited, mut cursor) = (Vec::new(), String::new());
            loop {
                let size = 1 + dice.next(9);
                let query = format!("sort_by={order}&sort_direction={direction}&page_size={size}");
                let data =
                    get(&t, &owner, &format!("{list}?cursor={cursor}&{query}")).await.expect(200).data();
                visited.extend(ids(&data, list));
                let Some(next) = data["pagination"]["next_cursor"].as_str() else { break };
                cursor = next.to_owned();
                for _ in 0..dice.next(4) {
                    let present = rows(&t, table, column).await;
                    change(&t, &mut dice, (table, column), &present).await;
                    let after = rows(&t, table, column).await;
                    steady.retain(|id, value| after.get(id) == Some(value));
                }
            }
            let steady_ids: Vec<&String> = visited.iter().filter(|id| steady.contains_key(*id)).collect();
            let distinct: BTreeSet<&String> = steady_ids.iter().copied().collect();
            assert_eq!(distinct.len(), steady_ids.len(), "{name}: one is seen twice");
            let listed =
                by_number(&t, &owner, list, &format!("sort_by={order}&sort_direction={direction}")).await;
            let expected: Vec<&String> = listed.iter().filter(|id| steady.contains_key(*id)).collect();
            assert!(
                steady_ids == expected,
                "{name}: {} of {} were seen, or in another order",
                steady_ids.len(),
                expected.len()
            );
            assert!(steady.len() > 20, "{name}: the model must not run empty");
        }
    }
});
