"""Whole programs on a CUDA device: the software driver of docs/cudasim.md, or with WEFT_TEST_CUDA=real the machine's own.

Programs are compiled for the device, run by the runtime there, and compared as on the CPU. On the software driver all run in
race mode, some with kernels of our own and some with cuBLASLt, in several orders of what nothing orders. That these
comparisons can fail is shown by launches of which one bit is changed.
"""

import functools
import importlib.util
import os
import re
import sys

from suites import base
from suites.base import Counts, closing_line, failure, run, say, side_by_side

DEVICE = "cuda:0"
# The examples that run on default_device(), the longest first.
EXAMPLES = ("mnist", "cnn", "gpt_shakespeare", "lstm_shakespeare", "resnet_cifar10", "train_mlp", "graph", "streams", "lazy_tensors")
# By level: random programs, programs of the interface, and launches that are spoilt.
COUNTS = {"quick": (20, 20, 2), "default": (60, 40, 4), "ci": (200, 120, 8), "full": (4000, 2000, 40)}


def software_device(library, order=None):
    """The environment of a program on the software driver, with cuBLASLt or without."""
    folder = os.path.join(base.RELEASE, "cudasim", "products" if library else "driver")
    return {"LD_LIBRARY_PATH": folder, "CUSIM_RACE": "1", **({"CUSIM_ORDER": str(order)} if order else {})}


def generated(name, program, count, places):
    """A program that makes `count` random ones, a part of them in each of some environments. In the first of them, random
    programs have a dynamic dimension, too: such a function is called often, so that its launches become a graph."""
    share = max(count // len(places), 1)

    def one(number):
        more = ["--save-failures=" + os.path.join(base.BUILD, "random-failures")] if name == "random" else []
        if name == "random" and number == 0:
            more.append("--dynamic")
        return closing_line(f"device-{name}-{number}", [program, f"--count={share}", f"--seed={1 + number * share}", *more],
                            environment=places[number], timeout=2 * base.HOUR)

    return [functools.partial(one, number) for number in range(len(places))]


def example(name, environment):
    script = os.path.join(base.ROOT, "test", "examples", "run.py")
    outcome = run(f"device-example-{name}", [sys.executable, script, os.path.join(base.RELEASE, "bin", name)],
                  environment=environment, timeout=600)
    if outcome.code != 0:
        say(outcome.tail())
        return failure(f"the example {name} on {DEVICE} {outcome.why()} ({outcome.log})")
    say(f"    device-example-{name}: as it should be ({outcome.took()})")
    return Counts(passed=1)


def spoilt(program, launches, environment):
    """Runs a program once for each of some launches, in which a bit of what that launch wrote is changed. It has to fail, unless
    it is a launch of the runtime's own, which keeps a call's record. Programs of the interface drop values, too: one launch in
    four may write what nobody reads."""
    name = os.path.basename(program)
    counts, own, unread = Counts(), 0, []
    # The first launch of a call may be the runtime's.
    for number in range(2, 2 + launches):
        outcome = run(f"device-spoilt-{name}-{number}", [program, "--count=1", "--seed=1",
                                                        *(["--no-shrink"] if "random" in name else [])],
                      environment={**environment, "CUSIM_SPOIL": str(number)}, timeout=600, quiet=True)
        kernel = re.search(rf"CUSIM_SPOIL: launch {number}, of '(\w+)', ", outcome.output)
        if not kernel:
            say(outcome.tail())
            counts += failure(f"{name} has no launch {number} ({outcome.log})")
        elif kernel.group(1) != "weft_kernel":
            own += 1
        elif outcome.code != 1 or not re.search(r"^0 passed, 1 failed$", outcome.output, re.MULTILINE):
            unread.append((number, outcome))
        else:
            counts += Counts(passed=1)
    if len(unread) > (launches // 4 if "interface" in name else 0):
        for number, outcome in unread:
            say(outcome.tail())
            counts += failure(f"{name} does not notice that launch {number} wrote another bit ({outcome.log})")
    if not counts.passed:
        counts += failure(f"{name} has no kernels of its own among the launches 2 to {1 + launches}")
    say(f"    device-spoilt-{name}: {counts}, {own} of the runtime's own, {len(unread)} not noticed")
    return counts


def parity(environment):
    """The ops of the interface beside PyTorch, where it is installed."""
    if not importlib.util.find_spec("torch"):
        say("    device-parity: skipped, for want of torch (scripts/install-deps --torch)")
        return Counts(skipped=1)
    return closing_line("device-parity", [sys.executable, os.path.join(base.ROOT, "test", "parity", "run.py"), "--build",
                                          base.RELEASE, "--device", DEVICE], environment=environment, timeout=2 * base.HOUR)


def gpu_check(level, environment):
    """scripts/gpu-check with a few programs, and its fixtures beside those of an H100, on the software device."""
    script = os.path.join(base.ROOT, "scripts", "gpu-check")
    folder = os.path.join(base.BUILD, "gpu-check")
    os.makedirs(folder, exist_ok=True)
    archive, written = os.path.join(folder, "check.tar.xz"), os.path.join(folder, "fixtures.json")
    some = [] if level == "full" else ["--random=4", "--parity=4", os.path.join(base.ROOT, "test", "cudasim", "speed", "one_row.mlir")]
    counts = Counts()
    # What the software device complains about is on standard error.
    fixtures = ["bash", "-c", '"$0" fixtures "$1" >"$2"', script, archive, written]
    for name, command in (("pack", [script, "pack", archive, *some]), ("run", [script, "run", archive]), ("fixtures", fixtures)):
        outcome = run(f"device-gpu-check-{name}", command, environment={} if name == "pack" else environment, timeout=2 * base.HOUR,
                      quiet=True)
        if outcome.code != 0:
            say(outcome.tail())
            counts += failure(f"scripts/gpu-check {name} {outcome.why()} ({outcome.log})")
            return counts
        counts += Counts(passed=1)
    if os.path.getsize(archive) > 40 << 20:
        counts += failure(f"{archive} has {os.path.getsize(archive) >> 20} MiB, and 40 are allowed")
    # What the script has written comes back as it is, and so do the answers of an H100.
    answers = os.path.join(base.ROOT, "test", "cudasim", "calibration", "h100")
    replay = [sys.executable, os.path.join(base.ROOT, "test", "gpu", "replay.py"), os.path.join(base.RELEASE, "bin", "weft-gpu-check"),
              written, *(os.path.join(answers, name) for name in ("driver.json", "instructions.json", "matmul.json", "fixtures.json"))]
    counts += closing_line("device-replay", replay, environment=environment)
    return counts


def device(level):
    real = os.environ.get("WEFT_TEST_CUDA") == "real"
    if not real and not os.path.exists(os.path.join(base.RELEASE, "cudasim", "libcuda.so.1")):
        with open(os.path.join(base.RELEASE, "CMakeCache.txt"), encoding="utf-8") as file:
            if "WEFT_CUDA:BOOL=ON" in file.read():
                return failure(f"no cudasim/libcuda.so.1 in {base.RELEASE}: it was not built")
        say("    device: skipped, in a build without CUDA")
        return Counts(skipped=1)
    programs = [os.path.join(base.RELEASE, "bin", name) for name in ("weft-random-tests", "weft-interface-programs")]
    for program in programs:
        if not os.path.exists(program):
            return failure(f"no {os.path.basename(program)} in {base.RELEASE}/bin: it was not built")
    random_count, interface_count, launches = COUNTS[level]
    places = [{}] if real else [software_device(False), software_device(True), software_device(False, 7),
                                software_device(True, "reverse")]
    places = [{"WEFT_TEST_DEVICE": DEVICE, "WEFT_DEVICE": DEVICE, **place} for place in places]
    with_library = places[-1]
    tasks = [functools.partial(example, name, with_library) for name in (EXAMPLES if level != "quick" else EXAMPLES[-1:])]
    # Where the device was asked for by name; else it is a part of `parity`.
    if os.environ.get("WEFT_TEST_DEVICE", "cpu") != "cpu":
        tasks.insert(0, functools.partial(parity, with_library))
    tasks += generated("random", programs[0], random_count, places)
    tasks += generated("interface", programs[1], interface_count, places)
    if not real:
        tasks += [functools.partial(spoilt, program, launches, places[0]) for program in programs]
        if level != "quick":
            tasks.append(functools.partial(gpu_check, level, software_device(True)))
    return side_by_side(tasks)
