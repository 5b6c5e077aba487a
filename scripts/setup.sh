#!/bin/sh
# Installs what building and testing need from Debian 12's packages; returns at
# once when all is there. `make demo` and `make test` call it first.
set -eu

packages="libmlir-22-dev mlir-22-tools llvm-22 llvm-22-dev llvm-22-tools clang-22 libclang-rt-22-dev
  clang-format-22 lld-22 libstdc++-12-dev libgtest-dev zlib1g-dev libzstd-dev ninja-build ccache
  cmake make git python3 python3-venv python3-setuptools python3-wheel python3-numpy binutils xz-utils ca-certificates"

fail() {
  echo "setup.sh: $1" >&2
  shift
  for line in "$@"; do echo "  $line" >&2; done
  exit 1
}

missing=
if command -v dpkg-query > /dev/null; then
  for package in $packages; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
  done
  [ -n "$missing" ] || exit 0
fi

[ -r /etc/os-release ] && . /etc/os-release
if [ "${ID:-}" != debian ] || [ "${VERSION_ID:-}" != 12 ]; then
  fail "this is ${PRETTY_NAME:-an unknown system}, packages are installed on Debian 12 only" \
    "install by hand: LLVM, MLIR, clang and lld 22.1, GoogleTest, zlib and zstd (static), ninja," \
    "ccache, cmake >= 3.25, python3; then: cmake --preset release"
fi
candidate() { apt-cache policy "$1" | sed -n 's/^ *Candidate: //p'; }
# LLVM 22 of Debian 12 comes with its security updates, which a system made
# by debootstrap does not list. They are beside the main archive.
list=/etc/apt/sources.list.d/fa-mlir-security.list
main=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 2> /dev/null |
  sed -n 's|^\(.*/debian\)/* bookworm main$|\1|p' | head -n 1)
uri=${FA_SECURITY_MIRROR:-${main:+$main-security}}
if [ "$(id -u)" != 0 ]; then
  add=
  case "$(candidate libmlir-22-dev)" in
  '' | '(none)') add="echo 'deb ${uri:-<the address of the security archive of Debian>} bookworm-security main' > $list" ;;
  esac
  fail "missing packages, and only root can install them; run:" ${add:+"$add"} "apt-get update" \
    "apt-get install --no-install-recommends$missing"
fi

export DEBIAN_FRONTEND=noninteractive
echo "setup.sh: installing$missing" >&2
apt-get -qq update
case "$(candidate libmlir-22-dev)" in
'' | '(none)')
  [ -n "$uri" ] || fail "no source of packages has LLVM 22" \
    "add the suite bookworm-security of Debian's security archive to /etc/apt/sources.list," \
    "or set FA_SECURITY_MIRROR to its address"
  echo "setup.sh: adding $uri bookworm-security in $list" >&2
  echo "deb $uri bookworm-security main" > "$list"
  apt-get -qq update
  ;;
esac
for package in $missing; do
  case "$(candidate "$package")" in
  '' | '(none)') fail "no source of packages has $package" "see the sources in /etc/apt/sources.list*" ;;
  esac
done
# Quiet unless it fails: some hundred lines say nothing else.
log=$(mktemp)
apt-get install -y --no-install-recommends $missing > "$log" 2>&1 || {
  cat "$log" >&2
  fail "apt-get could not install$missing"
}
rm -f "$log"
