//! The service's secret: configured, or made once and kept in the data directory.

use super::{Config, Secret, check::SECRET_BYTES};
use bailiwick_domain::{Entropy, ports::random_hex};
use std::{
    fs,
    io::{self, Write},
    path::Path,
};

/// The configured secret, or the one in `<data_dir>/secret`, which is made at the first start. The error is a text for
/// the operator.
pub fn ensure_secret(config: &Config, entropy: &dyn Entropy) -> Result<Secret, String> {
    if let Some(secret) = &config.general.secret {
        return Ok(secret.clone());
    }
    let path = config.general.data_dir.join("secret");
    let secret = kept(&path, entropy).map_err(|why| format!("the secret in {}: {why}", path.display()))?;
    if secret.reveal().len() < SECRET_BYTES {
        return Err(format!("the secret in {} is shorter than {SECRET_BYTES} bytes", path.display()));
    }
    Ok(secret)
}

/// The file's secret; a fresh one when there is no file.
fn kept(path: &Path, entropy: &dyn Entropy) -> io::Result<Secret> {
    match fs::read_to_string(path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => make(path, entropy)?,
        Err(why) => return Err(why),
        Ok(_) => {}
    }
    // Read again after making: of two processes that start at once, the second keeps the first one's.
    fs::read_to_string(path).map(|text| Secret::new(text.trim_end_matches(['\r', '\n'])))
}

/// Writes a fresh secret beside the path and links it in place: the path never holds half a secret, and one that
/// another process put there meanwhile stays.
fn make(path: &Path, entropy: &dyn Entropy) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let draft = path.with_file_name(format!("secret.{}", random_hex::<8>(entropy)));
    let mut file = open_private(&draft)?;
    let written = writeln!(file, "{}", random_hex::<32>(entropy)).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| fs::hard_link(&draft, path));
    fs::remove_file(&draft)?;
    match linked {
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// A new file that only its owner can read.
fn open_private(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
