#!/usr/bin/env bash
# Layout of all C, C++ and CUDA files, by clang-format.
#
#   tools/format.sh           changes the files
#   tools/format.sh --check   changes nothing; fails and names the files that differ
# shellcheck source=tools/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
have clang-format || missing "clang-format is missing; tools/setup.sh --dev installs it"

# Candidates that are wrong on purpose, recorded ones and those of models are data; they keep their own layout.
mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp' '*.cu' |
  grep -v -e '^tests/data/' -e '^examples/kernels/h200/' | while read -r file; do [ -f "$file" ] && echo "$file"; done)
[ ${#files[@]} -gt 0 ] || exit 0

case "${1:-}" in
  --check)
    # A process for each file would take six times as long.
    if complaints=$(printf '%s\0' "${files[@]}" | xargs -0 -n 100 -P "$(jobs_here)" clang-format --dry-run -Werror 2>&1); then
      complaints=""
    fi
    wrong=()
    for file in "${files[@]}"; do
      [[ $'\n'$complaints == *$'\n'"$file":[0-9]* ]] && wrong+=("$file")
    done
    if [ -n "$complaints" ] && [ ${#wrong[@]} = 0 ]; then
      printf '%s\n' "$complaints" # clang-format itself failed
      exit 1
    fi
    echo "clang-format: ${#files[@]} files, ${#wrong[@]} to change"
    if [ ${#wrong[@]} -gt 0 ]; then
      printf '  %s\n' "${wrong[@]}"
      echo "run tools/format.sh"
      exit 1
    fi
    ;;
  "") clang-format -i "${files[@]}" ;;
  *)
    echo "usage: tools/format.sh [--check]" >&2
    exit 64
    ;;
esac
