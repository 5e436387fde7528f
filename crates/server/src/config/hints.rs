//! What an operator has probably overlooked: a configuration that works, but not as it is meant.

use super::{Config, files, secret_file};
use std::process;

impl Config {
    /// A sentence for each, with the setting to change.
    pub fn hints(&self) -> Vec<String> {
        let mut hints = self.ignored.clone();
        hints.extend(self.is_nowhere());
        hints.extend(self.open_secrets());
        hints
    }

    /// People are sent to the public address to sign in. Without one, that is an address of this machine.
    fn is_nowhere(&self) -> Option<String> {
        let listen = self.http.listen;
        let is_reached = !listen.ip().to_canonical().is_loopback();
        (is_reached && self.http.public_url.is_none()).then(|| {
            format!(
                "http.listen is {listen}, but http.public_url is not set: people who come from elsewhere are sent to {} to \
                 sign in; set http.public_url to the address that they use",
                self.public_url()
            )
        })
    }

    /// The first process of a container has it alone: nobody else is there to read its files.
    fn open_secrets(&self) -> Vec<String> {
        if process::id() == 1 {
            return Vec::new();
        }
        let generated = self.general.secret.is_none().then(|| ("data_dir", secret_file(self)));
        let key = self.http.tls_key.clone().map(|path| ("http.tls_key", path));
        let files = self.secret_files.iter().cloned().chain(generated).chain(key);
        let open = files.filter(|(_, path)| files::is_open_to_all(path));
        open.map(|(setting, path)| {
            format!(
                "every user of this machine can read {} ({setting}): chmod o= {}",
                path.display(),
                path.display()
            )
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::load;
    use std::{
        fs::{self, Permissions},
        os::unix::fs::PermissionsExt,
    };

    fn hints(file: &str, environment: &[(&str, &str)]) -> Vec<String> {
        let environment = environment.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        load(Some(file), environment, &[]).unwrap().hints()
    }

    #[test]
    fn an_address_that_others_reach_needs_a_public_one() {
        let is_reported = |file: &str| hints(file, &[]).iter().any(|hint| hint.contains("http.public_url"));
        for listen in ["0.0.0.0:80", "[::]:80", "192.0.2.1:80"] {
            let file = format!("[http]\nlisten = \"{listen}\"\n");
            assert!(is_reported(&file), "{listen}");
            assert!(!is_reported(&format!("{file}public_url = \"https://portal.example\"\n")));
        }
        assert!(!is_reported("[http]\nlisten = \"[::1]:80\"\n"));
    }

    #[test]
    fn a_secret_that_everybody_can_read_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        let path = directory.path().join("secret");
        fs::write(&path, "0123456789abcdef0123456789abcdef").unwrap();
        let file = format!("data_dir = \"{}\"\n", directory.path().display());
        for (mode, times) in [(0o644, 1), (0o600, 0)] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let by_file = [("BAILIWICK_SECRET_FILE", path.to_str().unwrap())];
            for printed in [hints(&file, &[]), hints(&file, &by_file)] {
                assert_eq!(
                    printed.iter().filter(|hint| hint.contains("chmod")).count(),
                    times,
                    "{printed:?}"
                );
            }
        }
    }

    #[test]
    fn an_older_name_yields_to_the_file_unless_it_may_win() {
        let file = "[http]\nlisten = \"127.0.0.1:1\"\n[database]\nurl = \"sqlite:./own.db\"\n";
        let environment = [("DATABASE_URL", "postgres://other/x"), ("APP_URL", "https://ui.example")];
        let printed = hints(file, &environment);
        assert_eq!(printed.len(), 1, "{printed:?}");
        assert!(printed[0].contains("DATABASE_URL") && printed[0].contains("database.url"), "{printed:?}");
        assert!(hints(&format!("older_names = true\n{file}"), &environment).is_empty());
    }
}
