# How the scripts show their work: one plain line a step, with its time; what the commands print goes to a log whose end is shown when a step fails.
# Sourced by setup.sh, demo and test; they set `log` first through `log_to`.

log_to() {
  log=$1
  mkdir -p "$(dirname "$log")"
  : >"$log"
}

# Runs a command in a shell of its own, so that a failing line inside a function stops it; its exit code is then in `status`, its seconds in `took`,
# and what it printed is in the log after the first `log_bytes`.
run_logged() {
  local started=$SECONDS
  printf '\n== %s\n' "$*" >>"$log"
  log_bytes=$(stat -c %s "$log")
  set +e
  (set -e; "$@") </dev/null >>"$log" 2>&1
  status=$?
  set -e
  took=$((SECONDS - started))
}

# show_failure [LINES]: what the step in `log` printed last.
show_failure() {
  printf '%s\n' "failed after $took s. The last lines of $log:"
  tail -c "+$((log_bytes + 1))" "$log" | tail -n "${1:-25}" | sed 's/^/    /'
}

# step "What is done" command...: a failure ends the script.
step() {
  printf '%s ... ' "$1"
  run_logged "${@:2}"
  if [ "$status" -ne 0 ]; then
    show_failure
    exit "$status"
  fi
  echo "done ($took s)"
}
