#!/usr/bin/env python3
"""Runs the comparisons with PyTorch: every test_*.py beside this file, each in a process of its own.

A test gets the build folder in WEFT_BUILD and finds its tools in PATH. Its last line must be
"N passed, N failed"; without it, or with an exit code that disagrees, it counts as one failure. This program
ends with the sum, in the same form. Where the software driver of test/cudasim was built, test_ops.py runs a second time,
with fewer samples, on "cuda:0".
"""

import argparse
import glob
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# The comparisons are exact about version: what PyTorch computes changes from one to the next.
TORCH = "2.13.0"
CLOSING_LINE = re.compile(r"^(\d+) passed, (\d+) failed\s*$", re.MULTILINE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--timeout", type=int, default=1800, help="seconds for one test")
    parser.add_argument("--device", default="cpu", help="cuda:0: only test_ops.py, on the device that the environment has")
    parser.add_argument("tests", nargs="*", help="names such as test_mlp.py; default: all")
    arguments = parser.parse_args()

    try:
        import torch
        version = torch.__version__.split("+")[0]
    except ImportError as error:
        version = str(error)
    if version != TORCH:
        print(f"parity needs torch=={TORCH} and found: {version}; run scripts/install-deps --torch")
        print("0 passed, 1 failed")
        return 1

    build = os.path.abspath(arguments.build)
    environment = {**os.environ, "WEFT_BUILD": build, "WEFT_SOURCE_DIR": ROOT,
                   "PATH": os.path.join(build, "bin") + os.pathsep + os.environ["PATH"]}
    passed = failed = 0
    tests = [os.path.join(HERE, name) for name in arguments.tests] or sorted(glob.glob(os.path.join(HERE, "test_*.py")))
    if not tests:
        print(f"there is no test_*.py in {HERE}")
    runs = [(test, {}) for test in tests]
    driver = os.path.join(build, "cudasim", "driver")
    on_device = (os.path.join(HERE, "test_ops.py"), {"WEFT_TEST_DEVICE": "cuda:0", "WEFT_PARITY_SAMPLES": "1"})
    if arguments.device != "cpu":
        runs = [on_device]
    elif os.path.exists(os.path.join(driver, "libcuda.so.1")) and not arguments.tests:
        runs.append((on_device[0], {**on_device[1], "LD_LIBRARY_PATH": driver}))
    for test, more in runs:
        name, started = os.path.basename(test) + (" on cuda:0" if more else ""), time.monotonic()
        try:
            result = subprocess.run([sys.executable, test], env={**environment, **more}, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=arguments.timeout,
                                    check=False)
            code, output = result.returncode, result.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as expired:
            code, output = None, (expired.stdout or b"").decode(errors="replace")
        found = CLOSING_LINE.findall(output)
        ok, bad = (int(found[-1][0]), int(found[-1][1])) if found else (0, 0)
        if bad or code != 0 or not ok:
            tail = output[-8000:]
            print(*(line for line in output[:-8000].splitlines() if line.startswith("FAILED")), sep="\n")
            print(tail)
            if not bad:
                bad = 1
                print(f"FAILED: {name}: exit code {code}, closing line: {' / '.join(map(str, found)) or 'none'}")
        passed, failed = passed + ok, failed + bad
        print(f"{name}: {ok} passed, {bad} failed ({time.monotonic() - started:.1f} s)", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
