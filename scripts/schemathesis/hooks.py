"""What schemathesis is told about this service, and what is counted. Loaded by schemathesis itself; see run.py.

Random ids find nothing and random references are refused, so most requests would end at the same few lines. Here
generated values are replaced by ids that exist, wherever schemathesis means to send something valid."""

import atexit
import collections
import json
import os
import random
import threading

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import REQUEST_SHAPE_PROBES, coverage_scenario

with open(os.environ["SCHEMA_WORLD"], encoding="utf-8") as file:
    WORLD = json.load(file)
POOLS = WORLD["pools"]
# Whose credentials the run goes by; nothing that could end them is sent.
KEPT = frozenset(WORLD["kept"])
SEED = int(os.environ["SCHEMA_SEED"])
COUNTS = collections.defaultdict(collections.Counter)
LOCK = threading.Lock()
ROUTER = "/services/mimir/alertmanager"


def pool_of(name, path):
    """Ids that a parameter of a path can have."""
    if name in POOLS:
        return POOLS[name]
    family = next((part for part in path.split("/") if part in POOLS), None)
    return POOLS.get("silences" if "/silence" in path and name == "silence_id" else family, [])


def is_meant_valid(case, location):
    return case.meta is None or not case.meta.is_negative_at(location)


def filled(value, chance):
    """A body with references of things that exist in place of made-up ones."""
    for key, inner in value.items():
        pool = POOLS.get("body." + key)
        if pool and isinstance(inner, (str, list, dict)) and chance.random() < 0.8:
            one = chance.choice(pool)
            value[key] = [one] if isinstance(inner, list) else one
    return value


@schemathesis.hook
def before_load_schema(context, raw_schema):
    # {service} stands for two segments, which are settings.
    paths = raw_schema["paths"]
    for path in [path for path in paths if path.startswith("/{service}")]:
        item = paths.pop(path)
        for operation in item.values():
            operation["parameters"] = [p for p in operation["parameters"] if p["name"] != "service"]
        paths[path.replace("/{service}", ROUTER)] = item


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = case.operation.definition.raw["operationId"]
    chance = random.Random(f"{SEED} {operation} {case.path_parameters} {case.query} {case.body!r:.2000}")
    if is_meant_valid(case, ParameterLocation.PATH):
        for name in case.path_parameters:
            pool = pool_of(name, case.path)
            # What takes something away mostly misses, or nothing would be left to be found.
            share = 0.2 if case.method.upper() == "DELETE" else 0.8
            if pool and chance.random() < share:
                case.path_parameters[name] = chance.choice(pool)
    if case.method.upper() != "GET":
        for name, value in case.path_parameters.items():
            if value in KEPT:
                case.path_parameters[name] = "01950000-0000-7000-8000-000000000000"
    if isinstance(case.query, dict) and is_meant_valid(case, ParameterLocation.QUERY):
        case.query = filled(dict(case.query), chance)
    # With a tag that was made up nothing behind the condition would be reached.
    if case.headers and is_meant_valid(case, ParameterLocation.HEADER):
        if "If-Match" in case.headers:
            case.headers["If-Match"] = "*"
        if case.method.upper() != "GET":
            case.headers.pop("If-None-Match", None)
    if isinstance(case.body, dict) and is_meant_valid(case, ParameterLocation.BODY):
        case.body = filled(dict(case.body), chance)


@schemathesis.hook
def after_call(context, case, response):
    with LOCK:
        COUNTS[case.operation.definition.raw["operationId"]][response.status_code] += 1


class Undocumented(Failure):
    """A status that the document does not name for the operation."""

    def __init__(self, *, operation, message):
        super().__init__(operation=operation, title="Status covered by `default` only", message=message)


@schemathesis.check
def named_status(ctx, response, case):
    """Stricter than status_code_conformance, which takes `default` for an answer to everything."""
    # Methods that the document does not have are answered as unknown paths.
    if coverage_scenario(case) in REQUEST_SHAPE_PROBES:
        return
    named = case.operation.definition.raw["responses"]
    # The alert router refuses in words of its own, which the document describes under `default`.
    path = case.operation.path
    is_router = path.startswith((ROUTER, "/proxy/alerts")) or "/alertmanager/api/v2/" in path
    if str(response.status_code) not in named and not is_router:
        raise Undocumented(operation=case.operation.label, message=f"status {response.status_code}")


# What is taken although the document tells clients to send something else, by the specification.
LENIENT = {
    # See spec: conventions#lists: lists never refuse their query; what cannot be read counts as not said or matches nothing.
    "query": {
        "page", "page_size", "top", "limit", "timeout", "inventory_id", "include_hierarchy", "sort_by", "sort_direction",
        "status", "state", "severity", "category", "diff_type", "type", "event", "as", "include", "fields", "format",
        "inhibited", "muted", "pending", "unprocessed", "silenced", "active", "expired",
    },
    # See spec: alerts2.3: null counts as absent; the schema is that of the answer too, where there is no null.
    "body": {"POST /alerts/config", "POST /alerting/config"},
}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    if not isinstance(failure, AcceptedNegativeData) or case.meta is None:
        return True
    if case.operation.label in LENIENT["body"] and isinstance(case.body, dict) and None in case.body.values():
        return False
    # A condition that does not hold is told of before anything else that is wrong.
    if response.status_code == 412:
        return False
    # Headers that nobody knows are none of ours, whatever the headers that we do know.
    if "x-schemathesis-unknown-property" in (case.headers or {}):
        return False
    negative = [place for place in ParameterLocation if case.meta.is_negative_at(place)]
    known = {parameter.name for parameter in case.operation.query}
    typed = known & LENIENT["query"]
    return not (negative == [ParameterLocation.QUERY] and typed & set(case.query or {}))


def write_counts():
    with open(os.environ["SCHEMA_COUNTS"], "w", encoding="utf-8") as file:
        json.dump(COUNTS, file)


atexit.register(write_counts)
