#!/usr/bin/env bash
# run.sh BUILD_DIR SECONDS [TARGET...]: runs each fuzz target for SECONDS from the kept corpus, within bounded memory. What a run adds to the
# corpus stays in BUILD_DIR; an input that crashes is left there, too, and named. Exit status 1 if any target failed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${1:?"usage: run.sh BUILD_DIR SECONDS [TARGET...]"}
seconds=${2:?"usage: run.sh BUILD_DIR SECONDS [TARGET...]"}
shift 2
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(safetensors manifest probe_set route_jsonl)
# The import writes and syncs files for each input: in memory where the machine has a place for that.
[ -d /dev/shm ] && [ -w /dev/shm ] && export TMPDIR=/dev/shm
failed=0
for target in "${targets[@]}"; do
  program=$(find "$build" -name "fuzz_$target" -type f -perm -u+x | head -n 1)
  [ -n "$program" ] || { echo "no fuzz_$target in $build: configure with the preset fuzz" >&2; exit 1; }
  found="$build/fuzz/$target"
  mkdir -p "$found"
  log="$found.log"
  if "$program" -max_total_time="$seconds" -rss_limit_mb=512 -malloc_limit_mb=256 -timeout=10 -max_len=8192 -print_final_stats=1 \
      -artifact_prefix="$found-" "$found" "$here/corpus/$target" >"$log" 2>&1; then
    echo "fuzz $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s, no fault"
  else
    echo "fuzz $target: FAILED" >&2
    tail -n 40 "$log" >&2
    failed=1
  fi
done
exit $failed
