#!/usr/bin/env python3
"""How long kedge-lambda takes from its start to the first answer, then for each next one, and its memory.

Usage: cold_start.py LAMBDA_PROGRAM [RUNS]. Over a folder, or over the stores that the environment names with
AWS_ENDPOINT_URL_*; KEDGE_TABLE, KEDGE_BUCKET and KEDGE_QUEUE must exist there. One JSON object a row."""
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/lambda"))
from events import Caller, Keys, pull_body, push_body, put
from runtime_api import Function

BASE = "/v1/orgs/acme/projects/cold"
NEXT = 50  # requests of a process that runs


def row(name, values, unit):
    ordered = sorted(values)
    print(json.dumps({"name": name, "median": round(statistics.median(ordered), 2), "highest": round(ordered[-1], 2),
                      "unit": unit, "runs": len(ordered)}))


def milliseconds(action):
    started = time.perf_counter()
    answer = action()
    if answer.status != 200:
        raise SystemExit(f"{answer.status}: {answer.body}")
    return (time.perf_counter() - started) * 1000


def measure(program, stores, keys, runs):
    cold, warm, memory = [], [], []
    client = os.urandom(8).hex()
    for number in range(runs):
        function = Function([program], {**stores, **keys.variables()})
        caller = Caller(function, keys.token(sub="root", org="*", role="admin"), BASE)
        cold.append(milliseconds(lambda: caller.ask("GET", "/versions")))
        for push in range(NEXT // runs):
            edits = push_body(client, [put("n", push)], number * (NEXT // runs) + push + 1)
            warm.append(milliseconds(lambda: caller.ask("POST", "/push", edits)))
        caller.ask("POST", "/pull", pull_body("b"))
        status = pathlib.Path(f"/proc/{function.pid}/status").read_text()
        memory.append(next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1000)
        function.stop()
    return cold, warm, memory


def main():
    program, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory() as folder:
        keys = Keys(pathlib.Path(folder))
        engines = "AWS_ENDPOINT_URL_DYNAMODB" in os.environ
        names = ("KEDGE_TABLE", "KEDGE_BUCKET", "KEDGE_QUEUE")
        stores = {name: os.environ[name] for name in names} if engines else {"KEDGE_DATA": folder + "/data"}
        first = Function([program], {**stores, **keys.variables()})
        Caller(first, keys.token(sub="root", org="*", role="admin"), BASE).ask("PUT", "")
        first.stop()
        cold, warm, memory = measure(program, stores, keys, runs)
    where = "engines" if engines else "folder"
    row(f"lambda cold start to first answer ({where})", cold, "ms")
    row(f"lambda push, one edit, running ({where})", warm, "ms")
    row(f"lambda resident memory after {NEXT // runs} pushes ({where})", memory, "MB")


if __name__ == "__main__":
    main()
