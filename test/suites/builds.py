"""Further builds and systems, with what is tested of them alone, and clang-tidy."""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import threading

from suites import base
from suites.base import closing_line, Counts, failure, run, say
from suites.programs import unit, ctest


# What build_meanwhile() has begun: the folder of each, with a future of its outcome.
BEGUN = {}


def build_meanwhile(*presets):
    """Begins to build presets, one after the other, while other parts run. Such a build takes only what they leave idle."""
    def one(preset):
        try:
            command = ["nice", "-n", "19", os.path.join(base.ROOT, "scripts", "build"), preset, preset]
            BEGUN[preset].set_result(run("build-" + preset, command, timeout=3 * base.HOUR, quiet=True))
        except Exception as error:  # for the part that waits
            BEGUN[preset].set_exception(error)

    for preset in presets:
        BEGUN[preset] = concurrent.futures.Future()
    # Of a run that is interrupted nobody waits for it.
    threading.Thread(target=lambda: [one(preset) for preset in presets], daemon=True).start()


def build(preset, folder, *arguments):
    """Builds a further preset, unless that has begun. True if it worked; what went wrong is printed."""
    if folder in BEGUN:
        outcome = BEGUN[folder].result()
        base.count_time(outcome.processor_seconds)
    else:
        outcome = run("build-" + folder, [os.path.join(base.ROOT, "scripts", "build"), preset, folder, *arguments],
                      timeout=3 * base.HOUR)
    if outcome.code != 0:
        say(outcome.tail())
        return False
    say(f"    build/{folder} built ({outcome.took()})")
    return True


def static(level):
    """The libraries as archives, LLVM's too: the programs that a newcomer copies link and run."""
    if not build("release", "static", "-DWEFT_STATIC=ON"):
        return failure("the build with static libraries")
    folder = os.path.join(base.BUILD, "static")
    counts = ctest("static", build=folder, selection=["-R", "^example-(lazy_tensors|scaled)$"])
    for name in ("weft", "weft-opt", "lazy_tensors"):
        sections = subprocess.run(["readelf", "-dW", os.path.join(folder, "bin", name)], check=False,
                                  capture_output=True, text=True).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.+?)\]", sections)
        shared = [library for library in needed if re.match("lib(LLVM|MLIR|weft)", library)]
        if shared or not needed:
            counts += failure(f"{name} of the static build needs {', '.join(shared) or 'nothing that could be read'}")
        else:
            counts += Counts(passed=1)
    return counts


def without_cuda(level):
    """The whole build with -DWEFT_CUDA=OFF, of which the part `house` compiles what differs, and its tests."""
    if not build("release", "without-cuda", "-DWEFT_CUDA=OFF"):
        return failure("the build without CUDA")
    folder = os.path.join(base.BUILD, "without-cuda")
    doctor = run("without-cuda-doctor", [os.path.join(folder, "bin", "weft"), "doctor"], timeout=60, quiet=True)
    counts = Counts(passed=1)
    if doctor.code != 0 or "is built without CUDA" not in doctor.output:
        say(doctor.tail())
        counts = failure(f"weft doctor of the build without CUDA {doctor.why()} ({doctor.log})")
    counts += unit("quick", folder, "without-cuda-", {"WEFT_TEST_LEVEL": "quick"})
    return counts


def lint(level):
    return closing_line("lint", [os.path.join(base.ROOT, "scripts", "lint"), "--all"], timeout=3 * base.HOUR)


def debian(level):
    """Both commands of the README and the benchmark in systems that have nothing installed. Each of these also runs
    packages that were made here, and this one runs theirs."""
    missing = "debootstrap" if not shutil.which("debootstrap") else "root" if os.geteuid() != 0 else None
    if missing:
        say(f"    debian: skipped, for want of {missing}")
        return Counts(skipped=2)
    script, bare = os.path.join(base.ROOT, "test", "packages.py"), os.path.join(base.ROOT, "scripts", "bare-debian")
    ours = os.path.join(base.ROOT, "build", "packages")
    counts = closing_line("packages", [sys.executable, script, "make", ours])
    for suite in ("bookworm", "trixie"):
        folder = os.path.join(base.ROOT, "build", "debian-" + suite)
        commands = ["scripts/demo", "scripts/test", "scripts/bench --rows mul_add",
                    ".venv/bin/python test/packages.py make /packages", f".venv/bin/python test/packages.py run {ours}"]
        outcome = run("debian-" + suite, [bare, suite, "--folder", folder, "--bind", ours, *commands], timeout=3 * base.HOUR)
        found = base.CLOSING_LINE.findall(outcome.output)
        if outcome.code != 0 or len(found) < 3:
            say(outcome.tail())
            counts += failure(f"bare-debian {suite} {outcome.why()} ({outcome.log})")
        else:
            for passed, failed in found[-3:]:  # of the tests, and of the packages that were made and run
                counts += Counts(int(passed), int(failed))
            counts += closing_line("packages-" + suite, [sys.executable, script, "run", os.path.join(folder, "packages")])
        shutil.rmtree(folder, ignore_errors=True)
    return counts
