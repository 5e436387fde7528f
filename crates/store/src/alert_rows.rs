//! Parts shared by the tables about alerts.

use crate::sql::Column;
use bailiwick_domain::{OrgId, Ts};

/// An alert: its tenant and fingerprint.
pub type AlertKey = (OrgId, String);

/// An interval, both ends included: rows that expire within it are spared.
pub type Spared = Option<(Ts, Ts)>;

/// The columns `o` and `f` of these alerts, for [`push_rows`](crate::sql::push_rows).
pub(crate) fn key_columns<'a>(
    keys: impl Iterator<Item = &'a AlertKey> + Clone,
) -> Vec<(&'static str, Column)> {
    vec![
        ("o", Column::Ids(keys.clone().map(|(o, _)| o.0).collect())),
        ("f", Column::texts(keys.map(|(_, f)| f.as_str()))),
    ]
}
