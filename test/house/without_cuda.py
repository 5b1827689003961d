#!/usr/bin/env python3
"""What differs with -DWEFT_CUDA=OFF compiles without CUDA's headers.

Sources with a condition on WEFT_CUDA are compiled by the commands of build/release (or of the folder that is the argument), less
what CMake adds for CUDA; nothing is linked. The part `without-cuda` of `scripts/test --full` builds all of it.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

from common import ROOT, Checks, cxx_files, read

CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b.*\bWEFT_CUDA(?:_FOLDER)?\b", re.MULTILINE)
CUDA_HEADERS = ("cuda.h", "nvrtc.h", "cublasLt.h")


def without_cuda(command):
    """The arguments of a compilation as they are with -DWEFT_CUDA=OFF, without its output."""
    given, kept = iter(shlex.split(command)), []
    for argument in given:
        if argument == "-o":
            next(given)
        elif argument == "-isystem":
            folder = next(given)
            if not any(os.path.exists(os.path.join(folder, header)) for header in CUDA_HEADERS):
                kept += [argument, folder]
        elif not argument.startswith("-DWEFT_CUDA"):
            kept.append(argument)
    return kept + ["-DWEFT_CUDA=0", "-fsyntax-only"]


def problem_of(entry, *arguments):
    done = subprocess.run(without_cuda(entry["command"]) + list(arguments), cwd=entry["directory"], check=False,
                          capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build", "release")
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = {os.path.relpath(entry["file"], ROOT): entry for entry in json.load(file)}
    checks = Checks()
    conditional = [name for name in cxx_files() if CONDITION.search(read(name) or "")]
    checks.check(conditional, "no source has a condition on WEFT_CUDA: change the pattern of this check")
    for name in conditional:
        entry = commands.get(name)
        checks.check(entry, f"{name}: has a condition on WEFT_CUDA, and {build} does not compile it by itself; in a header, "
                            "files that are compiled without the definition would see another value")
        if entry:
            problem = problem_of(entry)
            checks.check(not problem, f"{name}: does not compile with -DWEFT_CUDA=OFF:\n{problem}")
    # The commands do compile, and without CUDA.
    sources = [name for name in conditional if name in commands]
    with tempfile.NamedTemporaryFile("w", suffix=".h") as planted:
        planted.write("#if !WEFT_CUDA\n#error planted\n#endif\n")
        planted.flush()
        checks.check(sources and "planted" in problem_of(commands[sources[0]], "-include", planted.name),
                     f"{sources[:1]} compiles with a line that has to fail without CUDA")
    checks.finish()


if __name__ == "__main__":
    main()
