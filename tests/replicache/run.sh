#!/bin/sh
# Runs the test with the machine's node and npm; without them it is skipped.
# Usage: run.sh SERVER_PROGRAM NOTES_PROGRAM NOTES_PLUGIN
node=$(command -v node || command -v nodejs) && npm=$(command -v npm) || {
    echo "SKIP replicache: no node or no npm"
    exit 0
}
exec "$node" "$(dirname "$0")/main.mjs" "$npm" "$@"
