//! Alerts: the active ones, one of them with what people do about it, silences, history and figures.

mod detail;
mod figures;
mod history;
mod list;
mod shown;
mod silence;
mod silences;

use crate::rows::{PageRow, get, post};
pub(crate) use detail::recipients;
pub(crate) use shown::shown;

/// The pages.
pub(crate) fn rows() -> Vec<PageRow> {
    vec![
        get("/console/alerts", list::show),
        get("/console/alerts/history", history::show),
        get("/console/alerts/figures", figures::show),
        get("/console/alerts/silences", silences::show),
        get("/console/alerts/silences/{organization}/{id}", silences::one),
        post("/console/alerts/silences/{organization}/{id}", silences::change),
        post("/console/alerts/silences/{organization}/{id}/end", silences::end),
        get("/console/alerts/{organization}/{fingerprint}", detail::show),
        post("/console/alerts/{organization}/{fingerprint}/notes", detail::add_note),
        post("/console/alerts/{organization}/{fingerprint}/take", detail::take),
        get("/console/alerts/{organization}/{fingerprint}/silence", silence::ask),
        post("/console/alerts/{organization}/{fingerprint}/silence", silence::make),
    ]
}
