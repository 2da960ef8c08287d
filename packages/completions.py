#!/usr/bin/env python3
"""The completions of a program for bash, zsh and fish: the commands and options that its --help lists.

Usage: completions.py PROGRAM NAME FOLDER. Writes FOLDER/NAME (bash), FOLDER/_NAME (zsh) and FOLDER/NAME.fish."""
import pathlib
import re
import subprocess
import sys


def read_help(program):
    """The commands and the options, each as (word, whether a value follows, what it does)."""
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    commands, options = [], []
    lines = text.split("\n\n", 1)[1].splitlines()  # behind the usage
    for at, line in enumerate(lines):
        command = re.match(r"(?:  )?([a-z][a-z-]*)((?: [A-Z_\[\]]+)*)  +(\S.*)", line)
        if command:
            commands.append((command[1], bool(command[2]), command[3]))
        if not line.startswith("  --"):
            continue
        about = re.search(r"\S  +(\S.*)", line)
        told = about[1] if about else lines[at + 1].strip() if at + 1 < len(lines) else ""
        for option, value in re.findall(r"(--[a-z][a-z-]*)( [A-Z][A-Z:=,]*| [a-z|]+\b)?", line[:about.start(1)] if about else line):
            options.append((option, bool(value), told))
    options += [(word, False, about) for word, about in [("--help", "prints the help"), ("--version", "prints the version")]
                if word not in [option for option, _, _ in options]]
    return commands, options


def function_name(name):
    return "_" + name.replace("-", "_")


def bash(name, commands, options):
    words = " ".join(word for word, _, _ in commands + options)
    return f"""# Completions of {name} for bash, out of its --help.
{function_name(name)}() {{
    COMPREPLY=($(compgen -W "{words}" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F {function_name(name)} {name}
"""


def quoted(text):
    return text.replace("'", "'\\''")


def zsh(name, commands, options):
    def rows(found):
        return "\n".join(f"    '{word}:{quoted(about)}'" for word, _, about in found)
    return f"""#compdef {name}
# Completions of {name} for zsh, out of its --help.
local -a commands options
commands=(
{rows(commands)}
)
options=(
{rows(options)}
)
_describe -t commands command commands
_describe -t options option options
_files
"""


def fish(name, commands, options):
    lines = [f"# Completions of {name} for fish, out of its --help."]
    lines += [f"complete -c {name} -n __fish_use_subcommand -a {word} -d '{quoted(about)}'" for word, _, about in commands]
    lines += [f"complete -c {name} -l {word[2:]}{' -r' if value else ''} -d '{quoted(about)}'"
              for word, value, about in options]
    return "\n".join(lines) + "\n"


def main():
    program, name, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    found = read_help(program)
    if not found[1]:
        sys.exit(f"the help of {name} names no options")
    (folder / name).write_text(bash(name, *found))
    (folder / f"_{name}").write_text(zsh(name, *found))
    (folder / f"{name}.fish").write_text(fish(name, *found))


if __name__ == "__main__":
    main()
