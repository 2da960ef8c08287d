#!/bin/sh
# The stripped shared library has at most so many bytes, and no tables for unwinding.
# usage: size_test.sh LIBRARY BYTES_MAX
set -eu
library=$1
most=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strip --strip-unneeded -o "$work/stripped" "$library"
bytes=$(stat -c %s "$work/stripped")
size -A "$work/stripped" >"$work/sections"
grep -E '^\.(text|rodata|eh_frame|rela\.dyn|rela\.plt|dynsym|dynstr|data\.rel\.ro) ' "$work/sections"
echo "$bytes bytes of at most $most"
[ "$bytes" -le "$most" ] || { echo "the stripped library is too large" >&2; exit 1; }
# What the C library's start files have of them takes a few bytes.
unwinding=$(awk '/^\.eh_frame/ { all += $2 } END { print all + 0 }' "$work/sections")
[ "$unwinding" -le 256 ] || { echo "$unwinding bytes of tables for unwinding" >&2; exit 1; }
