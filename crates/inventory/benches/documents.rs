//! How long one document takes in one thread: `cargo bench -p bailiwick-inventory`. Prints medians; fails when a
//! difference takes longer than it may, so that a slow change is noticed.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for developers")]

use bailiwick_inventory::{Document, Rules, canonical};
use std::{hint::black_box, time::Instant};

const SAMPLES: [(&str, &str); 2] = [
    ("cluster", include_str!("../tests/data/inventory-ns8.json")),
    ("firewall", include_str!("../tests/data/inventory-nsec.json")),
];
/// Microseconds that parsing both documents and comparing them may take.
const LIMIT: f64 = 1000.0;

/// Microseconds of the middle one of many runs.
fn median(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..501)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The changes of one day: counters, two versions, every list in another order.
fn changed(sample: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(sample).unwrap();
    stir(&mut value, &mut 0);
    value.to_string()
}

fn stir(value: &mut serde_json::Value, versions: &mut u32) {
    match value {
        serde_json::Value::Object(entries) => {
            for (key, inner) in entries {
                match key.as_str() {
                    "uptime_seconds" | "used_bytes" | "available_bytes" => *inner = 77_777.into(),
                    "version" if inner.is_string() && *versions < 2 => {
                        *versions += 1;
                        *inner = "99.1".into();
                    }
                    _ => stir(inner, versions),
                }
            }
        }
        serde_json::Value::Array(items) => {
            items.iter_mut().for_each(|item| stir(item, versions));
            items.reverse();
        }
        _ => {}
    }
}

fn main() {
    let rules = Rules::standard();
    for (name, sample) in SAMPLES {
        let (old, new) = (canonical(sample.as_bytes()).unwrap().text, changed(sample));
        let parsed = Document::parse(old.as_bytes()).unwrap();
        let other = Document::parse(new.as_bytes()).unwrap();
        let found = rules.diff(&parsed, &other).changes.len();
        let accept = median(|| drop(black_box(canonical(black_box(sample.as_bytes())))));
        let parse = median(|| drop(black_box(Document::parse(black_box(old.as_bytes())))));
        let compare = median(|| drop(black_box(rules.diff(black_box(&parsed), black_box(&other)))));
        let whole = median(|| {
            let old = Document::parse(black_box(old.as_bytes())).unwrap();
            let new = Document::parse(black_box(new.as_bytes())).unwrap();
            drop(black_box(rules.diff(&old, &new)));
        });
        println!(
            "{name}, {} bytes: accept {accept:.0} µs, parse {parse:.0} µs, compare {compare:.0} µs ({found} changes), \
             parse both and compare {whole:.0} µs",
            sample.len()
        );
        assert!(whole <= LIMIT, "{whole:.0} µs are more than {LIMIT:.0}");
    }
}
