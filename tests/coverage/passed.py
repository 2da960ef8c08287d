#!/usr/bin/env python3
"""The parts of scripts/files that are no shell.

Usage: passed.py push URL          pushes two mutations, one after the other
       passed.py files PROFILE…    prints which source files have run by a profile of Callgrind, a folder a line"""
import collections
import json
import pathlib
import re
import sys
import urllib.request

ROOMS = ("common", "http", "mutate", "wire", "sdk", "backend")


def push(url):
    for number in (1, 2):
        mutation = {"clientID": "c", "id": number, "name": "kedge.put", "timestamp": number,
                    "args": {"collection": "notes", "id": str(number), "value": {"title": "Trip"}}}
        body = {"pushVersion": 1, "clientGroupID": "g", "profileID": "p", "schemaVersion": "", "mutations": [mutation]}
        request = urllib.request.Request(f"{url}/v1/orgs/demo/projects/notes/push", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            assert response.status == 200, response.status


def of_the_tree(name):
    """The path in the tree of a source file of the rooms, or None. A build that comes out of ccache may name another tree."""
    parts = pathlib.PurePath(name).parts
    for i, part in enumerate(parts):
        path = pathlib.Path(*parts[i:])
        if part in ROOMS and path.suffix == ".c" and path.is_file():
            return path
    return None


def passed(profile):
    """The source files that have cost something. In a profile a name stands at its number's first use alone."""
    names, ran, file = {}, set(), None
    for line in profile.read_text().split("\n"):
        if begins := re.match(r"(f[lie]|cf[il])=\((\d+)\)(?: (.*))?$", line):
            kind, number, name = begins.groups()
            names.setdefault(number, name)
            if kind.startswith("f"):
                file = number
        elif re.match(r"[-+*\d]", line):
            ran.add(file)
    return sorted(filter(None, {of_the_tree(names[number]) for number in ran}))


def files(profiles):
    for profile in map(pathlib.Path, profiles):
        folders = collections.defaultdict(list)
        for path in passed(profile):
            folders[str(path.parent)].append(path.name)
        if not folders:
            sys.exit(f"{profile}: no source file has run; was its function renamed?")
        print(f"{profile.name}: {sum(map(len, folders.values()))} files")
        for folder, found in folders.items():
            print(f"  {len(found):2}  {folder}: {' '.join(found)}")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "push":
        push(sys.argv[2])
    elif len(sys.argv) > 2 and sys.argv[1] == "files":
        files(sys.argv[2:])
    else:
        sys.exit(__doc__)
