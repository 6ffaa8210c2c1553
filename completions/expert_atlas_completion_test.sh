#!/usr/bin/env bash
# What the completion offers at some places of a command line: expert_atlas_completion_test.sh PATH_TO_EXPERT_ATLAS
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
. ./expert-atlas.bash
compopt() { :; }  # only there while bash completes

# offered WORD...: what is offered for the last word.
offered() {
  COMP_WORDS=("$program" "$@") COMP_CWORD=$# COMPREPLY=()
  _expert_atlas
  echo "${COMPREPLY[*]:-}"
}

failed=0
expect() {
  local wanted=$1 got
  got=$(offered "${@:2}")
  [ "$got" = "$wanted" ] || { echo "after '${*:2}': offered '$got', expected '$wanted'"; failed=1; }
}

expect "merge" m
expect "check" probes ""
expect "csv" export --as c
expect "web csv" export --as ""
expect "--topic" show --to
expect "--top-k" build x.trace --top-
expect "expert_atlas_completion_test.sh" show expert_atlas_completion_t
exit $failed
