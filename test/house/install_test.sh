#!/usr/bin/env bash
# Installs a build into an empty prefix, moves it, and builds a program outside of the tree against it with
# find_package(Weft). Usage: install_test.sh BUILD_FOLDER
set -uo pipefail

build=$(cd "${1:?usage: install_test.sh BUILD_FOLDER}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
check() { # check TEXT COMMAND...
  local text=$1
  shift
  if "$@" >"$work/output" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $text"
    tail -n 30 "$work/output"
  fi
}

targets=(runtime)
grep -q '^WEFT_COMPILER:BOOL=ON' "$build/CMakeCache.txt" && targets+=(weft)

check "cmake --install" cmake --install "$build" --prefix "$work/first"
# What is installed must not remember where it was put, nor where it was built.
mv "$work/first" "$work/prefix"

mkdir -p "$work/program"
cat >"$work/program/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(Outside LANGUAGES CXX)
find_package(Weft REQUIRED COMPONENTS ${NEEDED})
foreach(target ${NEEDED})
  add_executable(use-${target} ${target}.cpp)
  target_link_libraries(use-${target} PRIVATE Weft::${target})
  target_compile_options(use-${target} PRIVATE -Wall -Wextra -Werror)
endforeach()
TEXT
cat >"$work/program/runtime.cpp" <<'TEXT'
#include "runtime/queue/Buffer.h"
#include "runtime/package/Package.h"
#include <cstdio>
int main() {
  auto buffer = weft::runtime::Buffer::allocate(4096);
  auto package = weft::runtime::Package::open("there-is-no.weft");
  if (!buffer.ok() || (*buffer)->bytes() != 4096 || package.ok())
    return 1;
  std::printf("%s\n", package.status().message().c_str());
}
TEXT
cat >"$work/program/weft.cpp" <<'TEXT'
#include <weft/weft.hpp>
#include <vector>
int main() {
  using namespace weft;
  std::vector<float> values = {1, 2, 3, 4};
  Tensor x = Tensor::from(values, {2, 2});
  Tensor y = relu(x * 2 - 3).sum();
  return y.item<float>() == 9 ? 0 : 1;
}
TEXT
needed=$(IFS=';'; echo "${targets[*]}")
check "configuring a program with find_package(Weft)" cmake -G Ninja -S "$work/program" -B "$work/build" \
  -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_PREFIX_PATH="$work/prefix" "-DNEEDED=$needed"
# No header or library may come from the tree.
check "the installed files name no folder of the build" bash -c \
  "! grep -rl --include=*.cmake -e '$build' '$work/prefix'"
for target in "${targets[@]}"; do
  check "building against Weft::$target" cmake --build "$work/build" --target "use-$target"
  check "running what was built against Weft::$target" "$work/build/use-$target"
done
# GCC is what Debian's users have.
if [[ " ${targets[*]} " == *" weft "* ]]; then
  here=$(cd "$(dirname "$0")" && pwd)
  cp "$here/consumer.cpp" "$work/program/"
  # The programs of the pages that a newcomer reads first.
  awk -v folder="$work/program" '
    /^```cpp (check|run)/ { file = folder "/page" ++count ".cpp"; next }
    /^```/ { file = "" }
    file { print > file }' "$here/../../README.md" "$here/../../docs/getting-started.md"
  for header in "$work"/prefix/include/weft/*.hpp; do
    name=$(basename "$header")
    echo "#include <weft/$name>" >"$work/program/header_${name%.hpp}.cpp"
  done
  for compiler in g++ clang++-19; do
    syntax=("$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I "$work/prefix/include")
    check "every public header by itself, and every program of the pages, compile with $compiler" \
      bash -c 'printf "%s\0" "$0"/{header_,page}*.cpp | xargs -0 -n 1 -P "$(nproc)" "$@"' "$work/program" "${syntax[@]}"
    check "what overload resolution decides is the same for $compiler" \
      "$compiler" -std=c++20 -Wall -Wextra -Werror -I "$work/prefix/include" "$work/program/consumer.cpp" \
      -o "$work/program/consumer" -L "$work/prefix/lib" -lweft -Wl,-rpath,"$work/prefix/lib"
    check "and runs" "$work/program/consumer"
    while IFS=: read -r number message; do
      check "$compiler refuses line $number of consumer.cpp with \"$message\"" bash -c \
        '! "${@:2}" >"$0" 2>&1 && grep -qF "$1" "$0"' "$work/refused" "$message" \
        "${syntax[@]}" "-DREFUSED_$number" "$work/program/consumer.cpp"
    done < <(awk '/defined\(REFUSED_/ { match($0, /[0-9]+/); number = substr($0, RSTART, RLENGTH) }
                  /\/\/ "/ && number { split($0, part, "\""); print number ":" part[2]; number = "" }' "$here/consumer.cpp")
  done
  compile=(clang++-19 -std=c++20 -fsyntax-only -I "$work/prefix/include" "$work/program/weft.cpp")
  # The processor's time, and not the clock's: what else the machine does is no property of the headers.
  spent=$(TIMEFORMAT='%U %S'; { time "${compile[@]}" >/dev/null 2>&1; } 2>&1)
  milliseconds=$(awk '{ print int(($1 + $2) * 1000) }' <<<"$spent")
  echo "a program with weft.hpp compiles in $milliseconds ms"
  check "a program with weft.hpp compiles in less than 5 s" test "$milliseconds" -lt 5000
  check "the installed weft-opt runs" "$work/prefix/bin/weft-opt" --version
  docs=$work/prefix/share/doc/Weft
  check "the documents are installed" test -f "$docs/README.md" -a -f "$docs/docs/getting-started.md"
  # Where the tool points to a page, the page is.
  explains() {
    local page
    page=$("$work/prefix/bin/weft" explain D003 | sed -n 's/^  page: //p')
    echo "page: $page"
    [[ $page == "$docs/docs/errors/WEFT-D003.md" ]] && grep -q '^# WEFT-D003' "$page"
  }
  check "the installed weft explain finds the page of a code" explains
  check "a code that does not exist points to the installed list" bash -c \
    "'$work/prefix/bin/weft' explain WEFT-Z999 2>&1 | grep -q '$docs/docs/errors/README.md lists all'"
  # Programs to copy build against what they were installed with: one of each language.
  cp -r "$docs/examples" "$work/examples"
  check "configuring the installed examples" cmake -G Ninja -S "$work/examples" -B "$work/examples-build" \
    -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_PREFIX_PATH="$work/prefix"
  check "building installed examples" cmake --build "$work/examples-build" --target lazy_tensors mnist run_step
  check "running an installed example" "$work/examples-build/lazy_tensors"
  check "an installed example lists its options" "$work/examples-build/mnist" --help
  check "every example of the tree is one of the installed" bash -c \
    "for file in '$docs'/examples/*.c*; do name=\$(basename \"\$file\"); \
     grep -qw \"\${name%.*}\" '$docs/examples/CMakeLists.txt' || { echo \"\$name is not built\"; exit 1; }; done"
fi
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
