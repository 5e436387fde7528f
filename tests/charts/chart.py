"""The chart, rendered by helm."""

import functools
import subprocess
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
CHART = REPOSITORY / "packaging/helm/bailiwick"
CASES = sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").iterdir())
SECRETS = "/etc/bailiwick/secrets"
# Without a cluster helm believes that it is a very old one.
KUBERNETES = "1.27"


def helm(*arguments, values="{}"):
    """Runs `helm template`; values is a text of YAML."""
    command = ["helm", "template", "fleet-one", str(CHART), "--namespace", "fleet", "--kube-version", KUBERNETES]
    command += ["--values", "-", *arguments]
    return subprocess.run(command, input=values, capture_output=True, text=True, timeout=60, check=False)


class Rendered:
    """The objects that the chart makes of some values."""

    def __init__(self, text):
        self.objects = [each for each in yaml.safe_load_all(text) if each]

    def of(self, kind):
        return [each for each in self.objects if each["kind"] == kind]

    def one(self, kind):
        (found,) = self.of(kind)
        return found

    def workload(self):
        (found,) = self.of("StatefulSet") + self.of("Deployment")
        return found

    def pod(self):
        return self.workload()["spec"]["template"]

    def container(self):
        (found,) = self.pod()["spec"]["containers"]
        return found

    def configuration(self):
        """The text of bailiwick.toml."""
        (found,) = [each["data"]["bailiwick.toml"] for each in self.of("ConfigMap") if "bailiwick.toml" in each["data"]]
        return found

    def environment(self):
        return {each["name"]: each["value"] for each in self.container()["env"]}


def render(values):
    done = helm(values=values)
    if done.returncode:
        raise AssertionError(done.stderr)
    return Rendered(done.stdout)


def values_of(case):
    return (CHART / "ci" / f"{case}-values.yaml").read_text()


@functools.cache
def case(name):
    """What the values of a file in ci/ render to."""
    return render(values_of(name))
