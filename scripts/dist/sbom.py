"""Prints the CycloneDX document of the program: what is linked into it, and what names what.

    scripts/dist/sbom.py TARGET PROGRAM      with DIST_VERSION, BAILIWICK_COMMIT and SOURCE_DATE_EPOCH set
"""

import datetime
import json
import os
import sys
import uuid

import image
import linked


def component(work):
    entry = {"type": "library", "bom-ref": work.purl, "name": work.name, "version": work.version, "purl": work.purl}
    if work.checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": work.checksum}]
    if work.licence == "blessing":
        entry["licenses"] = [{"license": {"id": "blessing"}}]
    elif work.licence:
        entry["licenses"] = [{"expression": work.licence}]
    return entry


def document(target, static):
    version, commit = os.environ["DIST_VERSION"], os.environ["BAILIWICK_COMMIT"]
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.UTC)
    crates, names = linked.crates(target)
    own = f"pkg:generic/bailiwick@{version}"
    refs = {None: own} | {key: work.purl for key, work in crates.items()}
    depends = {refs[key]: {refs[other] for other in others} for key, others in names.items()}
    works = list(crates.values())
    for crate, work in linked.others(target, static):
        works.append(work)
        holder = next((w.purl for (name, _), w in crates.items() if name == crate), own)
        depends.setdefault(holder, set()).add(work.purl)
        depends[work.purl] = set()
    program = {
        "type": "application",
        "bom-ref": own,
        "name": "bailiwick",
        "version": version,
        "purl": own,
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
        "properties": [{"name": "bailiwick:commit", "value": commit}, {"name": "bailiwick:target", "value": target}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{own}:{commit}:{target}')}",
        "version": 1,
        "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": program},
        "components": [component(work) for work in sorted(works, key=lambda work: work.purl)],
        "dependencies": [{"ref": ref, "dependsOn": sorted(depends[ref])} for ref in sorted(depends)],
    }


if __name__ == "__main__":
    target, program = sys.argv[1:]
    print(json.dumps(document(target, not image.libraries(program)), indent=1))
