//! The search in the choices of a filter (spec: organizations#filters).

use crate::Params;
use bailiwick_domain::ChoiceSearch;

/// Choices of a kind unless the query says otherwise.
const USUAL: i128 = 50;
/// Most choices of a kind.
const MOST: i128 = 100;

/// What `q` and `limit` ask for; none without `q`.
pub fn choice_search(params: &Params) -> Option<ChoiceSearch> {
    let text = params.one("q")?.trim().to_owned();
    let most = params.one("limit").and_then(|limit| limit.parse().ok()).unwrap_or(USUAL);
    Some(ChoiceSearch { text, most: u64::try_from(most.clamp(1, MOST)).unwrap_or(1) })
}
