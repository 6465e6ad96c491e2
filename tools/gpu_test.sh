#!/usr/bin/env bash
# Runs every test that needs a GPU, on a machine that has one. Ends with one line: "N passed, N failed".
#
#   tools/gpu_test.sh                    with build/, else with a bundle in build/ (cmake --build build --target bundle)
#   tools/gpu_test.sh --kgen FILE        with this program and the files around it
#   tools/gpu_test.sh --bundle ARCHIVE   with the archive's content; nothing has to be built on this machine
#   tools/gpu_test.sh --only NAME        one script of tests/gpu, without its ending; may be repeated
#   tools/gpu_test.sh --limit SECONDS    of each script (540)
#
# Python is $KGEN_PYTHON, else python3; its torch must see the GPU. tests/gpu/*_probe.py print facts and are no tests.
# shellcheck source=tools/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  sed -n '4,8s/^#   //p' "${BASH_SOURCE[0]}" >&2
  exit 64
}

kgen="" bundle="" limit=540 only=()
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || usage
  case "$1" in
    --kgen) kgen=$2 ;;
    --bundle) bundle=$2 ;;
    --only) only+=("$2") ;;
    --limit) limit=$2 ;;
    *) usage ;;
  esac
  shift 2
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Finds the program to test: $kgen, with libexec and share around it as in an installation.
find_program() {
  if [ -z "$kgen$bundle" ] && [ -x build/bin/kgen ]; then
    kgen=build/bin/kgen
  elif [ -z "$kgen$bundle" ]; then
    bundle=$(find build -maxdepth 1 -name 'kernelgen-bundle-*.tar.gz' 2> /dev/null | sort | tail -n 1)
  fi
  if [ -n "$bundle" ]; then
    tar -C "$scratch" -xzf "$bundle" || missing "$bundle cannot be unpacked"
    kgen=$(find "$scratch" -path '*/bin/kgen' | head -n 1)
  fi
  [ -x "$kgen" ] || missing "There is no kgen to test. Build it (cmake --preset dev && cmake --build build), or pass" \
    "a bundle: tools/gpu_test.sh --bundle ARCHIVE"
  kgen=$(realpath "$kgen")
}

find_python() {
  KGEN_PYTHON=${KGEN_PYTHON:-python3}
  local seen
  seen=$("$KGEN_PYTHON" -c 'import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else "")' \
    2> "$scratch/python.log") || missing "$KGEN_PYTHON has no torch: set KGEN_PYTHON" "$(tail -n 1 "$scratch/python.log")"
  [ -n "$seen" ] || missing "torch of $KGEN_PYTHON sees no GPU"
  say "$seen, $kgen"
}

wanted() {
  [ ${#only[@]} = 0 ] && return
  local name
  for name in "${only[@]}"; do
    if [ "$name" = "$1" ]; then
      return
    fi
  done
  return 1
}

# run SCRIPT: shows its output, adds to $passed and $failed. A script that counts its cases prints the counts in its
# last line.
run() {
  local name log started status=0 counts
  name=$(basename "$1" .py)
  log=$scratch/$name.log
  started=$(date +%s)
  timeout --kill-after=20 "$limit" "$KGEN_PYTHON" "$1" 2>&1 | tee "$log" | sed 's/^/    /' || status=$?
  counts=$(tail -n 1 "$log" | grep -E '^[0-9]+ passed, [0-9]+ failed$' || true)
  if [ -n "$counts" ]; then
    passed=$((passed + ${counts%% passed*}))
    counts=${counts#*, }
    failed=$((failed + ${counts%% failed*}))
    # A failed end counts as a failure of its own where no case explains it.
    if [ "$status" != 0 ] && [ "${counts%% failed*}" = 0 ]; then failed=$((failed + 1)); fi
  elif [ "$status" = 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
  case $status in
    0) summary+=("ok      $name, $(($(date +%s) - started)) s") ;;
    124 | 137) summary+=("FAILED  $name: not done within $limit s") ;;
    *) summary+=("FAILED  $name: exit status $status") ;;
  esac
}

find_program
find_python
export KGEN=$kgen KGEN_PYTHON PYTHONPATH=$PWD/lib/python PYTHONDONTWRITEBYTECODE=1
KGEN_RUNNER_SUPPORT=$(dirname "$kgen")/../libexec/kernelgen/libkgen_runner_support.so
export KGEN_RUNNER_SUPPORT
passed=0 failed=0 summary=()
for script in tests/gpu/*.py; do
  case "$script" in *_probe.py) continue ;; esac
  wanted "$(basename "$script" .py)" || continue
  say "$script"
  run "$script"
done
[ ${#summary[@]} != 0 ] || missing "There is no such script in tests/gpu: ${only[*]}"
printf '%s\n' "${summary[@]}"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
