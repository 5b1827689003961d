"""Kernels for GPUs on the engine of docs/cudasim.md."""

import functools
import os
import shutil
import subprocess
import sys

from suites import base
from suites.base import closing_line, Counts, failure, run, say, side_by_side
from suites.programs import unit

NO_NVRTC = 77  # the exit code of programs that need it
# What the tests of the interface compiled when they ran as a part of this run (unit_with_programs), and None if they did not.
KEPT = {"programs": None}


def unit_with_programs(level):
    """The suite `unit`. Where `cuda` compiles the programs of tests for GPUs, tests run once for both."""
    if level in ("ci", "full") and os.path.exists(os.path.join(base.RELEASE, "bin", "weft-cuda-kernels")):
        KEPT["programs"] = os.path.join(base.BUILD, "programs-of-tests")
        shutil.rmtree(KEPT["programs"], ignore_errors=True)
    return unit(level, keep_programs=KEPT["programs"])


def cuda(level):
    """Kernels for GPUs, made by NVRTC, on the engine of docs/cudasim.md beside the CPU: random programs, and those of our
    own tests, examples and benchmark; and what can be said of their speed. Their single kernels are a GoogleTest program,
    of the suite `unit`."""
    program = os.path.join(base.RELEASE, "bin", "weft-cuda-kernels")
    if not os.path.exists(program):
        return failure(f"no weft-cuda-kernels in {base.RELEASE}/bin: it was not built")
    if run("cuda-nvrtc", [program, "--count=0"]).code == NO_NVRTC:
        with open(os.path.join(base.RELEASE, "CMakeCache.txt"), encoding="utf-8") as file:
            if "WEFT_CUDA:BOOL=ON" in file.read():
                return failure("this build has CUDA, and NVRTC cannot be loaded: run scripts/install-deps, look at weft "
                               "doctor, or test with --no-cuda")
        say("    cuda: skipped, in a build without CUDA")
        return Counts(skipped=1)
    shards = os.cpu_count() or 1
    count = max({"quick": 40, "default": 200, "ci": 2000, "full": 2000}[level] // shards, 1)

    def part(shard):
        return closing_line(f"cuda-random-{shard}", [program, f"--count={count}", f"--seed={1 + shard * count}", "--threads=1",
                                                     "--together"], timeout=2 * base.HOUR)

    def other(target):
        """A tenth of the programs, with other seeds."""
        number = max(count * shards // 10, 1)
        return closing_line(f"cuda-random-{target}", [program, f"--count={number}", "--seed=500001", "--threads=1",
                                                      "--together", f"--target=cuda:{target}"], timeout=2 * base.HOUR)

    mutator = os.path.join(base.RELEASE, "bin", "weft-cuda-mutants")
    skeletons = subprocess.run([mutator, "--list"], check=False, capture_output=True, text=True).stdout.splitlines()
    if not skeletons:
        return failure(f"{mutator} --list names no skeleton")

    def mutants(skeleton):
        """Kernels with one mistake each, all of which have to be found; some of them, and all from --ci on, when the lists
        of those that no input shows are compared, too."""
        every = {"quick": 8, "default": 4}.get(level, 1)
        return closing_line(f"cuda-mutants-{skeleton}", [mutator, f"--only={skeleton}", f"--every={every}"], quiet=True)

    counts = side_by_side([functools.partial(part, shard) for shard in range(shards)] +
                          [functools.partial(mutants, skeleton) for skeleton in skeletons])
    if level in ("ci", "full"):
        counts += side_by_side([functools.partial(other, target) for target in ("sm_80", "sm_100")])
        halves = os.path.join(base.ROOT, "test", "cudasim", "kernels", "halves.py")
        counts += closing_line("cuda-halves", [sys.executable, halves, "--build", base.RELEASE, "--part", level],
                               timeout=base.HOUR)
    speed = os.path.join(base.ROOT, "test", "cudasim", "kernels", "static_speed.py")
    counts += closing_line("cuda-speed", [sys.executable, speed, "--build", base.RELEASE, "--part",
                                          "ci" if level in ("ci", "full") else "quick"], timeout=base.HOUR)
    if level in ("ci", "full"):
        driver = os.path.join(base.ROOT, "test", "cudasim", "kernels", "programs.py")
        kept = [f"--programs={KEPT['programs']}"] if KEPT["programs"] else []
        counts += closing_line("cuda-programs", [sys.executable, driver, "--build", base.RELEASE, "--part", level, *kept],
                               timeout=4 * base.HOUR)
        if kept:  # a gigabyte of stages
            shutil.rmtree(KEPT["programs"], ignore_errors=True)
    return counts
