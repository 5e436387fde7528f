//! The filter of a list by the people who have created what it shows.

use crate::{
    components::list::{Address, Filter, MOST_CHIPS},
    failure::Outcome,
    session::Session,
};
use bailiwick_app::App;
use bailiwick_directory::creators::{self, Of};

/// In addresses.
const KEY: &str = "created_by";
/// Creators that are offered.
const OFFERED: usize = 50;

/// The first creators by name, and those further ones that the address asks for.
pub(crate) async fn creator_filter(
    app: &App,
    session: &Session,
    kind: Of,
    here: &Address,
) -> Outcome<Filter> {
    let mut offered = creators::names(&app.directory, &session.caller, kind, OFFERED).await?;
    if here.values(KEY).any(|id| offered.iter().all(|(offered_id, _)| offered_id != id)) {
        let names = creators::names(&app.directory, &session.caller, kind, usize::MAX).await?;
        let chosen = names.into_iter().skip(OFFERED).filter(|(id, _)| here.holds(KEY, id));
        offered.extend(chosen.take(MOST_CHIPS));
    }
    Ok(Filter::of(KEY, "label_created_by", offered, here))
}
