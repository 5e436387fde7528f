//! The context of a request.

use crate::{Platform, conditions::Conditions};
use std::net::{IpAddr, Ipv4Addr};
use uuid::Uuid;

/// The facts of a request that a use case may know.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// `X-Request-Id` of the answer; goes into the audit log.
    pub request_id: String,
    /// Address of the client: the peer's, or the one that a trusted proxy reports.
    pub client_ip: IpAddr,
    /// `User-Agent` of the client, cut to a bounded length.
    pub user_agent: Option<String>,
    /// The caller's conditions on the present state of the entity.
    pub conditions: Conditions,
}

impl RequestContext {
    /// Of a command that the operator runs: it comes from this machine and has no condition.
    pub fn of_command(platform: &Platform) -> RequestContext {
        RequestContext {
            request_id: platform.fresh::<Uuid>().to_string(),
            client_ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
            user_agent: None,
            conditions: Conditions::default(),
        }
    }
}
