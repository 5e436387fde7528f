"""Schemas of Kubernetes' objects and of Prometheus Operator's, which refuse what they do not know."""

import json
import subprocess

import kubernetes_validate

from program import CHARTS_TOOLS

# The oldest version of Chart.yaml and the newest that the package knows.
VERSIONS = ["1.27", "1.37"]


def validate(thing):
    """Raises an error when the object does not fit."""
    if thing["apiVersion"].startswith("monitoring.coreos.com/"):
        check = [CHARTS_TOOLS / "bin" / "operator-object", thing["kind"]]
        checked = subprocess.run(check, input=json.dumps(thing), text=True, capture_output=True, check=False)
        if checked.returncode:
            raise ValueError(f"{thing['kind']}: {checked.stderr}")
        return
    for version in VERSIONS:
        kubernetes_validate.validate(thing, version, strict=True)
