//! Answers of the moves between an organization's states (spec: organizations#suspension, organizations#restoration).
//! What a family does not have below it is left out.

use super::organizations::OrganizationOutput;
use bailiwick_directory::organizations::Moved;
use bailiwick_domain::OrgType;
use serde::Serialize;
use utoipa::ToSchema;

/// An organization, under the name of its family.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct NamedByFamily {
    /// The organization, if it is a distributor. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distributor: Option<OrganizationOutput>,
    /// The organization, if it is a reseller. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reseller: Option<OrganizationOutput>,
    /// The organization, if it is a customer. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer: Option<OrganizationOutput>,
}

impl NamedByFamily {
    fn of(family: OrgType, organization: OrganizationOutput) -> NamedByFamily {
        let mut named = NamedByFamily::default();
        match family {
            OrgType::Owner | OrgType::Distributor => named.distributor = Some(organization),
            OrgType::Reseller => named.reseller = Some(organization),
            OrgType::Customer => named.customer = Some(organization),
        }
        named
    }
}

/// Counters of organizations, as far as the family has such below it.
const fn below(family: OrgType, resellers: u64, customers: u64) -> (Option<u64>, Option<u64>) {
    match family {
        OrgType::Owner | OrgType::Distributor => (Some(resellers), Some(customers)),
        OrgType::Reseller => (None, Some(customers)),
        OrgType::Customer => (None, None),
    }
}

/// The suspended organization, and the number of objects that are suspended because of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct SuspendedOutput {
    /// The organization, without counts.
    #[serde(flatten)]
    pub organization: NamedByFamily,
    /// Number of resellers below a distributor. Absent for resellers and customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended_resellers_count: Option<u64>,
    /// Number of customers below a distributor or reseller. Absent for customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended_customers_count: Option<u64>,
    /// Number of users of the organization and everything below it.
    pub suspended_users_count: u64,
    /// Number of systems of the organization and everything below it.
    pub suspended_systems_count: u64,
}

impl From<Moved> for SuspendedOutput {
    fn from(moved: Moved) -> SuspendedOutput {
        let (family, n) = (moved.organization.org_type, moved.affected);
        let (resellers, customers) = below(family, n.resellers, n.customers);
        SuspendedOutput {
            organization: NamedByFamily::of(family, moved.organization.into()),
            suspended_resellers_count: resellers,
            suspended_customers_count: customers,
            suspended_users_count: n.users,
            suspended_systems_count: n.systems,
        }
    }
}

/// The reactivated organization, and the number of objects that are no longer suspended because of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReactivatedOutput {
    /// The organization, without counts.
    #[serde(flatten)]
    pub organization: NamedByFamily,
    /// Number of resellers below a distributor. Absent for resellers and customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reactivated_resellers_count: Option<u64>,
    /// Number of customers below a distributor or reseller. Absent for customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reactivated_customers_count: Option<u64>,
    /// Number of users of the organization and everything below it.
    pub reactivated_users_count: u64,
    /// Number of systems of the organization and everything below it.
    pub reactivated_systems_count: u64,
}

impl From<Moved> for ReactivatedOutput {
    fn from(moved: Moved) -> ReactivatedOutput {
        let (family, n) = (moved.organization.org_type, moved.affected);
        let (resellers, customers) = below(family, n.resellers, n.customers);
        ReactivatedOutput {
            organization: NamedByFamily::of(family, moved.organization.into()),
            reactivated_resellers_count: resellers,
            reactivated_customers_count: customers,
            reactivated_users_count: n.users,
            reactivated_systems_count: n.systems,
        }
    }
}

/// The number of objects that are deleted with an organization.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeletedOutput {
    /// Number of resellers below a distributor. Absent for resellers and customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_resellers_count: Option<u64>,
    /// Number of customers below a distributor or reseller. Absent for customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_customers_count: Option<u64>,
    /// Number of users of the organization and everything below it.
    pub deleted_users_count: u64,
    /// Number of systems of the organization and everything below it.
    pub deleted_systems_count: u64,
}

impl From<Moved> for DeletedOutput {
    fn from(moved: Moved) -> DeletedOutput {
        let (family, n) = (moved.organization.org_type, moved.affected);
        let (resellers, customers) = below(family, n.resellers, n.customers);
        DeletedOutput {
            deleted_resellers_count: resellers,
            deleted_customers_count: customers,
            deleted_users_count: n.users,
            deleted_systems_count: n.systems,
        }
    }
}

/// The number of objects that are restored with an organization.
#[derive(Debug, Serialize, ToSchema)]
pub struct RestoredOutput {
    /// Number of resellers below a distributor. Absent for resellers and customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored_resellers_count: Option<u64>,
    /// Number of customers below a distributor or reseller. Absent for customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored_customers_count: Option<u64>,
    /// Number of users of the organization and everything below it.
    pub restored_users_count: u64,
    /// Number of systems of the organization and everything below it.
    pub restored_systems_count: u64,
}

impl From<Moved> for RestoredOutput {
    fn from(moved: Moved) -> RestoredOutput {
        let (family, n) = (moved.organization.org_type, moved.affected);
        let (resellers, customers) = below(family, n.resellers, n.customers);
        RestoredOutput {
            restored_resellers_count: resellers,
            restored_customers_count: customers,
            restored_users_count: n.users,
            restored_systems_count: n.systems,
        }
    }
}
