#!/usr/bin/env python3
"""Compares what can be said of the kernels' speed without a clock (docs/cudasim.md) with the numbers in test/cudasim/speed.

usage: static_speed.py --build DIR [--part quick|ci] [--rewrite] [ROW...]

Each row of the benchmark, and each further way in which kernels are made, has a program, ROW.mlir, or is a step that weft-bench
records. Its numbers are in ROW.txt, with a table for each target. `--part quick` takes the programs, for sm_90 alone.
`--rewrite` writes the numbers anew.

The last line is "N passed, N failed"; the exit code is 77 without NVRTC.
"""

import argparse
import concurrent.futures
import difflib
import glob
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SPEED = os.path.join(os.path.dirname(HERE), "speed")
TARGETS = ["sm_80", "sm_90", "sm_100"]
STEPS = ["mlp_step", "deep_step", "lstm_step", "gpt_step", "adam_300", "adam_3000"]
# Columns of a table, from 0. Registers may differ by a unit, because releases of NVRTC allocate differently; as many warps
# as then fit are no number to compare.
REGISTERS, WARPS = 4, 5
REGISTER_UNIT = 8
NO_NVRTC = 77


def record(bench, step, folder):
    """The program of a step, as weft-bench compiles it."""
    os.makedirs(folder)
    subprocess.run([bench, "--first-step", step], env={**os.environ, "WEFT_TRACE_DIR": folder}, check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=1800)
    # The initial values are computed by programs of their own, before.
    return sorted(glob.glob(f"{folder}/run-*/*/recorded.mlir"))[-1]


def same(found, expected):
    """Whether a line of a table says what it said."""
    if found == expected:
        return True
    a, b = found.split(), expected.split()
    if len(a) != len(b) or len(a) <= WARPS or not (a[REGISTERS].isdigit() and b[REGISTERS].isdigit()):
        return False
    others = [k for k in range(len(a)) if k not in (REGISTERS, WARPS)]
    difference = abs(int(a[REGISTERS]) - int(b[REGISTERS]))
    return 0 < difference <= REGISTER_UNIT and all(a[k] == b[k] for k in others)


def read_tables(path):
    """The tables of a file by their targets."""
    tables = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for part in file.read().split("target ")[1:]:
                name, _, table = part.partition("\n")
                tables[name] = table.rstrip("\n").split("\n")
    return tables


def measure(checker, program, target):
    command = [checker, "--static-speed", "--threads=1", f"--target=cuda:{target}", program]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=3600)
    if done.returncode:
        return None, f"{target}: {done.stdout[-2000:]}"
    return [line.rstrip() for line in done.stdout.rstrip("\n").split("\n")], None


def check_row(checker, bench, row, targets, folder, rewrite):
    """What differs from the numbers of a row, as text; empty if nothing does."""
    program = os.path.join(SPEED, row + ".mlir")
    if row in STEPS:
        program = record(bench, row, os.path.join(folder, row))
    path = os.path.join(SPEED, row + ".txt")
    expected, found, problems = read_tables(path), {}, []
    for target in targets:
        found[target], problem = measure(checker, program, target)
        if problem:
            problems.append(problem)
        elif not rewrite:
            before = expected.get(target, [])
            if len(before) != len(found[target]) or not all(map(same, found[target], before)):
                problems += difflib.unified_diff(before, found[target], f"{path}, {target}", "found", lineterm="")
    if rewrite and not problems:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(f"target {name}\n" + "\n".join(table) + "\n" for name, table in found.items()))
    return "\n".join(problems)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--part", choices=["quick", "ci"], default="ci")
    parser.add_argument("--rewrite", action="store_true")
    parser.add_argument("rows", nargs="*", metavar="ROW")
    arguments = parser.parse_args()
    binaries = os.path.join(os.path.abspath(arguments.build), "bin")
    checker, bench = (os.path.join(binaries, name) for name in ("weft-cuda-kernels", "weft-bench"))
    if subprocess.run([checker, "--count=0"], check=False, stdout=subprocess.DEVNULL).returncode == NO_NVRTC:
        return NO_NVRTC
    quick = arguments.part == "quick" and not arguments.rewrite
    rows = sorted(os.path.basename(path)[:-len(".mlir")] for path in glob.glob(f"{SPEED}/*.mlir"))
    rows = arguments.rows or rows + ([] if quick else STEPS)
    targets = ["sm_90"] if quick else TARGETS
    failed = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        check = lambda row: check_row(checker, bench, row, targets, folder, arguments.rewrite)
        for row, problem in zip(rows, pool.map(check, rows)):
            if problem:
                print(f"{row}:\n{problem}")
                failed += 1
    if failed:
        print("If the change is wanted: test/cudasim/kernels/static_speed.py --build build/release --rewrite")
    print(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
