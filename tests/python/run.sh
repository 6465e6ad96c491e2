#!/bin/sh
# Runs one unittest file under the Python with torch; 77 tells CTest that there is none.
python="${KGEN_PYTHON:-python3}"
"$python" -c 'import torch' 2>/dev/null || { echo "$python has no torch: skipped"; exit 77; }
exec "$python" -P -s "$@" -v 2>&1
