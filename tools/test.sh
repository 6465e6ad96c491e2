#!/usr/bin/env bash
# Sets up, builds and runs every test. Ends with one line: "N passed, N failed, N skipped".
#
#   tools/test.sh          what continuous integration runs: tests, format, shellcheck, ruff, clang-tidy, and with clang++
#                          the sanitizers
#   tools/test.sh --quick  the development build and its tests only
#   tools/test.sh --long   the development build and the tests with the label `long`, which the others leave out: they
#                          cost minutes and fail rarely
#
# Without a GPU, a key or a network, everything here still runs; what cannot run is counted as skipped.
# shellcheck source=tools/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

case "${1:-}" in
  "") extent=all ;;
  --quick) extent=quick ;;
  --long) extent=long ;;
  *)
    echo "usage: tools/test.sh [--quick | --long]" >&2
    exit 64
    ;;
esac

export LC_ALL=C
# Tests must not depend on the user's settings.
export XDG_CONFIG_HOME=/dev/null
passed=0 failed=0 skipped=0
workers=$(jobs_here)
# A test that takes longer than this many seconds hangs, unless it has a limit of its own.
hung=900

# check NAME COMMAND...: one step that counts as one test.
check() {
  if step "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}

# tests NAME BUILD-DIR CTEST-ARGUMENT...: a step that counts each of its test cases. Tests that measure time, or that say
# so, have the machine for themselves.
tests() {
  local name=$1 build=$2 log
  shift 2
  log=$build/ctest-output.txt
  step "$name" run_ctest "$build" "$log" "$@" || true
  count_tests "$log"
}

run_ctest() {
  local build=$1 log=$2 status=0
  shift 2
  set -- --output-on-failure --timeout "$hung" "$@"
  # Many tests wait for processes that they started, so more run than there are processors.
  ctest --test-dir "$build" --no-tests=error -j "$((workers * 2))" -LE "timing|serial|$left_out" "$@" | tee "$log" |
    hide_passed || status=1
  cp "$build/Testing/Temporary/LastTest.log" "$log.full"
  ctest --test-dir "$build" --no-tests=ignore -j 1 -L 'timing|serial' -LE "$left_out" "$@" | tee -a "$log" |
    hide_passed || status=1
  cat "$build/Testing/Temporary/LastTest.log" >> "$log.full"
  return "$status"
}

hide_passed() { grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test +#.*(Passed|\*\*\*Skipped))|^Internal ctest|^$' || true; }

count_tests() {
  local good bad not_run
  good=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#.* Passed ' "$1" || true)
  not_run=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#.*\*\*\*Skipped' "$1" || true)
  bad=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#.*\*\*\*' "$1" || true)
  bad=$((bad - not_run))
  # A program with several test cases has counted as one test so far, passed or failed.
  local cases_passed cases_failed
  read -r cases_passed cases_failed < <(awk '
    /^All tests passed \(/ { passed += $(NF - 2) - 1 }
    /^test cases: / {
      for (i = 2; i < NF; ++i) { if ($(i + 1) == "passed") passed += $i; if ($(i + 1) == "failed") failed += $i }
      --failed
    }
    END { print passed + 0, failed + 0 }' "$1.full")
  good=$((good + cases_passed)) bad=$((bad + cases_failed))
  if [ "$((good + bad + not_run))" = 0 ]; then
    bad=1 # a run that executed nothing is no success
  fi
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + not_run))
}

shell_scripts() {
  local scripts
  mapfile -t scripts < <(git ls-files --cached --others --exclude-standard '*.sh' '.ci/run')
  shellcheck -x "${scripts[@]}"
}

sanitizer_tests() {
  # Leaks count, too. Tests start children with environments of their own, so the build sets these options as well. A program
  # that aborts names the test case that it was in.
  export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:abort_on_error=1
  export UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1
  # Whole evaluations load the runners' library into a Python that has no sanitizer; they run in the ordinary build.
  # So do the tests that compile: kgen-sandbox with a sanitizer in it does not become a compiler.
  tests "tests: address and undefined-behaviour sanitizers" build-asan-ubsan -R '^(unit|process)\.' \
    -E '^process\.(spool|custom_target|compile|cuda\.nvcc|hip\..*)$'
}

finish() {
  show_steps
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" = 0 ]
}

left_out=long
step "set up" setup dev || exit
check "configure (g++)" configure dev
if ! step "build (g++)" cmake --build build; then
  failed=$((failed + 1))
  finish
  exit 1
fi
if [ "$extent" = long ]; then
  left_out=none
  tests "long tests (g++)" build -L long
else
  tests "tests (g++)" build
fi

if [ "$extent" = all ]; then
  check "format" tools/format.sh --check
  check "shellcheck" shell_scripts
  check "ruff" "$KGEN_PYTHON" -m ruff check --no-cache .
  # The second compiler, too: its warnings are errors. Both compile files together; whether each of them includes what it
  # needs, is a long test.
  check "configure (clang++, sanitizers)" configure asan-ubsan -DKERNELGEN_BUILD_EXAMPLES=OFF
  check "build (clang++, sanitizers)" cmake --build build-asan-ubsan --target tests/unit/all tests/process/all
  sanitizer_tests
  check "clang-tidy" tools/tidy.sh --build build-asan-ubsan
fi
finish
