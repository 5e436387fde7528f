//! Filters that lists have in common: repeated values, of which unknown or malformed ones match nothing (spec:
//! conventions#lists).

use bailiwick_domain::{Error, Keywords, OrgId, Result};
use bailiwick_store::organizations::list::States;
use uuid::Uuid;

/// Most values of one repeated filter.
const FILTER_VALUES: usize = 1000;

/// Refuses filters with too many values. `lengths` are those of the given filters.
///
/// # Errors
/// 400 if a filter has more than a thousand values.
pub fn check_lengths<const N: usize>(lengths: [Option<usize>; N]) -> Result<()> {
    if lengths.into_iter().flatten().any(|n| n > FILTER_VALUES) {
        return Err(Error::bad_request("too many filter values"));
    }
    Ok(())
}

const NOTHING: States = States { enabled: false, suspended: false, deleted: false };
/// Enabled organizations or users.
pub const ENABLED: States = States { enabled: true, ..NOTHING };
/// Suspended ones.
pub const SUSPENDED: States = States { suspended: true, ..NOTHING };
/// Deleted ones.
pub const DELETED: States = States { deleted: true, ..NOTHING };

/// The requested effective states. Without values these are enabled and suspended; unknown values add no state.
pub fn states(words: &Keywords<States>, values: &[String]) -> States {
    if values.is_empty() {
        return States::default();
    }
    let requested = values.iter().filter_map(|word| words.parse_in_any_case(word));
    requested.fold(NOTHING, |all, one| States {
        enabled: all.enabled || one.enabled,
        suspended: all.suspended || one.suspended,
        deleted: all.deleted || one.deleted,
    })
}

/// The well-formed ids among the values; `None` without values.
pub fn ids(values: &[String]) -> Option<Vec<Uuid>> {
    if values.is_empty() {
        return None;
    }
    Some(values.iter().filter_map(|v| v.parse::<OrgId>().ok()).map(|id| id.0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_value_never_switches_a_filter_off() {
        const WORDS: Keywords<States> = Keywords::of(&[("enabled", ENABLED), ("deleted", DELETED)]);
        let states = |values: &[String]| states(&WORDS, values);
        let text = |values: &[&str]| values.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>();
        assert_eq!(states(&[]), States::default());
        assert_eq!(states(&text(&["gone", ""])), NOTHING);
        assert_eq!(states(&text(&["Deleted", "x"])), DELETED);
        assert_eq!(states(&text(&["deleted", "enabled"])), States { enabled: true, ..DELETED });
        assert_eq!(ids(&[]), None);
        assert_eq!(ids(&text(&["", "123"])), Some(vec![]));
        let id = "01950000-0000-7000-8000-0000000000D1";
        assert_eq!(ids(&text(&[id, "x"])), Some(vec![id.parse::<OrgId>().unwrap().0]));
    }
}
