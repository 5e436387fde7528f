//! Finds the programs that the parts run.

use super::{PartError, Result};
use std::path::{Path, PathBuf};

/// The path of a program: first in the given directories, then along `PATH`, then where Debian puts programs.
///
/// `package` is the Debian package that brings it, named in the error.
///
/// # Errors
/// When the program is not installed; the text says how to install it.
pub fn find(names: &[&str], package: &str, first: &[PathBuf]) -> Result<PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    let along_path = std::env::split_paths(&path).collect::<Vec<_>>();
    let usual = ["/usr/local/bin", "/usr/bin", "/usr/sbin"].map(PathBuf::from);
    let directories = || first.iter().chain(&along_path).chain(&usual);
    for name in names {
        if let Some(found) = directories().map(|path| path.join(name)).find(|file| is_program(file)) {
            return Ok(found);
        }
    }
    Err(PartError::new(format!(
        "{} is not installed: run `make test` as root, or `apt-get install {package}`",
        names.join(" or ")
    )))
}

/// Python: the system's rather than the first one along `PATH`, which may be a wrapper script.
///
/// # Errors
/// When there is none.
pub fn python() -> Result<PathBuf> {
    find(&["python3"], "python3", &[PathBuf::from("/usr/bin")])
}

/// A variable of the process environment; tests have no configuration to ask.
pub(crate) fn variable(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the parts of the test run are chosen by its environment")]
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_says_how_to_install_it() {
        let error = find(&["bailiwick-no-such-program"], "some-package", &[]).unwrap_err();
        assert!(error.to_string().contains("apt-get install some-package"), "{error}");
    }

    #[test]
    fn the_given_directory_comes_first() {
        let found = find(&["sh"], "dash", &[PathBuf::from("/bin")]).unwrap();
        assert_eq!(found, Path::new("/bin/sh"));
    }
}
