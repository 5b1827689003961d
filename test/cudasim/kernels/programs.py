#!/usr/bin/env python3
"""Runs the kernels of our own C++ programs on the engine (docs/cudasim.md): the programs that tests of the interface, the
examples and the benchmark's training steps compile are kept by WEFT_TRACE_DIR, and weft-cuda-kernels checks each once, unless
it is too large for the engine. Then all of them are compiled for three devices, where no kernel may spill registers. At most 2 %
of the kernels may be those of one thread a task. With `--part ci`, programs with a tensor of more than 65,536 elements, which take
most of the time, run if they are one in eight; with `full`, all do up to 1,048,576 elements.

usage: programs.py --build DIR [--part ci|full] [--programs DIR]

--programs names what a run of the tests has kept (test/suites/programs.py); without it, they run first.

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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from suites.programs import traced, TRACED_SHARDS  # pylint: disable=wrong-import-position

OTHERS = [["mnist", "--epochs", "1", "--output", "."], ["cnn", "--steps", "2", "--batch", "8"], ["lstm"], ["lazy_tensors"], ["linear_regression"], ["save_step"], ["resume", "--steps", "2"],
          *(["weft-bench", "--first-step", step] for step in ("mlp_step", "deep_step", "lstm_step", "gpt_step", "adam_300"))]
# Beside the device whose programs run, all of which are compiled.
COMPILED_FOR = ["cuda:sm_80", "cuda:sm_100"]
# What the tests compile today is more; less means that they were not traced.
LEAST_PROGRAMS = 2000
ELEMENTS = {"ci": 1 << 16, "full": 1 << 20}
MOST_FALLBACKS = 0.02
# Kernels that did not keep to their first schedules, or whose program had another text by then. More means that kernels are not
# compiled together any more, which takes three times as long.
MOST_ALONE = 0.05


def keep(command, environment):
    """Runs a program that keeps what it compiles; says what went wrong."""
    result = subprocess.run(command, env={**os.environ, **environment}, cwd=environment["WEFT_TRACE_DIR"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=1800)
    if result.returncode == 0:
        return ""
    return f"{' '.join(command)} {environment} ended with {result.returncode}:\n{result.stdout[-2000:]}"


def programs(binaries, folder, of_tests):
    """The paths of the programs that were compiled, each text once, and what went wrong. Those of the tests may be there."""
    tasks = []
    if not of_tests:
        of_tests = f"{folder}/tests"
        for shard in range(TRACED_SHARDS):
            variables = {"GTEST_TOTAL_SHARDS": str(TRACED_SHARDS), "GTEST_SHARD_INDEX": str(shard)}
            tasks.append(([os.path.join(binaries, "weft-frontend-tests")], {**variables, **traced(of_tests, shard)}))
    for number, command in enumerate(OTHERS):
        own = f"{folder}/other-{number}"
        os.makedirs(own)
        tasks.append(([os.path.join(binaries, command[0]), *command[1:]], {"WEFT_TRACE_DIR": own}))
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        problems = [problem for problem in pool.map(lambda task: keep(*task), tasks) if problem]
    found = {}
    for path in sorted(path for of in (of_tests, folder) for path in glob.glob(f"{of}/*/run-*/*/recorded.mlir")):
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
    parser.add_argument("--programs")
    arguments = parser.parse_args()
    binaries = os.path.join(os.path.abspath(arguments.build), "bin")
    checker = os.path.join(binaries, "weft-cuda-kernels")
    if subprocess.run([checker, "--count=0"], check=False).returncode == 77:
        return 77
    with tempfile.TemporaryDirectory() as folder:
        paths, problems = programs(binaries, folder, arguments.programs)
        processors = os.cpu_count() or 1
        # A process compiles a kernel once, in however many programs it is; so two of them share each device.
        parts = [paths[i::max(processors // 2, 1)] for i in range(max(processors // 2, 1))]
        checking = [checker, "--threads=1", "--together"]
        most = [f"--most-elements={ELEMENTS[part]}" for part in ("ci", "full")]
        commands = [[*checking, "--compile-others", most[arguments.part == "full"], *part] for part in parts]
        for target in COMPILED_FOR:
            commands += [[*checking, "--compile-only", f"--target={target}", *part] for part in parts]
        if arguments.part == "ci":
            commands += [[*checking, f"--more-elements-than={ELEMENTS['ci']}", most[1], *part[::8]] for part in parts]
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
