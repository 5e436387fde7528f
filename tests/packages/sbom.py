"""Checks the list of contents against the schema of CycloneDX, and that it names what everybody knows to be in the program.

tests/packages/sbom.py FILE
"""

import json
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

text = open(sys.argv[1]).read()
problem = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
if problem:
    sys.exit(f"not valid: {problem}")
document = json.loads(text)
names = {component["name"] for component in document["components"]}
linked = {"tokio", "axum", "rustls", "sqlx-postgres", "sqlite", "aws-lc", "zstd", "mimalloc", "Roboto"}
# For tests, for building, or code that only the compiler runs.
others = {"insta", "proptest", "reqwest-middleware", "cc", "syn", "serde_derive", "bailiwick-domain", "fantoccini"}
if linked - names or others & names:
    sys.exit(f"missing: {linked - names}, not linked: {others & names}")
refs = [component["bom-ref"] for component in document["components"]]
depends = {entry["ref"]: entry["dependsOn"] for entry in document["dependencies"]}
if len(refs) != len(set(refs)):
    sys.exit("a component is listed twice")
# Everything is reached from the program.
reached, waiting = set(), [document["metadata"]["component"]["bom-ref"]]
while waiting:
    ref = waiting.pop()
    if ref not in reached:
        reached.add(ref)
        waiting += depends[ref]
if set(refs) - reached:
    sys.exit(f"nothing names {set(refs) - reached}")
print(f"{len(refs)} components, valid")
