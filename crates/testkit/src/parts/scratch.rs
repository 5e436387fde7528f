//! Private temporary directories of the parts.

use super::{PartError, Result, programs};
use std::{
    collections::BTreeSet,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};
use tokio::{process::Command, sync::OnceCell};

const PREFIX: &str = "bailiwick-test-";

/// A directory that only its owner may enter, removed with everything in it when the value is dropped.
///
/// Its name has the id of the test process, so that a later run can remove the directories of a dead one.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes the directory in the system's temporary directory; `label` only makes its name readable.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn new(label: &str) -> Result<Self> {
        Self::new_in(&std::env::temp_dir(), label)
    }

    /// As [`Scratch::new`], in another place for temporary files.
    ///
    /// # Errors
    /// As there.
    pub fn new_in(parent: &Path, label: &str) -> Result<Self> {
        static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        static MADE: AtomicU32 = AtomicU32::new(0);
        if SWEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(parent.to_owned()) {
            sweep(parent, Path::new("/proc"));
        }
        loop {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{PREFIX}{}-{number}-{label}", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(PartError::io(&format!("cannot make {}", path.display()), &error)),
            }
        }
    }

    /// Where the directory is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file into the directory and returns its path.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<PathBuf> {
        let path = self.path.join(name);
        std::fs::write(&path, content)
            .map_err(|error| PartError::io(&format!("cannot write {}", path.display()), &error))?;
        Ok(path)
    }

    /// Whether this process runs as root: its files then belong to user 0.
    pub(crate) fn is_owned_by_root(&self) -> bool {
        self.path.metadata().is_ok_and(|data| data.uid() == 0)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may be gone already (the watchdog of a process removes it too); nothing depends on success.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// The place of test databases: in memory if there is a gigabyte, because each is written and synced many times and
/// none has to survive.
pub(crate) async fn fast_place() -> &'static Path {
    static PLACE: OnceCell<PathBuf> = OnceCell::const_new();
    PLACE
        .get_or_init(|| async {
            let memory = Path::new("/dev/shm");
            let free = free_megabytes(memory).await.unwrap_or_default();
            if free >= 1024 { memory.to_owned() } else { std::env::temp_dir() }
        })
        .await
}

async fn free_megabytes(directory: &Path) -> Option<u64> {
    let df = programs::find(&["df"], "coreutils", &[]).ok()?;
    let output =
        Command::new(df).args(["--output=avail", "--block-size=1M"]).arg(directory).output().await.ok()?;
    String::from_utf8(output.stdout).ok()?.lines().last()?.trim().parse().ok()
}

/// Removes the directories of test processes that no longer exist. Without a process file system nothing is removed.
fn sweep(directory: &Path, processes: &Path) {
    if !processes.join(std::process::id().to_string()).exists() {
        return;
    }
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(owner_of);
        if owner.is_some_and(|id| !processes.join(id.to_string()).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The process id in the name of a scratch directory.
fn owner_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_private_and_goes_away() {
        let scratch = Scratch::new("unit").unwrap();
        let path = scratch.path().to_owned();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        scratch.write("file", "text").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn only_directories_of_dead_processes_are_swept() {
        let parent = Scratch::new("sweep").unwrap();
        let dead = parent.path().join("bailiwick-test-4294967295-0-postgres");
        let alive = parent.path().join(format!("bailiwick-test-{}-0-postgres", std::process::id()));
        let other = parent.path().join("something-4294967295");
        for path in [&dead, &alive, &other] {
            std::fs::create_dir(path).unwrap();
        }
        sweep(parent.path(), Path::new("/proc"));
        assert!(!dead.exists() && alive.exists() && other.exists());
    }
}
