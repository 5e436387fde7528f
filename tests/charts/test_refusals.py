"""Values that cannot work are refused with a plain message."""

import unittest

import yaml

import program
from chart import helm, render

ON_POSTGRES = """
secrets:
  database.url: {name: bailiwick, key: url}
  secret: {name: bailiwick, key: secret}
config: {assets: {bucket: fleet}}
"""

REFUSED = {
    "replicas: 2": "several replicas need PostgreSQL",
    "secrets: {database.read_url: {name: a, key: b}}": 'no "database.url"',
    "secrets: {database.url: {name: a, key: b}}\nconfig: {assets: {bucket: fleet}}": "all pods need the same secret",
    "secrets: {database.url: {name: a, key: b}, secret: {name: a, key: c}}": "files of systems need a place",
    "secrets: {smtp.host: {name: a, key: b}}": "no secret of the service",
    "config: {smtp: {password: hunter2}}": "config.smtp.password is a secret",
    "config: {smtp: {password_file: /tmp/password}}": "config.smtp.password_file is a secret",
    "config: {secret: 0123456789abcdef0123456789abcdef}": "config.secret is a secret",
    "config: {database: {url: 'postgres://fleet@db/fleet'}}": "config.database.url is a secret",
    "config: {http: {listen: '0.0.0.0:80'}}": "config.http.listen belongs to the chart: use listenAddress",
    "config: {http: {drain_delay: 5s}}": "use drainSeconds",
    "config: {metrics: {listen: '0.0.0.0:9464'}}": "config.metrics.listen belongs to the chart",
    "config: {data_dir: /data}": "config.data_dir belongs to the chart",
    "config: {systems: {tables: [{a: 1}]}}": "a list holds plain values",
    "serviceMonitor: {enabled: true}": "serviceMonitor needs the metrics",
    "ingress: {enabled: true}": "not localhost",
    "ingress: {enabled: true}\nconfig: {http: {public_url: null}}": "ingress needs config.http.public_url",
    "networkPolicy: {router: {enabled: true}}": "networkPolicy.router needs podLabels",
    # By the schema of the values.
    "replica: 2": "replica",
    "replicas: two": "replicas",
    "secrets: {secret: 0123456789abcdef0123456789abcdef}": "secret",
    "secrets: {secret: {name: a}}": "key",
    "drainSeconds: 301": "drainSeconds",
    "extraEnv: [{name: BAILIWICK_SECRET, value: x}]": "extraEnv",
    "image: {tags: x}": "tags",
}


class Refusals(unittest.TestCase):
    def test_what_cannot_work(self):
        for values, message in REFUSED.items():
            with self.subTest(values):
                done = helm(values=values)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(message, done.stderr)

    def test_what_just_works(self):
        for more in ["", "replicas: 5", "replicas: 0", "persistence: {existingClaim: files}"]:
            with self.subTest(more):
                self.assertEqual(render(f"{ON_POSTGRES}\n{more}").workload()["kind"], "Deployment")
        self.assertEqual(render("replicas: 0").workload()["kind"], "StatefulSet")

    def test_every_secret_of_the_program_is_known(self):
        settings = program.secret_settings()
        self.assertGreater(len(settings), 10)
        message = helm(values="secrets: {nothing: {name: a, key: b}}").stderr
        known = message.rsplit("they are ", 1)[1].split("\n")[0].split(", ")
        self.assertEqual(set(known), settings)

    def test_no_secret_can_be_written_down(self):
        for setting in program.secret_settings():
            for form in [setting, f"{setting}_file"]:
                tree = "hunter2-hunter2"
                for part in reversed(form.split(".")):
                    tree = {part: tree}
                with self.subTest(form):
                    done = helm(values=yaml.safe_dump({"config": tree}))
                    self.assertIn(f"config.{form} is a secret", done.stderr)
                    self.assertNotIn("hunter2", done.stderr)


if __name__ == "__main__":
    unittest.main()
