#!/usr/bin/env python3
"""Names of passes, files, flags and tests correspond, so that each can be found from the others.

A pass `MapDevices` of passes/Passes.td is in passes/MapDevices.cpp, runs as --weft-map-devices and is tested by
test/passes/map-devices.mlir; the list is in alphabetical order. A class of a namespace has one definition: the linker
takes two of the same name in different files for one, and uses the constructor of either for both. Every other file of passes/ is one of PIPELINE; what is
no pass is in a room. GoogleTests are in files of the name XTest.cpp. Lit tests of the IR and of passes run no program of
ours but weft-opt, because builds with a sanitizer, which run them too, have no other.
"""

import re

from common import DEFINED_TEST, Checks, read, tracked_files

PASSES = "passes/"
# What is no pass and knows them all: their declarations, their order, and what counts what they did.
PIPELINE = {"CMakeLists.txt", "Passes.h", "Passes.td", "Pipeline.cpp", "Pipeline.h", "Statistics.cpp", "Statistics.h"}
DECLARATION = re.compile(r'^def (\w+) : Weft_\w+Pass<"([^"]*)">', re.MULTILINE)
NAMESPACE = re.compile(r"(?:inline )?namespace ?([\w:]*) ?\{")
CLASS = re.compile(r"(?:template <.*> )?(?:struct|class) (?:alignas\(\d+\) )?(?:\w+_API )?(\w+)(?: final)?(?: ?:[^:].*)? ?\{")
UNIT = re.compile(r"test/unit/.*\.(cpp|h)")
LIT = re.compile(r"test/(ir|passes)/.*\.mlir")
# `weft kernels` as a command, and not `weft.func` or --weft-fuse.
OTHER_PROGRAM = re.compile(r"(?<![\w./-])weft(?!-opt)(-\w+)*(?=\s)")


def kebab(name):
    """SplitReductions is split-reductions."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def wrong_passes(declarations, files):
    """What is wrong with the names of the passes in the text of Passes.td, among the files of the tree."""
    found = []
    passes = DECLARATION.findall(declarations)
    names = [name for name, _ in passes]
    if names != sorted(names):
        found.append("passes/Passes.td is not in alphabetical order")
    for name, flag in passes:
        if flag != "weft-" + kebab(name):
            found.append(f"the pass {name} runs as --{flag} and not as --weft-{kebab(name)}")
        for file in (f"{PASSES}{name}.cpp", f"test/passes/{kebab(name)}.mlir"):
            if file not in files:
                found.append(f"the pass {name} has no {file}")
    for file in sorted(files):
        own = file.removeprefix(PASSES)
        if file.startswith(PASSES) and "/" not in own and own not in PIPELINE and own.removesuffix(".cpp") not in names:
            found.append(f"{file} is no pass; what passes are made of is in a room, such as passes/launch/")
    return found


def wrong_test(name, text):
    """What is wrong with the name of a file of test/unit, or nothing."""
    if DEFINED_TEST.search(text) and not re.fullmatch(r".*/([A-Z][a-z0-9]*)+Test\.cpp", name):
        return f"{name} has tests, and its name is not of the form XTest.cpp"
    return None


def wrong_programs(text):
    """The programs of ours that the RUN lines of a lit test call beside weft-opt."""
    lines = [line.split("RUN:", 1)[1] for line in text.splitlines() if "RUN:" in line]
    return sorted({found.group() for line in lines for found in OTHER_PROGRAM.finditer(line)})


def classes(text):
    """The names, with their namespaces, of the classes that a file defines for other files to see."""
    found, spaces = [], []
    for line in text.splitlines():
        if space := NAMESPACE.match(line):
            spaces.append(space.group(1))
        elif re.match(r"\} *// *namespace", line) and spaces:
            spaces.pop()
        elif (defined := CLASS.match(line)) and "" not in spaces:
            found.append("::".join([*spaces, defined.group(1)]))
    return found


def defined_twice(texts):
    """The classes that several files of `texts`, by name, define: class -> files. Programs of one file are apart."""
    seen = {}
    for file, text in texts.items():
        if not file.startswith("examples/"):
            for name in classes(text):
                seen.setdefault(name, set()).add(file)
    return {name: sorted(files) for name, files in seen.items() if len(files) > 1}


def self_test(checks):
    one = "namespace weft::a {\nstruct Text {\n};\n} // namespace weft::a\n"
    checks.check(not defined_twice({"a.h": one, "b.h": one.replace("weft::a", "weft::b")}) and not defined_twice(
        {"a.h": one, "b.cpp": one.replace("struct", "namespace {\nstruct").replace("};", "};\n} // namespace")}),
                 "self-test: classes of different namespaces were taken for one")
    checks.check(defined_twice({"a.h": one, "b.cpp": one.replace("struct Text", "class Text final : public X")}),
                 "self-test: a class with two definitions was accepted")
    right = {"passes/Fuse.cpp", "passes/SplitReductions.cpp", "passes/Pipeline.cpp", "passes/launch/LaunchList.cpp",
             "test/passes/fuse.mlir", "test/passes/split-reductions.mlir"}
    text = 'def Fuse : Weft_FuncPass<"weft-fuse"> {\n}\ndef SplitReductions : Weft_ModulePass<"weft-split-reductions"> {\n'
    checks.check(not wrong_passes(text, right), "self-test: right names of passes were refused")
    for what, declarations, files in (
            ("another flag", text.replace("weft-split-reductions", "weft-split"), right),
            ("a flag of another form", text.replace("weft-split-reductions", "weft-splitReductions"), right),
            ("a pass without a file", text, right - {"passes/Fuse.cpp"}),
            ("a pass without a test", text, right - {"test/passes/fuse.mlir"}),
            ("a file that is no pass", text, right | {"passes/LaunchList.h"}),
            ("a header beside a pass", text, right | {"passes/Fuse.h"}),
            ("another order", text.replace("Fuse :", "Tuse :"), right | {"passes/Tuse.cpp", "test/passes/tuse.mlir"})):
        checks.check(wrong_passes(declarations, files), f"self-test: {what} was accepted")
    for name, has_tests, holds in (
            ("test/unit/ir/SizeTest.cpp", True, True), ("test/unit/runtime/CApiTest.cpp", True, True),
            ("test/unit/ir/size_test.cpp", True, False), ("test/unit/ir/TestSize.cpp", True, False),
            ("test/unit/ir/Harness.cpp", True, False), ("test/unit/ir/Harness.cpp", False, True)):
        found = wrong_test(name, "TEST(Size, Adds) {\n" if has_tests else "int x;\n")
        checks.check((found is None) == holds, f"self-test: {name} was {'refused' if found else 'accepted'}")
    for line, holds in (("// RUN: weft-opt %s --weft-fuse='target=cpu weft=1' | FileCheck %s", True),
                        ("// RUN: not weft-opt %s 2>&1 | FileCheck %s", True), ("// `weft kernels` prints it", True),
                        ("// RUN: weft kernels %t --target=cuda:sm_90", False),
                        ("// RUN: weft-opt %s | weft-random-tests -", False)):
        checks.check(not wrong_programs(line) == holds, f"self-test: '{line}' was {'refused' if holds else 'accepted'}")


def main():
    checks = Checks()
    self_test(checks)
    files = tracked_files()
    found = wrong_passes(read("passes/Passes.td"), set(files))
    checks.check(not found, "\n        ".join(found))
    for name in files:
        if UNIT.fullmatch(name):
            found = wrong_test(name, read(name) or "")
            checks.check(found is None, found)
        elif LIT.fullmatch(name):
            found = wrong_programs(read(name) or "")
            checks.check(not found, f"{name} runs {', '.join(found)}; tests of what weft-opt does not have are in test/codegen")
    twice = defined_twice({name: read(name) or "" for name in files if re.fullmatch(r".*\.(h|hpp|cpp)", name)})
    for name, where in twice.items():
        checks.check(False, f"{name} has several definitions, in {', '.join(where)}")
    checks.check(not twice, f"{len(twice)} classes have several definitions")
    checks.finish()


if __name__ == "__main__":
    main()
