"""Signs people in at Keycloak as docs/identity.md and docs/console.md say, and holds what the service does against them.

    checks.py before     while Keycloak does not answer yet
    checks.py            everything else; Keycloak is ended at the end

run.sh sets the variables. Each check prints a line; one that fails says what was expected and what came, and the others go on.
"""

import os
import sys
import time
import traceback

import console
import identity
from keycloak import Failed, Keycloak
from service import Service


class World:
    """Both sides, and what checks leave for later ones."""

    def __init__(self):
        variables = {name: os.environ[f"ISSUERS_{name}"] for name in ("KEYCLOAK", "AUTHORITY", "PASSWORD", "SERVICE", "PROGRAM")}
        self.keycloak = Keycloak(variables["KEYCLOAK"], variables["AUTHORITY"], variables["PASSWORD"])
        self.service = Service(variables["SERVICE"], variables["PROGRAM"])
        self.keys_cache = float(os.environ["ISSUERS_KEYS_CACHE"])
        self.fresh_sign_in = int(os.environ["ISSUERS_FRESH_SIGN_IN"])
        self.keycloak_process = int(os.environ.get("ISSUERS_KEYCLOAK_PROCESS") or 0)
        self.owner = None


def main():
    world = World()
    if sys.argv[1:] == ["before"]:
        checks = identity.BEFORE
    else:
        checks = [*identity.CHECKS, *console.CHECKS, *identity.ROTATION, *identity.LAST]
    failed = 0
    for check in checks:
        said, since = check.__doc__.strip().rstrip("."), time.monotonic()
        try:
            note = check(world)
            print(f"ok  {said}{f' ({note})' if note else ''}", flush=True)
        except Failed as problem:
            failed += 1
            print(f"FAILED  {said}\n    {problem}", flush=True)
        except Exception:  # noqa: BLE001
            failed += 1
            print(f"FAILED  {said}", flush=True)
            traceback.print_exc(file=sys.stdout)
        if os.environ.get("ISSUERS_TIMES"):
            print(f"    {time.monotonic() - since:.1f} s", flush=True)
    if failed:
        sys.exit(f"{failed} of {len(checks)} checks failed")


if __name__ == "__main__":
    main()
