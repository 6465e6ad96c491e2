#!/usr/bin/env bash
# Runs the search of the demonstration with any model: a recording (as in tools/demo.sh), or a real one to record anew.
#
#   tools/record_demo.sh LLM RESULTS-DIRECTORY [OPTION-OF-KGEN-RUN...]
#
# To record anew, which a changed template or task makes necessary:
#   tools/record_demo.sh mailbox:mail recorded --record new.jsonl     # answer mail/*.prompt.md (docs/mailbox.md), or
#   tools/record_demo.sh openai:MODEL recorded --record new.jsonl
#   mv new.jsonl examples/recordings/gru_hidden.jsonl
# shellcheck source=tools/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[ $# -ge 2 ] || missing "usage: tools/record_demo.sh LLM RESULTS-DIRECTORY [OPTION...]"
llm=$1 results=$2
shift 2

# One seed, unless it does not lead to 1.5 times the speed of PyTorch; one stage whatever the score, to show it.
exec build/bin/kgen run examples/tasks/gru_hidden.py --target cpp --llm "$llm" --results "$results" \
  --goal 1.5 --stop-score 1.5 --stages block_tiling --stage-tries 1 "$@"
