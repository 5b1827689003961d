#!/usr/bin/env python3
"""Leaves out one function of a driver after the other: Weft has to name each.

usage: driver_symbols.py FOLDER PROGRAM ARGUMENT...

FOLDER has a libcuda.so.1, of which copies get another name in the place of one. PROGRAM is run with each; it has to end, and its
output to name the function.
"""

import os
import re
import subprocess
import sys
import tempfile


def main():
    folder, command = sys.argv[1], sys.argv[2:]
    with open(os.path.join(folder, "libcuda.so.1"), "rb") as file:
        library = file.read()
    # The names of its symbols, as the table looks them up.
    names = sorted({name.decode() for name in re.findall(rb"(?<=\0)(cu[A-Z]\w+)(?=\0)", library)})
    problems = []
    with tempfile.TemporaryDirectory() as copies:
        for name in names:
            text = name.encode()
            changed = library.replace(b"\0" + text + b"\0", b"\0no" + text[2:] + b"\0")
            with open(os.path.join(copies, "libcuda.so.1"), "wb") as file:
                file.write(changed)
            run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60,
                                 env={**os.environ, "LD_LIBRARY_PATH": copies})
            if f"has no function {name}" not in run.stdout + run.stderr or run.returncode < 0:
                problems.append(f"without {name}, code {run.returncode}: {run.stdout[-300:]}{run.stderr[-300:]}")
    for problem in problems:
        print(problem)
    print(f"{len(names)} functions, {len(problems)} not named")
    sys.exit(1 if problems or len(names) < 50 else 0)


if __name__ == "__main__":
    main()
