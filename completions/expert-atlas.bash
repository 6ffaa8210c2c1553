# Bash completion for expert-atlas. To use it: source this file, or copy it to ~/.local/share/bash-completion/completions/expert-atlas
# Commands, options and the words an option takes are read from the program's own --help, so they are those of the program installed.

# _expert_atlas_help PROGRAM [COMMAND...]: the help, once a shell; asking the program takes some milliseconds.
declare -gA _expert_atlas_helps=()
_expert_atlas_help() {
  local key="$*"
  [ -n "${_expert_atlas_helps[$key]:-}" ] || _expert_atlas_helps[$key]=$("$@" --help 2>/dev/null)
  help=${_expert_atlas_helps[$key]}
}

_expert_atlas() {
  local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local help word commands values path=()
  program=${program/#\~/$HOME}
  # The commands typed so far, such as `probes check`, are those that the help before them lists.
  _expert_atlas_help "$program"
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    commands=$(sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' <<<"$help")
    grep -qx -- "$word" <<<"$commands" || continue
    path+=("$word")
    _expert_atlas_help "$program" "${path[@]}"
  done
  commands=$(sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' <<<"$help")
  # An option that takes one of some words has them in its help as {a,b}.
  values=
  [[ $previous != -* ]] || values=$(sed -n "s/^ .*${previous}[ ,].*[:{]{*\([a-z0-9,-]*\)}.*/\1/p" <<<"$help" | tr ',' '\n')
  if [ -n "$values" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(sed -n '/^Options:/,/^Subcommands:/p' <<<"$help" | grep -o -- '--[a-z][a-z-]*' | sort -u)" -- "$current")
  elif [ -n "$commands" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames
  fi
}

complete -F _expert_atlas expert-atlas
