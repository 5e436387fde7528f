"""The compose files: what must be true of them, and their settings in the real program, which starts with them."""

import http.server
import os
import shutil
import stat
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import yaml

import postgres
import program
from containers import COMPOSE, REPOSITORY, docker_compose, project

FILES = ["sqlite.yaml", "mimir.yaml", "sqlite.yaml bucket.yaml", "mimir.yaml bucket.yaml"]
BUCKET = {"BUCKET_URL": "https://backups.example.org"}


class Files(unittest.TestCase):
    def services(self):
        for file in FILES:
            for name, service in project(file, **BUCKET)["services"].items():
                with self.subTest(file, service=name):
                    yield name, service

    def test_docker_compose_reads_them(self):
        command = docker_compose()
        if not command:
            self.skipTest("Docker Compose is not installed; the reader it uses has read them")
        for files in FILES:
            named = [part for file in files.split() for part in ["-f", COMPOSE / file]]
            known = {**os.environ, **BUCKET}
            subprocess.run([*command, *named, "config", "--quiet"], check=True, cwd=COMPOSE, env=known)

    def test_images_have_versions(self):
        for _, service in self.services():
            # One's own image has a digest only once it is made; that of anybody else cannot change behind its tag.
            digest = "" if service["image"].startswith("bailiwick:") else "@sha256:[0-9a-f]{64}"
            self.assertRegex(service["image"], rf"^[a-z/]+:v?[0-9]+\.[0-9]+(\.[0-9]+)?(-[a-z]+)?{digest}$")

    def test_workflows_name_what_they_run_by_its_digest(self):
        for workflow in sorted((REPOSITORY / ".github/workflows").glob("*.yml")):
            for line in workflow.read_text().splitlines():
                if "uses: " in line:
                    self.assertRegex(line, r"uses: [a-z/-]+@[0-9a-f]{40} # v[0-9.]+$")
                if "image: " in line:
                    self.assertRegex(line, r"image: [a-z]+:[0-9]+@sha256:[0-9a-f]{64}$")

    def test_only_the_service_and_its_bucket_are_published(self):
        for name, service in self.services():
            self.assertEqual(bool(service.get("ports")), name in ["bailiwick", "backups"])
            for port in service.get("ports", []):
                # On this machine only, until someone decides otherwise.
                self.assertEqual((port["host_ip"], port["published"]), ("127.0.0.1", str(port["target"])))
        self.assertNotIn("backups", project("mimir.yaml")["services"])

    def test_containers_have_no_rights(self):
        for name, service in self.services():
            self.assertEqual(service["cap_drop"], ["ALL"])
            self.assertEqual(service["security_opt"], ["no-new-privileges:true"])
            self.assertTrue(service.get("read_only") or name == "database")
            self.assertFalse(service.get("privileged"))
            if name == "bailiwick":
                self.assertEqual(service["user"], "10001:10001")

    def test_each_is_asked_whether_it_is_healthy(self):
        for name, service in self.services():
            # The image of Mimir has no program that could ask.
            self.assertEqual("healthcheck" in service, name != "mimir")
            if name == "bailiwick":
                self.assertEqual(service["healthcheck"]["test"], ["CMD", "/usr/bin/bailiwick", "health"])
                self.assertEqual(service["stop_grace_period"], "1m5s")
            self.assertEqual(service["restart"], "unless-stopped")

    def test_the_router_is_fenced(self):
        whole = project("mimir.yaml bucket.yaml", **BUCKET)
        members = {name: set() for name in whole["networks"]}
        for service, each in whole["services"].items():
            for network in each["networks"]:
                members[network].add(service)
        self.assertEqual(members["router"], {"bailiwick", "mimir"})
        self.assertTrue(whole["networks"]["router"]["internal"])
        # No other way from anyone to the router, but from the storage that holds its state.
        reached = set().union(*(members[each] for each in whole["services"]["mimir"]["networks"]))
        self.assertEqual(reached, {"mimir", "bailiwick", "mimir-storage"})
        for network in ["database", "mimir-storage"]:
            self.assertTrue(whole["networks"][network]["internal"])

    def test_mimir_keeps_tenants_apart_and_its_storage_is_there(self):
        config = yaml.safe_load((COMPOSE / "mimir-config.yaml").read_text())
        self.assertTrue(config["multitenancy_enabled"])
        self.assertTrue(config["limits"]["alertmanager_receivers_firewall_block_private_addresses"])
        storage = project("mimir.yaml")["services"]["mimir-storage"]
        s3 = config["alertmanager_storage"]["s3"]
        self.assertEqual(s3["endpoint"], "mimir-storage:7070")
        self.assertIn(f"mkdir -p /data/{s3['bucket_name']}\n", storage["command"][0])
        bailiwick = project("mimir.yaml")["services"]["bailiwick"]["environment"]
        self.assertEqual(bailiwick["BAILIWICK_ALERTING__REMOTE__URL"], f"http://mimir:{config['server']['http_listen_port']}")

    def test_no_secret_is_written_down(self):
        for file in FILES:
            whole = project(file, **BUCKET)
            for service in whole["services"].values():
                for key, value in (service.get("environment") or {}).items():
                    if any(word in key for word in ["SECRET", "PASSWORD", "TOKEN", "DATABASE__URL"]):
                        self.assertRegex(key, "_FILE$")
                        self.assertIn(Path(value).name, [each["source"] for each in service["secrets"]])
            for each in whole.get("secrets", {}).values():
                self.assertEqual(Path(each["file"]).parent, COMPOSE / "secrets")

    def test_what_people_set_arrives(self):
        for file in FILES:
            variables = {"PUBLIC_URL": "https://a.example", "OWNER_EMAIL": "a@b.example", "TRUSTED_PROXIES": "10.0.0.0/8"}
            service = project(file, **variables, **BUCKET, PUBLISH="8443")["services"]["bailiwick"]
            config = program.check(environment=without_files(service["environment"]))
            self.assertEqual(config["http"]["public_url"], "https://a.example")
            self.assertEqual(config["http"]["trusted_proxies"], ["10.0.0.0/8"])
            self.assertEqual(config["owner"]["email"], "a@b.example")
            self.assertEqual([each["published"] for each in service["ports"]], ["8443"])


def without_files(environment):
    """The same variables, with secrets in the place of their files."""
    plain = {key: value for key, value in environment.items() if not key.endswith("_FILE")}
    for key in set(environment) - set(plain):
        plain[key.removesuffix("_FILE")] = "postgres://bailiwick@database/bailiwick" if "URL" in key else "0" * 64
    return plain


class Router(http.server.BaseHTTPRequestHandler):
    """Stands in for Mimir: takes everything."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"[]")

    do_POST = do_DELETE = do_GET

    def log_message(self, *_):
        pass


class Running(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)

    def environment(self, file):
        """The variables of the service, with paths and its port here."""
        listen = f"127.0.0.1:{program.spare_port()}"
        service = project(file, **BUCKET)["services"]["bailiwick"]
        found = {
            key: value.replace("/var/lib/bailiwick", f"{self.root}/data").replace("/run/secrets", f"{self.root}/secrets")
            for key, value in service["environment"].items()
        }
        self.assertEqual(found["BAILIWICK_HTTP__LISTEN"], "0.0.0.0:8080")
        return {**found, "BAILIWICK_HTTP__LISTEN": listen}

    def make_secrets(self):
        shutil.copy(COMPOSE / "secrets.sh", self.root)
        subprocess.run([self.root / "secrets.sh"], check=True)

    def starts(self, environment, directory):
        """The program takes the settings, starts with them and is healthy; its owner is told a password."""
        config = program.check(environment=environment)
        log = directory / "log"
        with program.serving(environment, log):
            address = f"http://{environment['BAILIWICK_HTTP__LISTEN']}"
            self.assertEqual(program.status(f"{address}/health"), 200)
            self.asks_as_the_health_check_does(environment)
        text = log.read_text(encoding="utf-8")
        # One line of JSON, as the log is.
        self.assertIn('"sign_in_at":"http://localhost:8080/console/"', text)
        self.assertRegex(text, r'"password":"[^"]+"')
        self.assertIn("stopped", text)
        return config

    def asks_as_the_health_check_does(self, environment):
        if " health " in program.run("--help", environment={}).stdout:
            done = program.run("health", environment=environment)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_sqlite(self):
        self.starts(self.environment("sqlite.yaml"), self.root)
        self.assertTrue((self.root / "data/bailiwick.db").exists())
        self.assertTrue((self.root / "data/secret").exists())

    def test_the_bucket_has_an_address_for_people(self):
        with self.assertRaisesRegex(AssertionError, "BUCKET_URL"):
            project("mimir.yaml bucket.yaml")
        environment = project("mimir.yaml bucket.yaml", **BUCKET)["services"]["bailiwick"]["environment"]
        self.assertEqual(environment["BAILIWICK_ASSETS__ENDPOINT"], BUCKET["BUCKET_URL"])

    def test_mimir_with_a_bucket(self):
        self.make_secrets()
        router = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Router)
        threading.Thread(target=router.serve_forever, daemon=True).start()
        self.addCleanup(router.server_close)
        self.addCleanup(router.shutdown)
        environment = self.environment("mimir.yaml bucket.yaml")
        here = f"http://127.0.0.1:{router.server_port}"
        self.assertEqual(environment["BAILIWICK_ALERTING__REMOTE__URL"], "http://mimir:8080")
        environment |= {"BAILIWICK_ALERTING__REMOTE__URL": here, "BAILIWICK_ASSETS__ENDPOINT": here}
        with postgres.cluster(self.root, self.root / "secrets/database_password") as port:
            url = self.root / "secrets/database_url"
            text = url.read_text(encoding="utf-8").replace("@database/", f"@127.0.0.1:{port}/")
            url.unlink()
            url.write_text(text, encoding="utf-8")
            config = self.starts(environment, self.root)
        self.assertEqual((config["alerting"]["mode"], config["alerting"]["remote"]["kind"]), ("remote", "mimir"))
        self.assertEqual(config["assets"]["bucket"], "backups")
        self.assertFalse((self.root / "data/secret").exists())

    def test_secrets_are_made_once(self):
        self.make_secrets()
        directory = self.root / "secrets"
        before = {path.name: path.read_text(encoding="utf-8") for path in directory.iterdir()}
        self.assertEqual(set(before), set(project("mimir.yaml bucket.yaml", **BUCKET)["secrets"]))
        self.assertEqual(stat.S_IMODE(directory.stat().st_mode), 0o700)
        for path in directory.iterdir():
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o444)
        self.assertEqual(len(set(before.values())), len(before))
        self.make_secrets()
        self.assertEqual(before, {path.name: path.read_text(encoding="utf-8") for path in directory.iterdir()})

    def test_each_container_sees_its_secrets_only(self):
        services = project("mimir.yaml bucket.yaml", **BUCKET)["services"]
        seen = {name: {each["source"] for each in service.get("secrets", [])} for name, service in services.items()}
        self.assertEqual(seen["mimir"], {"mimir_storage"})
        self.assertEqual(seen["backups"], {"backups_key"})
        self.assertEqual(seen["database"], {"database_password"})
        self.assertEqual(seen["mimir-storage"], {"mimir_storage_key"})
        self.assertFalse(seen["bailiwick"] & {"database_password", "mimir_storage", "mimir_storage_key"})


if __name__ == "__main__":
    unittest.main()
