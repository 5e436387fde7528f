//! The search in the choices of a filter (spec: organizations#filters).

use crate::Params;
use bailiwick_domain::ChoiceSearch;

/// Choices of a kind unless the query says otherwise.
const USUAL: u64 = 50;
/// Most choices of a kind.
const MOST: u64 = 100;

/// What `q` and `limit` ask for; none without `q`.
pub fn choice_search(params: &Params) -> Option<ChoiceSearch> {
    let text = params.one("q")?.trim().to_owned();
    Some(ChoiceSearch { text, most: params.number("limit", MOST, USUAL) })
}
