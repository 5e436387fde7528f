"""Schemas of Kubernetes' objects and of Prometheus Operator's, which refuse what they do not know."""

import functools

import jsonschema
import kubernetes_validate
import yaml

from program import CHARTS_TOOLS

# The oldest version of Chart.yaml and the newest that the package knows.
VERSIONS = ["1.27", "1.37"]


def validate(thing):
    """Raises an error when the object does not fit."""
    if thing["apiVersion"].startswith("monitoring.coreos.com/"):
        jsonschema.Draft202012Validator(operator_schema(thing["kind"])).validate(thing)
        return
    for version in VERSIONS:
        kubernetes_validate.validate(thing, version, strict=True)


@functools.cache
def operator_schema(kind):
    definition = yaml.safe_load((CHARTS_TOOLS / f"monitoring.coreos.com_{kind.lower()}s.yaml").read_text())
    (version,) = [each for each in definition["spec"]["versions"] if each["name"] == "v1"]
    schema = closed(version["schema"]["openAPIV3Schema"])
    # The definition leaves these to the server.
    schema["properties"]["metadata"] = {"type": "object"}
    return schema


def closed(schema):
    """The same schema, in which an object has no properties but the listed ones."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: closed(each) for key, each in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        schema.setdefault("additionalProperties", False)
    return schema
