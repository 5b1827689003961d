# What the scripts of this folder share. Sourced by them, from bash, never run.
# shellcheck shell=bash

WEFT_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
WEFT_VENV=$WEFT_ROOT/.venv
build_targets=()
# ccache learns from the compiler which headers a file includes, instead of running the preprocessor for it first: a
# sixth of the time of a build that it has nothing of.
export CCACHE_DEPEND=1

if [[ -t 1 ]]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi

# step TEXT: announces a part of the work.
step() { printf '%s==> %s%s\n' "$bold" "$*" "$plain"; }
note() { printf '    %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$1" >&2
  shift
  for line in "$@"; do printf '       %s\n' "$line" >&2; done
  exit 1
}

# Debian's Python, which python3-venv belongs to, rather than another that comes first in PATH.
system_python() { if [[ -x /usr/bin/python3 ]]; then echo /usr/bin/python3; else echo python3; fi; }

# How many compilations run at once: one per processor, but no more than memory allows. A file that includes
# much of MLIR takes 1.5 GB while it is compiled.
build_jobs() {
  local cpus memory
  cpus=$(nproc)
  memory=$(awk '/^MemAvailable:/ {print int($2 / 1500000)}' /proc/meminfo)
  ((memory < 1)) && memory=1
  echo "${WEFT_JOBS:-$((cpus < memory ? cpus : memory))}"
}

# configure_and_build PRESET [FOLDER [CMAKE ARGUMENT...]]: builds in build/FOLDER (default: PRESET) the targets that the
# array build_targets names, or all of them where there is no such array.
configure_and_build() {
  local preset=$1 folder=$WEFT_ROOT/build/${2:-$1} started=$SECONDS
  shift; (($#)) && shift
  step "Configuring build/${folder##*/}"
  mkdir -p "$folder"
  # The log keeps the terminal for what matters; it is shown when something goes wrong.
  if ! (cd "$WEFT_ROOT" && cmake --preset "$preset" -B "$folder" "$@") >"$folder/configure.log" 2>&1; then
    tail -n 40 "$folder/configure.log" >&2
    die "CMake could not configure $folder" "the whole log is $folder/configure.log" \
      "if something is not installed: scripts/install-deps"
  fi
  step "Building build/${folder##*/} ($(build_jobs) jobs)"
  if ! build_with_progress "$folder" "${build_targets[@]}"; then
    die "the build of $folder failed" "the whole log is $folder/build.log"
  fi
  note "built in $((SECONDS - started)) s"
}

# On a terminal Ninja rewrites its own line; elsewhere one line in about twenty seconds shows that it lives.
build_with_progress() {
  local folder=$1
  shift
  if [[ -t 1 ]]; then
    ninja -C "$folder" -j "$(build_jobs)" "$@"
    return
  fi
  # Read by bash: mawk, Debian's awk, would hold the lines back until it has a block of them.
  NINJA_STATUS='[%f/%t] ' ninja -C "$folder" -j "$(build_jobs)" "$@" 2>&1 | tee "$folder/build.log" | {
    local shown=-100 line
    while IFS= read -r line; do
      if [[ ! $line =~ ^\[[0-9]+/[0-9]+\]\  ]]; then
        printf '%s\n' "$line"
      elif ((SECONDS - shown >= 20)); then
        printf '    %s\n' "$line"
        shown=$SECONDS
      fi
    done
  }
  return "${PIPESTATUS[0]}"
}
