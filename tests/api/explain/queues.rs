//! The rows that the statements of every queue read, whatever the server believes of the tables: the claimed rows and
//! some more, not the backlog. The server reports the rows and buffers of the statements that the product runs.

use super::*;
use bailiwick_store::catalogue;
use fill::{BACKLOG, QUEUES, State};
use std::collections::{BTreeMap, BTreeSet};

mod fill;
mod lite;
mod run;
mod sweep;

/// Rows that are gone in front of the backlog; a million by BAILIWICK_TEST_DEAD_ROWS=1000000.
const DEAD_ROWS: u64 = 100_000;

/// The cost that a step may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// A claim of sixteen.
    Claim,
    /// A claim of five hundred.
    Step,
    /// A row of each tenant or subscription.
    Tenants,
    /// Each row that waits, once.
    Waiting,
}

impl Cost {
    /// Rows read from queues by one statement, those thrown away included.
    const fn rows(self) -> u64 {
        match self {
            // Sixteen rows, the rows that earlier claims have leased, and the rows looked up for each.
            Cost::Claim => 500,
            Cost::Step => 3_000,
            Cost::Tenants => 1_500,
            Cost::Waiting => 4 * BACKLOG,
        }
    }

    const fn buffers(self) -> u64 {
        6 * self.rows()
    }
}

/// Runs steps and keeps what each may cost.
pub struct Room<'d> {
    db: &'d Db,
    now: Ts,
    state: State,
    /// Rows are there to be claimed.
    is_filled: bool,
    steps: BTreeMap<String, Cost>,
}

impl Room<'_> {
    /// Often enough for plans that are made once for all parameters.
    async fn repeat(&mut self, name: &str, cost: Cost, mut step: impl AsyncFnMut() -> usize) {
        let label = format!("{:?}: {name}{}", self.state, if self.is_filled { "" } else { " (empty)" });
        mark(self.db, &label).await;
        for _ in 0..REPEATS {
            let claimed = step().await;
            let is_claim = self.is_filled && name.ends_with("claim") && claimed > 0;
            assert!(!is_claim || claimed as i64 == run::LIMIT, "{label}: {claimed}");
        }
        self.steps.insert(label, cost);
    }

    async fn everything(&mut self) {
        run::all(self).await;
        sweep::all(self).await;
    }
}

/// The rows that a plan reads from queues.
#[derive(Default)]
struct Read {
    rows: u64,
    most: String,
}

fn read_of(node: &Value, read: &mut Read) {
    let relation = node["Relation Name"].as_str().unwrap_or_default();
    let kind = node["Node Type"].as_str().unwrap_or_default();
    if QUEUES.contains(&relation) && kind != "ModifyTable" {
        let loops = number(node, "Actual Loops");
        let rows = (number(node, "Actual Rows") + number(node, "Rows Removed by Filter")) * loops;
        read.rows += rows;
        let index = node["Index Name"].as_str().unwrap_or_default();
        read.most.push_str(&format!(" {kind} {relation} {index} {rows}/{loops};"));
    }
    node["Plans"].as_array().into_iter().flatten().for_each(|child| read_of(child, read));
}

fn judge_step(label: &str, cost: Cost, plans: &[&Value], dead: u64, wrong: &mut BTreeMap<String, String>) {
    // The first readers of rows that are gone mark them in the indexes; those after them still read the indexes.
    let dead = match label.split(':').next() {
        Some("Dead" | "AnalyzedFull") => dead,
        Some("AnalyzedEmpty") => BACKLOG,
        _ => 0,
    };
    let skipped = if dead > 0 { REPEATS - 2 } else { 0 };
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for plan in plans {
        let text = plan["Query Text"].as_str().unwrap_or_default();
        let time = times.entry(text).or_default();
        *time += 1;
        if *time <= skipped {
            continue;
        }
        let root = &plan["Plan"];
        let mut read = Read::default();
        read_of(root, &mut read);
        let buffers = number(root, "Shared Hit Blocks") + number(root, "Shared Read Blocks");
        let most = cost.buffers() + dead / 50;
        if read.rows > cost.rows() || buffers > most {
            let text: String = text.chars().take(160).collect();
            let figures = format!("{} rows, {buffers} buffers:{} {text}", read.rows, read.most);
            wrong.insert(format!("{label} {text}"), format!("{label}: {figures}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_cost_what_they_claim_whatever_the_statistics() {
    let dead = std::env::var("BAILIWICK_TEST_DEAD_ROWS").ok().and_then(|n| n.parse().ok());
    let dead: u64 = dead.unwrap_or(DEAD_ROWS);
    let cluster = Cluster::start().await.unwrap();
    let plan = Plan { organizations: 200, systems: 2_000, users: None, applications: false, seed: 1 };
    let writer = fill_with(&cluster, &plan).await;
    let mut steps = BTreeMap::new();
    let states =
        [State::NeverAnalyzed, State::AnalyzedEmpty, State::PlannedEmpty, State::AnalyzedFull, State::Dead];
    for state in states {
        fill::prepare(&writer, &cluster, state, dead).await;
        let db = observed(&cluster).await;
        let now: Ts = "2026-03-03T00:00:00Z".parse().unwrap();
        let mut room = Room { db: &db, now, state, is_filled: false, steps: BTreeMap::new() };
        if state == State::PlannedEmpty {
            room.everything().await;
        }
        fill::backlog(&writer, 3600).await;
        room.is_filled = true;
        room.everything().await;
        steps.extend(std::mem::take(&mut room.steps));
        db.close().await;
    }
    writer.close().await;
    let plans = plans(&cluster.log());
    let mut wrong = BTreeMap::new();
    for (label, cost) in &steps {
        let runs: Vec<&Value> = plans.iter().filter(|(l, _)| l == label).map(|(_, plan)| plan).collect();
        // On an empty queue a step may run no statement.
        assert!(runs.len() >= REPEATS || label.ends_with("(empty)"), "{label}: {}", runs.len());
        judge_step(label, *cost, &runs, dead, &mut wrong);
    }
    let problems: Vec<String> = wrong.into_values().collect();
    let unseen = unseen(&plans);
    assert!(
        problems.is_empty() && unseen.is_empty(),
        "{} of {}:\n{}\nnever run: {unseen:?}",
        problems.len(),
        plans.len(),
        problems.join("\n")
    );
}

/// The fixed statements that look for work, or change claimed rows, and were not run.
fn unseen(plans: &[(String, Value)]) -> Vec<&'static str> {
    let executed: BTreeSet<&str> = plans.iter().filter_map(|(_, plan)| plan["Query Text"].as_str()).collect();
    catalogue::statements()
        .filter(|(name, text)| fill::is_looked_at(name, text))
        .filter(|(_, text)| {
            let text = Q::new(text).text_for(true);
            // Some statements go on after the fixed part.
            !executed.iter().any(|statement| statement.starts_with(text.as_str()))
        })
        .map(|(name, _)| name)
        .collect()
}
