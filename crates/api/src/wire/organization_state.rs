//! Answers of the moves between an organization's states (spec: organizations#suspension, organizations#restoration).
//! What a family does not have below it is left out.

use super::organizations::OrganizationOutput;
use bailiwick_directory::organizations::Moved;
use bailiwick_domain::OrgType;
use serde::Serialize;
use utoipa::ToSchema;

/// The organization under the name of its family.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct NamedByFamily {
    /// Of a distributor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distributor: Option<OrganizationOutput>,
    /// Of a reseller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reseller: Option<OrganizationOutput>,
    /// Of a customer.
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

/// What a suspension took along.
#[derive(Debug, Serialize, ToSchema)]
pub struct SuspendedOutput {
    /// Complete, without counts.
    #[serde(flatten)]
    pub organization: NamedByFamily,
    /// Below a distributor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended_resellers_count: Option<u64>,
    /// Below a distributor or reseller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended_customers_count: Option<u64>,
    /// Of the organization and all below it.
    pub suspended_users_count: u64,
    /// Of the organization and all below it.
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

/// What a reactivation brought back.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReactivatedOutput {
    /// Complete, without counts.
    #[serde(flatten)]
    pub organization: NamedByFamily,
    /// Below a distributor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reactivated_resellers_count: Option<u64>,
    /// Below a distributor or reseller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reactivated_customers_count: Option<u64>,
    /// Of the organization and all below it.
    pub reactivated_users_count: u64,
    /// Of the organization and all below it.
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

/// What a deletion hid.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeletedOutput {
    /// Below a distributor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_resellers_count: Option<u64>,
    /// Below a distributor or reseller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_customers_count: Option<u64>,
    /// Of the organization and all below it.
    pub deleted_users_count: u64,
    /// Of the organization and all below it.
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

/// What a restoration brought back.
#[derive(Debug, Serialize, ToSchema)]
pub struct RestoredOutput {
    /// Below a distributor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored_resellers_count: Option<u64>,
    /// Below a distributor or reseller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored_customers_count: Option<u64>,
    /// Of the organization and all below it.
    pub restored_users_count: u64,
    /// Of the organization and all below it.
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
