#!/usr/bin/env bash
# Sets up, builds, and does the main job on this machine's CPU: judges the example kernels against their PyTorch modules,
# then lets the hybrid flow turn a PyTorch GRU into a faster kernel. The model's replies are recorded; nothing else is:
# every candidate is compiled, checked and timed here.
# Fails when a verdict is not "correct", or when the flow does not reach 1.5 times the speed of PyTorch. An example kernel
# may be slower than PyTorch: the examples are written to be read.
# shellcheck source=tools/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

say "setting up"
setup demo
say "building"
# Warnings of a newer compiler must not end a demonstration.
strict=()
[ -f build/CMakeCache.txt ] || strict=(-DKERNELGEN_DEVELOPER=OFF)
configure dev "${strict[@]}"
cmake --build build --target kgen kgen-runner kgen-sandbox kgen_runner_support kgen_openmp_order

records=build/demo
rm -rf "$records"
mkdir -p "$records"

# One line of a record: outcome, times and speed-up.
describe() {
  "$KGEN_PYTHON" - "$1" << 'PYTHON'
import json, sys
record = json.load(open(sys.argv[1], encoding="utf-8"))
outcome, timing = record["outcome"], record.get("timing")
text = outcome["kind"] + (":" + outcome["detail"] if outcome.get("detail") else "")
if timing and timing.get("candidate_ns"):
    ratio = timing["speedup_call"]
    text = (f"{text:<28} {timing['reference_median_ns'] / 1e6:9.3f} ms {timing['candidate_median_ns'] / 1e6:9.3f} ms "
            f"{ratio['value']:6.2f}x  [{ratio['low']:.2f}, {ratio['high']:.2f}]")
else:
    text = f"{text:<28} {outcome.get('message', '')}"
print(text)
PYTHON
}

# judge KERNEL TASK RECORD: returns the exit status of kgen eval. If other work disturbed the machine ("suspect", no
# score), it tries once more.
judge() {
  local attempt status
  for attempt in 1 2 3; do
    status=0
    rm -f "$3"
    build/bin/kgen eval --code "$1" --problem "$2" --output "$3" > "$3.log" 2>&1 || status=$?
    grep -q '"kind": *"suspect"' "$3" 2> /dev/null && [ "$attempt" != 3 ] || return "$status"
  done
}

say "judging examples/kernels against examples/tasks"
printf '%-22s %-28s %12s %12s %7s   %s\n' kernel outcome reference kernel speed-up interval
wrong=0
for kernel in examples/kernels/*.cpp; do
  name=$(basename "$kernel" .cpp)
  record=$records/$name.json
  status=0
  judge "$kernel" "examples/tasks/$name.py" "$record" || status=$?
  # 0: correct and as fast; 1: correct but slower. Anything else is no correct verdict.
  if [ "$status" -gt 1 ]; then
    wrong=$((wrong + 1))
  fi
  printf '%-22s ' "$(basename "$kernel")"
  if [ -s "$record" ]; then
    describe "$record"
  else
    echo "no record (exit $status): $(tail -n 1 "$record.log")"
  fi
done

if [ "$wrong" != 0 ]; then
  echo "$wrong verdicts are not correct"
  exit 1
fi
say "records are in $records"

say "kgen run: seed, repairs, analysis, optimized kernel, stages"
tools/record_demo.sh "replay:examples/recordings/gru_hidden.jsonl" "$records/results"
