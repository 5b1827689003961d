#!/usr/bin/env python3
"""Runs the examples of README.md, CONTRIBUTING.md and docs/ as CONTRIBUTING.md, "Examples in the docs", says.

A fenced block whose info string has the word `run`, `check`, `file=` or `from=` is tested:

  console run   each line that starts with "$ " is a command and must succeed; the lines after it are what it
                prints ("..." stands for anything, within a line or for whole lines). Without such lines the
                output does not matter.
  cpp run       a whole program; it is compiled against the build, as C++20 with warnings as errors, and run. A
                block "text output" right after it is what it prints. `cpp check` compiles only.
  mlir check    a module that weft-opt parses and verifies; what it prints parses again.
  ... nvrtc     the block is left out in a build without CUDA (WEFT_CUDA=OFF).
  ... file=F    the block is also written to the file F, for the blocks after it.
  ... from=F    the block is a quotation: it occurs in the file F of the tree, as it stands. A line "..." leaves
                something out.

The blocks of one document share a working folder, which is gone afterwards, and find the tools of the build.
"""

import argparse
import os
import re
import shlex
import subprocess
import tempfile

from common import ROOT, Checks, read, tracked_files

FENCE = re.compile(r"^( *)(```+|~~~+)[ \t]*([^\n`]*)\n(.*?)^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
TIMEOUT = 300


class Block:
    def __init__(self, name, line, info, text):
        self.where = f"{name}:{line}"
        words = info.split()
        self.language = words[0] if words else ""
        self.words = set(words[1:])
        self.file = next((word[5:] for word in words if word.startswith("file=")), None)
        self.source = next((word[5:] for word in words if word.startswith("from=")), None)
        self.text = text


def blocks_of(name, text):
    result = []
    for match in FENCE.finditer(text):
        indent, body = match.group(1), match.group(4)
        if indent:
            body = "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
        result.append(Block(name, text.count("\n", 0, match.start()) + 1, match.group(3), body))
    return result


def matches(expected, found):
    """Whether output is as documented, "..." standing for anything."""
    pattern = ""
    for line in expected.strip("\n").splitlines():
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*?".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ \t]*\n"
    return re.fullmatch(pattern, found.strip("\n") + "\n") is not None


def quotes(block_text, source_text):
    """Whether the parts of a quotation, between its lines "...", stand in a text in this order."""
    at = 0
    for part in re.split(r"^[ \t]*\.\.\.[ \t]*\n", block_text, flags=re.MULTILINE):
        found = source_text.find(part.strip("\n"), at)
        if found < 0:
            return False
        at = found + len(part.strip("\n"))
    return True


def sessions(text):
    """The commands of a console block, each with the output that is shown for it."""
    result = []
    for line in text.splitlines():
        if line.startswith("$ "):
            result.append([line[2:], ""])
        elif line.startswith("> ") and result and not result[-1][1]:
            result[-1][0] += "\n" + line[2:]
        elif result:
            result[-1][1] += line + "\n"
    return result


def has_cuda(build):
    """Whether a build compiles kernels for CUDA devices."""
    cache = os.path.join(build, "CMakeCache.txt")
    if not os.path.isfile(cache):
        return True
    with open(cache, encoding="utf-8") as file:
        return "\nWEFT_CUDA:BOOL=OFF\n" not in file.read()


class Runner:
    def __init__(self, checks, build, folder):
        self.checks, self.build, self.folder = checks, build, folder
        self.has_cuda = has_cuda(build)
        self.environment = {
            **os.environ, "PATH": os.path.join(build, "bin") + os.pathsep + os.environ["PATH"],
            # A document must not depend on what earlier runs left in the user's cache.
            "WEFT_CACHE_DIR": os.path.join(folder, ".cache"), "WEFT_SOURCE_DIR": ROOT,
        }

    def execute(self, command):
        try:
            result = subprocess.run(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            return None, f"no end after {TIMEOUT} s"
        except OSError as error:
            return None, str(error)
        return result.returncode, result.stdout.decode(errors="replace")

    def expect(self, block, what, command, expected=""):
        code, output = self.execute(command)
        if not self.checks.check(code == 0, f"{block.where}: {what} ended with {code}:\n{output[-3000:]}"):
            return False
        return not expected.strip() or self.checks.check(
            matches(expected, output), f"{block.where}: {what} printed\n{output[-3000:]}and not\n{expected}")

    def run(self, block, following):
        if block.file:
            path = os.path.join(self.folder, block.file)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(block.text)
        if block.source:
            source = read(block.source) if os.path.isfile(os.path.join(ROOT, block.source)) else None
            self.checks.check(source is not None and quotes(block.text, source),
                              f"{block.where}: {block.source} does not say this")
        if not block.words & {"run", "check"} or ("nvrtc" in block.words and not self.has_cuda):
            return
        if block.language == "console":
            commands = sessions(block.text)
            self.checks.check(bool(commands), f"{block.where}: no line starts with '$ '")
            for command, expected in commands:
                self.expect(block, f"'{command}'", ["bash", "-euo", "pipefail", "-c", command], expected)
        elif block.language == "cpp":
            self.run_program(block, following)
        elif block.language == "mlir":
            self.run_module(block)
        else:
            self.checks.check(False, f"{block.where}: nobody knows how to run '{block.language}'")

    def run_program(self, block, following):
        source = os.path.join(self.folder, "program.cpp")
        program = os.path.join(self.folder, "program")
        with open(source, "w", encoding="utf-8") as file:
            file.write(block.text)
        library = os.path.join(self.build, "lib")
        command = ["clang++-19", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(ROOT, "include"),
                   source]
        if "run" not in block.words:
            self.expect(block, "compiling the program", command + ["-fsyntax-only"])
            return
        linked = command + ["-o", program, "-L", library, "-Wl,--as-needed", "-lweft-models", "-lweft",
                            f"-Wl,-rpath,{library}"]
        if self.expect(block, "compiling the program", linked):
            output = following.text if following and following.language == "text" and "output" in following.words else ""
            self.expect(block, "the program", [program], output)

    def run_module(self, block):
        source = os.path.join(self.folder, "block.mlir")
        with open(source, "w", encoding="utf-8") as file:
            file.write(block.text)
        command = f"weft-opt {shlex.quote(source)} | weft-opt -o /dev/null"
        self.expect(block, "weft-opt", ["bash", "-euo", "pipefail", "-c", command])


def self_test(checks):
    checks.check(matches("a ... c\n...\nlast", "a b c\nx\ny\nlast\n"), "self-test: '...' must stand for anything")
    checks.check(matches("...\nlast", "last\n"), "self-test: '...' must stand for no line too")
    checks.check(not matches("a\nb", "a\nc\n"), "self-test: another line was accepted")
    checks.check(not matches("a", "a\nb\n"), "self-test: a line too many was accepted")
    checks.check(quotes("a\n...\nc\n", "x\na\nb\nc\n"), "self-test: a quotation with an omission")
    checks.check(not quotes("c\n...\na\n", "a\nb\nc\n"), "self-test: a quotation in another order was accepted")
    [block] = blocks_of("x.md", "text\n\n```console run file=a\n$ true\nout\n```\n")
    checks.check((block.language, block.file, sessions(block.text)) == ("console", "a", [["true", "out\n"]]),
                 "self-test: a block was misread")
    with tempfile.TemporaryDirectory() as folder:
        inner = Checks()
        inner.check = lambda holds, message: (setattr(inner, "failed", inner.failed + (not holds)), holds)[1]
        Runner(inner, folder, folder).run(Block("x.md", 1, "console run", "$ echo a\nb\n$ false\n"), None)
        checks.check(inner.failed == 2, "self-test: a wrong output and a failing command must be two failures")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("documents", nargs="*", help="default: all .md files of the top level and of docs/")
    arguments = parser.parse_args()
    checks = Checks()
    self_test(checks)
    documents = arguments.documents or [
        name for name in tracked_files() if name.endswith(".md") and (name.startswith("docs/") or "/" not in name)]
    for name in documents:
        blocks = blocks_of(name, read(name) or "")
        with tempfile.TemporaryDirectory(prefix="weft-docs-") as folder:
            runner = Runner(checks, os.path.abspath(arguments.build), folder)
            for block, following in zip(blocks, blocks[1:] + [None]):
                runner.run(block, following)
        print(f"{name}: {sum(1 for block in blocks if block.words & {'run', 'check'} or block.source)} of {len(blocks)} blocks tested")
        # A link to a file that is not there misleads as much as a command that fails.
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", FENCE.sub("", read(name) or "")):
            path = os.path.normpath(os.path.join(ROOT, os.path.dirname(name), target))
            checks.check(os.path.exists(path), f"{name}: the link to '{target}' leads nowhere")
    checks.finish()


if __name__ == "__main__":
    main()
