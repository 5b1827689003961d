#!/usr/bin/env python3
"""Runs the kernels of our own C++ programs on the engine (docs/cudasim.md): the programs that tests of the interface, the
examples and the benchmark's training steps compile are kept by WEFT_TRACE_DIR, and weft-cuda-kernels checks each once, unless
it is too large for the engine. Then all of them are compiled for three devices, where no kernel may spill registers. At most 2 %
of the kernels may be those of one thread a task. With `--part ci`, programs with a tensor of more than 65,536 elements, which take
most of the time, run if they are one in eight; with `full`, all do up to 1,048,576 elements.

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

# A run keeps at most 200 compilations, so the tests run in shards. A few tests compile more by themselves: the same operations
# for other shapes, or at random. Of those the first 200 are taken.
SHARDS = 96
OTHERS = [["mnist", "--epochs", "1", "--output", "."], ["cnn", "--steps", "2", "--batch", "8"], ["lstm"], ["lazy_tensors"], ["linear_regression"], ["save_step"], ["resume", "--steps", "2"],
          *(["weft-bench", "--first-step", step] for step in ("mlp_step", "deep_step", "lstm_step", "gpt_step", "adam_300"))]
# Beside the device whose programs run, all of which are compiled.
COMPILED_FOR = ["cuda:sm_80", "cuda:sm_100"]
# What the tests compile today is more; less means that they were not traced.
LEAST_PROGRAMS = 2000
# Where numbers are not finite, gradients of while loops are NaN in the interpreter at places where kernels of a GPU have numbers,
# and it is not known which of the two is right. CudaWhileGradient compares them on the software driver with numbers that are finite.
LEFT_OUT = "WhileGradient.*"
ELEMENTS = {"ci": 1 << 16, "full": 1 << 20}
MOST_FALLBACKS = 0.02
# Kernels that did not keep to their first schedules, or whose program had another text by then. More means that kernels are not
# compiled together any more, which takes three times as long.
MOST_ALONE = 0.05


def trace(command, folder, environment):
    os.makedirs(folder)
    variables = {**os.environ, **environment, "WEFT_TRACE_DIR": folder}
    result = subprocess.run(command, env=variables, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False, timeout=1800)
    if result.returncode == 0:
        return ""
    return f"{' '.join(command)} {environment} ended with {result.returncode}:\n{result.stdout[-2000:]}"


def programs(binaries, folder):
    """The paths of the programs that were compiled, each text once, and what went wrong."""
    tasks = []
    for shard in range(SHARDS):
        variables = {"GTEST_TOTAL_SHARDS": str(SHARDS), "GTEST_SHARD_INDEX": str(shard), "GTEST_FILTER": "-" + LEFT_OUT}
        tasks.append(([os.path.join(binaries, "weft-frontend-tests")], f"{folder}/tests-{shard}", variables))
    for number, command in enumerate(OTHERS):
        tasks.append(([os.path.join(binaries, command[0]), *command[1:]], f"{folder}/other-{number}", {}))
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        problems = [problem for problem in pool.map(lambda task: trace(*task), tasks) if problem]
    found = {}
    for path in sorted(glob.glob(f"{folder}/*/run-*/*/recorded.mlir")):
        if not os.path.exists(os.path.join(os.path.dirname(path), "plan.mlir")):  # a test of what is refused
            continue
        with open(path, "rb") as file:
            text = file.read()
        found.setdefault(hashlib.sha256(text).digest(), path)
    if len(found) < LEAST_PROGRAMS:
        problems.append(f"{len(found)} programs were recorded, expected {LEAST_PROGRAMS} at least")
    return list(found.values()), problems


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
        paths, problems = programs(binaries, folder)
        processors = os.cpu_count() or 1
        parts = [paths[i::processors] for i in range(processors) if paths[i::processors]]
        checking = [checker, "--threads=1", "--together"]
        commands = [[*checking, "--compile-others", f"--most-elements={ELEMENTS[arguments.part]}", *part] for part in parts]
        if arguments.part == "ci":
            commands += [[*checking, f"--most-elements={ELEMENTS['full']}", *part[::8]] for part in parts]
        for target in COMPILED_FOR:
            commands += [[*checking, "--compile-only", f"--target={target}", *part] for part in parts]
        with concurrent.futures.ThreadPoolExecutor(max_workers=processors) as pool:
            outputs = list(pool.map(run, commands))
        kernels = fallbacks = passed = together = alone = 0
        failed = len(problems)
        print(*problems, sep="\n", end="\n" if problems else "")
        for output in outputs:
            sys.stdout.write(output)
            for all_of_them, fallback in re.findall(r"^(\d+) kernels, (\d+) of them fallbacks", output, re.MULTILINE):
                kernels += int(all_of_them)
                fallbacks += int(fallback)
            for of_texts, others in re.findall(r"^(\d+) kernels were compiled together, (\d+) alone", output, re.MULTILINE):
                together += int(of_texts)
                alone += int(others)
            counts = re.findall(r"^(\d+) passed, (\d+) failed$", output, re.MULTILINE)
            passed += int(counts[-1][0]) if counts else 0
            failed += int(counts[-1][1]) if counts else 1
    print(f"{len(paths)} programs of the tests, the examples and the benchmark; {fallbacks} of {kernels} kernels that ran are fallbacks")
    if fallbacks > MOST_FALLBACKS * kernels or not kernels:
        print(f"FAILED: more than {MOST_FALLBACKS:.0%} of the kernels have one thread a task (WEFT-F009)")
        failed += 1
    if alone > MOST_ALONE * (together + alone) or not together:
        print(f"FAILED: {alone} kernels were compiled by themselves, and {together} together")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
