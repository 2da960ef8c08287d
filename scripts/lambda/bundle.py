#!/usr/bin/env python3
"""Makes the package of a Lambda function out of `bootstrap`: the program, the files that are added (an app's plugin),
and in lib/ every shared library that these need, found by what each one names, for any architecture.

Usage: bundle.py BOOTSTRAP PACKAGE.zip --libraries FOLDER… [--certificates FILE] [--strip PROGRAM] [--add FILE]…

All of them must be for the machine that the program is for. The same input gives the same bytes: files are sorted, and
have one time and one mode."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

WHEN = (1980, 1, 1, 0, 0, 0)
MACHINES = {(2, 1, 62): "x86_64", (2, 1, 183): "arm64"}  # by class, byte order and e_machine


def machine(file):
    """What the header of a program or library says that it is for; None of any other file."""
    with file.open("rb") as opened:
        header = opened.read(20)
    if len(header) < 20 or not header.startswith(b"\x7fELF"):
        return None
    order = "big" if header[5] == 2 else "little"
    kind = (header[4], header[5], int.from_bytes(header[18:20], order))
    return MACHINES.get(kind, "machine {2} of class {0}, byte order {1}".format(*kind))


def check_machine(file, wanted, program):
    found = machine(file)
    if found is None:
        sys.exit(f"{file} is no library: it does not begin as ELF files do")
    if found != wanted:
        sys.exit(f"{file} is for {found}, but {program} is for {wanted}: build it for {wanted}, or make a package "
                 f"for {found}")


def names(file):
    """What a library or program needs: its interpreter's name, and the libraries'."""
    told = subprocess.run(["readelf", "--wide", "--dynamic", "--program-headers", file], check=True,
                          capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", told)
    interpreter = re.findall(r"program interpreter: (.+)\]", told)
    return needed + [pathlib.PurePath(path).name for path in interpreter]


def closure(programs, folders):
    """Every library that one of these needs: its file by its name."""
    found, waiting = {}, [name for program in programs for name in names(program)]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        file = next((folder / name for folder in folders if (folder / name).is_file()), None)
        if file is None:
            sys.exit(f"{name} is in none of {', '.join(map(str, folders))}")
        found[name] = file.resolve()
        waiting += names(file)
    return found


def write(package, files):
    """`files`: (name in the package, bytes, whether it is to be executed)."""
    package.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content, runs in sorted(files):
            entry = zipfile.ZipInfo(name, WHEN)
            entry.create_system = 3
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=6)


def stripped(program, strip):
    if strip is None:
        return program.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "bootstrap"
        subprocess.run([strip, "--strip-unneeded", "-o", copy, program], check=True)
        return copy.read_bytes()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("package", type=pathlib.Path)
    parser.add_argument("--libraries", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--certificates", type=pathlib.Path)
    parser.add_argument("--strip")
    parser.add_argument("--add", type=pathlib.Path, action="append", default=[])
    given = parser.parse_args()
    plugins = [file for file in given.add if file.suffix == ".so" or machine(file)]
    for file in (given.program, *plugins):
        check_machine(file, machine(given.program), given.program)
    libraries = closure([given.program, *plugins], given.libraries)
    for file in libraries.values():
        check_machine(file, machine(given.program), given.program)
    files = [("bootstrap", stripped(given.program, given.strip), True)]
    files += [("lib/" + name, file.read_bytes(), True) for name, file in libraries.items()]
    if given.certificates:
        files.append(("lib/ca-certificates.crt", given.certificates.read_bytes(), False))
    files += [(file.name, file.read_bytes(), file in plugins) for file in given.add]
    write(given.package, files)
    unpacked = sum(len(content) for _, content, _ in files)
    print(f"{given.package}: {given.package.stat().st_size / 1e6:.1f} MB, {unpacked / 1e6:.1f} MB unpacked, "
          f"{len(libraries)} libraries")


if __name__ == "__main__":
    main()
