#!/usr/bin/env bash
# Sets up, builds, and does the main job: judges the example kernels against their PyTorch modules on this machine's CPU.
# Fails when a verdict is not "correct". Slower than PyTorch is allowed: the examples are written to be read.
# shellcheck source=tools/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

say "setting up"
setup demo
say "building"
configure dev
cmake --build build

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
if timing:
    ratio = timing["speedup_call"]
    text = (f"{text:<22} {timing['reference_median_ns'] / 1e6:9.3f} ms {timing['candidate_median_ns'] / 1e6:9.3f} ms "
            f"{ratio['value']:6.2f}x  [{ratio['low']:.2f}, {ratio['high']:.2f}]")
else:
    text = f"{text:<22} {outcome.get('message', '')}"
print(text)
PYTHON
}

say "judging examples/kernels against examples/tasks"
printf '%-22s %-22s %12s %12s %7s\n' kernel outcome reference kernel speed-up
wrong=0
for kernel in examples/kernels/*.c examples/kernels/*.cpp; do
  [ -e "$kernel" ] || continue
  name=$(basename "${kernel%.*}")
  # examples/kernels/relu_c.c and relu.cpp answer the same task.
  task=examples/tasks/$name.py
  [ -e "$task" ] || task=examples/tasks/${name%_*}.py
  record=$records/$(basename "$kernel").json
  status=0
  build/bin/kgen eval --code "$kernel" --problem "$task" --output "$record" > "$record.log" 2>&1 || status=$?
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
