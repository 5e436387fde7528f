//! The filter of a list by the people who have created what it shows.

use crate::{
    components::list::{Address, Filter, MOST_CHIPS},
    failure::Outcome,
    session::Guest,
};
use bailiwick_app::App;
use bailiwick_directory::creators::{self, Of};

/// In addresses.
const KEY: &str = "created_by";
/// Creators that are offered.
const OFFERED: usize = 50;

/// The first creators by name, and those further ones that the address asks for.
pub(crate) async fn creator_filter(app: &App, guest: &Guest, of: Of, here: &Address) -> Outcome<Filter> {
    let names = creators::names(app, &guest.caller, of).await?;
    let asked = names.iter().skip(OFFERED).filter(|(id, _)| here.holds(KEY, id)).take(MOST_CHIPS);
    let offered = names.iter().take(OFFERED).chain(asked).cloned();
    Ok(Filter::of(KEY, "label_created_by", offered, here))
}
