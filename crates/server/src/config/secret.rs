//! The service's secret: configured, or made once and kept in the data directory.

use super::{Config, Secret, check::SECRET_BYTES};
use bailiwick_domain::{Entropy, ports::random_hex};
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

/// A secret and where it comes from.
#[derive(Clone, Debug)]
pub struct LocatedSecret {
    /// The secret.
    pub secret: Secret,
    /// For messages: `secret (variable BAILIWICK_SECRET)`, `the secret in ./data/secret`.
    pub origin: String,
}

/// Where the secret is when none is configured.
pub fn secret_file(config: &Config) -> PathBuf {
    config.general.data_dir.join("secret")
}

/// The configured secret, or the one in `<data_dir>/secret`; none without either. The error is a text for the operator.
pub fn find_secret(config: &Config) -> Result<Option<LocatedSecret>, String> {
    if let Some(secret) = &config.general.secret {
        return Ok(Some(LocatedSecret { secret: secret.clone(), origin: config.with_origin("secret") }));
    }
    let path = secret_file(config);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(format!("the secret in {}: {why}", path.display())),
    };
    let secret = Secret::new(text.trim_end_matches(['\r', '\n']).to_owned());
    if secret.reveal().len() < SECRET_BYTES {
        return Err(format!("the secret in {} is shorter than {SECRET_BYTES} bytes", path.display()));
    }
    Ok(Some(LocatedSecret { secret, origin: format!("the secret in {}", path.display()) }))
}

/// Creates the file; if two processes do so at once, the second uses the first one's. The error is a text for the
/// operator.
pub fn make_secret(config: &Config, entropy: &dyn Entropy) -> Result<LocatedSecret, String> {
    let path = secret_file(config);
    make(&path, entropy)
        .map_err(|why| format!("the secret cannot be kept in {} (data_dir): {why}", path.display()))?;
    find_secret(config)?.ok_or_else(|| format!("the secret in {} is gone again", path.display()))
}

/// Writes a fresh secret beside the path and links it in place: the path never holds a part of a secret, and a secret
/// that another process has put there meanwhile stays.
fn make(path: &Path, entropy: &dyn Entropy) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
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
