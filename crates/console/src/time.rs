//! Times as people read them: how long ago, with the exact moment beside it.

use crate::texts;
use bailiwick_domain::Ts;
use bailiwick_web::Language;
use serde::Serialize;
use std::time::Duration;

/// A moment.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct When {
    /// RFC 3339, for machines.
    iso: String,
    /// The exact moment for people, in UTC.
    exact: String,
    /// `3 h ago`, `in 2 d`.
    ago: String,
}

impl When {
    /// As seen at `now`.
    pub(crate) fn of(language: Language, now: Ts, at: Ts) -> When {
        let iso = at.rfc3339(0);
        let exact =
            format!("{} {} UTC", iso.get(..10).unwrap_or_default(), iso.get(11..19).unwrap_or_default());
        let (key, span) = if at > now { ("in_time", at.since(now)) } else { ("time_ago", now.since(at)) };
        let ago = match span.as_secs() {
            0..60 => texts::find(language, "just_now").unwrap_or_default().to_owned(),
            _ => texts::with(language, key, "time", &rough(language, span)),
        };
        When { iso, exact, ago }
    }

    /// The time for a moment that may be missing.
    pub(crate) fn maybe(language: Language, now: Ts, at: Option<Ts>) -> Option<When> {
        at.map(|at| When::of(language, now, at))
    }
}

/// A span in its largest unit.
pub(crate) fn rough(language: Language, span: Duration) -> String {
    const UNITS: [(u64, &str); 5] = [
        (365 * 86_400, "unit_years"),
        (30 * 86_400, "unit_months"),
        (86_400, "unit_days"),
        (3_600, "unit_hours"),
        (60, "unit_minutes"),
    ];
    let seconds = span.as_secs();
    let (size, key) = UNITS.into_iter().find(|(size, _)| seconds >= *size).unwrap_or((60, "unit_minutes"));
    texts::with(language, key, "n", &(seconds / size).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_shown_in_their_largest_unit() {
        let shown = |seconds| rough(Language::English, Duration::from_secs(seconds));
        assert_eq!(shown(59), "0 min");
        assert_eq!(shown(61), "1 min");
        assert_eq!(shown(7_199), "1 h");
        assert_eq!(shown(86_400 * 29), "29 d");
        assert_eq!(shown(86_400 * 400), "1 y");
        let now = Ts::from_secs(1_000_000);
        let when = |at| When::of(Language::English, now, Ts::from_secs(at)).ago;
        assert_eq!(when(1_000_000 - 30), "just now");
        assert_eq!(when(1_000_000 - 7_200), "2 h ago");
        assert_eq!(when(1_000_000 + 7_200), "in 2 h");
    }
}
