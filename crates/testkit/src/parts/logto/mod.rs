//! A stand-in for a Logto tenant: the calls of spec: logto#calls and no others. Every request is checked against that
//! list ([`rules`]): method, path, query, body, content type and bearer. A request outside it fails the test when the
//! part is dropped, so the list covers every request that the service may make.

mod rules;
mod tenant;

pub use tenant::Tenant;

use super::{
    Result,
    recorder::{Answer, Recorded, Recorder},
};
use bailiwick_settings::{Issuer, Logto as Settings};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The management application.
pub const APP: (&str, &str) = ("m2m-app", "m2m secret: 100% + more");
/// The client of the user interface.
pub const CLIENT: &str = "spa";

/// How a request fails.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The answer, without carrying out the request.
    Answer(Answer),
    /// The request is carried out, but this is the answer.
    DoneBut(Answer),
}

type Script = Arc<dyn Fn(&Recorded) -> Option<Fault> + Send + Sync>;

struct Shared {
    tenant: Mutex<Tenant>,
    faults: Mutex<Script>,
    problems: Mutex<Vec<String>>,
}

/// The running stand-in.
pub struct Logto {
    upstream: Recorder,
    shared: Arc<Shared>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Logto {
    /// A tenant with the roles of the catalogue and without users.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start() -> Result<Logto> {
        let shared = Arc::new(Shared {
            tenant: Mutex::new(Tenant::new()),
            faults: Mutex::new(Arc::new(|_| None)),
            problems: Mutex::default(),
        });
        let upstream = Recorder::start(|_| Answer::status(503)).await?;
        locked(&shared.tenant).url = upstream.url();
        let answering = Arc::clone(&shared);
        upstream.answer_by(move |request| answer(&answering, request));
        Ok(Logto { upstream, shared })
    }

    /// Settings of a service that uses it, with short waits.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let issuer = Issuer::new(&format!("{}/oidc", self.upstream.url()), CLIENT);
        Settings { pace: Duration::from_millis(1), ..Settings::new(issuer, APP.0, APP.1) }
    }

    /// Looks at the tenant or changes it.
    pub fn with<T>(&self, access: impl FnOnce(&mut Tenant) -> T) -> T {
        access(&mut locked(&self.shared.tenant))
    }

    /// Lets go of the answers that are held now.
    pub fn release(&self) {
        self.upstream.release();
    }

    /// Requests fail by this function from now on; none = they succeed as usual.
    pub fn fail_by(&self, faults: impl Fn(&Recorded) -> Option<Fault> + Send + Sync + 'static) {
        *locked(&self.shared.faults) = Arc::new(faults);
    }

    /// Everything is answered so from now on.
    pub fn always(&self, answer: Answer) {
        self.fail_by(move |_| Some(Fault::Answer(answer.clone())));
    }

    /// Requests succeed as usual again.
    pub fn recover(&self) {
        self.fail_by(|_| None);
    }

    /// Method and path, without `/api`, of the requests to the Management API since the last call of this.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        let taken = self.upstream.take();
        let calls = taken.iter().filter_map(|request| {
            request.path.strip_prefix("/api").map(|path| format!("{} {path}", request.method))
        });
        calls.collect()
    }

    /// All requests since the last call of this.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.upstream.requests()
    }

    /// The requests outside the list so far; clears them. For a test of the part itself.
    #[must_use]
    pub fn take_problems(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.shared.problems))
    }
}

fn answer(shared: &Shared, request: &Recorded) -> Answer {
    let mut tenant = locked(&shared.tenant);
    match rules::check(&tenant, request) {
        Ok(()) => {}
        Err(rules::Wrong::Unauthorized) => {
            return Answer::json(401, &serde_json::json!({"code": "auth.unauthorized"}));
        }
        Err(rules::Wrong::Outside(why)) => {
            locked(&shared.problems).push(format!("{} {}: {why}", request.method, request.target()));
            return Answer::json(404, &serde_json::json!({"code": "entity.not_found"}));
        }
    }
    let faults = Arc::clone(&*locked(&shared.faults));
    let Some(fault) = faults(request) else { return tenant.answer(request) };
    // A client that asked for a creation, or for the token to it, cannot know its outcome, unless it was refused.
    let creations = ["/api/users", "/api/organizations", "/oidc/token"];
    let is_refused = matches!(&fault, Fault::Answer(answer) if answer.is_refusal());
    if request.method == "POST" && creations.contains(&request.path.as_str()) && !is_refused {
        tenant.has_lost_an_answer = true;
    }
    match fault {
        Fault::Answer(answer) => answer,
        Fault::DoneBut(answer) => {
            let _done = tenant.answer(request);
            answer
        }
    }
}

impl Drop for Logto {
    fn drop(&mut self) {
        let problems = self.take_problems();
        if !std::thread::panicking() {
            assert!(problems.is_empty(), "requests outside spec: logto#calls: {problems:#?}");
        }
    }
}

impl std::fmt::Debug for Logto {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logto").field("url", &self.upstream.url()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
