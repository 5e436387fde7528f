"""The runs of one engine, and their figures. See ../schemathesis.sh, which starts what is tested."""

import collections
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
ENGINE = sys.argv[1]
WORK = pathlib.Path(os.environ["SCHEMA_WORLD"]).parent
SEED = os.environ.get("SCHEMA_SEED", "1")
EXAMPLES = os.environ.get("SCHEMA_EXAMPLES", "20")

# What cannot be tried like the others, each with its reason.
LEFT_OUT = {
    "logout": "ends the session that the run goes by",
    "streamEvents": "does not end",
    "unregisterSystem": "ends the credential that the run goes by",
}
CHECKS = [
    "not_a_server_error",
    "named_status",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "ignored_auth",
    "use_after_free",
]


def run(name, phases, credentials):
    counts = WORK / f"{ENGINE}.{name}.json"
    world = json.loads(pathlib.Path(os.environ["SCHEMA_WORLD"]).read_text())
    config = WORK / f"{ENGINE}.{name}.toml"
    lines = [f'hooks = "{HERE / "hooks.py"}"', "request-timeout = 20", 'warnings = false']
    if credentials:
        system = world["system"]
        lines += [
            "[auth.openapi.bearer]",
            'bearer = "${SCHEMA_TOKEN}"',
            "[auth.openapi.system]",
            f'username = "{system["key"]}"',
            f'password = "{system["secret"]}"',
            "[auth.openapi.historyWebhook]",
            'bearer = "${BAILIWICK_ALERTING__HISTORY_WEBHOOK__SECRET}"',
        ]
    config.write_text("\n".join(lines) + "\n")
    command = [
        pathlib.Path(sys.executable).parent / "schemathesis",
        f"--config-file={config}",
        "run",
        os.environ["SCHEMA_BASE"] + "/docs/openapi.json",
        f"--url={os.environ['SCHEMA_BASE']}",
        f"--phases={phases}",
        f"--max-examples={EXAMPLES}",
        f"--seed={SEED}",
        "--generation-database=none",
        "--no-color",
        "--continue-on-failure",
        f"--checks={','.join(CHECKS)}",
    ]
    for operation in LEFT_OUT if credentials else ["streamEvents"]:
        command.append(f"--exclude-operation-id={operation}")
    environment = {**os.environ, "SCHEMA_SEED": SEED, "SCHEMA_COUNTS": str(counts)}
    output = WORK / f"{ENGINE}.{name}.out"
    with open(output, "w", encoding="utf-8") as file:
        code = subprocess.run(command, env=environment, stdout=file, stderr=subprocess.STDOUT, cwd=WORK, check=False).returncode
    counted = json.loads(counts.read_text()) if counts.exists() else {}
    statuses = collections.Counter()
    for of_operation in counted.values():
        statuses.update(of_operation)
    failed = sum(n for status, n in statuses.items() if status.startswith("5"))
    text = output.read_text()
    print(
        f"{ENGINE} {name}: {len(counted)} operations, {sum(statuses.values())} requests, "
        f"{sum(1 for c in counted.values() if any(s.startswith('2') for s in c))} operations with a success, {failed} answers 5xx, "
        f"{'no violations' if code == 0 else 'VIOLATIONS'}"
    )
    if code:
        print(text)
    return code == 0


def main():
    good = run("owner", "examples,coverage,fuzzing", True)
    good &= run("chains", "stateful", True)
    good &= run("nobody", "coverage", False)
    sys.exit(0 if good else 1)


main()
