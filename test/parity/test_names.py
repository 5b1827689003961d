#!/usr/bin/env python3
"""The table of PyTorch's names beside PyTorch and the headers: docs/torch-names.md is true.

Every name of PyTorch is in the table, and no other. Each name that it calls present can be declared as used, and none
that it calls missing can. The use of a name that has a sentence is an error with that sentence, from both compilers,
and changes nothing for a program that has a function of this name itself.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
INCLUDE = os.path.join(ROOT, "include")
sys.path.insert(0, HERE)
from torch_names import read_table, torch_names  # noqa: E402

COMPILERS = ("clang++-19", "g++")
# The declarations that only have sentences, taken away.
STUBS = {"missing.hpp": "#pragma once\n", "missing_members.hpp":
         "#pragma once\nnamespace weft::detail { class MissingMembers {}; }\n"}
OWN = """#include <weft/weft.hpp>
using namespace weft;
Tensor stft(const Tensor &x, int64_t size, Tensor window) { return x * window + size; }
template <typename T> Tensor vmap(T f, const Arg &x) { return f(x.tensor); }
Tensor poisson(const Arg &rate) { return rate.tensor; }
struct LSTM : nn::Module {};
int main() {
  Tensor x = ones({3});
  int64_t size = 3;
  vmap([](const Tensor &a) { return a; }, stft(x, 3, x));
  stft(x, size, poisson(x));
  LSTM lstm;
}
"""


def compiled(compiler, text, stubs=None):
    """What a compiler says of a program, by line number, and all that it says."""
    with tempfile.TemporaryDirectory(prefix="weft-names-") as folder:
        source = os.path.join(folder, "names.cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra"]
        command += ["-ferror-limit=0"] if "clang" in compiler else ["-fmax-errors=0"]
        if stubs:
            os.makedirs(os.path.join(folder, "weft"))
            for name, stub in stubs.items():
                with open(os.path.join(folder, "weft", name), "w", encoding="utf-8") as file:
                    file.write(stub)
            command += ["-I", folder]
        result = subprocess.run([*command, "-I", INCLUDE, source], capture_output=True, text=True, check=False)
    errors = {}
    for line, message in re.findall(r"names\.cpp:(\d+):\d+: (?:fatal )?error: (.*)", result.stderr):
        errors.setdefault(int(line), []).append(message)
    return errors, result.stderr


def declared(names):
    """Which of these (section, name) can be named in a using-declaration."""
    lines = ["#include <weft/weft.hpp>"]
    for number, (section, name) in enumerate(names):
        lines.append(f"struct P{number} : weft::Tensor {{ using weft::Tensor::{name}; }};" if section.is_members else
                     f"namespace p{number} {{ using {section.weft}::{name}; }}")
    errors, everything = compiled(COMPILERS[0], "\n".join(lines) + "\n", STUBS)
    if 1 in errors or re.search(r"include/weft/\S+: error", everything):
        sys.exit(f"the headers do not compile:\n{everything[:3000]}\n0 passed, 1 failed")
    return [number + 2 not in errors for number in range(len(names))]


def use(section, name):
    """A line that uses a name that is missing."""
    if section.is_members:
        return f"auto v = weft::Tensor().{name.name};" if name.name in PROPERTIES else f"weft::Tensor().{name.name}(3, {{1, 2}});"
    if name.name[0].isupper():
        return f"{section.weft}::{name.name} v(3, weft::ones({{2}}));"
    return f"{section.weft}::{name.name}(weft::Tensor(), 3, {{1, 2}}, \"a\");"


def sentences(section, name):
    text = f"Weft has no {section.torch}.{name.name}: {name.text}".replace("`", "")
    return text


PROPERTIES = {"shape", "ndim", "grad_fn", "layout", "imag", "is_sparse", "data", "name", "names", "retains_grad", "itemsize"}


def main():
    passed, problems = 0, []

    def check(holds, message):
        nonlocal passed
        passed += bool(holds)
        if not holds:
            problems.append(message)

    sections = read_table()
    for section in sections:
        if not section.partial:
            mine, theirs = {name.name for name in section.names}, torch_names(section.torch)
            for name in sorted(theirs - mine):
                check(False, f"{section.torch}.{name} of PyTorch is not in the table")
            for name in sorted(mine - theirs):
                check(False, f"{section.torch}.{name} of the table is not in PyTorch")
            passed += len(mine & theirs)
    listed = [(section, name) for section in sections for name in section.names]
    found = declared([(section, name.name) for section, name in listed])
    for (section, name), exists in zip(listed, found):
        wanted = name.status in ("there", "differs")
        check(exists == wanted, f"{section.torch}.{name.name} is called {name.status}, and {section.weft}::{name.name} "
              + ("exists" if exists else "does not exist"))
    refused = [(section, name) for section, name in listed if name.status == "refused"]
    program = "#include <weft/weft.hpp>\n" + "".join(
        f"void use{number}() {{ {use(section, name)} }}\n" for number, (section, name) in enumerate(refused))
    for compiler in COMPILERS:
        if not shutil.which(compiler):
            check(False, f"{compiler} is not installed; run scripts/install-deps")
            continue
        errors, _ = compiled(compiler, program)
        for number, (section, name) in enumerate(refused):
            said = errors.get(number + 2, ["nothing"])
            check(any(sentences(section, name) in message for message in said),
                  f"{compiler} says of {section.torch}.{name.name}: {said[0]}")
        errors, text = compiled(compiler, OWN)
        check(not text, f"{compiler} does not compile a program with functions of its own:\n{text[:2000]}")
    for problem in problems:
        print(f"FAILED {problem}")
    print(f"{passed} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
