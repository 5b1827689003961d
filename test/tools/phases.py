"""Compiles a program at once, and in steps that stop after each phase. The packages must have the same bytes.

Usage: phases.py FOLDER PROGRAM... The text between two phases keeps its source lines, which packages hold; the tools are found
in PATH.
"""

import os
import subprocess
import sys


def run(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(command)} ended with {result.returncode}:\n{result.stdout}")


def content(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    folder, programs = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    whole, text, resumed = (os.path.join(folder, name) for name in ("whole.weft", "text.mlir", "resumed.weft"))
    for program in programs:
        phases = os.path.join(folder, "phases-" + os.path.basename(program))
        run("weft", "compile", program, "--dump-phases=" + phases, "-o", whole)
        names = [name.split("-", 1)[1].removesuffix(".mlir") for name in sorted(os.listdir(phases))]
        if len(names) < 2:
            sys.exit(f"{program} has no phases")
        for before, after in zip(names, names[1:]):
            run("weft-opt", program, "--weft-pipeline=to=" + before, "--mlir-print-debuginfo", "-o", text)
            run("weft", "compile", text, "--from=" + after, "-o", resumed)
            if content(whole) != content(resumed):
                sys.exit(f"{program}: stopped after {before} and taken up with {after}, the package is another")
            print(f"{os.path.basename(program)}: the same package when taken up with {after}")


if __name__ == "__main__":
    main()
