# shellcheck shell=bash
# Shared by setup.sh, demo.sh, test.sh, format.sh and tidy.sh; meant to be sourced.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The project's exit code for "this machine lacks something" (see docs/cli.md).
readonly EXIT_MISSING=69

say() { printf '%s\n' "== $*"; }

# missing LINE...: names the missing part and how to get it, and ends the script.
missing() {
  printf '%s\n' "$@" >&2
  exit "$EXIT_MISSING"
}

# One compiler cache for every clone and every build directory. Debug information may then name another clone.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
# ccache compiles a file that it does not know at once, without running the preprocessor before.
export CCACHE_DEPEND=1

have() { command -v "$1" > /dev/null 2>&1; }

jobs_here() { nproc 2> /dev/null || getconf _NPROCESSORS_ONLN; }

STEP_LOG=()
# step NAME COMMAND...: runs a command, prints its duration, and returns its exit status.
step() {
  local name=$1 started ended status=0
  shift
  say "$name"
  started=$(date +%s%N)
  "$@" || status=$?
  ended=$(date +%s%N)
  STEP_LOG+=("$(printf '%7.1f s  %-9s %s' "$(((ended - started) / 100000000))e-1" "$([ "$status" = 0 ] && echo ok || echo FAILED)" "$name")")
  return "$status"
}

show_steps() {
  echo
  echo "step times:"
  printf '  %s\n' "${STEP_LOG[@]}"
}

# configure PRESET [OPTION...]: runs cmake, with ccache if it is installed.
configure() {
  local preset=$1
  shift
  local launcher=()
  if have ccache; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  cmake --preset "$preset" "${launcher[@]}" "$@" > "/tmp/kernelgen-configure.$$" 2>&1 || {
    cat "/tmp/kernelgen-configure.$$"
    rm -f "/tmp/kernelgen-configure.$$"
    return 1
  }
  rm -f "/tmp/kernelgen-configure.$$"
}
