#pragma once

namespace medley {

// Prints what may stand at a place of a command line of medley's. For sh, bash and zsh; beside it stand the
// tables _medley_verbs, _medley_options and _medley_takes.
inline constexpr const char* kCandidates = R"shell(
# A line for each word that may stand here, with a tab and its meaning where there are words about it; ":file"
# where a file may. Arguments: the word so far, and the words before it.
_medley_candidates() {
  local cur="$1" verb="" place=1 waits="" word
  shift
  for word in "$@"; do
    if [ -n "$waits" ]; then
      waits=""
      continue
    fi
    case "$word" in
    -*=*) ;;
    -*) waits="$(_medley_takes "$verb $word")" ;;
    *)
      if [ "$place" -eq 1 ] && _medley_verbs "$verb" | cut -f 1 | grep -qxF -e "$word"; then
        verb="${verb:+$verb }$word"
      else
        place=$((place + 1))
      fi
      ;;
    esac
  done
  if [ -n "$waits" ]; then
    _medley_values "$waits" "$cur"
    return
  fi
  case "$cur" in
  -*=*) _medley_values "$(_medley_takes "$verb ${cur%%=*}")" "${cur#*=}" | sed "s|^[^:]|${cur%%=*}=&|" ;;
  -*) _medley_options "$verb" ;;
  *)
    _medley_verbs "$verb"
    _medley_values "$(_medley_takes "$verb $place")" "$cur"
    ;;
  esac
}

# The values of a kind: names that medley knows, words that are given, files or nothing.
_medley_values() {
  case "$1" in
  file) printf '%s\n' :file ;;
  words\ *) printf '%s\n' "${1#words }" | tr ' ' '\n' ;;
  none | '') ;;
  *) medley completion "--list=$1" ${2:+"--word=$2"} 2>/dev/null ;;
  esac
}
)shell";

inline constexpr const char* kBash = R"shell(
# For bash: source <(medley completion bash), or a file in ~/.local/share/bash-completion/completions.
_medley() {
  local line="${COMP_LINE:0:COMP_POINT}" candidate cur words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  cur="${words[${#words[@]} - 1]}"
  COMPREPLY=()
  while IFS= read -r candidate; do
    candidate="${candidate%%$'\t'*}"
    if [[ $candidate == :file ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "${cur##*=}")
    elif [[ $candidate == "$cur"* ]]; then
      [[ $candidate == *[/=.] ]] && compopt -o nospace 2>/dev/null
      # Readline takes what stands behind a "=" for a word of its own.
      [[ $cur == *=* && $COMP_WORDBREAKS == *=* ]] && candidate="${candidate#"${cur%=*}="}"
      [[ $candidate == *\ * ]] && candidate="$(printf %q "$candidate")"
      COMPREPLY+=("$candidate")
    fi
  done < <(_medley_candidates "$cur" "${words[@]:1:${#words[@]} - 2}")
}
complete -F _medley medley
)shell";

inline constexpr const char* kZsh = R"shell(
# For zsh: source <(medley completion zsh) after compinit, or a file _medley in a directory of $fpath.
_medley() {
  local line name files=0
  local -a before with_meaning plain open
  before=("${(@)words[2,CURRENT-1]}")
  _medley_candidates "${words[CURRENT]}" "${before[@]}" | while IFS= read -r line; do
    name="${line%%$'\t'*}"
    case "$line" in
    :file) files=1 ;;
    *$'\t'*) with_meaning+=("${name//:/\\:}:${line#*$'\t'}") ;;
    *[/=.]) open+=("$name") ;;
    *) plain+=("$name") ;;
    esac
  done
  (( ${#with_meaning} )) && _describe medley with_meaning
  (( ${#plain} )) && compadd -- "${plain[@]}"
  (( ${#open} )) && compadd -S '' -- "${open[@]}"
  (( files )) && _files
  (( ${#with_meaning} + ${#plain} + ${#open} + files ))
}
if [[ ${funcstack[1]} == _medley ]]; then
  _medley "$@"
else
  compdef _medley medley
fi
)shell";

// Behind a line that sets __medley_functions.
inline constexpr const char* kFish = R"shell(
# For fish: medley completion fish | source, or a file in ~/.config/fish/completions.
function __medley_candidates
    set -l before (commandline -opc)
    set -l cur (commandline -ct)
    for line in (printf '%s\n_medley_candidates "$@"\n' $__medley_functions | sh -s -- "$cur" $before[2..])
        if test "$line" = :file
            __fish_complete_path "$cur"
        else
            printf '%s\n' $line
        end
    end
end
complete -c medley -f -a '(__medley_candidates)'
)shell";

}  // namespace medley
