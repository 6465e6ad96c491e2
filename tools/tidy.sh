#!/usr/bin/env bash
# clang-tidy over lib/ and apps/ (or the given files), from the compile commands of build/. See tools/run_tidy.py.
# shellcheck source=tools/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
have clang-tidy || missing "clang-tidy is missing; tools/setup.sh --dev installs it"
exec python3 tools/run_tidy.py "$@"
