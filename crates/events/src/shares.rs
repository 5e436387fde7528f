//! The share of each organization in the events that are kept.

use bailiwick_domain::OrgId;

/// How many events each organization has beyond its share, for those that have any, so that `most` are left of all.
/// Shares are equal, and what an organization does not use is shared among the others; so one with many events never
/// pushes out those of one with few. Each keeps at least one.
pub(crate) fn surplus(mut counts: Vec<(OrgId, i64)>, most: i64) -> Vec<(OrgId, i64)> {
    counts.sort_unstable_by_key(|(id, count)| (*count, *id));
    let mut left = most;
    let mut sharing = i64::try_from(counts.len()).unwrap_or(i64::MAX);
    let mut beyond = Vec::new();
    for (id, count) in counts {
        let share = (left / sharing).max(1);
        if count > share {
            beyond.push((id, count - share));
        }
        left = (left - count.min(share)).max(0);
        sharing -= 1;
    }
    beyond
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_with_many_events_lose_first() {
        let id = |n: u8| OrgId(uuid::Uuid::from_bytes([n; 16]));
        for (counts, most, expected) in [
            (vec![], 10, vec![]),
            (vec![5, 5], 10, vec![0, 0]),
            (vec![1000, 15, 3], 100, vec![918, 0, 0]),
            (vec![50, 60, 4], 64, vec![20, 30, 0]),
            (vec![8], 5, vec![3]),
            (vec![2, 3, 4], 1, vec![1, 2, 3]),
        ] {
            let numbered = |counts: &[i64]| -> Vec<(OrgId, i64)> {
                counts.iter().zip(1..).map(|(count, n)| (id(n), *count)).filter(|(_, n)| *n > 0).collect()
            };
            let mut result = surplus(numbered(&counts), most);
            result.sort_unstable();
            assert_eq!(result, numbered(&expected), "{counts:?} {most}");
        }
    }
}
