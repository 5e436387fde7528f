//! A stand-in for the configuration interface of a router with tenants (spec: alert-router#remote-differences): it
//! keeps the configuration uploaded for each tenant if the real `amtool` accepts it.

use super::{
    PartError, Result, alertmanager,
    recorder::{Answer, Recorded, Recorder},
    scratch::Scratch,
};
use crate::PATIENCE;
use bailiwick_alertmanager::config::Upload;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// An answer in place of its work.
type Fault = Arc<dyn Fn(&str) -> Option<Answer> + Send + Sync>;

#[derive(Default)]
struct State {
    uploads: BTreeMap<String, Upload>,
    fault: Option<Fault>,
}

/// A running router that accepts configurations and has no alerts.
pub struct Configurations {
    recorder: Recorder,
    state: Arc<Mutex<State>>,
}

impl std::fmt::Debug for Configurations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Configurations").field("recorder", &self.recorder).finish_non_exhaustive()
    }
}

impl Configurations {
    /// Starts one without tenants.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start() -> Result<Self> {
        let state = Arc::new(Mutex::new(State::default()));
        let answering = Arc::clone(&state);
        let recorder = Recorder::start(move |request| answer(&answering, request)).await?;
        Ok(Self { recorder, state })
    }

    /// The address, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        self.recorder.url()
    }

    /// The configuration of a tenant.
    #[must_use]
    pub fn of(&self, tenant: impl std::fmt::Display) -> Option<Upload> {
        self.locked().uploads.get(&tenant.to_string()).cloned()
    }

    /// How many tenants have something.
    #[must_use]
    pub fn count(&self) -> usize {
        self.locked().uploads.len()
    }

    /// Loses everything, like a router without its storage.
    pub fn lose(&self) {
        self.locked().uploads.clear();
    }

    /// Replaces the configuration of a tenant, as in a router that was restored from a copy.
    pub fn change(&self, tenant: impl std::fmt::Display, upload: Upload) {
        self.locked().uploads.insert(tenant.to_string(), upload);
    }

    /// Uploads and deletions for which this returns an answer get that answer and are not carried out.
    pub fn fail_by(&self, fault: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static) {
        self.locked().fault = Some(Arc::new(fault));
    }

    /// Works again.
    pub fn recover(&self) {
        self.locked().fault = None;
    }

    /// Every request so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.recorder.requests()
    }

    /// Waits until the condition holds.
    ///
    /// # Errors
    /// When it does not within [`PATIENCE`].
    pub async fn wait_until(&self, what: &str, is_true: impl Fn(&Self) -> bool) -> Result<()> {
        let deadline = std::time::Instant::now() + PATIENCE;
        while !is_true(self) {
            if std::time::Instant::now() > deadline {
                return Err(PartError::new(format!("after {PATIENCE:?} still not: {what}")));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer(state: &Mutex<State>, request: &Recorded) -> Answer {
    let Some(tenant) = request.value("x-scope-orgid") else {
        return Answer::status(401).body("no org id");
    };
    let fault = state.lock().unwrap_or_else(PoisonError::into_inner).fault.clone();
    let fault = fault.and_then(|fault| fault(tenant));
    let locked = || state.lock().unwrap_or_else(PoisonError::into_inner);
    match (request.method.as_str(), request.path.as_str()) {
        ("POST" | "DELETE", "/api/v1/alerts") if fault.is_some() => fault.unwrap_or_else(Answer::dropped),
        ("POST", "/api/v1/alerts") => match judged(&request.body) {
            Ok(upload) => {
                locked().uploads.insert(tenant.to_owned(), upload);
                Answer::status(201)
            }
            Err(why) => Answer::status(400).body(format!("error validating Alertmanager config: {why}")),
        },
        ("GET", "/api/v1/alerts") => match locked().uploads.get(tenant).map(Upload::to_yaml) {
            Some(Ok(text)) => Answer::status(200).header("content-type", "application/yaml").body(text),
            _ => Answer::status(404).body("alertmanager storage object not found"),
        },
        ("DELETE", "/api/v1/alerts") => {
            locked().uploads.remove(tenant);
            Answer::status(200)
        }
        (_, path) if path.starts_with("/alertmanager/api/v2/") => {
            if locked().uploads.contains_key(tenant) {
                Answer::json(200, &serde_json::json!([]))
            } else {
                Answer::status(404).body("the Alertmanager is not configured")
            }
        }
        _ => Answer::status(404).body("404 page not found"),
    }
}

/// The upload, if `amtool` accepts it.
fn judged(body: &[u8]) -> std::result::Result<Upload, String> {
    let text = std::str::from_utf8(body).map_err(|e| e.to_string())?;
    let upload = Upload::from_yaml(text).map_err(|e| e.to_string())?;
    let scratch = Scratch::new("upload").map_err(|e| e.to_string())?;
    for (name, text) in &upload.template_files {
        scratch.write(name, text).map_err(|e| e.to_string())?;
    }
    let file = scratch.write("alertmanager.yml", &upload.alertmanager_config).map_err(|e| e.to_string())?;
    let checked = std::process::Command::new(alertmanager::amtool().map_err(|e| e.to_string())?)
        .arg("check-config")
        .arg(&file)
        .env("HOME", scratch.path())
        .env_remove("XDG_CONFIG_HOME")
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|e| e.to_string())?;
    if checked.status.success() {
        Ok(upload)
    } else {
        Err(String::from_utf8_lossy(&[checked.stdout, checked.stderr].concat()).into_owned())
    }
}
