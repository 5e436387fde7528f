//! The proxies of `docs/proxy.md`, with the configurations that it shows, in front of the real program (curl).

use crate::{
    program::{Serving, repository, wait_until},
    tls::{Ending, renew},
};
use bailiwick_testkit::parts::ports;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command},
};

const PASSWORD: &str = "Correct-Horse-7-Battery";
/// Where the clients of these tests come from; the proxies are at 127.0.0.1.
const CLIENT: &str = "127.0.0.2";

/// The block of the page in this language.
fn snippet(language: &str) -> String {
    let page = fs::read_to_string(repository().join("docs/proxy.md")).expect("the page");
    let (_, after) = page.split_once(&format!("```{language}\n")).expect(language);
    after.split("```").next().expect("an end").to_owned()
}

/// A service that knows its address behind the proxy, and the address of the proxy.
struct Site {
    dir: PathBuf,
    port: u16,
    service: Serving,
    _proxy: Ending,
}

impl Site {
    /// `start` starts the proxy from the page's snippet, whose names are those of this site already.
    async fn start(dir: &Path, language: &str, start: fn(&Path, &str) -> Child) -> Site {
        renew(dir, "trusted.pem");
        let port = ports::spare().expect("a port");
        let url = format!("https://localhost:{port}");
        let settings =
            [("BAILIWICK_HTTP__PUBLIC_URL", url.as_str()), ("BAILIWICK_HTTP__TRUSTED_PROXIES", "127.0.0.1")];
        let service = Serving::start(dir, &settings).await;
        let upstream = service.url.trim_start_matches("http://");
        let snippet = snippet(language)
            .replace("127.0.0.1:8080", upstream)
            .replace("/etc/ssl/fleet.example.org/fullchain.pem", &dir.join("cert.pem").display().to_string())
            .replace("/etc/ssl/fleet.example.org/privkey.pem", &dir.join("key.pem").display().to_string())
            .replace("listen 443", &format!("listen {port}"))
            .replace("fleet.example.org {", &format!("https://localhost:{port} {{\n\ttls cert.pem key.pem"))
            .replace("fleet.example.org", "localhost");
        let proxy = Ending(start(dir, &snippet));
        let site = Site { dir: dir.to_owned(), port, service, _proxy: proxy };
        wait_until("the proxy answers", || site.curl(&[], "/health").contains("\"code\":200")).await;
        site
    }

    fn command(&self, arguments: &[&str], path: &str) -> Command {
        let mut curl = Command::new("curl");
        curl.current_dir(&self.dir).args(["-sS", "--noproxy", "*", "--cacert", "trusted.pem"]);
        curl.args([
            "--interface",
            CLIENT,
            "--connect-to",
            &format!("localhost:{0}:127.0.0.1:{0}", self.port),
        ]);
        curl.args(arguments).arg(format!("https://localhost:{}{path}", self.port));
        curl
    }

    /// The body of an answer.
    fn curl(&self, arguments: &[&str], path: &str) -> String {
        let output = self.command(arguments, path).arg("--max-time").arg("60").output().expect("curl");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn json(&self, arguments: &[&str], path: &str) -> Value {
        let text = self.curl(arguments, path);
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}: {text}"))
    }
}

/// The value of an attribute of the page's first element with this text before it.
pub fn after<'a>(page: &'a str, before: &str) -> &'a str {
    let (_, rest) = page.split_once(before).unwrap_or_else(|| panic!("no {before} in {page}"));
    rest.split('"').next().expect("an end")
}

async fn does_what_the_page_says(site: Site) {
    // A person signs in, and is known by their own address.
    let cookies = ["-c", "cookies", "-b", "cookies", "-L"];
    let page = site.curl(&[&cookies[..], &["-w", "\nit is at \"%{url_effective}"]].concat(), "/console/");
    let (token, address) = (after(&page, "name=\"form_token\" value=\""), after(&page, "\nit is at \""));
    let path = address.strip_prefix(&format!("https://localhost:{}", site.port)).expect(address);
    let form = [
        "--data-urlencode",
        &format!("form_token={token}"),
        "--data-urlencode",
        "name=owner@bailiwick.example",
        "--data-urlencode",
        &format!("password={PASSWORD}"),
    ];
    let home = site.curl(&[&cookies[..], &form[..]].concat(), path);
    assert!(home.contains("/console/sign-out"), "{home}");
    let bearer = format!("Authorization: Bearer {}", site.service.owner_token());
    let authorized = ["-H", bearer.as_str()];
    let sessions = site.json(&authorized, "/api/me/sessions");
    assert!(sessions.to_string().contains(&format!("\"client_ip\":\"{CLIENT}\"")), "{sessions}");

    // The event stream arrives while it is open.
    let stream = fs::File::create(site.dir.join("stream")).expect("a file");
    let listening =
        site.command(&[&authorized[..], &["-N"]].concat(), "/api/events/stream").stdout(stream).spawn();
    let _listening = Ending(listening.expect("curl"));
    let received =
        |text: &str| fs::read_to_string(site.dir.join("stream")).is_ok_and(|all| all.contains(text));
    wait_until("the stream is open", || received("retry:")).await;
    let customer = r#"{"name":"Gamma Srl","custom_data":{"vat":"IT01234567890"}}"#;
    let customer = site.json(&[&authorized[..], &["-d", customer]].concat(), "/api/customers");
    wait_until("the event arrives", || received("Gamma Srl")).await;

    // A large document.
    let system = format!(r#"{{"name":"Milan","organization_id":{}}}"#, customer["data"]["id"]);
    let system = site.json(&[&authorized[..], &["-d", &system]].concat(), "/api/systems");
    let text = |name: &str| system["data"][name].as_str().expect(name).to_owned();
    let register = format!(r#"{{"system_secret":"{}"}}"#, text("system_secret"));
    assert_eq!(site.json(&["-d", &register], "/api/systems/register")["code"], 200);
    let document = serde_json::json!({
        "$schema": "https://schema.nethserver.org/facts/2022-12.json",
        "uuid": "0b8e3f3e-6f0a-4bd5-9a4c-1c5f2a6d7e88",
        "installation": "nethserver",
        "facts": {"cluster": {}, "modules": [], "nodes": {}, "notes": "x".repeat(5 * 1024 * 1024)},
    });
    fs::write(site.dir.join("document"), document.to_string()).expect("a file");
    let credential = format!("{}:{}", text("system_key"), text("system_secret"));
    let sent = ["-u", &credential, "--data-binary", "@document"];
    assert_eq!(site.json(&sent, "/collect/api/systems/inventory")["code"], 202);
}

fn nginx(dir: &Path, snippet: &str) -> Child {
    let program = if Path::new("/usr/sbin/nginx").exists() { "/usr/sbin/nginx" } else { "nginx" };
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {}/{name};", dir.display()))
        .concat();
    // One process: killing a master would leave its worker behind.
    let user = if rustix::process::getuid().is_root() { "user root;" } else { "" };
    let all = format!(
        "{user} daemon off; master_process off; pid {0}/pid; error_log {0}/errors; events {{}}\nhttp {{ access_log off; {temporary}\n{snippet} }}",
        dir.display()
    );
    fs::write(dir.join("nginx.conf"), all).expect("a file");
    let conf = dir.join("nginx.conf");
    Command::new(program)
        .arg("-p")
        .arg(dir)
        .arg("-c")
        .arg(conf)
        .arg("-e")
        .arg(dir.join("errors"))
        .spawn()
        .expect("nginx")
}

fn caddy(dir: &Path, snippet: &str) -> Child {
    fs::write(
        dir.join("Caddyfile"),
        format!("{{\n\tadmin off\n\tauto_https disable_redirects\n}}\n{snippet}"),
    )
    .expect("a file");
    let mut caddy = Command::new("caddy");
    caddy.args(["run", "--config", "Caddyfile", "--adapter", "caddyfile"]).current_dir(dir).env("HOME", dir);
    let log = fs::File::create(dir.join("caddy.log")).expect("a file");
    caddy.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME").stderr(log).spawn().expect("caddy")
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_as_the_page_configures_it() {
    let dir = tempfile::tempdir().expect("a directory");
    does_what_the_page_says(Site::start(dir.path(), "nginx", nginx).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn caddy_as_the_page_configures_it() {
    let dir = tempfile::tempdir().expect("a directory");
    does_what_the_page_says(Site::start(dir.path(), "caddy", caddy).await).await;
}
