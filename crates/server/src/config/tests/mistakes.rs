//! Mistakes of operators, and the messages that report them.

use super::*;

#[test]
fn all_problems_are_reported_at_once_by_name_and_source() {
    let file = "secret = \"short-secret\"\ncolour = \"red\"\n[http]\nlisten = \"nowhere\"\nport = 3\nlisen = \"\"\nworkers = \"2\"\n\
        [tokens]\naccess_lifetime = \"soon\"\n[extra]\nkey = 1\n[identity]\nmode = \"ldap\"\n";
    let env = [
        ("BAILIWICK_ALERTING__MODE", "both"),
        ("BAILIWICK_COLOR", "red"),
        ("BAILIWICK_DATABASE__URL", "mysql://u:hunter2@h/d"),
    ];
    let messages = problems(file, &env);
    for start in [
        "colour (configuration file): is not a setting",
        "http.port (configuration file): is not a setting",
        "http.lisen (configuration file): is not a setting of this version; did you mean http.listen?",
        "http.workers (configuration file): must be a whole number",
        "extra.key (configuration file): is not a setting",
        "http.listen (configuration file): `nowhere` is not an address",
        "tokens.access_lifetime (configuration file): `soon` is not a duration",
        "identity.mode (configuration file): `ldap` is not one of embedded, oidc, logto",
        "alerting.mode (variable BAILIWICK_ALERTING__MODE): `both` is not one of embedded, remote",
        "color (variable BAILIWICK_COLOR): is not a setting",
        "database.url (variable BAILIWICK_DATABASE__URL): does not begin",
        "secret (configuration file): is shorter than 32 bytes",
    ] {
        assert_eq!(
            messages.iter().filter(|line| line.starts_with(start)).count(),
            1,
            "{start}\n{messages:#?}"
        );
    }
    assert_eq!(messages.len(), 12, "{messages:#?}");
    assert!(!messages.concat().contains("hunter2") && !messages.concat().contains("short-secret"));

    // Rules skip values that could not be read.
    let file = "[alerting]\nmode = \"both\"\n[alerting.remote]\nurl = \"http://mimir\"\n";
    assert_eq!(problems(file, &[]).len(), 1);
}

#[test]
fn no_part_of_an_invalid_address_is_printed() {
    let file = "[alerting]\nmode = \"remote\"\n[alerting.remote]\nurl = \"http://fleet:hunter2@mimir:9009\"\n\
        [http]\npublic_url = \"https://me:hunter2@portal.example/\"\ncors_origins = [\"https://me:hunter2@a.example\"]\n\
        [smtp]\nhost = \"smtp://me:hunter2@mail.example\"\nfrom = \"a@b.example\"\n\
        [telemetry]\notlp_endpoint = \"http://x/?token=hunter2\"\n\
        [assets]\nbucket = \"b\"\naccess_key = \"k\"\nsecret_key = \"hunter2\"\nendpoint = \"s3://me:hunter2@s3.example\"\n\
        [database]\nurl = \"postgres://me:hunter2@#hunter2@127.0.0.1/x\"\nread_url = \"postgres://me:hun/hunter2@db/x\"\n";
    let messages = problems(file, &[("API_BASE_URL", "https://me:hunter2@portal.example/x y")]);
    for setting in [
        "alerting.remote.url",
        "http.public_url",
        "http.cors_origins",
        "smtp.host",
        "telemetry.otlp_endpoint",
        "assets.endpoint",
        "database.url",
        "database.read_url",
        "http.base_paths",
    ] {
        let lines = messages.iter().filter(|line| line.starts_with(&format!("{setting} ")));
        assert_eq!(lines.count(), 1, "{setting}\n{messages:#?}");
    }
    assert!(!messages.concat().contains("hunter2"), "{messages:#?}");
}

#[test]
fn two_listeners_need_two_addresses() {
    let file = "[http]\nlisten = \"0.0.0.0:8080\"\n[metrics]\nlisten = \"127.0.0.1:8080\"\n";
    assert!(
        problems(file, &[])[0]
            .starts_with("metrics.listen (configuration file): is the address of http.listen")
    );
    loaded(&file.replace("127.0.0.1:8080", "127.0.0.1:8081"), &[], &[]);
}

#[test]
fn a_check_reads_the_files_that_the_service_reads() {
    let directory = tempfile::tempdir().unwrap();
    let path_of = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path_of("not-pem"), "x").unwrap();
    fs::write(path_of("secret"), "short").unwrap();
    let file = format!(
        "data_dir = \"{}\"\n[http]\ntls_certificate = \"{}\"\ntls_key = \"{}\"\nstatic_dir = \"{}\"\n\
         [smtp]\nca_file = \"{}\"\n",
        directory.path().display(),
        path_of("no-cert.pem"),
        path_of("no-key.pem"),
        path_of("no-web"),
        path_of("not-pem"),
    );
    loaded(&file, &[], &[]);
    let found = load_for_service(Some(&file), variables(&[]), &[]).unwrap_err();
    let settings: Vec<&str> = found.iter().map(|problem| problem.setting.as_str()).collect();
    assert_eq!(
        settings,
        ["http.tls_certificate", "http.static_dir", "smtp.ca_file", "data_dir"],
        "{found:#?}"
    );
    assert!(
        found[0].message.contains("no-cert.pem") && found[0].message.contains("No such file"),
        "{found:#?}"
    );
}

#[test]
fn a_certificate_needs_a_public_address_with_https() {
    let file = |scheme| {
        format!(
            "[http]\npublic_url = \"{scheme}://portal.example\"\ntls_certificate = \"a.pem\"\ntls_key = \"b.pem\"\n"
        )
    };
    let messages = problems(&file("http"), &[]);
    assert!(
        messages.len() == 1 && messages[0].starts_with("http.public_url (configuration file): begins with"),
        "{messages:#?}"
    );
    loaded(&file("https"), &[], &[]);
}
