//! The three organization families, the flat organization list and the VAT validator.

use super::{Credential::Session, EXPORT, Gate, Route, delete, get, imports, patch, post, put};
use crate::{
    manage::{exports, organization_lists, organizations},
    wire::{
        organization_lists::{Directory, PromotedOutput, VatOutput},
        organization_state::{DeletedOutput, ReactivatedOutput, RestoredOutput, SuspendedOutput},
        organization_stats::{StatsOutput, TotalOutput},
        organizations::{CustomerList, DistributorList, OrganizationInput, OrganizationOutput, ResellerList},
        roles::OrganizationFilters,
        stats::TrendOutput,
    },
};
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
        get("/organizations", "listOrganizations").gives::<Directory>().to(organization_lists::directory),
        get("/validators/vat/{entity_type}", "validateVat")
            .failing("failed to validate vat")
            .gives::<VatOutput>()
            .to(organization_lists::validate_vat),
        // The object rule stands in for a gate; a large subtree takes its time (docs/tree.md).
        patch("/resellers/{id}/promote", "promoteReseller")
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
    [
        listed(n.family, get(&p, format!("list{many}")).needs(n.read).failing(f[0]).to(organizations::list)),
        post(&p, format!("create{one}"))
            .needs(n.manage)
            .failing(f[1])
            .answers(201)
            .takes::<OrganizationInput>()
            .gives::<OrganizationOutput>()
            .to(organizations::create),
        get(format!("{p}/totals"), format!("get{many}Totals"))
            .needs(n.read)
            .failing(f[10])
            .gives::<TotalOutput>()
            .to(organizations::totals),
        get(format!("{p}/trend"), format!("get{many}Trend"))
            .needs(n.read)
            .failing(f[11])
            .gives::<TrendOutput>()
            .to(organization_lists::trend),
        get(format!("/filters{p}"), format!("get{one}Filters"))
            .extra()
            .needs(n.read)
            .failing(f[13])
            .gives::<OrganizationFilters>()
            .to(organization_lists::filters),
        get(format!("{p}/export"), format!("export{many}"))
            .needs(n.read)
            .failing(f[12])
            .gives_file(EXPORT)
            .to(exports::organizations),
        get(&id, format!("get{one}"))
            .conditional()
            .gate(own)
            .failing(f[2])
            .gives::<OrganizationOutput>()
            .to(organizations::show),
        put(&id, format!("update{one}"))
            .conditional()
            .needs(n.manage)
            .failing(f[3])
            .takes::<OrganizationInput>()
            .gives::<OrganizationOutput>()
            .to(organizations::update),
        delete(&id, format!("delete{one}"))
            .conditional()
            .needs(n.manage)
            .failing(f[4])
            .gives::<DeletedOutput>()
            .to(organizations::soft_delete),
        patch(format!("{id}/restore"), format!("restore{one}"))
            .conditional()
            .needs(n.manage)
            .failing(f[5])
            .gives::<RestoredOutput>()
            .to(organizations::restore),
        delete(format!("{id}/destroy"), format!("destroy{one}"))
            .conditional()
            .credential(Session)
            .needs(n.destroy)
            .failing(f[6])
            .gives_null()
            .to(organizations::destroy),
        patch(format!("{id}/suspend"), format!("suspend{one}"))
            .conditional()
            .needs(n.manage)
            .failing(f[7])
            .gives::<SuspendedOutput>()
            .to(organizations::suspend),
        patch(format!("{id}/reactivate"), format!("reactivate{one}"))
            .conditional()
            .needs(n.manage)
            .failing(f[8])
            .gives::<ReactivatedOutput>()
            .to(organizations::reactivate),
        get(format!("{id}/stats"), format!("get{one}Stats"))
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
        OrgType::Owner | OrgType::Distributor => row.gives::<DistributorList>(),
        OrgType::Reseller => row.gives::<ResellerList>(),
        OrgType::Customer => row.gives::<CustomerList>(),
    }
}
