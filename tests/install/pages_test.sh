#!/bin/sh
# A system with pages of 16 KB can load this library: each of its segments is aligned to them.
# usage: pages_test.sh LIBRARY
set -eu
segments=0
for alignment in $(readelf -lW "$1" | sed -n 's/^  LOAD .* //p'); do
    segments=$((segments + 1))
    [ $((alignment)) -ge 16384 ] || { echo "$1: a segment is aligned to $alignment" >&2; exit 1; }
done
[ "$segments" -gt 0 ] || { echo "$1 has no segments" >&2; exit 1; }
echo "$segments segments"
