#!/bin/sh
# `kedge repair`: a folder whose outbox lost both copies of its meta row, or its first page, is saved with
# every note into a new one; what is called wrongly is refused.
# usage: kedge_test.sh KEDGE KEDGE_NOTES
set -eu
kedge=$1
notes=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for title in one two three; do
    "$notes" --data "$work/old" --offline add "$title" >/dev/null
done
python3 - "$work/old/outbox.db" <<'PYTHON'
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
assert database.execute("UPDATE meta SET highest_id = 77").rowcount == 2
database.commit()
PYTHON
if "$notes" --data "$work/old" --offline list 2>"$work/said"; then
    echo "a damaged folder was opened" >&2
    exit 1
fi
grep -q 'kedge_repair' "$work/said"

"$kedge" repair "$work/old" "$work/new" >"$work/report"
grep -q '^3 pending, 0 rejected and 0 confirmed edits are saved' "$work/report"
grep -q 'cannot be known' "$work/report"
"$notes" --data "$work/new" --offline pending >"$work/pending"
for title in one two three; do
    grep -q "$title" "$work/pending"
done

# One page is lost, and the folder can only be read: all edits are saved all the same, and nothing is made in it.
"$notes" --data "$work/other" --offline add four >/dev/null
python3 - "$work/other/outbox.db" <<'PYTHON'
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
database.close()
with open(sys.argv[1], "r+b") as file:
    file.write(bytes(4096))
PYTHON
rm -f "$work/other/lock" "$work/other/present" "$work"/other/*-shm "$work/other/outbox.db-wal"
ls "$work/other" >"$work/before"
chmod 500 "$work/other"
"$kedge" repair "$work/other" "$work/saved" >"$work/report"
chmod 700 "$work/other"
ls "$work/other" | cmp - "$work/before"
grep -q '^1 pending, 0 rejected and 0 confirmed edits are saved' "$work/report"
[ "$(ls "$work/saved")" = outbox.db ]
"$notes" --data "$work/saved" --offline list | grep -q four

# A byte in the middle of the WAL is wrong: SQLite reads the edits in front of it alone, and all are saved.
for title in 1 2 3 4 5 6 7 8; do
    "$notes" --data "$work/torn" --offline add "$title" >/dev/null
done
python3 - "$work/torn/outbox.db-wal" <<'PYTHON'
import sys
with open(sys.argv[1], "r+b") as file:
    salts = file.read(32)[16:24]
    frames = 0
    while (head := file.read(24))[8:16] == salts and file.read(4096):
        frames += 1
    place = 32 + (frames // 3) * 4120 + 30
    file.seek(place)
    byte = file.read(1)[0]
    file.seek(place)
    file.write(bytes([byte ^ 1]))
PYTHON
[ "$("$kedge" pending "$work/torn" | wc -l)" -lt 8 ]
if "$kedge" verify "$work/torn" >"$work/said"; then
    echo "a damaged WAL was found to be whole" >&2
    exit 1
fi
grep -q 'outbox.db: its WAL is damaged' "$work/said"
"$kedge" repair "$work/torn" "$work/whole" >"$work/report"
grep -q '^8 pending, 0 rejected and 0 confirmed edits are saved' "$work/report"

expect() { # STATUS WORDS ARGUMENT…
    status=0
    wanted=$1 words=$2
    shift 2
    "$kedge" "$@" >"$work/said" 2>&1 || status=$?
    [ "$status" = "$wanted" ] && grep -q "$words" "$work/said" || {
        echo "kedge $*: $status" >&2
        cat "$work/said" >&2
        exit 1
    }
}
expect 1 folder-not-empty repair "$work/old" "$work/new"
expect 1 folder-missing repair "$work/none" "$work/more"
: >"$work/other/outbox.db"
expect 1 nothing-readable repair "$work/other" "$work/more"
[ ! -e "$work/more" ]
expect 2 'repair takes FOLDER and NEW_FOLDER' repair "$work/old"
expect 2 'there is no verb mend' mend a b
expect 2 'a FOLDER is missing after inspect' inspect
expect 2 'a SEQUENCE is missing after trace' trace "$work/old"
expect 2 'this is no number from 1 on: one' trace "$work/old" one
expect 2 'this is too much: more' inspect "$work/old" more
expect 2 usage
expect 0 usage --help
expect 0 '^kedge [0-9]*\.[0-9]*\.[0-9]*$' --version
