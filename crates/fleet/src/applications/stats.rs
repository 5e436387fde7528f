//! Totals, summary, trend and the choices of the list's filters (spec: applications#operations; organizations#stats,
//! organizations#filters).

use crate::Fleet;
use bailiwick_domain::{
    ChoiceSearch, Error, Keywords, OrgId, Page, PageRequest, Result, SortDirection, SystemId, Ts, org::OrgRef,
};
use bailiwick_platform::{
    answer_cache::{self, DependsOn},
    trend::{Trend, Window},
};
use bailiwick_policy::{Caller, Resource, Scope, in_hierarchy, list_scope};
use bailiwick_store::{
    applications::{
        ApplicationFilter,
        counts::{self, KindCount},
        stats,
    },
    organizations, systems,
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

/// Names up to this length are counted; longer ones must be looked up.
const COUNTED_NAME_CHARS: usize = 100;
/// Systems offered as a filter: the key exists for compatibility and must not grow with the fleet.
const HOSTS: u64 = 10_000;

/// Numbers of listed applications.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All of them.
    pub total: u64,
    /// Without an assigned organization.
    pub unassigned: u64,
    pub assigned: u64,
    /// With errors in their services.
    pub with_errors: u64,
    /// By module.
    pub by_type: BTreeMap<String, u64>,
}

/// `GET /applications/totals`.
pub async fn totals(service: &Fleet, caller: &Caller) -> Result<Totals> {
    let scope = list_scope(caller, Resource::Applications)?;
    let modules = modules(service, scope).await?;
    let mut totals =
        Totals { with_errors: counts::faulty(&service.platform.db, &scope).await?, ..Totals::default() };
    for (instance_of, unassigned, assigned) in modules {
        totals.unassigned += unassigned;
        totals.assigned += assigned;
        totals.total += unassigned + assigned;
        *totals.by_type.entry(instance_of).or_default() += unassigned + assigned;
    }
    Ok(totals)
}

/// How many listed applications a scope has.
pub(super) async fn listed(service: &Fleet, scope: Scope) -> Result<u64> {
    Ok(modules(service, scope)
        .await?
        .into_iter()
        .map(|(_, unassigned, assigned)| unassigned + assigned)
        .sum())
}

/// The applications of each module, unassigned and assigned ones: their counters are summed once for each version of
/// them.
async fn modules(service: &Fleet, scope: Scope) -> Result<Vec<(String, u64, u64)>> {
    let add_up = async { Ok(counts::modules(&service.platform.db, &scope).await?) };
    let (shows, other) = (DependsOn::Applications, String::new());
    answer_cache::computed(&service.platform, shows, "applications/modules", scope, other, add_up).await
}

/// The applications of one version of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionCount {
    /// Version; empty where documents tell none.
    pub version: String,
    /// How many.
    pub count: u64,
}

/// The applications of one module, by version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleCount {
    /// Module.
    pub instance_of: String,
    /// Name of the product.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Its versions, the most frequent first.
    pub versions: Vec<VersionCount>,
}

/// Listed applications by module and version, the most frequent first.
pub async fn kinds(service: &Fleet, caller: &Caller) -> Result<Vec<ModuleCount>> {
    let scope = list_scope(caller, Resource::Applications)?;
    let add_up = async {
        let kinds = counts::kinds(&service.platform.db, &scope).await?.into_iter();
        Ok(kinds.map(|k| (k.instance_of, k.version, k.name, k.unassigned + k.assigned)).collect())
    };
    let (shows, other) = (DependsOn::Applications, String::new());
    let counted: Vec<(String, String, String, u64)> =
        answer_cache::computed(&service.platform, shows, "applications/kinds", scope, other, add_up).await?;
    let mut versions: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for (instance_of, version, _, n) in counted.iter().filter(|kind| kind.3 > 0) {
        *versions.entry(instance_of.clone()).or_default().entry(version.clone()).or_default() += n;
    }
    let by_name = counted.into_iter().map(|(instance_of, _, name, n)| (instance_of, name, n)).collect();
    let types = named(service, &scope, &ApplicationFilter::default(), by_name).await?;
    let mut kinds: Vec<ModuleCount> = types.into_iter().map(|t| of_type(t, &mut versions)).collect();
    kinds.sort_by_key(|kind| Reverse(kind.count));
    Ok(kinds)
}

fn of_type(product: ByType, versions: &mut BTreeMap<String, BTreeMap<String, u64>>) -> ModuleCount {
    let found = versions.remove(&product.instance_of).unwrap_or_default().into_iter();
    let mut versions: Vec<VersionCount> =
        found.map(|(version, count)| VersionCount { version, count }).collect();
    versions.sort_by_key(|version| Reverse(version.count));
    ModuleCount { instance_of: product.instance_of, name: product.name, count: product.count, versions }
}

/// The number of listed applications over time. `period` as sent; none = 7.
pub async fn trend(service: &Fleet, caller: &Caller, period: Option<&str>) -> Result<Trend> {
    let scope = list_scope(caller, Resource::Applications)?;
    let window = Window::parse(service.platform.now(), period)?;
    let since = window.since()?;
    let changes = async { Ok(stats::changes_by_day(&service.platform.db, &scope, since).await?) };
    let (depends_on, day) = (DependsOn::Applications, since.secs().to_string());
    let changes: Vec<(i64, i64)> =
        answer_cache::computed(&service.platform, depends_on, "applications/changes", scope, day, changes)
            .await?;
    window.fill(&changes, listed(service, scope).await?)
}

/// The order of a summary; equal rows are ordered by module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryOrder {
    /// Number of applications.
    Count,
    /// Module.
    InstanceOf,
    /// Creation of the newest application.
    CreatedAt,
}

impl SummaryOrder {
    /// The words of `sort_by`.
    pub const WORDS: Keywords<SummaryOrder> = Keywords::of(&[
        ("count", SummaryOrder::Count),
        ("instance_of", SummaryOrder::InstanceOf),
        ("created_at", SummaryOrder::CreatedAt),
    ]);
}

/// A summary as asked for; ids as sent.
#[derive(Clone, Debug)]
pub struct SummaryQuery {
    /// Only those assigned to this organization.
    pub organization_id: Option<String>,
    /// Also those assigned to organizations below it.
    pub include_hierarchy: bool,
    /// Only those of this system.
    pub system_id: Option<String>,
    pub order: SummaryOrder,
    pub direction: SortDirection,
    /// None = all types.
    pub page: Option<PageRequest>,
}

/// The applications of one module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByType {
    /// Module.
    pub instance_of: String,
    /// Name of the product.
    pub name: String,
    /// How many.
    pub count: u64,
}

/// Listed applications by module.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Applications in all.
    pub total: u64,
    /// A page of the types; its total counts types.
    pub types: Page<ByType>,
}

/// `GET /applications/summary`.
pub async fn summary(service: &Fleet, caller: &Caller, query: SummaryQuery) -> Result<Summary> {
    let scope = list_scope(caller, Resource::Applications)?;
    let filter = narrowed(service, caller, &scope, &query).await?;
    let counted = match &filter {
        None => counts::kinds(&service.platform.db, &scope).await?.into_iter().map(counted).collect(),
        Some(filter) => stats::types(&service.platform.db, &scope, filter).await?,
    };
    let filter = filter.unwrap_or_default();
    let mut types = named(service, &scope, &filter, counted).await?;
    let total = types.iter().map(|t| t.count).sum();
    sort(service, &scope, &filter, &query, &mut types).await?;
    let count = types.len() as u64;
    let request = query.page.unwrap_or(PageRequest { page: 1, page_size: count.max(1) });
    let from = usize::try_from(request.offset()).unwrap_or(usize::MAX);
    let size = usize::try_from(request.page_size).unwrap_or(usize::MAX);
    let rows = types.into_iter().skip(from).take(size).collect();
    Ok(Summary { total, types: Page { rows, total: count, request } })
}

/// The filter of a summary; the objects it names must be in the caller's reach.
async fn narrowed(
    service: &Fleet,
    caller: &Caller,
    scope: &Scope,
    query: &SummaryQuery,
) -> Result<Option<ApplicationFilter>> {
    if query.organization_id.is_none() && query.system_id.is_none() {
        return Ok(None);
    }
    let mut filter = ApplicationFilter { include_hierarchy: query.include_hierarchy, ..Default::default() };
    if let Some(id) = &query.organization_id {
        let node = match id.parse::<OrgId>() {
            Ok(id) => organizations::node(&service.platform.db, id).await?,
            Err(_) => None,
        };
        let granted = in_hierarchy(caller, node.as_ref())
            .map_err(|_| Error::forbidden("access denied to organization"))?;
        filter.organizations = Some(vec![granted.id()]);
    }
    if let Some(id) = &query.system_id {
        let found = match id.parse::<SystemId>() {
            Ok(id) => systems::get(&service.platform.db, id).await?,
            Err(_) => None,
        };
        let found = found
            .filter(|s| scope.contains(&s.path) && !s.standing.deleted)
            .ok_or_else(|| Error::forbidden("access denied to system"))?;
        filter.systems = Some(vec![found.system.id]);
    }
    Ok(Some(filter))
}

fn counted(kind: KindCount) -> (String, String, u64) {
    (kind.instance_of, kind.name, kind.unassigned + kind.assigned)
}

/// Types by module, each with the name of its application that was seen last; if all have the same name, that one.
async fn named(
    service: &Fleet,
    scope: &Scope,
    filter: &ApplicationFilter,
    counted: Vec<(String, String, u64)>,
) -> Result<Vec<ByType>> {
    let mut types: BTreeMap<String, (Vec<String>, u64)> = BTreeMap::new();
    for (instance_of, name, n) in counted {
        let entry = types.entry(instance_of).or_default();
        entry.1 += n;
        if !name.is_empty() && n > 0 && !entry.0.contains(&name) {
            entry.0.push(name);
        }
    }
    let is_open =
        |names: &[String]| names.len() > 1 || names.iter().any(|n| n.chars().count() >= COUNTED_NAME_CHARS);
    let open: Vec<&str> =
        types.iter().filter(|(_, (names, _))| is_open(names)).map(|(t, _)| t.as_str()).collect();
    let mut latest = if open.is_empty() {
        HashMap::new()
    } else {
        stats::latest_names(&service.platform.db, scope, filter, &open).await?
    };
    let by_type = |(instance_of, (mut names, count)): (String, (Vec<String>, u64))| ByType {
        name: latest.remove(&instance_of).or_else(|| names.pop()).unwrap_or_else(|| instance_of.clone()),
        instance_of,
        count,
    };
    Ok(types.into_iter().filter(|(_, (_, n))| *n > 0).map(by_type).collect())
}

/// Sorts types that are in the order of their modules.
async fn sort(
    service: &Fleet,
    scope: &Scope,
    filter: &ApplicationFilter,
    query: &SummaryQuery,
    types: &mut [ByType],
) -> Result<()> {
    let newest: HashMap<String, Ts> = match query.order {
        SummaryOrder::CreatedAt => {
            let names: Vec<&str> = types.iter().map(|t| t.instance_of.as_str()).collect();
            stats::newest(&service.platform.db, scope, filter, &names).await?
        }
        _ => HashMap::new(),
    };
    types.sort_by(|a, b| {
        let ordering = match query.order {
            SummaryOrder::Count => a.count.cmp(&b.count),
            SummaryOrder::InstanceOf => a.instance_of.cmp(&b.instance_of),
            SummaryOrder::CreatedAt => newest.get(&a.instance_of).cmp(&newest.get(&b.instance_of)),
        };
        if query.direction == SortDirection::Desc { ordering.reverse() } else { ordering }
    });
    Ok(())
}

/// Versions of one module, as the filter takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeVersions {
    /// Module.
    pub application: String,
    /// Name of the product.
    pub name: String,
    /// `<module>:<version>`, descending.
    pub versions: Vec<String>,
}

/// The choices of the list's filters.
#[derive(Clone, Debug)]
pub struct Choices {
    /// Modules, ascending.
    pub types: Vec<ByType>,
    pub versions: Vec<TypeVersions>,
    /// Systems by name, the first ones.
    pub systems: Vec<(SystemId, String)>,
    /// Whether an application has no assigned organization.
    pub has_unassigned: bool,
    /// Organizations by name.
    pub organizations: Vec<OrgRef>,
    /// The lists that the search has cut, by their names on the wire; none without a search.
    pub more: Option<Vec<&'static str>>,
}

impl Choices {
    /// The name of the choice of unassigned applications.
    pub const UNASSIGNED: &str = "No organization";
}

/// `GET /filters/applications`; with a search only systems and organizations that it finds.
pub async fn choices(service: &Fleet, caller: &Caller, search: Option<&ChoiceSearch>) -> Result<Choices> {
    let scope = list_scope(caller, Resource::Applications)?;
    let kinds = counts::kinds(&service.platform.db, &scope).await?;
    let has_unassigned = kinds.iter().any(|k| k.unassigned > 0)
        && search.is_none_or(|search| search.finds(Choices::UNASSIGNED));
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for kind in kinds.iter().filter(|k| !k.version.is_empty() && k.unassigned + k.assigned > 0) {
        versions.entry(kind.instance_of.clone()).or_default().push(kind.version.clone());
    }
    let types =
        named(service, &scope, &ApplicationFilter::default(), kinds.into_iter().map(counted).collect())
            .await?;
    let of_type = |t: &ByType| {
        let mut numbers = versions.remove(&t.instance_of)?;
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        numbers.dedup();
        let versions = numbers.iter().map(|version| format!("{}:{version}", t.instance_of)).collect();
        Some(TypeVersions { application: t.instance_of.clone(), name: t.name.clone(), versions })
    };
    let versions = types.iter().filter_map(of_type).collect();
    let (systems, organizations) = tokio::join!(
        stats::hosts(&service.platform.db, &scope, HOSTS, search),
        stats::assignees(&service.platform.db, &scope, search)
    );
    let (mut systems, mut organizations) = (systems?, organizations?);
    let more = search.map(|search| {
        let mut more = Vec::new();
        more.extend(search.cut(&mut systems).then_some("systems"));
        more.extend(search.cut(&mut organizations).then_some("organizations"));
        more
    });
    Ok(Choices { types, versions, systems, has_unassigned, organizations, more })
}
