"""The settings that the chart gives to a pod, in the real program."""

import tempfile
import tomllib
import unittest
from pathlib import Path

import yaml

import program
from chart import CASES, CHART, SECRETS, case, render, values_of

# Where the pods of the example find their certificate.
TLS = "/etc/bailiwick/tls"

# What the image sets; the pod's own variables stand over it.
IMAGE = {
    "BAILIWICK_DATA_DIR": "/image",
    "BAILIWICK_HTTP__LISTEN": "0.0.0.0:1",
    "BAILIWICK_LOG__FORMAT": "json",
}


class Settings(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)

    def checked(self, rendered):
        """The configuration in force in the pod, whose files are in a directory here."""
        secrets = self.root / SECRETS.removeprefix("/")
        environment = {
            key: str(self.root / value.removeprefix("/")) if value.startswith(SECRETS) else value
            for key, value in rendered.environment().items()
        }
        program.write_secrets(secrets, [Path(each).name for each in environment.values() if str(self.root) in each])
        config, file, command = rendered.container()["args"]
        self.assertEqual((config, command), ("--config", "serve"))
        path = self.root / file.removeprefix("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        tls = self.root / TLS.removeprefix("/")
        program.write_certificate(tls)
        path.write_text(rendered.configuration().replace(TLS, str(tls)))
        return program.check("--config", str(path), environment={**IMAGE, **environment})

    def test_the_program_takes_them(self):
        for name in CASES:
            with self.subTest(name):
                self.checked(case(name))

    def test_the_file_says_what_the_values_say(self):
        base = yaml.safe_load((CHART / "values.yaml").read_text())["config"]
        for name in CASES:
            wanted = with_defaults(base, (yaml.safe_load(values_of(name)) or {}).get("config", {}))
            found = tomllib.loads(case(name).configuration())
            self.assertEqual(found.pop("data_dir"), "/var/lib/bailiwick")
            self.assertTrue(found["http"].pop("listen").endswith(":8080"))
            del found["http"]["drain_delay"]
            found.pop("metrics", None)
            with self.subTest(name):
                self.assertEqual(found, wanted)

    def test_the_values_win_over_the_image(self):
        config = self.checked(case("everything"))
        self.assertEqual(config["data_dir"], "/var/lib/bailiwick")
        self.assertEqual(config["http"]["listen"], "[::]:8080")
        self.assertEqual(config["http"]["drain_delay"], "25s")
        self.assertEqual(config["http"]["workers"], 2)
        self.assertEqual(config["metrics"]["listen"], "[::]:9464")
        self.assertEqual(config["log"], {"level": "warn", "format": "text"})
        self.assertEqual(config["telemetry"]["sample_ratio"], 0.25)
        self.assertEqual(config["systems"]["credential_cache"], 1_000_000)

    def test_no_text_leaves_its_place(self):
        text = 'a\n[owner]\n"""\t\\ \'\'\' # <&> Zoë'
        values = yaml.safe_dump({"config": {"owner": {"name": text}, "a key": {"b.c": [text, "d"]}}})
        found = tomllib.loads(render(values).configuration())
        self.assertEqual(found["owner"], {"name": text})
        self.assertEqual(found["a key"], {"b.c": [text, "d"]})

    def test_there_may_be_no_delay(self):
        config = self.checked(render("drainSeconds: 0"))
        self.assertNotIn("drain_delay", config["http"])

    def test_whole_numbers_stay_whole(self):
        config = self.checked(render("config: {telemetry: {sample_ratio: 1}, smtp: {port: 25}, limits: {json_body: 4096}}"))
        self.assertEqual(config["smtp"]["port"], 25)


def with_defaults(base, over):
    """The tree that helm merges: tables by key, and what is null goes."""
    tree = {**base}
    for key, value in over.items():
        tree[key] = with_defaults(tree.get(key, {}), value) if isinstance(value, dict) else value
    return {key: value for key, value in tree.items() if value is not None}


if __name__ == "__main__":
    unittest.main()
