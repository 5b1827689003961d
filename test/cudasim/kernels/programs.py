#!/usr/bin/env python3
"""Runs the kernels of our own C++ programs on the engine (docs/cudasim.md): every program that the tests of the interface,
the examples and the benchmark's training steps compile is kept by WEFT_TRACE_DIR, and weft-cuda-kernels checks each once. Then
it compiles them for other devices, where no kernel may spill registers either.

usage: programs.py --build DIR [--part ci|full]

The last line is "N passed, N failed"; the exit code is 77 without NVRTC.
"""

import argparse
import concurrent.futures
import glob
import hashlib
import os
import re
import subprocess
import sys
import tempfile

# A run keeps at most 200 compilations, so the tests run in shards.
SHARDS = {"ci": 4, "full": 24}
TESTS = {"ci": "DimOps*:Math*:Reduce*:Shapes*:*Indexing*:Gradient*:Optimizer*:Attention*:Variants*", "full": "*"}
OTHERS = [["lstm"], ["lazy_tensors"], ["linear_regression"], ["weft-bench", "--first-step", "mlp_step"],
          ["weft-bench", "--first-step", "lstm_step"], ["weft-bench", "--first-step", "gpt_step"],
          ["weft-bench", "--first-step", "adam_300"]]


COMPILED_FOR = ["cuda:sm_80", "cuda:sm_100"]


def trace(command, folder, environment):
    os.makedirs(folder)
    variables = {**os.environ, **environment, "WEFT_TRACE_DIR": folder}
    # What a program says of itself is the matter of other tests.
    subprocess.run(command, env=variables, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False, timeout=1800)


def programs(binaries, part, folder):
    """The paths of the programs that were compiled, each text once."""
    tasks = []
    for shard in range(SHARDS[part]):
        variables = {"GTEST_FILTER": TESTS[part], "GTEST_TOTAL_SHARDS": str(SHARDS[part]), "GTEST_SHARD_INDEX": str(shard)}
        tasks.append(([os.path.join(binaries, "weft-frontend-tests")], f"{folder}/tests-{shard}", variables))
    for number, command in enumerate(OTHERS):
        tasks.append(([os.path.join(binaries, command[0]), *command[1:]], f"{folder}/other-{number}", {}))
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        list(pool.map(lambda task: trace(*task), tasks))
    found = {}
    for path in sorted(glob.glob(f"{folder}/*/run-*/*/recorded.mlir")):
        with open(path, "rb") as file:
            found.setdefault(hashlib.sha256(file.read()).digest(), path)
    return list(found.values())


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--part", choices=["ci", "full"], default="ci")
    arguments = parser.parse_args()
    binaries = os.path.join(os.path.abspath(arguments.build), "bin")
    checker = os.path.join(binaries, "weft-cuda-kernels")
    if subprocess.run([checker, "--count=0"], check=False).returncode == 77:
        return 77
    with tempfile.TemporaryDirectory() as folder:
        paths = programs(binaries, arguments.part, folder)
        processors = os.cpu_count() or 1
        parts = [paths[i::processors] for i in range(processors) if paths[i::processors]]
        commands = [[checker, "--threads=1", *part] for part in parts]
        for target in COMPILED_FOR:
            commands += [[checker, "--threads=1", "--compile-only", f"--target={target}", *part] for part in parts]
        with concurrent.futures.ThreadPoolExecutor(max_workers=processors) as pool:
            outputs = list(pool.map(run, commands))
        passed = failed = 0
        for output in outputs:
            sys.stdout.write(output)
            counts = re.findall(r"^(\d+) passed, (\d+) failed$", output, re.MULTILINE)
            passed += int(counts[-1][0]) if counts else 0
            failed += int(counts[-1][1]) if counts else 1
    print(f"{len(paths)} programs of the tests, the examples and the benchmark")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
