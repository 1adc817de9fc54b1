# shellcheck shell=bash
# Completion of effectctl(1) for bash.
#
# Verbs and flags are what `effectctl --help` and `effectctl VERB --help` say, so that they are never others than those of the
# program that is completed. Names of tools are the running daemon's, if there is one; nothing waits for it longer than half a
# second. Words that no --help lists stand here, and a test holds them against the sources.

# The words of a value, by its flag; nothing where anything may stand.
_effectctl_words() {
  case $1 in
    --state) echo pending unknown escalated released "done" ;;
    --verdict) echo landed failed absent ;;
    --outcome) echo succeeded failed error ;;
    --class) echo read overwrite natural accumulate irreversible ;;
    --measured) echo daemon ;;
    --ignore)
      echo absent_by_status absent_on_standby absent_once asks_below_budget backoff_over_escalate business_volatile \
        class_unlikely client_timeout_below_p99 error_releases escalate_late execute_long guard_unused ignore_all \
        ignore_amount irreversible_without_probe keep_credential keep_ignored keep_key_short keep_result_short \
        key_all_args key_call_id key_clock key_constant key_free_text key_ignored key_per_run key_per_turn \
        key_step_without_run key_token landed_untied lease_below_p99 lease_over_hold_max lease_short \
        max_attempts_high memory_below_oldest memory_short no_business_key no_key no_turn_budget policy_differs \
        probe_missing probe_over_escalate probe_silent probe_unsafe probe_unused retry_by_attempt \
        retry_over_escalate retry_spent retry_unkeyed settle_over_escalate settle_short timeout_below_p99
      ;;
  esac
}

# The words behind a verb that are no flags.
_effectctl_arguments() {
  case $1 in
    tools) echo list lint import probe ;;
    db) echo init migrate check ;;
    report) echo summary stuck escalated incidents duplicates mismatches churn budgets timeouts retention capacity daily ;;
    call) echo begin complete release unknown extend execute key get list report resolve probe scan incident tools info ;;
  esac
}

# Tools of the policies in force, one a line, but for those whose names have to be escaped.
_effectctl_tools() {
  "$@" tools list --names --deadline 500ms 2>/dev/null </dev/null | grep -vF \\
}

# Candidates that begin with $1, out of the lines of standard input, into COMPREPLY: quoted for the shell, and without what
# stands before the last character at which bash breaks words, as that is not the word that it replaces.
_effectctl_reply() {
  local value=$1 line broken=${1%"${1##*[:=]}"}
  while IFS= read -r line; do
    [[ -n $line && $line == "$value"* ]] || continue
    printf -v line %q "${line#"$broken"}"
    COMPREPLY+=("$line")
  done
}

# The value of flag $1, which its help calls $2; $3 is what stands there.
_effectctl_value() {
  local words
  words=$(_effectctl_words "$1")
  case $2 in
    FILE | PATH | DIR | FILE\|*)
      compopt -o filenames 2>/dev/null
      while IFS= read -r words; do COMPREPLY+=("$words"); done < <(compgen -f -- "$3")
      [[ $1 == --measured ]] && _effectctl_reply "$3" <<<daemon
      return
      ;;
  esac
  if [[ $1 == --tool ]]; then
    _effectctl_reply "$3" < <(_effectctl_tools "${to_daemon[@]}")
  else
    # shellcheck disable=SC2086 # words without blanks
    _effectctl_reply "$3" < <(printf '%s\n' $words)
  fi
}

# What `--help` calls the value of flag $1; nothing where it takes none.
_effectctl_takes() {
  local line
  while IFS= read -r line; do
    [[ $line =~ ^\ \ (-[a-z],\ )?(--[a-z-]+)\ ([A-Z][^\ ]*)\ .*$ ]] || continue
    if [[ ${BASH_REMATCH[2]} == "$1" || ${BASH_REMATCH[1]%, } == "$1" ]]; then
      echo "${BASH_REMATCH[3]}"
      return
    fi
  done <<<"$help"
}

# Flags or verbs out of a help text.
_effectctl_listed() {
  local line
  while IFS= read -r line; do
    [[ $line =~ ^\ \ (-[a-z],\ )?$1 ]] && echo "${BASH_REMATCH[2]}"
  done <<<"$help"
}

_effectctl() {
  local line=${COMP_LINE:0:COMP_POINT} words cur prev verb='' sub='' help flag takes i n_arguments=0
  local -a to_daemon=("$1")
  COMPREPLY=()
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  cur=${words[-1]}
  prev=${words[-2]}

  # what stands before the word: the verb, and of two-word verbs the second
  for ((i = 1; i < ${#words[@]} - 1; i++)); do
    case ${words[i]} in
      -s | --socket)
        to_daemon+=(-s "${words[i + 1]}")
        ((++i < ${#words[@]} - 1)) || break
        ;;
      --socket=*) to_daemon+=(-s "${words[i]#*=}") ;;
      --) # a command and its own words
        [[ $verb == run ]] || continue
        compopt -o default 2>/dev/null
        ((i == ${#words[@]} - 2)) && while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -c -- "$cur")
        return
        ;;
      -*) ;;
      *)
        if [[ -z $verb ]]; then
          verb=${words[i]}
        elif [[ -z $sub && ($verb == tools || $verb == db) ]]; then
          sub=${words[i]}
        else
          n_arguments=$((n_arguments + 1))
        fi
        ;;
    esac
  done
  # shellcheck disable=SC2086 # sub is one word or none
  help=$("$1" $verb $sub --help 2>/dev/null </dev/null)

  if [[ $cur == --*=* ]]; then
    flag=${cur%%=*}
    takes=$(_effectctl_takes "$flag")
    cur=${cur#*=}
  else
    flag=$prev
    takes=$(_effectctl_takes "$prev")
  fi
  if [[ -n $takes ]]; then
    _effectctl_value "$flag" "$takes" "$cur"
  elif [[ $cur == -* ]]; then
    _effectctl_reply "$cur" < <(_effectctl_listed '(--[a-z-]+)')
    [[ -n $verb ]] || _effectctl_reply "$cur" < <(printf '%s\n' -s --socket --json --help --version)
  elif [[ -z $verb ]]; then
    _effectctl_reply "$cur" < <(_effectctl_listed '([a-z]+)\ ')
  elif [[ -z $sub && ($verb == tools || $verb == db) ]] || [[ $n_arguments == 0 && ($verb == report || $verb == call) ]]; then
    # shellcheck disable=SC2046 # words without blanks
    _effectctl_reply "$cur" < <(printf '%s\n' $(_effectctl_arguments "$verb"))
  elif [[ $verb$sub == toolsprobe && $n_arguments == 0 ]]; then
    _effectctl_reply "$cur" < <(_effectctl_tools "${to_daemon[@]}")
  elif [[ $verb$sub == toolslint || $verb$sub == toolsimport ]]; then
    _effectctl_value '' FILE "$cur"
  fi
}

complete -F _effectctl effectctl
