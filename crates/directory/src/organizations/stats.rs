//! Counts of one organization and of a family (spec: organizations#stats).

use super::{authorize, list};
use crate::Directory;
use bailiwick_domain::{OrgId, OrgType, Result, fold::fold, validate::Vat};
use bailiwick_platform::{
    answer_cache::{self, CachedAnswer, DependsOn},
    list_filters::SUSPENDED,
    trend::{Trend, Window},
};
use bailiwick_policy::{Action, Caller, Refusal, Scope, hierarchy, list_scope, resource_of};
use bailiwick_store::{
    creators::{self, CreatorChoice, Of},
    organizations::{self, Stats, stats},
};
use bytes::Bytes;

/// Counts of an organization and its subtree. `id`: none = malformed. `write` writes the answer.
pub async fn stats(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    id: Option<OrgId>,
    write: impl FnOnce(Stats) -> Result<Bytes>,
) -> Result<CachedAnswer> {
    let id = authorize(&service.platform.db, caller, Action::Read, family, id).await?.id();
    let make = async {
        let mut stats = organizations::stats_of(&service.platform.db, family, [id]).await?;
        write(stats.remove(&id).unwrap_or_default())
    };
    // Every caller who may see the organization gets the same numbers.
    answer_cache::answer(
        &service.platform,
        DependsOn::Figures,
        "stats",
        Scope::Everything,
        format!("{} {id}", family.as_str()),
        make,
    )
    .await
}

/// Number of organizations of the family in the caller's unfiltered list.
pub async fn family_total(service: &Directory, caller: &Caller, family: OrgType) -> Result<u64> {
    let scope = list_scope(caller, resource_of(family).ok_or(Refusal::Gate)?)?;
    list::total(service, family, scope, &organizations::Filter::default()).await
}

/// The family inside the caller's hierarchy over time: each point counts the organizations that were created by the end
/// of its day and not deleted by then, neither themselves nor from above. `period` as sent; none = 7. `write` writes
/// the answer.
pub async fn trend(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    period: Option<&str>,
    write: impl FnOnce(Trend) -> Result<Bytes>,
) -> Result<CachedAnswer> {
    let scope = list_scope(caller, resource_of(family).ok_or(Refusal::Gate)?)?;
    let window = Window::parse(service.platform.now(), period)?;
    let other = format!("{} {}", family.as_str(), window.key());
    let make = async {
        let changes = stats::changes(&service.platform.db, family, &scope, window.since()?).await?;
        write(window.fill(&changes.by_day, changes.total)?)
    };
    answer_cache::answer(&service.platform, DependsOn::People, "trend of organizations", scope, other, make)
        .await
}

/// The trend as numbers.
pub async fn growth(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    period: Option<&str>,
) -> Result<Trend> {
    let scope = list_scope(caller, resource_of(family).ok_or(Refusal::Gate)?)?;
    let window = Window::parse(service.platform.now(), period)?;
    let other = format!("{} {}", family.as_str(), window.key());
    let make = async {
        let changes = stats::changes(&service.platform.db, family, &scope, window.since()?).await?;
        window.fill(&changes.by_day, changes.total)
    };
    answer_cache::computed(
        &service.platform,
        DependsOn::People,
        "growth of organizations",
        scope,
        other,
        make,
    )
    .await
}

/// How many organizations of the family that the caller sees are suspended.
pub async fn suspended(service: &Directory, caller: &Caller, family: OrgType) -> Result<u64> {
    let scope = list_scope(caller, resource_of(family).ok_or(Refusal::Gate)?)?;
    let filter = organizations::Filter { states: SUSPENDED, ..organizations::Filter::default() };
    list::total(service, family, scope, &filter).await
}

/// The creators of the family's organizations that the caller sees, by name (spec: organizations#filters). `write`
/// writes the answer.
pub async fn choices(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    write: impl FnOnce(Vec<CreatorChoice>) -> Result<Bytes>,
) -> Result<CachedAnswer> {
    let scope = list_scope(caller, resource_of(family).ok_or(Refusal::Gate)?)?;
    let make =
        async { write(by_name(creators::creators(&service.platform.db, Of::Family(family), &scope).await?)) };
    answer_cache::answer(
        &service.platform,
        DependsOn::People,
        "filters of organizations",
        scope,
        family.as_str().to_owned(),
        make,
    )
    .await
}

/// The order of the `created_by` filters.
pub fn by_name(mut creators: Vec<CreatorChoice>) -> Vec<CreatorChoice> {
    creators.sort_by_cached_key(|creator| (fold(&creator.name), creator.user_id));
    creators
}

/// Whether an organization of the family below the caller's has this VAT number (spec: organizations#vat-validator).
/// `except` is left out of the check.
pub async fn vat_exists(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    vat: &str,
    except: Option<OrgId>,
) -> Result<bool> {
    let key = Vat::key_of(vat);
    let is_above = caller.org_type().is_some_and(|own| own.level() < family.level());
    // No row holds U+0000.
    if !is_above || key.is_empty() || key.contains('\0') {
        return Ok(false);
    }
    Ok(stats::vat_in_use(&service.platform.db, family, &hierarchy(caller), &key, except).await?)
}
