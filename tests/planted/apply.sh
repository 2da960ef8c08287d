#!/bin/sh
# apply.sh PATCH SOURCES FOLDER: copies the files that PATCH changes from SOURCES to FOLDER, with its bug
# in them. A copy that is right already is left alone, so that only what has changed is compiled again.
# Fails when the lines of a hunk are not in the file exactly as the patch has them.
set -eu
patch=$1 sources=$2 folder=$3
shown=tests/planted/$(basename "$patch")
new=$folder.new

fail() {
  echo "error: $shown no longer applies: $*" >&2
  echo "  mend it: scripts/planted --edit $(basename "$patch" .patch)" >&2
  rm -rf "$new"
  exit 1
}

files=$(sed -n 's,^+++ b/\([^[:space:]]*\).*,\1,p' "$patch")
[ -n "$files" ] || fail "it changes no file"
rm -rf "$new"
for file in $files; do
  [ -f "$sources/$file" ] || fail "there is no $file"
  mkdir -p "$new/$(dirname "$file")"
  cp "$sources/$file" "$new/$file"
done
said=$(patch -d "$new" -p1 --fuzz=0 --force --no-backup-if-mismatch -r - <"$patch" 2>&1) || fail "$said"
for file in $files; do
  cmp -s "$new/$file" "$folder/$file" && continue
  mkdir -p "$folder/$(dirname "$file")"
  mv "$new/$file" "$folder/$file"
done
rm -rf "$new"
