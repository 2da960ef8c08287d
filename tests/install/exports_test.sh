#!/bin/sh
# The functions that libkedge exports are exactly those that include/kedge declares with KEDGE_API.
# usage: exports_test.sh SOURCE_DIR LIBRARY
set -eu
source=$1
library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort \
    >"$work/exported"
# A declaration may run over lines: join each from KEDGE_API to the first '('.
cat "$source"/include/kedge/*.h | grep -v '^#' | tr '\n' ' ' | grep -o 'KEDGE_API[^(]*(' |
    sed 's/.*[ *]\(kedge_[a-z0-9_]*\)($/\1/' | sort >"$work/declared"
[ -s "$work/declared" ]
diff -u "$work/declared" "$work/exported"
# The map names each of them.
while read -r name; do
    grep -q "\`$name\`" "$source/docs/reference/c-api.md" || {
        echo "docs/reference/c-api.md does not name $name" >&2
        exit 1
    }
done <"$work/declared"
# Every declaration has words above it: a comment in the same block, or before the group it ends.
python3 - "$source" <<'PYTHON'
import pathlib, re, sys
bare = []
for header in sorted(pathlib.Path(sys.argv[1], "include/kedge").glob("*.h")):
    explained = False
    for block in header.read_text().split("\n\n"):
        if "/*" in block:
            explained = True
        elif "KEDGE_API" in block and not explained:
            bare += re.findall(r"(kedge_\w+)\(", block)
if bare:
    sys.exit("not documented: " + ", ".join(bare))
PYTHON
echo "$(wc -l <"$work/exported") functions"
