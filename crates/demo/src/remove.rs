//! Takes out everything that `bailiwick demo` has made.

use bailiwick_directory::organizations;
use bailiwick_domain::{Error, Result};
use bailiwick_fleet::{Fleet, systems};
use bailiwick_platform::RequestContext;
use bailiwick_policy::Caller;
use bailiwick_store::demo::life as store;

pub use store::ObjectCounts;

/// Systems elsewhere that are read at one time.
const SOME: u64 = 500;

/// The present extent of all that demo data comprises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removal {
    /// What `bailiwick demo` has made and is still there.
    pub made: ObjectCounts,
    /// What others have put into the organizations it has made: it goes with them.
    pub added: ObjectCounts,
}

impl Removal {
    /// Whether others have added nothing.
    pub fn is_pure(&self) -> bool {
        self.added == ObjectCounts::default()
    }
}

/// What [`remove`] would take out; none: the database is no demo.
///
/// # Errors
/// The database's.
pub async fn find_installation(service: &Fleet) -> Result<Option<Removal>> {
    if store::loads(&service.platform.db).await?.is_empty() {
        return Ok(None);
    }
    let mut tx = service.platform.db.begin().await?;
    let (made, added) = store::extent(&mut tx).await?;
    Ok(Some(Removal { made, added }))
}

/// Destroys the made organizations with everything in and below them, then the made systems elsewhere, then takes the
/// mark away. Each organization directly below one that was not made goes in a transaction of its own; after an
/// interruption another call goes on. The audit record and the events name what was destroyed.
///
/// # Errors
/// 409 when others have added something and `with_added` is not set; the database's.
pub async fn remove(service: &Fleet, with_added: bool) -> Result<Removal> {
    let Some(removal) = find_installation(service).await? else {
        return Err(Error::conflict("bailiwick demo has made nothing in this database"));
    };
    if !removal.is_pure() && !with_added {
        return Err(Error::conflict("others have added to the organizations that bailiwick demo has made"));
    }
    let ctx = RequestContext::of_command(&service.platform);
    for (id, family) in store::highest(&service.platform.db).await? {
        organizations::destroy(&service.directory, &Caller::Worker, &ctx, family, Some(id)).await?;
    }
    loop {
        let left = store::some_left(&service.platform.db, SOME).await?;
        if left.is_empty() {
            break;
        }
        for id in left {
            systems::destroy(service, &Caller::Worker, &ctx, Some(id)).await?;
        }
    }
    let mut tx = service.platform.db.begin().await?;
    store::forget(&mut tx).await?;
    tx.commit().await?;
    Ok(removal)
}
