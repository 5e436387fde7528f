//! The three organization families, the flat organization list and the VAT validator.

use super::{
    CREATORS, Credential::Session, Gate, NEWEST, Route, delete, get, imports, patch, post, put, query,
};
use crate::{
    manage::{PAGE_SIZE, exports, organization_lists, organizations},
    wire::{
        organization_lists::{Directory, PromotedOutput, VatOutput},
        organization_state::{DeletedOutput, ReactivatedOutput, RestoredOutput, SuspendedOutput},
        organization_stats::{StatsOutput, TotalOutput},
        organizations::{CustomerList, DistributorList, OrganizationInput, OrganizationOutput, ResellerList},
        roles::OrganizationFilters,
        stats::TrendOutput,
    },
};
use bailiwick_directory::organizations::{DIRECTORY_ORDERS, ORDERS, filters};
use bailiwick_domain::OrgType;
use bailiwick_policy::Permission;
use std::time::Duration;

struct Names {
    family: OrgType,
    one: &'static str,
    many: &'static str,
    read: &'static [Permission],
    manage: &'static [Permission],
    destroy: &'static [Permission],
    failed: [&'static str; 14],
}

macro_rules! names {
    ($family:ident, $one:literal, $many:literal, $one_title:literal, $many_title:literal, $read:ident, $manage:ident, $destroy:ident) => {
        Names {
            family: OrgType::$family,
            one: $one_title,
            many: $many_title,
            read: &[Permission::$read],
            manage: &[Permission::$manage],
            destroy: &[Permission::$manage, Permission::$destroy],
            failed: [
                concat!("failed to list ", $many),
                concat!("failed to create ", $one),
                concat!("failed to get ", $one),
                concat!("failed to update ", $one),
                concat!("failed to delete ", $one),
                concat!("failed to restore ", $one),
                concat!("failed to destroy ", $one),
                concat!("failed to suspend ", $one),
                concat!("failed to reactivate ", $one),
                concat!("failed to get ", $one, " stats"),
                concat!("failed to retrieve ", $many, " totals"),
                concat!("failed to retrieve ", $many, " trend"),
                concat!("failed to export ", $many),
                concat!("failed to retrieve ", $one, " filters"),
            ],
        }
    };
}

pub(super) fn rows() -> Vec<Route> {
    let families = [
        names!(
            Distributor,
            "distributor",
            "distributors",
            "Distributor",
            "Distributors",
            ReadDistributors,
            ManageDistributors,
            DestroyDistributors
        ),
        names!(
            Reseller,
            "reseller",
            "resellers",
            "Reseller",
            "Resellers",
            ReadResellers,
            ManageResellers,
            DestroyResellers
        ),
        names!(
            Customer,
            "customer",
            "customers",
            "Customer",
            "Customers",
            ReadCustomers,
            ManageCustomers,
            DestroyCustomers
        ),
    ];
    let mut rows: Vec<Route> = families.iter().flat_map(family).collect();
    rows.extend([
        get("/organizations", "listOrganizations", "List organizations of all types")
            .query(query::page_of_any_size())
            .query(query::sort(DIRECTORY_ORDERS))
            .query(query::keys(["search", "name", "description"]))
            .query([
                query::key("type").repeated().one_of(OrgType::FAMILIES.map(OrgType::as_str).to_vec()),
                query::key("created_by"),
            ])
            .ordered(&[("organizations", &["name", "id"])])
            .gives::<Directory>()
            .to(organization_lists::directory),
        get("/validators/vat/{entity_type}", "validateVat", "Whether a VAT number is taken")
            .query([query::key("vat").required(), query::key("exclude_id")])
            .failing("failed to validate vat")
            .gives::<VatOutput>()
            .to(organization_lists::validate_vat),
        // The object rule stands in for a gate; a large subtree takes its time (docs/tree.md).
        patch("/resellers/{id}/promote", "promoteReseller", "Make a reseller a distributor")
            .conditional()
            .extra()
            .failing("failed to promote reseller")
            .may_answer(&[409])
            .answers_within(Duration::from_secs(180))
            .gives::<PromotedOutput>()
            .to(organization_lists::promote),
    ]);
    rows
}

fn family(n: &Names) -> Vec<Route> {
    let p = format!("/{}", n.family.plural());
    let id = format!("{p}/{{id}}");
    let own = Gate::OwnOrganizationOr(n.read[0]);
    let (one, many, f) = (n.one, n.many, n.failed);
    let (name, names) = (n.family.as_str(), n.family.plural());
    [
        listed(
            n.family,
            get(&p, format!("list{many}"), format!("List {names}"))
                .query(query::page_or_cursor(PAGE_SIZE))
                .query(query::sort(ORDERS))
                .query(query::filters(filters(n.family)))
                .needs(n.read)
                .failing(f[0])
                .to(organizations::list),
        ),
        post(&p, format!("create{one}"), format!("Create a {name}"))
            .needs(n.manage)
            .failing(f[1])
            .answers(201)
            .takes::<OrganizationInput>()
            .gives::<OrganizationOutput>()
            .to(organizations::create),
        get(format!("{p}/totals"), format!("get{many}Totals"), format!("Count {names}"))
            .needs(n.read)
            .failing(f[10])
            .gives::<TotalOutput>()
            .to(organizations::totals),
        get(format!("{p}/trend"), format!("get{many}Trend"), format!("Number of {names} over time"))
            .query(query::period())
            .needs(n.read)
            .failing(f[11])
            .gives::<TrendOutput>()
            .to(organization_lists::trend),
        get(format!("/filters{p}"), format!("get{one}Filters"), format!("Values to filter {names} by"))
            .ordered(&[("created_by", CREATORS)])
            .extra()
            .needs(n.read)
            .failing(f[13])
            .gives::<OrganizationFilters>()
            .to(organization_lists::filters),
        get(format!("{p}/export"), format!("export{many}"), format!("Export {names} as CSV or PDF"))
            .query(query::format())
            .query(query::sort(ORDERS))
            .query(query::filters(filters(n.family)))
            .needs(n.read)
            .failing(f[12])
            .exports()
            .to(exports::organizations),
        get(&id, format!("get{one}"), format!("Show a {name}"))
            .conditional()
            .gate(own)
            .failing(f[2])
            .gives::<OrganizationOutput>()
            .to(organizations::show),
        put(&id, format!("update{one}"), format!("Change a {name}"))
            .conditional()
            .needs(n.manage)
            .failing(f[3])
            .takes::<OrganizationInput>()
            .gives::<OrganizationOutput>()
            .to(organizations::update),
        delete(&id, format!("delete{one}"), format!("Delete a {name}, to be restored later"))
            .conditional()
            .needs(n.manage)
            .failing(f[4])
            .gives::<DeletedOutput>()
            .to(organizations::soft_delete),
        patch(format!("{id}/restore"), format!("restore{one}"), format!("Restore a deleted {name}"))
            .conditional()
            .needs(n.manage)
            .failing(f[5])
            .gives::<RestoredOutput>()
            .to(organizations::restore),
        delete(format!("{id}/destroy"), format!("destroy{one}"), format!("Remove a {name} for good"))
            .conditional()
            .credential(Session)
            .needs(n.destroy)
            .failing(f[6])
            .gives_null()
            .to(organizations::destroy),
        patch(format!("{id}/suspend"), format!("suspend{one}"), format!("Suspend a {name}"))
            .conditional()
            .needs(n.manage)
            .failing(f[7])
            .gives::<SuspendedOutput>()
            .to(organizations::suspend),
        patch(
            format!("{id}/reactivate"),
            format!("reactivate{one}"),
            format!("End the suspension of a {name}"),
        )
        .conditional()
        .needs(n.manage)
        .failing(f[8])
        .gives::<ReactivatedOutput>()
        .to(organizations::reactivate),
        get(format!("{id}/stats"), format!("get{one}Stats"), format!("Figures of a {name}"))
            .gate(own)
            .failing(f[9])
            .gives::<StatsOutput>()
            .to(organizations::stats),
    ]
    .into_iter()
    .chain(imports::rows(&p, many, n.read, n.manage))
    .map(|row| row.family(n.family))
    .collect()
}

/// The page is named after its family.
fn listed(family: OrgType, row: Route) -> Route {
    match family {
        OrgType::Owner | OrgType::Distributor => {
            row.gives::<DistributorList>().ordered(&[("distributors", NEWEST)])
        }
        OrgType::Reseller => row.gives::<ResellerList>().ordered(&[("resellers", NEWEST)]),
        OrgType::Customer => row.gives::<CustomerList>().ordered(&[("customers", NEWEST)]),
    }
}
