//! Accepted by `amtool check-config`, and walked alike by `amtool config routes test` and by our own tree.

use super::*;
use bailiwick_alertmanager::{
    Labels, Matcher,
    config::{Document, Tree},
};

#[test]
fn amtool_accepts_every_document() {
    for (n, effective) in configurations().iter().enumerate() {
        for bare in [false, true] {
            let mut publishing = publishing();
            if bare {
                (publishing.smtp, publishing.history) = (None, None);
                publishing.omitted.push(RecipientKind::Email);
            }
            let upload = Upload::new(TENANT, effective, &publishing).expect("an upload");
            let (scratch, file) = written(&upload);
            let judged = amtool(scratch.path(), &["check-config", &file.display().to_string()]);
            let output = format!(
                "{}{}",
                String::from_utf8_lossy(&judged.stdout),
                String::from_utf8_lossy(&judged.stderr)
            );
            assert!(judged.status.success(), "{n}: {output}\n{}", upload.alertmanager_config);
            let receivers = Document::from_yaml(&upload.alertmanager_config).unwrap().receivers.len();
            assert!(output.contains(&format!("{receivers} receivers")), "{output}");
            assert!(output.contains(&format!("{} templates", upload.template_files.len())), "{output}");
        }
    }
}

#[test]
fn amtool_refuses_what_is_wrong() {
    let scratch = Scratch::new("document").expect("a directory");
    let file = scratch.write("wrong.yml", "route: {receiver: nobody}\nreceivers: []\n").expect("a file");
    assert!(!amtool(scratch.path(), &["check-config", &file.display().to_string()]).status.success());
}

#[test]
fn amtool_routes_as_we_do() {
    for (n, effective) in configurations().iter().enumerate() {
        let upload = Upload::new(TENANT, effective, &publishing()).expect("an upload");
        let (scratch, file) = written(&upload);
        let file = format!("--config.file={}", file.display());
        let tree = Tree::new(&Document::from_yaml(&upload.alertmanager_config).unwrap().route).unwrap();
        let systems = effective.systems.iter().map(|o| o.system_key.as_str()).chain(["SYS-NONE", ""]);
        for system_key in systems {
            for (severity, tenant) in [
                ("critical", TENANT),
                ("warning", TENANT),
                ("info", TENANT),
                ("", TENANT),
                ("x", TENANT),
                ("critical", "x"),
            ] {
                let labels: Labels = [
                    ("organization_id", tenant),
                    ("system_key", system_key),
                    ("severity", severity),
                    ("alertname", "A"),
                ]
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .collect();
                let ours: Vec<&str> = tree.route(&labels).iter().map(|d| d.receiver.as_str()).collect();
                let mut arguments =
                    vec!["config".to_owned(), "routes".to_owned(), "test".to_owned(), file.clone()];
                arguments.extend(labels.iter().map(|(name, value)| Matcher::equal(name, value).to_string()));
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let tested = amtool(scratch.path(), &arguments);
                let theirs = String::from_utf8_lossy(&tested.stdout).trim().to_owned();
                assert!(tested.status.success(), "{}", String::from_utf8_lossy(&tested.stderr));
                assert_eq!(ours.join(","), theirs, "{n}: {labels:?}");
            }
        }
    }
}
