//! Judges which silences and filters apply to many alerts. An expression may be large and a text long, so this is done
//! beside the threads that serve requests, for few callers at a time and for one of each organization.

use crate::Alerts;
use bailiwick_alertmanager::active_silence::Expressions;
use bailiwick_domain::{Error, OrgId, Result};
use bailiwick_platform::limits::FairSemaphore;
use std::time::Duration;

/// Memory for compiled expressions of silences.
const KEPT: usize = 32 * 1024 * 1024;
/// Judgements at a time, of systems and of people each.
const AT_A_TIME: usize = 4;
/// Longest wait of one.
const WAIT: Duration = Duration::from_secs(10);

/// What this process keeps for it.
#[derive(Debug)]
pub(crate) struct Judging {
    expressions: Expressions,
    by_systems: FairSemaphore,
    by_people: FairSemaphore,
}

impl Default for Judging {
    fn default() -> Judging {
        Judging {
            expressions: Expressions::new(KEPT),
            by_systems: FairSemaphore::new(AT_A_TIME),
            by_people: FairSemaphore::new(AT_A_TIME),
        }
    }
}

impl Judging {
    /// Compiled expressions of silences.
    pub(crate) const fn expressions(&self) -> &Expressions {
        &self.expressions
    }
}

/// Judges for a system of the tenant.
///
/// # Errors
/// 503 after a long wait.
pub(crate) async fn by_system<T: Send + 'static>(
    service: &Alerts,
    tenant: OrgId,
    work: impl FnOnce(&Expressions) -> T + Send + 'static,
) -> Result<T> {
    run(service, &service.state.judging.by_systems, tenant, work).await
}

/// Judges for a person about this organization.
///
/// # Errors
/// 503 after a long wait.
pub(crate) async fn by_person<T: Send + 'static>(
    service: &Alerts,
    organization: OrgId,
    work: impl FnOnce(&Expressions) -> T + Send + 'static,
) -> Result<T> {
    run(service, &service.state.judging.by_people, organization, work).await
}

async fn run<T: Send + 'static>(
    service: &Alerts,
    permits: &FairSemaphore,
    organization: OrgId,
    work: impl FnOnce(&Expressions) -> T + Send + 'static,
) -> Result<T> {
    let permit = permits.acquire(organization, WAIT, "too many alerts are being judged").await?;
    let expressions = service.state.judging.expressions.clone();
    // The permit is held until the work has ended, even if the caller is gone before.
    let work = move || {
        let _permit = permit;
        work(&expressions)
    };
    service.platform.tasks.spawn_blocking(work).await.map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[tokio::test]
    async fn four_judgements_at_a_time_for_systems_and_four_for_people() {
        let judging = Judging::default();
        for permits in [&judging.by_systems, &judging.by_people] {
            let take = |n| permits.acquire(OrgId(Uuid::from_u128(n)), Duration::ZERO, "busy");
            let mut held = Vec::new();
            for organization in 1..=4 {
                held.push(take(organization).await.unwrap());
            }
            assert!(matches!(take(5).await, Err(Error::Unavailable { .. })));
        }
    }
}
