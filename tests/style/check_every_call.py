#!/usr/bin/env python3
"""Every public function is called by every_call_test, or left out with a reason.

Usage: check_every_call.py ROOT. A new function of include/kedge belongs into tests/runtime/every_call_calls.c or
every_call_mutators.c; one that neither takes memory nor reads or writes the disk, into every_call_left_out.txt."""
import pathlib
import re
import sys


def declared(headers):
    """A declaration may run over lines, and a preprocessor's line is none."""
    text = "\n".join(line for line in headers.splitlines() if not line.startswith("#"))
    return {re.findall(r"\w+$", head)[0] for head in re.findall(r"\bKEDGE_API\b([^(;]*)\(", text)}


def called(sources):
    return set(re.findall(r"\b(kedge_\w+)\(", sources))


def left_out(lines):
    """Pairs of a function and its reason."""
    rows = (line.partition(":") for line in lines.splitlines() if line.strip() and not line.startswith("#"))
    return {name.strip(): reason.strip() for name, _, reason in rows}


def find(headers, sources, lines):
    public, calls, without = declared(headers), called(sources), left_out(lines)
    yield from (f"{name}: every_call_test does not call it" for name in sorted(public - calls - set(without)))
    yield from (f"{name}: left out, and called" for name in sorted(calls & set(without)))
    yield from (f"{name}: left out, and not public" for name in sorted(set(without) - public))
    yield from (f"{name}: left out without a reason" for name in sorted(without) if not without[name])


def self_test():
    header = "#define KEDGE_API\nKEDGE_API kedge_status kedge_a(int x,\n  int y);\nKEDGE_API const char *kedge_b(void);\n"
    cases = [("kedge_a(1, 2);", "kedge_b: a constant", 0), ("kedge_a(1, 2);", "", 1),
             ("kedge_a(1, 2); kedge_b();", "kedge_b: a constant", 1), ("kedge_a(1, 2); kedge_b();", "kedge_c: gone", 1),
             ("kedge_a(1, 2);", "kedge_b:", 1), ("my_kedge_a(1, 2); kedge_b();", "", 1)]
    for sources, lines, expected in cases:
        if len(list(find(header, sources, lines))) != expected:
            sys.exit(f"self-test: {sources!r} with {lines!r} has not {expected} findings")


def main():
    self_test()
    root = pathlib.Path(sys.argv[1])
    headers = "\n".join(path.read_text() for path in sorted((root / "include/kedge").glob("*.h")))
    tests = root / "tests/runtime"
    sources = "\n".join(path.read_text() for path in sorted(tests.glob("every_call_*.c")))
    findings = list(find(headers, sources, (tests / "every_call_left_out.txt").read_text()))
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings in {len(declared(headers))} functions")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
