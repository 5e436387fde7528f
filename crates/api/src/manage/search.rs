//! One text over all kinds of objects (spec: search#search).

use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Params, Service, Who},
    wire::search::SearchOutput,
};
use bailiwick_fleet::{
    Fleet,
    search::{self, MOST, SearchKind},
};
use bailiwick_web::values;

/// `GET /search`.
pub async fn show(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<SearchOutput>> {
    let kinds = values(&params, "kinds", |word| SearchKind::WORDS.parse(&word));
    let limit = params.number("limit", MOST, MOST);
    let text = params.one("q").unwrap_or_default();
    let found = search::search(&fleet, &caller, text, kinds.as_deref(), limit).await?;
    Ok(Answer::ok("search completed successfully", found.into()))
}
