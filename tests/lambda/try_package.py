#!/usr/bin/env python3
"""Runs a package where there is nothing else: a push and a pull.

Usage: try_package.py PACKAGE.zip [EMULATOR], an emulator for programs of another architecture (qemu-user-static).
Needs root (mount, chroot)."""
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
from events import Caller, Keys, pull_body, push_body, put
from runtime_api import Function
from unpacked import System

BASE = "/v1/orgs/acme/projects/p"


def main():
    with tempfile.TemporaryDirectory() as folder:
        system = System(folder + "/system", *sys.argv[1:3])
        keys = Keys(pathlib.Path(folder))
        function = Function(system.command, {"LAMBDA_TASK_ROOT": "/var/task", "KEDGE_DATA": "/tmp/data",
                                             **keys.variables()}, timeout_s=120)
        try:
            Caller(function, keys.token(sub="root", org="*", role="admin"), BASE).ask("PUT", "")
            ann = Caller(function, keys.token(), BASE)
            pushed = ann.ask("POST", "/push", push_body("a", [put("n1", 1)]))
            pulled = ann.ask("POST", "/pull", pull_body("b")).json["patch"]
        finally:
            function.stop()
        if pushed.status != 200 or {"op": "put", "key": "notes/n1", "value": 1} not in pulled:
            sys.exit(f"it answers wrongly: {pushed.body} {pulled}")
    print("tried: a push and a pull, with nothing but the package")


if __name__ == "__main__":
    main()
