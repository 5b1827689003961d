#!/usr/bin/env bash
# Builds the calibration programs and runs them on the GPU of this machine. See README.md.
#   test/cudasim/calibration/run.sh FOLDER [PROGRAM...]
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if (($# == 0)); then
  echo "usage: run.sh FOLDER [instructions|driver|costs|kernels|matmul...]   writes FOLDER/PROGRAM.json" >&2
  exit 2
fi
out=$1
shift
mkdir -p "$out"
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
# cuBLASLt comes with the toolkit, or with a wheel of the Python environment in use.
wheel=$(python3 -c 'import nvidia.cu13 as m; print(list(m.__path__)[0])' 2>/dev/null || true)
failed=0
for program in "${@:-instructions driver costs kernels matmul}"; do
  for name in $program; do
    flags=(-std=c++20 -arch=native -O2 --extended-lambda -o "$build/$name" "$here/$name.cu" -lcuda)
    if [[ $name == matmul ]]; then
      if [[ -n $wheel ]]; then
        flags+=(-I"$wheel/include" -Xlinker "$wheel/lib/libcublasLt.so.13" -Xlinker -rpath="$wheel/lib")
      else
        flags+=(-lcublasLt)
      fi
    fi
    if nvcc "${flags[@]}" && timeout 300 "$build/$name" >"$out/$name.json"; then
      echo "$name: $(wc -c <"$out/$name.json") bytes"
    else
      echo "$name: failed" >&2
      failed=1
    fi
  done
done
exit $failed
