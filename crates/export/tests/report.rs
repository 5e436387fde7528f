//! Properties of every PDF: 7-bit, the same for the same input, with as many pages as it states.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bailiwick_domain::{OrgId, Ts, org::Details};
use bailiwick_export::{Cover, Faces, organizations};

fn row(name: &str) -> organizations::Row {
    organizations::Row {
        id: OrgId(Default::default()),
        details: Details::new(name, "Описание 日本語 😀 e\u{301}\u{0}".repeat(9)),
        vat: None,
        custom_data: "{}".to_owned(),
        created_at: Ts(1_772_100_930_000_000),
        updated_at: Ts(1_772_100_930_000_000),
        synced_at: None,
    }
}

fn file(rows: usize, filters: usize) -> Vec<u8> {
    let filter = ("search".to_owned(), "Ωμέγα".repeat(4));
    let cover = Cover {
        noun: "Customers",
        generated: Ts(1_772_100_930_000_000),
        total: rows,
        filters: vec![filter; filters],
        exported_by: ("Ángel Ñandú".to_owned(), "a@example.org".to_owned()),
    };
    let names = ["Ελληνική", "plain", "", "日本", "ß"];
    let rows = (0..rows).map(|i| row(names[i % names.len()]));
    organizations::report(&Faces::load().unwrap(), &cover, rows).unwrap()
}

/// Pages that exist, and how many the file says there are.
fn pages(file: &[u8]) -> (usize, usize) {
    let text = std::str::from_utf8(file).unwrap();
    let count: String =
        text.split("/Count ").nth(1).unwrap().chars().take_while(char::is_ascii_digit).collect();
    (text.matches("/Type/Page/").count(), count.parse().unwrap())
}

// Proves spec: guarantees#identity 34.
#[test]
fn every_byte_is_ascii() {
    for (rows, filters) in [(0, 0), (0, 3), (3, 1), (200, 9)] {
        let file = file(rows, filters);
        assert!(file.starts_with(b"%PDF-1.7\n"), "{rows}");
        assert!(file.trim_ascii_end().ends_with(b"%%EOF"), "{rows}");
        assert_eq!(file.iter().find(|byte| !byte.is_ascii()), None, "{rows} rows, {filters} filters");
    }
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    assert_eq!(file(30, 2), file(30, 2));
    assert_ne!(file(30, 2), file(31, 2));
}

#[test]
fn long_covers_and_many_rows_take_more_pages() {
    for (rows, filters, expected) in
        [(0, 0, 1), (1, 0, 1), (9, 0, 1), (10, 0, 2), (0, 400, 4), (1, 400, 4), (100, 0, 10)]
    {
        assert_eq!(pages(&file(rows, filters)), (expected, expected), "{rows} rows, {filters} filters");
    }
}
