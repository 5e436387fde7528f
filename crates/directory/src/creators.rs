//! The users who have created what a list shows: the choices of its `created_by` filter (spec: organizations#filters).

use crate::{Directory, organizations};
use bailiwick_domain::{ChoiceSearch, Result, org::OrgRef};
use bailiwick_platform::answer_cache::{self, DependsOn};
use bailiwick_policy::{Caller, Refusal, Resource, list_scope, resource_of};
use bailiwick_store::creators::{self, CreatorChoice};

pub use bailiwick_store::creators::Of;

/// Leaves what a search in choices asks for: creators and organizations, which the search has found already. Returns
/// the lists with further matches, by their names on the wire; none without a search.
pub fn narrow(
    search: Option<&ChoiceSearch>,
    creators: &mut Vec<CreatorChoice>,
    organizations: &mut Vec<OrgRef>,
) -> Option<Vec<&'static str>> {
    let search = search?;
    creators.retain(|creator| search.finds(&creator.name));
    let created_by = search.cut(creators).then_some("created_by");
    Some(created_by.into_iter().chain(search.cut(organizations).then_some("organizations")).collect())
}

/// Those who have created entities that the caller sees, by name: id and name; at most `most`.
///
/// # Errors
/// 403 without the permission to read such entities.
pub async fn names(
    service: &Directory,
    caller: &Caller,
    kind: Of,
    most: usize,
) -> Result<Vec<(String, String)>> {
    let (resource, depends_on, other) = match kind {
        Of::Family(family) => (resource_of(family).ok_or(Refusal::Gate)?, DependsOn::People, family.as_str()),
        Of::Users => (Resource::Users, DependsOn::People, "user"),
        Of::Systems => (Resource::Systems, DependsOn::Figures, "system"),
    };
    let scope = list_scope(caller, resource)?;
    let make = async {
        let creators = organizations::by_name(creators::creators(&service.platform.db, kind, &scope).await?);
        let names = creators.into_iter().map(|c| (c.user_id.to_string(), c.name));
        Ok(names.take(most).collect::<Vec<_>>())
    };
    let other = format!("{other} {most}");
    answer_cache::computed(&service.platform, depends_on, "creators", scope, other, make).await
}
