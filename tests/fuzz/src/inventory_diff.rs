//! Two documents, parted by a zero byte: nothing fails, nothing differs from itself, the limits hold.

use bailiwick_inventory::{Document, MAX_CHANGES, Rules};

/// See the top of the file.
pub fn inventory_diff(data: &[u8]) {
    let middle = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (first, second) = (&data[..middle], data.get(middle + 1..).unwrap_or_default());
    let (Ok(first), Ok(second)) = (Document::parse(first), Document::parse(second)) else { return };
    let rules = Rules::standard();
    let diff = rules.diff(&first, &second);
    assert!(diff.changes.len() <= MAX_CHANGES);
    assert!(diff.changes.iter().all(|change| change.field_path.chars().count() <= 500));
    assert_eq!(diff, rules.diff(&first, &second));
    for document in [&first, &second] {
        assert!(rules.diff(document, document).changes.is_empty());
        let _ = (document.facts(), document.applications(Some("host.example")), document.canonical());
    }
}
