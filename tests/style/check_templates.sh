#!/usr/bin/env bash
# cfn-lint on the templates of deploy/. Skipped (77) only where scripts/test has not named the Python tools.
#   check_templates.sh ROOT
set -euo pipefail
shopt -s nullglob
templates=("$1"/deploy/*.yaml)
if [ ${#templates[@]} = 0 ]; then
  echo "deploy/ has no template"
elif [ -z "${KEDGE_PYTHON_TOOLS:-}" ]; then
  echo "KEDGE_PYTHON_TOOLS does not name the folder of cfn-lint; scripts/test --label style does"
  exit 77
else
  "$KEDGE_PYTHON_TOOLS/cfn-lint" "${templates[@]}"
  echo "cfn-lint finds nothing in ${#templates[@]} templates"
fi
