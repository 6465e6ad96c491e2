#!/bin/sh
# Runs a program that needs nvcc. Exit code 77: nvcc is missing.
for nvcc in "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" "$(command -v nvcc)" /usr/local/cuda/bin/nvcc; do
  [ -n "$nvcc" ] && [ -x "$nvcc" ] && exec "$@"
done
echo "skipped: there is no nvcc in CUDA_HOME, on the PATH or in /usr/local/cuda"
exit 77
