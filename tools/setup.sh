#!/usr/bin/env bash
# Installs what building and running kernelgen needs and this machine lacks. Returns quickly when everything is installed.
#
#   tools/setup.sh         what `tools/demo.sh` needs: compiler, libraries, a Python with torch
#   tools/setup.sh --dev   also what `tools/test.sh` needs: clang, clang-format, clang-tidy, doxygen, shellcheck, hipcc, chromium,
#                          and in .venv what the Python package is built with (requirements-dev.txt)
#
# Packages come from apt on Debian and Ubuntu (sudo only where something is missing and you are not root). Python is,
# in this order: $KGEN_PYTHON; a python3 on the path that has torch >= 2.4; .venv, made from requirements.txt.
# Sourced, it leaves KGEN_PYTHON exported.
# shellcheck source=tools/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly OLDEST_BOOST="1.81"

has_package() { dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2> /dev/null | grep -q '^ii'; }
known_package() { [ -n "$(apt-cache madison "$1" 2> /dev/null)" ]; }

# The suffix of the Boost packages to use ("1.81", "1.83", ...): of the installed ones, else of those that can be
# installed.
boost_version() {
  local test version
  for test in has_package known_package; do
    for version in 1.81 1.83 1.84 1.85 1.86 1.87 1.88 1.89 1.90; do
      if "$test" "libboost-json${version}-dev"; then
        echo "$version"
        return
      fi
    done
  done
}

apt() {
  local sudo=()
  if [ "$(id -u)" != 0 ]; then
    have sudo || missing "Something is missing, you are not root, and there is no sudo. As root:" "  apt-get $*"
    sudo=(sudo)
  fi
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

setup_packages_apt() {
  local package
  local wanted=(g++ cmake ninja-build ccache pkg-config git python3 python3-venv
    libfmt-dev libssl-dev libcurl4-openssl-dev libsqlite3-dev zlib1g-dev libkainjow-mustache-dev libcli11-dev libtomlplusplus-dev catch2)
  if [ "$1" = dev ]; then
    wanted+=(clang clang-format clang-tidy libclang-rt-dev shellcheck doxygen python3-dev)
    # The tests of completion scripts skip missing shells.
    local shell
    for shell in zsh fish; do
      if known_package "$shell"; then
        wanted+=("$shell")
      fi
    done
    # Web pages are opened in it; their tests are skipped without it. Ubuntu's package is not the browser itself.
    if known_package chromium; then
      wanted+=(chromium)
    fi
    # A real Slurm and a real ssh; the tests start their daemons for themselves. Where systemd runs, installing these
    # packages would start them as services of the machine, so there the tests are skipped unless you install them.
    local service
    for service in slurmctld slurmd slurm-client munge openssh-client openssh-server; do
      if [ ! -d /run/systemd/system ] && known_package "$service"; then
        wanted+=("$service")
      fi
    done
    # The package for Debian is made with the first two, and read by lintian: 120 small packages, 24 MB. Its test does without that one.
    for package in dpkg-dev file lintian; do
      if known_package "$package"; then
        wanted+=("$package")
      fi
    done
    # hipcc compiles the HIP of prompts; their test is skipped without it. 320 MB, a quarter of a minute.
    if known_package hipcc; then
      wanted+=(hipcc)
    fi
  fi
  local boost lacking=() updated=no
  boost=$(boost_version)
  if [ -z "$boost" ]; then
    say "refreshing the package lists"
    apt update || return
    updated=yes
    boost=$(boost_version)
  fi
  [ -n "$boost" ] || missing "No Boost $OLDEST_BOOST or newer among this system's packages (Debian 12, Ubuntu 24.04 and newer have it)."
  wanted+=("libboost${boost}-dev" "libboost-json${boost}-dev" "libboost-regex${boost}-dev")
  # Before 1.86, Boost.Process is headers only.
  if [ "${boost#1.}" -ge 86 ]; then
    wanted+=("libboost-process${boost}-dev")
  fi
  for package in "${wanted[@]}"; do
    has_package "$package" || lacking+=("$package")
  done
  if [ ${#lacking[@]} = 0 ]; then
    say "packages: all there (Boost $boost)"
    return
  fi
  say "packages: installing ${lacking[*]}"
  # Old package lists name files that are gone; if a list cannot be refreshed, it may still work.
  if [ "$updated" = no ] && { [ "$(id -u)" = 0 ] || have sudo; }; then
    apt update || say "packages: the lists could not be refreshed; trying with the old ones"
  fi
  apt install -y --no-install-recommends "${lacking[@]}"
}

setup_packages_elsewhere() {
  local lacking=() tool
  local tools=(c++ cmake ninja pkg-config python3)
  if [ "$1" = dev ]; then
    tools+=(clang++ clang-format clang-tidy doxygen shellcheck)
  fi
  for tool in "${tools[@]}"; do
    have "$tool" || lacking+=("$tool")
  done
  say "packages: no apt here, so nothing is installed for you"
  [ ${#lacking[@]} = 0 ] || missing "Please install: ${lacking[*]}" \
    "and the libraries: Boost >= $OLDEST_BOOST (json, process, regex), fmt >= 9, OpenSSL >= 3, libcurl >= 7.68, SQLite >= 3.36, zlib >= 1.2.11, kainjow-mustache, CLI11 >= 2.1, tomlplusplus >= 3, Catch2."
}

# Prints "torch 2.13.0" for a Python with a recent enough torch, else nothing. Reads metadata only, because importing
# torch takes seconds.
torch_of() {
  "$1" -c '
import importlib.metadata, re, sys
if not (3, 10) <= sys.version_info[:2] <= (3, 13):
    sys.exit(1)
version = importlib.metadata.version("torch")
if tuple(map(int, re.findall(r"\d+", version)[:2])) < (2, 4):
    sys.exit(1)
print("torch", version)' 2> /dev/null
}

base_python() {
  local python
  for python in python3 python3.13 python3.12 python3.11 python3.10 /usr/bin/python3; do
    if have "$python" && "$python" -c '
import sys, venv, ensurepip
sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2> /dev/null; then
      command -v "$python"
      return
    fi
  done
}

# True when a plain `pip install` would already take a CPU build (a local file, or a configured index).
plain_pip_is_cpu() {
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --dry-run --no-deps --ignore-installed --report - \
    "$(grep '^torch==' requirements.txt)" 2> /dev/null | grep -q '+cpu"'
}

make_venv() {
  local base index=https://download.pytorch.org/whl/cpu arguments=()
  base=$(base_python)
  [ -n "$base" ] || missing "No Python 3.10 to 3.13 with the venv module on the path." \
    "Install one, or set KGEN_PYTHON to a Python that has torch >= 2.4."
  say "python: no torch >= 2.4 on $(command -v python3); making .venv with $("$base" --version)"
  [ -x .venv/bin/python ] || "$base" -m venv .venv
  if plain_pip_is_cpu; then
    say "python: fetching torch (CPU build) and triton: up to 400 MB, 1.7 GB on disk"
  elif .venv/bin/python -c "import urllib.request; urllib.request.urlopen('$index/', timeout=10)" 2> /dev/null; then
    say "python: downloading torch (CPU build) and triton: about 400 MB, 1.7 GB on disk"
    arguments=(--extra-index-url "$index")
  else
    say "python: the CPU builds are out of reach; downloading torch with CUDA and triton: about 3 GB, 7 GB on disk"
  fi
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "${arguments[@]}" -r requirements.txt ||
    missing "pip could not install requirements.txt; see above. Set KGEN_PYTHON to a Python that has torch >= 2.4 instead."
  venv_stamp > .venv/.kernelgen
}

# A .venv counts only when it was completed, and with the current pins.
venv_stamp() { sha256sum requirements.txt; }
venv_is_current() { [ -x .venv/bin/python ] && [ "$(cat .venv/.kernelgen 2> /dev/null)" = "$(venv_stamp)" ]; }

setup_python() {
  local found
  if [ -n "${KGEN_PYTHON:-}" ]; then
    found=$(torch_of "$KGEN_PYTHON") || missing "KGEN_PYTHON=$KGEN_PYTHON has no torch >= 2.4, or is not Python 3.10 to 3.13." \
      "Unset it to let tools/setup.sh make a .venv."
  elif found=$(torch_of python3); then
    KGEN_PYTHON=$(command -v python3)
  else
    venv_is_current || make_venv
    KGEN_PYTHON=$PWD/.venv/bin/python
    found=$(torch_of "$KGEN_PYTHON") || missing "Installing torch into .venv failed; remove .venv and try again."
  fi
  export KGEN_PYTHON
  say "python: $KGEN_PYTHON ($found)"
}

# What the Python package is built and tested with. A Python that is not ours stays as it is, and without nanobind the
# package is not built.
setup_python_package() {
  "$KGEN_PYTHON" -c "import nanobind, conan, fastapi, prometheus_client, uvicorn, optuna, ziglang, ruff" > /dev/null 2>&1 && return
  if [ "$KGEN_PYTHON" != "$PWD/.venv/bin/python" ]; then
    say "python: it lacks what the Python package is built or tested with: $KGEN_PYTHON -m pip install -r requirements-dev.txt"
    return
  fi
  say "python: installing what the Python package is built with"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt ||
    say "python: that failed, so the Python package is not built; see above"
}

# setup demo|dev
setup() {
  # errexit is off inside a function that is called as a condition, so failures are returned explicitly.
  if have apt-get && have dpkg-query; then
    setup_packages_apt "$1" || return
  else
    setup_packages_elsewhere "$1" || return
  fi
  setup_python
  if [ "$1" = dev ]; then
    setup_python_package
  fi
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  case "${1:-}" in
    "") setup demo ;;
    --dev) setup dev ;;
    *)
      echo "usage: tools/setup.sh [--dev]" >&2
      exit 64
      ;;
  esac
fi
