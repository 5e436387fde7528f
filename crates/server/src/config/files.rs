//! The files that only the service reads: a command may run as a user who must not read them.

use super::{Config, Problem, find_secret};
use crate::listen::Tls;
use bailiwick_app::static_files::StaticFiles;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

/// Adds the problems of files that cannot be used.
pub(super) fn check(config: &Config, problems: &mut Vec<Problem>) {
    let mut refuse = |path: &str, message: String| {
        if !problems.iter().any(|problem| problem.setting == path) {
            problems.push(Problem::new(path, config.origin(path), message));
        }
    };
    if let (Some(certificate), Some(key)) = (&config.http.tls_certificate, &config.http.tls_key)
        && let Err(problem) = Tls::open(certificate, key)
    {
        refuse(problem.setting, problem.why);
    }
    if let Some(Err(why)) = config.http.static_dir.as_deref().map(StaticFiles::open) {
        refuse("http.static_dir", why);
    }
    if let Some(Err(why)) = config.smtp.ca_file.as_deref().map(authority) {
        refuse("smtp.ca_file", why);
    }
    if let Err(why) = find_secret(config) {
        refuse("data_dir", why);
    }
}

fn authority(path: &Path) -> Result<(), String> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(certificates) if certificates.is_empty() => {
            Err(format!("{}: holds no certificate in PEM", path.display()))
        }
        Ok(_) => Ok(()),
        Err(why) => Err(format!("{}: {why}", path.display())),
    }
}

/// Whether users of this machine other than the file's owner and group can read it.
pub(super) fn is_open_to_all(path: &Path) -> bool {
    let mode = |path: &Path| fs::metadata(path).map_or(0, |data| data.permissions().mode());
    let Ok(real) = path.canonicalize() else { return false };
    mode(&real) & 0o004 != 0 && real.ancestors().skip(1).all(|directory| mode(directory) & 0o001 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;

    #[test]
    fn a_file_is_open_when_all_may_reach_and_read_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        fs::write(&path, "x").unwrap();
        for (of_directory, of_file, is_open) in
            [(0o755, 0o644, true), (0o755, 0o640, false), (0o750, 0o644, false), (0o711, 0o604, true)]
        {
            fs::set_permissions(directory.path(), Permissions::from_mode(of_directory)).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(of_file)).unwrap();
            assert_eq!(is_open_to_all(&path), is_open, "{of_directory:o} {of_file:o}");
        }
        assert!(!is_open_to_all(&directory.path().join("none")));
    }
}
