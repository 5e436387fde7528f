//! Limits of alerting.

use super::ContentLimits;
use std::time::Duration;

/// Limits of the alerting proxy.
#[derive(Clone, Debug)]
pub struct AlertLimits {
    /// Largest body, received and decoded.
    pub body_bytes: usize,
    /// The limits on the contents of one request, alert, silence or query.
    pub content: ContentLimits,
    /// Steady requests per second and system.
    pub requests_per_second: u32,
    /// Burst per system.
    pub request_burst: u32,
    /// Active alerts per system.
    pub alerts_per_system: u64,
    /// Active alerts per tenant.
    pub alerts_per_tenant: u64,
    /// Active and pending silences per system.
    pub silences_per_system: u64,
    /// Active and pending silences per tenant.
    pub silences_per_tenant: u64,
    /// Bytes that the regular expressions of all silences in force of a system may take when compiled.
    pub compiled_per_system: usize,
    /// Bytes that the regular expressions of all silences in force of a tenant may take when compiled.
    pub compiled_per_tenant: usize,
    /// Requests in flight per system.
    pub in_flight_per_system: usize,
    /// Requests in flight to a remote router.
    pub in_flight: usize,
    /// Pushes of one tenant in one request to a remote router; 1 = each by itself.
    pub pushes_together: usize,
    /// Time for one GET or DELETE to the router, all tries together.
    pub read_timeout: Duration,
    /// Time for one POST.
    pub write_timeout: Duration,
}

impl Default for AlertLimits {
    fn default() -> AlertLimits {
        AlertLimits {
            body_bytes: 10 * 1024 * 1024,
            content: ContentLimits::default(),
            requests_per_second: 10,
            request_burst: 50,
            alerts_per_system: 1000,
            alerts_per_tenant: 16_384,
            silences_per_system: 100,
            silences_per_tenant: 5000,
            compiled_per_system: 1024 * 1024,
            compiled_per_tenant: 16 * 1024 * 1024,
            in_flight_per_system: 8,
            in_flight: 256,
            pushes_together: 64,
            read_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(25),
        }
    }
}
