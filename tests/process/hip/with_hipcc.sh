#!/bin/sh
# Runs a program that needs hipcc. Exit code 77: hipcc is missing.
for hipcc in "${ROCM_PATH:+$ROCM_PATH/bin/hipcc}" "$(command -v hipcc)" /opt/rocm/bin/hipcc; do
  [ -n "$hipcc" ] && [ -x "$hipcc" ] && exec "$@"
done
echo "skipped: there is no hipcc in ROCM_PATH, on the PATH or in /opt/rocm"
exit 77
