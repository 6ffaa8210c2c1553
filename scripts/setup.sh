#!/usr/bin/env bash
# Installs what building Expert Atlas needs and is not there yet: scripts/setup.sh [--test] [--cuda]
#   --test  also what only scripts/test needs (clang 14 with its tools)
#   --cuda  also the CUDA libraries that torch loads on a GPU (2.6 GB)
# Debian packages come by apt-get (as root or with sudo; otherwise the one command to run is printed). torch and the library of hf/ are kept in
# ${XDG_CACHE_HOME:-~/.cache}/expert-atlas, so a second run or a second clone finds them and needs no network.
# scripts/demo and scripts/test source this file, call `setup`, and read the array `cmake_arguments`.
# An own torch (2.11 or later) can be named by ATLAS_TORCH_DIR, an own libexpert_atlas_hf.a by ATLAS_HF_LIBRARY, an own cargo by CARGO.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/expert-atlas
. "$root/scripts/steps.sh"

build_packages="cmake ninja-build ccache libcli11-dev libfmt-dev nlohmann-json3-dev libsimdjson-dev libssl-dev zlib1g-dev libgtest-dev libbenchmark-dev"
test_packages="clang-14 clang-tidy-14 clang-format-14 libclang-rt-14-dev"

# --- Debian packages ---------------------------------------------------------------------------------------------------------------------------

# at_least FOUND NEEDED: whether a version is new enough.
at_least() { [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Sets `cargo` to the first cargo that is new enough for hf/, with its rustc; empty if there is none.
find_cargo() {
  local needed candidate version
  needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/hf/Cargo.toml")
  cargo=
  for candidate in ${CARGO:-} $(type -ap cargo) "$HOME/.cargo/bin/cargo"; do
    version=$("$candidate" --version 2>/dev/null | cut -d ' ' -f 2) || continue
    if [ -n "$version" ] && at_least "$version" "$needed"; then
      cargo=$(type -p "$candidate")
      export RUSTC=$(dirname "$cargo")/rustc
      return
    fi
  done
}

missing_packages() {
  local package wanted=$build_packages
  [ -z "$for_test" ] || wanted="$wanted $test_packages"
  type -p c++ >/dev/null || wanted="$wanted g++"
  [ -n "${ATLAS_HF_LIBRARY:-}" ] || { find_cargo; [ -n "$cargo" ] || wanted="$wanted cargo-web rustc-web"; }
  torch_is_complete || python3 -m pip --version >/dev/null 2>&1 || wanted="$wanted python3-pip"
  for package in $wanted; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s ' "$package"
  done
}

install_packages() {
  local packages as_root=
  type -p python3 >/dev/null || { echo "python3 (3.11 or later) is needed and not there" >&2; exit 1; }
  if ! type -p dpkg-query apt-get >/dev/null; then
    echo "This is not a Debian system: the packages $build_packages ${for_test:+$test_packages }must be there under their names here, and cargo."
    find_cargo
    return
  fi
  packages=$(missing_packages)
  packages=${packages% }
  [ -n "$packages" ] || { find_cargo; return 0; }
  local install="apt-get install -y --no-install-recommends $packages"
  if [ "$(id -u)" -ne 0 ]; then
    if type -p sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
      as_root=sudo
    else
      type -p sudo >/dev/null && as_root="sudo sh -c" || as_root="su -c"
      printf 'Debian packages are missing, and installing them needs root. Please have this run once, then start again:\n\n    %s\n\n' \
        "$as_root 'apt-get update && $install'" >&2
      exit 1
    fi
  fi
  step "Refreshing the list of Debian packages" $as_root apt-get update
  step "Installing the Debian packages $packages" $as_root env DEBIAN_FRONTEND=noninteractive $install
  find_cargo
}

# --- torch -------------------------------------------------------------------------------------------------------------------------------------

torch_requirements=$root/src/runtime/torch-requirements.txt
torch_version=$(sed -n 's/^torch==\([0-9.]*\).*/\1/p' "$torch_requirements")
torch_folder=$cache/torch-$torch_version

torch_is_complete() {
  [ -n "${ATLAS_TORCH_DIR:-}" ] || [ -f "$torch_folder/complete" ]
}

# unpack_wheels REQUIREMENTS FOLDER: downloads the pinned wheels, whatever the version of the Python here, and unzips them into the folder.
unpack_wheels() {
  local wheels=$2.wheels machine wheel
  machine=$(uname -m)
  rm -rf "$wheels"
  # torch's libraries do not use the Python that the wheel is named after; only its extension module, which is not used here, does.
  python3 -m pip download --no-deps --require-hashes --no-cache-dir --progress-bar off --only-binary=:all: --dest "$wheels" -r "$1" \
    --python-version 3.11 --implementation cp --abi cp311 --platform "manylinux_2_28_$machine" --platform "manylinux_2_27_$machine" \
    --platform "manylinux_2_25_$machine" --platform "manylinux_2_18_$machine" --platform "manylinux2014_$machine"
  for wheel in "$wheels"/*.whl; do
    echo "unpacking $wheel"
    python3 -m zipfile -e "$wheel" "$2"
    rm "$wheel"
  done
  rm -r "$wheels"
}

fetch_torch() {
  mkdir -p "$cache"
  partial=$(mktemp -d "$torch_folder.partial-XXXXXX")
  trap 'rm -rf "$partial" "$partial.wheels"' EXIT
  unpack_wheels "$torch_requirements" "$partial"
  touch "$partial/complete"
  rm -rf "$torch_folder"
  mv "$partial" "$torch_folder"
}

fetch_cuda() {
  unpack_wheels "$root/scripts/torch-cuda-requirements.txt" "$torch_folder"
  touch "$torch_folder/complete-cuda"
}

setup_torch() {
  if ! torch_is_complete; then
    step "Fetching torch $torch_version (550 MB) into $torch_folder" with_lock fetch_torch_unless_there
  fi
  if [ -n "$with_cuda" ] && [ -z "${ATLAS_TORCH_DIR:-}" ] && [ ! -f "$torch_folder/complete-cuda" ]; then
    step "Fetching the CUDA libraries of torch (2.6 GB) into $torch_folder" with_lock fetch_cuda
  fi
  torch_dir=${ATLAS_TORCH_DIR:-$torch_folder/torch}
  # Where CMakeLists.txt looks when it is told nothing, so that `cmake --preset release` alone finds it.
  mkdir -p "$root/build"
  [ -e "$root/build/torch" ] || ln -sfn "$(dirname "$torch_dir")" "$root/build/torch"
}

# Another clone may have fetched it while this one waited for the lock.
fetch_torch_unless_there() { torch_is_complete || fetch_torch; }

with_lock() {
  mkdir -p "$cache"
  if type -p flock >/dev/null; then
    exec 9>"$cache/lock"
    flock 9
  fi
  "$@"
}

# --- the library of hf/ ------------------------------------------------------------------------------------------------------------------------

# A name that changes with every source file of hf/ and with the compiler.
hf_key() {
  (
    cd "$root/hf"
    find . -path ./target -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
    "$RUSTC" --version
  ) | sha256sum | cut -c 1-16
}

# The crates come from cargo's own store if they are all there, so that nothing is asked of the network.
cargo_hf() {
  local offline=
  "$cargo" fetch --manifest-path "$root/hf/Cargo.toml" --locked --offline --quiet 2>/dev/null && offline=--offline
  CARGO_TARGET_DIR=$cache/hf-target "$cargo" "$@" --manifest-path "$root/hf/Cargo.toml" --locked $offline
}

build_hf() {
  cargo_hf build --release
  mkdir -p "$(dirname "$hf_library")"
  cp "$cache/hf-target/release/libexpert_atlas_hf.a" "$hf_library.partial"
  mv "$hf_library.partial" "$hf_library"
}

setup_hf() {
  hf_library=${ATLAS_HF_LIBRARY:-}
  [ -z "$hf_library" ] || return 0
  if [ -z "$cargo" ]; then
    echo "No cargo $(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/hf/Cargo.toml") or later was found; name one by CARGO=/path/to/cargo." >&2
    exit 1
  fi
  hf_library=$cache/hf-$(hf_key)/libexpert_atlas_hf.a
  [ -f "$hf_library" ] || step "Building hf/ (tokenizers and chat templates, some minutes the first time)" with_lock build_hf
}

# --- all of it ---------------------------------------------------------------------------------------------------------------------------------

setup() {
  local argument
  for_test= with_cuda=
  for argument in "$@"; do
    case $argument in
      --test) for_test=yes ;;
      --cuda) with_cuda=yes ;;
      *) echo "setup: unknown argument $argument; known are --test and --cuda" >&2; exit 2 ;;
    esac
  done
  install_packages
  setup_torch
  setup_hf
  # ccache then finds the objects of one clone for another.
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
  cmake_arguments=("-DATLAS_TORCH_DIR=$torch_dir" "-DATLAS_HF_LIBRARY=$hf_library")
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -euo pipefail
  log_to "$root/build/setup.log"
  setup "$@"
  printf 'Everything is there. To configure by hand:\n\n    cmake --preset release %s\n\n' "${cmake_arguments[*]}"
fi
