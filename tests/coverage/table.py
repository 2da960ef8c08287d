#!/usr/bin/env python3
"""Prints what of the rooms that decide has run: a file a line, with its lines and branches and those that were missed.

Usage: table.py ROOT BUILD [--missed]. Reads the counters that the programs of the coverage build have left in BUILD,
and left_out.txt, which gives the reason for each branch that no test takes. Exits 1 when a room that is to be complete
has a missed branch without a reason, or left_out.txt names a branch that is no longer missed."""
import collections
import json
import pathlib
import subprocess
import sys

# A pattern of files -> whether each of its branches must run or have its reason in left_out.txt.
ROOMS = {
    "sdk/core/*.c": True,
    "mutate/*.c": True,
    "wire/*.c": True,
    "backend/**/plan.c": False,
    "sdk/store/*.c": False,
}
LEFT_OUT = pathlib.Path(__file__).with_name("left_out.txt")


def read_left_out():
    """file -> {"function: the text of a line": its reason}. A line is known by its text, since numbers change."""
    reasons, file = collections.defaultdict(dict), None
    lines = [line.rstrip() for line in LEFT_OUT.read_text().split("\n")]
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            file = line
        elif line.startswith("        "):
            reasons[file][code] = (reasons[file][code] + " " + line.strip()).strip()
        else:
            code = line.strip()
            reasons[file][code] = ""
    for file, of_file in reasons.items():
        for code, reason in of_file.items():
            if not reason:
                sys.exit(f"{LEFT_OUT.name}: {file}: no reason for: {code}")
    return reasons


def counters(root, build):
    """file -> {line: [times run, [times each branch was taken], function]}, summed over all objects."""
    found = collections.defaultdict(dict)
    data = sorted(build.glob("*/**/*.gcda"))
    rooms = {path for room in ROOMS for path in root.glob(room)}
    names = {path.name for path in rooms}
    data = [path for path in data if path.name.removesuffix(".gcda") in names]
    if not data:
        sys.exit(f"no counters in {build}: nothing of these rooms has run")
    for i in range(0, len(data), 50):
        done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *map(str, data[i:i + 50])],
                              capture_output=True, text=True, check=True)
        for report in map(json.loads, filter(None, done.stdout.split("\n"))):
            for file in report["files"]:
                path = pathlib.Path(report["current_working_directory"], file["file"]).resolve()
                if path in rooms:
                    add(found[str(path.relative_to(root))], file["lines"])
    return found


def add(file, lines):
    for line in lines:
        taken = [branch["count"] for branch in line["branches"]]
        had = file.setdefault(line["line_number"], [0, [0] * len(taken), line.get("function_name", "")])
        had[0] += line["count"]
        if len(had[1]) == len(taken):
            had[1] = [a + b for a, b in zip(had[1], taken)]


def share(row):
    return f"{100 * (row[2] - row[3]) / row[2]:.1f} %" if row[2] else "-"


def main():
    root, build = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    reasons, found, missed, used = read_left_out(), counters(root, build), [], set()
    total = [0] * 5
    form = "{:<36} {:>6} {:>7} {:>9} {:>7} {:>12} {:>8}"
    print(form.format("file", "lines", "missed", "branches", "missed", "with reason", "taken"))
    for name in sorted(found):
        complete = any((root / name) in set(root.glob(room)) for room, all_of_it in ROOMS.items() if all_of_it)
        text = (root / name).read_text().split("\n")
        row = [len(found[name]), sum(not line[0] for line in found[name].values()), 0, 0, 0]
        for number, (_, taken, function) in sorted(found[name].items()):
            row[2] += len(taken)
            never = sum(not count for count in taken)
            row[3] += never
            code = f"{function}: {text[number - 1].strip()}"
            if never and code in reasons[name]:
                row[4] += never
                used.add((name, code))
            elif never and (complete or "--missed" in sys.argv):
                missed.append((complete, f"{name}:{number}: {never} of {len(taken)} branches missed: {code}"))
        total = [a + b for a, b in zip(total, row)]
        print(form.format(name, *row, share(row)))
    print(form.format("all", *total, share(total)))
    for _, line in missed:
        print(line)
    stale = [(name, code) for name in reasons for code in reasons[name] if (name, code) not in used]
    for name, code in stale:
        print(f"{LEFT_OUT.name}: not missed, or not there: {name}: {code}")
    open_ones = sum(complete for complete, _ in missed)
    print(f"{open_ones} lines of rooms that are to be complete have missed branches without a reason")
    sys.exit(1 if open_ones or stale else 0)


if __name__ == "__main__":
    main()
