#!/bin/sh
# Runs a program with a fresh folder as its last argument.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$@" "$work"
