#!/usr/bin/env python3
"""Runs clang-tidy, with the checks of .clang-tidy, over what the product is made of.

Usage: check_tidy.py ROOT BUILD. Takes the commands of BUILD/compile_commands.json; prints the findings and exits 1 when
there are any, 77 when there is no clang-tidy."""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDERS = ("common", "http", "mutate", "wire", "sdk", "backend", "tools", "examples")
AT_ONCE = 8  # files for one clang-tidy
# Options that clang does not know.
GCC_ALONE = re.compile(r" (-malign-data=abi|-f(no-)?(thread-jumps|tree-ch|tree-loop-im|move-loop-invariants)"
                       r"|-Wno-maybe-uninitialized)(?=[ \"])")
# Definitions in which the commands of one source differ, and which hide no code: a condition that is not evaluated is
# compiled, too (common/assert.h).
UNSEEN = r"KEDGE_ASSERT_OFF|\w+_EXPORTS"


def tidy(root, arguments):
    done = subprocess.run(["clang-tidy", "--quiet", f"--config-file={root}/.clang-tidy", *map(str, arguments)],
                          capture_output=True, text=True)
    found = sorted(set(re.findall(r"^.*(?:warning|error): .*\[[\w.,-]+\]$", done.stdout, flags=re.M)))
    if done.returncode != 0 and not found:
        found = [done.stdout + done.stderr]
    return [line.replace(f"{root}/", "") for line in found]


def self_test(root):
    """The checks are on: a mistake is found."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "mistake.c")
        path.write_text("int f(int a);\nint f(int a)\n{\n    if (a > 0);\n        a++;\n    return a;\n}\n")
        if not any("bugprone-suspicious-semicolon" in line for line in tidy(root, [path, "--"])):
            sys.exit("self-test: a stray semicolon was not found")


def warnings_of_the_headers(root, include):
    """What clang warns about in a source that does nothing but include the public headers of a folder: an app has its own
    options, and shall see no warning of ours."""
    with tempfile.TemporaryDirectory() as folder:
        found = set()
        for suffix, standard in (("h", "c11"), ("hpp", "c++17")):
            source = pathlib.Path(folder, "app.cc" if suffix == "hpp" else "app.c")
            names = sorted(path.name for path in include.joinpath("kedge").glob(f"*.{suffix}"))
            source.write_text("".join(f"#include <kedge/{name}>\n" for name in names))
            done = subprocess.run(["clang-tidy", "--quiet", "--config={}", "--header-filter=.*",
                                   "--checks=-*,clang-diagnostic-*,misc-misplaced-const", source, "--",
                                   f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", f"-I{include}"], capture_output=True, text=True)
            found.update(re.findall(r"^.*(?:warning|error): .*$", done.stdout, flags=re.M))
            if done.returncode != 0 and not found:
                found.add(done.stdout + done.stderr)
    return sorted(line.replace(f"{root}/", "") for line in found)


def self_test_of_the_headers():
    """A pointer without nullability, among those that have it, is found."""
    with tempfile.TemporaryDirectory() as folder:
        header = pathlib.Path(folder, "kedge", "mistake.h")
        header.parent.mkdir()
        header.write_text("void f(char *_Nullable text, char **other);\n")
        if not any("nullability-completeness" in line for line in warnings_of_the_headers("", pathlib.Path(folder))):
            sys.exit("self-test: a pointer without nullability was not found")


def once(commands):
    """One command for each source and set of definitions, with the assertions on where one has them: clang-tidy runs once
    a command, and libkedge and some tests compile the same source again."""
    found = {}
    for entry in sorted(commands, key=lambda entry: "KEDGE_ASSERT_OFF" in entry["command"]):
        definitions = frozenset(re.findall(rf" -D(?!(?:{UNSEEN})\b)(\S+)", entry["command"]))
        found.setdefault((entry["file"], definitions), entry)
    return list(found.values())


def main():
    root, build = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    if not shutil.which("clang-tidy"):
        print("there is no clang-tidy")
        sys.exit(77)
    self_test(root)
    self_test_of_the_headers()
    text = GCC_ALONE.sub("", (build / "compile_commands.json").read_text())
    commands = once(json.loads(text))
    files = sorted({entry["file"] for entry in commands
                    if pathlib.Path(entry["file"]).relative_to(root).parts[0] in FOLDERS})
    groups = [files[i::max(1, len(files) // AT_ONCE)] for i in range(max(1, len(files) // AT_ONCE))]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        pathlib.Path(folder, "compile_commands.json").write_text(json.dumps(commands))
        findings = sorted({line for found in pool.map(lambda group: tidy(root, ["-p", folder, *group]), groups)
                           for line in found})
    findings += warnings_of_the_headers(root, root / "include")
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings in {len(files)} files")
    sys.exit(1 if findings or not files else 0)


if __name__ == "__main__":
    main()
