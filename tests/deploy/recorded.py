#!/usr/bin/env python3
"""What the programs did on the engines is allowed by deploy/template.yaml: to one of its functions or to operators,
or it is what --create does.

Usage: recorded.py TEMPLATE RECORD, with a Python that has PyYAML. RECORD is the file that KEDGE_AWS_ACTIONS named
while the programs ran. Prints the actions that nothing allows, and ends with 1 when there are any or RECORD is
empty."""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from policies import MAKING, ROLES, described  # noqa: E402


def allowed(path):
    template = described(path, "kedge", "https://queue/{}".format, Issuer="i", Audience="a", Jwks="{}", Mode="queued")
    return {action for role in ROLES for _, action in template.policy(role).allowed()} | MAKING


def main(template, record):
    record = pathlib.Path(record)
    recorded = set(record.read_text().split()) if record.exists() else set()
    if not recorded:
        print(f"{record} has no actions: nothing was recorded")
        return 1
    beyond = sorted(recorded - allowed(pathlib.Path(template)))
    for action in beyond:
        print(f"{action} was used, and nothing in {template} allows it")
    print(f"{len(recorded)} actions were used on the engines, {len(beyond)} that the template does not allow")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
