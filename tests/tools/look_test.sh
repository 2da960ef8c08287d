#!/bin/sh
# The verbs of `kedge` that look into a folder: two copies of an app edit one note, and one of them is
# rejected. What is printed stands in docs/reference/kedge.md, apart from random ids, times and sizes.
# usage: look_test.sh KEDGE KEDGE_NOTES KEDGE_SERVER PLUGIN PAGE
set -eu
kedge=$1
notes=$2
server=$3
plugin=$4
page=$5
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; rm -rf "$work"' EXIT

mkfifo "$work/ready"
"$server" --data "$work/server" --listen 127.0.0.1:0 --open --mutators "$plugin" --log-level error >"$work/ready" &
pid=$!
read -r ready <"$work/ready"
url=${ready##* }
one() { "$notes" --data "$work/notes" --url "$url" "$@"; }
two() { "$notes" --data "$work/other" --url "$url" "$@"; }

one sync >/dev/null
note=$(one --offline add Shopping)
note=${note##* }
one sync >/dev/null
two sync >/dev/null
two delete "$note" >/dev/null
two sync >/dev/null
one --offline edit "$note" title Groceries >/dev/null
one --offline add Ideas >/dev/null
one sync >/dev/null
one --offline add Later >/dev/null

# Hexadecimal ids, times and sizes are not the same twice.
plain() {
    sed -E -e 's/[0-9a-f]{32}/ID/g' -e 's/"id":"[0-9a-f]{8}"/"id":"NOTE"/g; s,notes/[0-9a-f]{8},notes/NOTE,g' -e 's/[0-9]{13}/TIME/g' \
        -e 's/[0-9]+ bytes/N bytes/g' -e 's/"uid":"[0-9a-f]*"/"uid":"UID"/g'
}
plain <"$page" | sed 's/^ *//' >"$work/page"
shown() { # VERB ARGUMENT…: the output is on the page, line by line
    verb=$1
    shift
    "$kedge" "$verb" "$work/notes" "$@" >"$work/out"
    [ -s "$work/out" ]
    plain <"$work/out" >"$work/lines"
    while IFS= read -r line; do
        grep -qxF -e "$line" "$work/page" || {
            echo "docs/reference/kedge.md does not show what kedge $verb prints: $line" >&2
            exit 1
        }
    done <"$work/lines"
}
has() {
    grep -q -- "$1" "$work/out" || { echo "kedge $verb does not print: $1" >&2; cat "$work/out" >&2; exit 1; }
}

ls -la "$work/notes" | grep -v -- -shm >"$work/before"
shown inspect
has '^pending: 1$'
has '^rejected: 1$'
has '^confirmed and kept: 2$'
has '^last sequence: 4$'
shown pending
has '"sequence":4,.*"title":"Later"'
shown rejected
has '"sequence":2,.*"code":"item-not-found"'
shown export
has '"title":"Ideas"'
shown trace 1
has 'applied'
shown trace 2
has 'rejected in version [0-9]*: item-not-found'
shown trace 4
has 'has not been sent'
shown verify
has '^0 findings$'
ls -la "$work/notes" | grep -v -- -shm | cmp - "$work/before"

# A watch is told of what another process does.
mkfifo "$work/news"
"$kedge" watch "$work/notes" 2 >"$work/news" &
{
    read -r now
    one --offline add More >/dev/null
    read -r after
} <"$work/news"
echo "$now" | grep -q '"pending":1,'
echo "$after" | grep -q '"pending":2,'
wait $!

# Without a cache, as after a repair.
cp -r "$work/notes" "$work/bare"
rm "$work"/bare/cache.db*
"$kedge" inspect "$work/bare" >"$work/out"
verb=inspect
has '^version: 0$'
has '^last sequence: 5$'

refused() { # WORDS VERB ARGUMENT…
    words=$1
    shift
    if "$kedge" "$@" >"$work/out" 2>"$work/said"; then
        echo "kedge $* was not refused" >&2
        exit 1
    fi
    grep -q "$words" "$work/said" "$work/out" || { cat "$work/said" >&2; exit 1; }
}
# An output that cannot be written is no success, and ends a watch.
for words in 'export' 'watch'; do
    status=0
    timeout 20 "$kedge" $words "$work/notes" >/dev/full 2>"$work/said" || status=$?
    [ "$status" = 1 ] && grep -q 'could not be written' "$work/said" || {
        echo "kedge $words to a full disk: $status" >&2
        exit 1
    }
done
refused cache-missing export "$work/bare"
refused edit-not-found trace "$work/notes" 99
refused outbox-missing inspect "$work"
mkdir "$work/garbage"
head -c 8192 /dev/zero | tr '\0' x >"$work/garbage/outbox.db"
refused 'file-damaged\|not-a-database' inspect "$work/garbage"
refused usage trace "$work/notes" first
refused usage inspect

# Damage is found where it is, and named.
python3 - "$work/notes" <<'PYTHON'
import sqlite3, sys
outbox = sqlite3.connect(sys.argv[1] + "/outbox.db")
assert outbox.execute("UPDATE pending SET timestamp = timestamp + 1 WHERE sequence = 4").rowcount == 1
outbox.commit()
cache = sqlite3.connect(sys.argv[1] + "/cache.db")
cache.execute("DELETE FROM item WHERE value LIKE '%Ideas%'")
cache.commit()
PYTHON
refused 'outbox.db: the checksum is wrong of a row of pending: 4' verify "$work/notes"
refused 'cache.db: rows are missing from item' verify "$work/notes"
