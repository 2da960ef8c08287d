#!/usr/bin/env python3
"""The manual of a program, for man, out of its page in docs/reference.

Usage: manual.py LOWDOWN PAGE PROGRAM SECTION VERSION OUT. lowdown turns Markdown into the form of man; what only a
website has, links to other pages, becomes text here."""
import pathlib
import re
import subprocess
import sys

ABOUT = {
    "kedge": "looks into an app's copy of a project, and saves a damaged one",
    "kedge-admin": "shows, backs up and changes what a backend keeps",
    "kedge-server": "decides the order of the edits of shared projects, and keeps them",
}


def main():
    lowdown, page, program, section, version, out = sys.argv[1:]
    text = pathlib.Path(page).read_text()
    text = re.sub(r"\A# .*\n", "", text)
    text = re.sub(r"\[([^\]]+)\]\([^)\s]+\)", r"\1", text)
    text = re.sub(r"^##(#*) ", r"#\1 ", text, flags=re.M)
    text = f"# NAME\n\n{program} - {ABOUT[program]}\n\n# DESCRIPTION\n{text}"
    made = subprocess.run(
        [lowdown, "-s", "-Tman", "-m", f"title={program.upper()}", "-m", f"section={section}", "-m", "date=",
         "-m", f"source=kedge {version}"], input=text, capture_output=True, text=True, check=True).stdout
    made = re.sub(r"^(\.TH .*\n)", r"\1.ad l\n", made, flags=re.M)  # narrow columns cannot be adjusted
    pathlib.Path(out).write_text("'\\\" t\n" + made)  # it has tables


if __name__ == "__main__":
    main()
