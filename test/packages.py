#!/usr/bin/env python3
"""Packages that are made on one system and run on another, where oneDNN and the C library have other versions.

  test/packages.py make FOLDER    compiles programs of the tests to packages in FOLDER, runs them, and keeps their results
  test/packages.py run FOLDER     runs the packages of FOLDER and compares their results with those that are kept there

Both use the tools in build/release. Kernels travel inside of a package, so their results have to be the same bits.
Products are computed by the library of the system that runs them, so theirs may differ by rounding (docs/numerics.md).
The last line is `N passed, N failed`.
"""

import json
import os
import shutil
import subprocess
import sys

import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WEFT = os.path.join(ROOT, "build", "release", "bin", "weft")
INPUTS = os.path.join(ROOT, "test", "tools", "Inputs")
# A program, one of its functions, further arguments, the number of results, and whether products decide their bits.
# Inputs that are not given are the same random numbers everywhere.
PROGRAMS = [
    ("rows", "softmax", [], 1, False),
    ("rows", "column_sum", [], 1, False),
    ("rows", "full_sum", [], 1, False),
    ("rows", "scan", [], 1, False),
    ("rows", "transposed", [], 1, False),
    ("rows", "embedding_gradient", [], 1, False),
    ("gradient", None, [], 2, False),
    ("scaled", None, [], 1, False),
    ("strided", None, [], 2, False),
    ("shared", None, [], 1, False),
    ("dynamic", None, ["--size", "seq=33"], 7, True),
    ("attention", None, [], 2, True),
    ("products", None, [], 6, True),
]
# Of the largest element of a result: sums of at most 784 products, and results of bf16.
TOLERANCE = {"f32": 1e-5, "bf16": 2**-7, "f64": 1e-13}


def stem(program, function):
    return program if function is None else f"{program}-{function}"


def execute(package, function, arguments, outputs):
    """Runs a function of a package and writes its results; the tool's words if it could not."""
    command = [WEFT, "run", package, *([] if function is None else ["--function", function]), *arguments]
    for output in outputs:
        command += ["--output", output]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return None if done.returncode == 0 else (done.stderr or done.stdout).strip()


def results(folder, program, function, count):
    return [os.path.join(folder, f"{stem(program, function)}.{i}.safetensors") for i in range(count)]


def make(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    failed = 0
    for program in sorted({program for program, *_ in PROGRAMS}):
        subprocess.run([WEFT, "compile", os.path.join(INPUTS, program + ".mlir"), "--target=cpu", "-o",
                        os.path.join(folder, program + ".weft")], check=True, stdout=subprocess.DEVNULL)
    for program, function, arguments, count, _ in PROGRAMS:
        problem = execute(os.path.join(folder, program + ".weft"), function, arguments,
                          results(folder, program, function, count))
        if problem:
            failed += 1
            print(f"FAILED: {stem(program, function)}: {problem}")
    return len(PROGRAMS) - failed, failed


def tensor(path):
    """The one tensor of a .safetensors file: the name of its type, and its elements."""
    with open(path, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    header = {name: entry for name, entry in json.loads(data[8:8 + length]).items() if name != "__metadata__"}
    (entry,) = header.values()
    raw = data[8 + length:][slice(*entry["data_offsets"])]
    kind = entry["dtype"].lower()
    if kind == "bf16":
        bits = numpy.frombuffer(raw, numpy.uint16).astype(numpy.uint32) << 16
        return kind, bits.view(numpy.float32)
    return kind, numpy.frombuffer(raw, {"f32": numpy.float32, "f64": numpy.float64, "i64": numpy.int64}[kind])


def difference(kept, found, by_products):
    """What is wrong with a result; None if nothing is."""
    (kept_kind, wanted), (kind, values) = tensor(kept), tensor(found)
    if kept_kind != kind or wanted.shape != values.shape:
        return f"{kind} of {values.size} elements, expected {kept_kind} of {wanted.size}"
    if wanted.tobytes() == values.tobytes():
        return None
    worst = float(numpy.max(numpy.abs(wanted.astype(numpy.float64) - values)))
    if not by_products:
        return f"bits differ, by up to {worst:.3g}, and no product is part of it"
    limit = TOLERANCE.get(kind, 0) * max(float(numpy.max(numpy.abs(wanted))), 1)
    return None if worst <= limit else f"differs by {worst:.3g}, at most {limit:.3g} is rounding"


def run(folder):
    here = os.path.join(ROOT, "build", "packages-run")
    shutil.rmtree(here, ignore_errors=True)
    os.makedirs(here)
    passed = failed = 0
    for program, function, arguments, count, by_products in PROGRAMS:
        found = results(here, program, function, count)
        problem = execute(os.path.join(folder, program + ".weft"), function, arguments, found)
        problems = [problem] if problem else [
            f"result {i} {text}" for i, (kept, path) in enumerate(zip(results(folder, program, function, count), found))
            if (text := difference(kept, path, by_products))]
        for text in problems:
            print(f"FAILED: {stem(program, function)}: {text}")
        failed += bool(problems)
        passed += not problems
    return passed, failed


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("make", "run"):
        sys.exit(__doc__.strip())
    passed, failed = (make if sys.argv[1] == "make" else run)(os.path.abspath(sys.argv[2]))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
