//! Users.

use crate::{
    Ts, UserId,
    org::{Creator, Mark, OrgRef, SyncState},
};
use serde_json::{Map, Value};

/// A user with their organization and effective state (spec: users#user).
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// Id, also the subject of their tokens.
    pub id: UserId,
    /// Unique ignoring case.
    pub username: String,
    /// As given; unique ignoring case among users who are not individually deleted.
    pub email: String,
    /// Set by the ways of spec: account#change-info.
    pub email_verified: bool,
    /// Display name.
    pub name: String,
    /// Digits only.
    pub phone: Option<String>,
    /// The user's organization.
    pub organization: OrgRef,
    /// Catalogue keys, at least one.
    pub role_ids: Vec<String>,
    /// Client keys only.
    pub custom_data: Option<Map<String, Value>>,
    /// Creation.
    pub created_at: Ts,
    /// Last change by management.
    pub updated_at: Ts,
    /// Last exchange.
    pub latest_login_at: Option<Ts>,
    /// Creation snapshot.
    pub created_by: Option<Creator>,
    /// Effective suspension.
    pub suspended: Mark,
    /// Effective deletion.
    pub deleted: Mark,
    /// The user's Logto sync state.
    pub mirrored: SyncState,
}
