"""The programs of a page of docs, in several languages: each prints what the page says, with a kedge-server. The page's
commands begin with the program's name; it finds the server in the variable NAME_URL.

usage: transcript_test.py KEDGE_SERVER LIBRARY_FOLDER PAGE PROGRAM...
A program that ends in .py is run by Python. Several with commas between take turns on the same folders: the first command
is one of the first program, the next one of the second.
"""
import itertools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

server, libraries, page, *programs = sys.argv[1:]


def transcript():
    """Pairs of a command and what it prints."""
    blocks = re.findall(r"```console\n(.*?)```", pathlib.Path(page).read_text(encoding="utf-8"), re.S)
    for part in re.split(r"^\$ ", "".join(blocks), flags=re.M)[1:]:
        command, _, printed = part.partition("\n")
        yield shlex.split(command), printed


def play(program, folder):
    with subprocess.Popen([server, "--data", f"{folder}/server", "--listen", "127.0.0.1:0", "--open",
                           "--log-level", "error"], stdout=subprocess.PIPE, text=True) as serving:
        try:
            url = serving.stdout.readline().split()[-1]
            environment = {**os.environ, "LD_LIBRARY_PATH": libraries}
            turns = itertools.cycle(program.split(","))
            count = 0
            for command, expected in transcript():
                turn = next(turns)
                start = [sys.executable, turn] if turn.endswith(".py") else [turn]
                environment[f"{command[0].upper()}_URL"] = url
                done = subprocess.run(start + command[1:], cwd=folder, env=environment,
                                      capture_output=True, text=True, timeout=60)
                if done.returncode != 0 or done.stdout != expected:
                    sys.exit(f"{turn}: {command}\nprinted {done.stdout!r} {done.stderr!r}\n"
                             f"expected {expected!r}")
                count += 1
        finally:
            serving.terminate()
    return count


for each in programs:
    with tempfile.TemporaryDirectory() as temporary:
        commands = play(each, temporary)
    if commands == 0:
        sys.exit(f"{page} has no commands")
    print(f"{each}: {commands} commands")
