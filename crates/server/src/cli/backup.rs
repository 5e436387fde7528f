//! `bailiwick backup` and `bailiwick restore`: database, secret and files of an installation on SQLite, in a directory
//! with a list of its files (docs/backup.md).

use super::print;
use crate::config::{Config, DatabaseUrl};
use aws_lc_rs::digest;
use bailiwick_app::database;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Component, Path, PathBuf},
};

const LIST: &str = "backup.json";
const DATABASE: &str = "bailiwick.db";
const SECRET: &str = "secret";
const ASSETS: &str = "assets";

/// The content of a backup.
#[derive(Debug, Serialize, Deserialize)]
struct List {
    /// Of the program that made it.
    version: String,
    /// Every file, below the backup's directory.
    files: Vec<Listed>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Listed {
    path: String,
    size: u64,
    sha256: String,
}

/// Where the parts of an installation are.
struct DataPaths {
    database: PathBuf,
    /// None where the secret is configured.
    secret: Option<PathBuf>,
    /// None where files are in a bucket.
    assets: Option<PathBuf>,
}

fn data_paths(config: &Config) -> Result<DataPaths, String> {
    let DatabaseUrl::Sqlite(database) = config.database_url() else {
        return Err("the database is PostgreSQL: use pg_dump and pg_restore (docs/backup.md)".to_owned());
    };
    let data = &config.general.data_dir;
    let own = config.assets.directory.clone().unwrap_or_else(|| data.join(ASSETS));
    Ok(DataPaths {
        database,
        secret: config.general.secret.is_none().then(|| data.join(SECRET)),
        assets: config.assets.bucket.is_none().then_some(own),
    })
}

/// Makes a backup, also while a service runs. The directory must not exist; it appears when the backup is complete.
pub async fn back_up(config: &Config, to: &Path) -> Result<(), String> {
    let paths = data_paths(config)?;
    // Without a slash at the end, so that the draft is beside it.
    let to = &to.components().collect::<PathBuf>();
    if to.exists() {
        return Err(format!("{} exists", to.display()));
    }
    if !paths.database.exists() {
        return Err(format!("there is no database at {}", paths.database.display()));
    }
    let draft = suffixed(to, ".unfinished");
    remove(&draft).map_err(|e| with_path(&draft, &e))?;
    directory(&draft).map_err(|e| with_path(&draft, &e))?;
    let made = fill(&paths, &draft).await;
    let done = made.and_then(|list| fs::rename(&draft, to).map(|()| list).map_err(|e| with_path(to, &e)));
    match done {
        Ok(list) => {
            let bytes: u64 = list.files.iter().map(|file| file.size).sum();
            print(&format!("{} files, {bytes} bytes in {}\n", list.files.len(), to.display()));
            if paths.secret.is_none() {
                print("the secret is configured and not in it: keep it with the backup\n");
            }
            if paths.assets.is_none() {
                print(
                    "what is in the bucket is not in it: backups of systems, and images if assets.images says so\n",
                );
            }
            Ok(())
        }
        Err(why) => {
            // If this fails, the name of the directory shows that the backup is unfinished.
            let _ = remove(&draft);
            Err(why)
        }
    }
}

async fn fill(paths: &DataPaths, draft: &Path) -> Result<List, String> {
    let url = format!("sqlite:{}", paths.database.display());
    let options = database::Options { connections: 1, exclusive: false, ..database::Options::new(url) };
    let db = database::Db::open(&options).await.map_err(|e| format!("the database cannot be opened: {e}"))?;
    let to = draft.join(DATABASE);
    let snapshot = db.snapshot(&to).await.map_err(|e| format!("the database cannot be copied: {e}"));
    db.close().await;
    snapshot?;
    let (draft, secret, assets) = (draft.to_owned(), paths.secret.clone(), paths.assets.clone());
    let rest = move || {
        fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).map_err(|e| with_path(&to, &e))?;
        let mut files = vec![list_one(&draft, DATABASE)?];
        if let Some(secret) = secret {
            copy(&secret, &draft.join(SECRET)).map_err(|e| with_path(&secret, &e))?;
            files.push(list_one(&draft, SECRET)?);
        }
        // After the database: the files it names exist already and never change.
        for path in assets.as_deref().map(files_below).transpose()?.unwrap_or_default() {
            let (from, name) = path;
            let to = draft.join(ASSETS).join(&name);
            match copy(&from, &to) {
                Ok(()) => files.push(list_one(&draft, &format!("{ASSETS}/{name}"))?),
                // Deleted meanwhile.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(with_path(&from, &e)),
            }
        }
        let list = List { version: env!("CARGO_PKG_VERSION").to_owned(), files };
        let text = serde_json::to_string_pretty(&list).map_err(|e| e.to_string())?;
        let path = draft.join(LIST);
        write(&path, text.as_bytes()).map_err(|e| with_path(&path, &e))?;
        Ok(list)
    };
    tokio::task::spawn_blocking(rest).await.map_err(|e| e.to_string())?
}

/// Restores a backup to the places that the configuration names. Existing files are not overwritten.
pub fn restore(config: &Config, from: &Path) -> Result<(), String> {
    let paths = data_paths(config)?;
    let list = fs::read_to_string(from.join(LIST)).map_err(|e| with_path(&from.join(LIST), &e))?;
    let list: List = serde_json::from_str(&list).map_err(|e| format!("{LIST} is unreadable: {e}"))?;
    check(from, &list)?;
    let holds = |name: &str| list.files.iter().any(|file| file.path == name);
    if !holds(DATABASE) {
        return Err("there is no database in this backup".to_owned());
    }
    let secret = paths.secret.as_deref().filter(|_| holds(SECRET));
    if paths.secret.is_some() && !holds(SECRET) {
        return Err("the backup holds no secret: configure the one of its time".to_owned());
    }
    if paths.secret.is_none() && holds(SECRET) {
        same_secret(config, from)?;
    }
    // SQLite would play the files that a killed process has left beside its database into the restored one.
    let beside = ["", "-wal", "-shm", "-journal"].map(|end| suffixed(&paths.database, end));
    for path in beside.iter().map(PathBuf::as_path).chain(secret) {
        if path.exists() {
            return Err(format!("{} exists: move the files of that installation away first", path.display()));
        }
    }
    if let Some(parent) = paths.database.parent() {
        directory(parent).map_err(|e| with_path(parent, &e))?;
    }
    let _lock = database::lock_file(&paths.database).map_err(|e| e.to_string())?;
    let assets = list.files.iter().filter_map(|file| file.path.strip_prefix("assets/")).collect::<Vec<_>>();
    let target = match (&paths.assets, assets.is_empty()) {
        (_, true) => None,
        (Some(path), false) => Some(path),
        (None, false) => return Err("the backup holds files and the configuration names a bucket".to_owned()),
    };
    if let Some(path) = target {
        if !files_below(path)?.is_empty() {
            return Err(format!("{} is not empty", path.display()));
        }
        for name in &assets {
            let to = path.join(name);
            copy(&from.join(ASSETS).join(name), &to).map_err(|e| with_path(&to, &e))?;
        }
    }
    if let Some(path) = secret {
        copy(&from.join(SECRET), path).map_err(|e| with_path(path, &e))?;
    }
    // Last and atomically: the database completes the installation.
    let draft = suffixed(&paths.database, ".restoring");
    remove_file(&draft).map_err(|e| with_path(&draft, &e))?;
    copy(&from.join(DATABASE), &draft).map_err(|e| with_path(&draft, &e))?;
    fs::rename(&draft, &paths.database).map_err(|e| with_path(&paths.database, &e))?;
    print(&format!("restored {} files\n", list.files.len()));
    Ok(())
}

/// A configured secret must be the backup's: data sealed with another one cannot be opened.
fn same_secret(config: &Config, from: &Path) -> Result<(), String> {
    let stored = fs::read_to_string(from.join(SECRET)).map_err(|e| with_path(&from.join(SECRET), &e))?;
    match &config.general.secret {
        Some(secret) if secret.reveal() != stored.trim_end() => {
            Err("the configured secret is not the one of the backup".to_owned())
        }
        _ => Ok(()),
    }
}

/// Checks that every file is unchanged and below the directory.
fn check(from: &Path, list: &List) -> Result<(), String> {
    for file in &list.files {
        let path = Path::new(&file.path);
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(format!("{LIST} names {}, which is not below it", file.path));
        }
        let found = list_one(from, &file.path)?;
        if (found.size, &found.sha256) != (file.size, &file.sha256) {
            return Err(format!(
                "the checksum of {} differs from the one in {LIST}: the backup is damaged, nothing was restored",
                file.path
            ));
        }
    }
    Ok(())
}

/// The path with something at its end.
fn suffixed(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn with_path(path: &Path, why: &io::Error) -> String {
    format!("{}: {why}", path.display())
}

fn list_one(directory: &Path, name: &str) -> Result<Listed, String> {
    let path = directory.join(name);
    let sum = || {
        let (mut file, mut sum) = (fs::File::open(&path)?, digest::Context::new(&digest::SHA256));
        let (mut buffer, mut size) = (vec![0; 256 * 1024], 0);
        loop {
            let n = file.read(&mut buffer)?;
            if n == 0 {
                return Ok((size, sum.finish()));
            }
            sum.update(buffer.get(..n).unwrap_or_default());
            size += n as u64;
        }
    };
    let (size, sum) = sum().map_err(|e| with_path(&path, &e))?;
    let sha256 = sum.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Listed { path: name.to_owned(), size, sha256 })
}

/// Regular files below a directory with their names relative to it; none when there is no directory.
///
/// # Errors
/// When it cannot be read, or has links: the files they lead to would be missing.
fn files_below(directory: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let (mut found, mut waiting) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(next) = waiting.pop() {
        let entries = match fs::read_dir(&next) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(with_path(&next, &e)),
        };
        for entry in entries {
            let entry = entry.map_err(|e| with_path(&next, &e))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(|e| with_path(&next, &e))?);
            if kind.is_symlink() {
                return Err(format!("{} is a link", path.display()));
            }
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_file()
                && let Some(name) = path.strip_prefix(directory).ok().and_then(Path::to_str)
            {
                let name = name.to_owned();
                found.push((path, name));
            }
        }
    }
    Ok(found)
}

fn directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Copies into a new file that only its owner can read, and waits until it is on disk.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = fs::File::open(from)?;
    if let Some(parent) = to.parent() {
        directory(parent)?;
    }
    let mut target = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut source, &mut target)?;
    target.sync_all()
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}
