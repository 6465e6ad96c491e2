#!/usr/bin/env bash
# Records the replies of a recording again, for the prompts of today's templates: needed when a template or a task has
# changed, and the replies still fit.
#
#   tools/renew_recording.sh RECORDING COMMAND-OF-KGEN-RUN...
#   tools/renew_recording.sh examples/recordings/gru_hidden.jsonl tools/record_demo.sh LLM RESULTS
#   tools/renew_recording.sh examples/tutorial/replies.jsonl build/bin/kgen run examples/tutorial/gated_norm.py \
#     --target cpp --llm LLM --results RESULTS --seeds 1 --stages none
#
# LLM and RESULTS stand for what this script puts there: a program that answers from the old recording, and an empty folder.
# shellcheck source=tools/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[ $# -ge 2 ] || missing "usage: tools/renew_recording.sh RECORDING COMMAND..."
recording=$(realpath "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/answer.py" << 'PYTHON'
import json, os, sys
sys.stdin.read()
with open(sys.argv[1], encoding="utf-8") as lines:
    replies = {line["id"]: line["reply"]["text"] for line in map(json.loads, lines)}
wanted = os.environ["KGEN_REQUEST_ID"]
if wanted not in replies:
    sys.exit(f"no reply to {wanted} in {sys.argv[1]}: these prompts ask for something new")
sys.stdout.write(replies[wanted])
PYTHON
command=()
for word in "$@"; do
  case $word in
    LLM) command+=("command:python3 $work/answer.py $recording") ;;
    RESULTS) command+=("$work/results") ;;
    *) command+=("$word") ;;
  esac
done
# 1: over, and the goal was not reached; a slow machine is no reason to keep the old recording.
"${command[@]}" --record "$work/new.jsonl" || [ $? = 1 ]
mv "$work/new.jsonl" "$recording"
