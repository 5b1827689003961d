#!/usr/bin/env python3
"""Runs elementary functions of all 65,536 values of f16 and bf16 by kernels on the engine (docs/cudasim.md), for sm_90, or with
`--part full` for sm_80 and sm_100, too. The results must have the bits of the CPU.

usage: halves.py --build DIR [--part ci|full]

The last line is "N passed, N failed"; the exit code is 77 without NVRTC.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

FUNCTIONS = """ceil floor round trunc sqrt rsqrt recip exp expm1 log log1p sin cos tan asin acos atan log2 log10 exp2 sinh cosh tanh
asinh acosh atanh erf sigmoid""".split()
VALUES = 65536
TARGETS = {"ci": ["sm_90"], "full": ["sm_80", "sm_90", "sm_100"]}


def program(dtype):
    """A function of a number, 0 or 1, that is added to the bits of the values, so that they are no constants."""
    tensor = f"tensor<{VALUES}x{dtype}, #cpu>"
    results = ", ".join([tensor] * len(FUNCTIONS))
    lines = ["#cpu = #weft.device<cpu>",
             f'weft.func @main(%zero: tensor<{VALUES}xi32, #cpu> {{weft.name = "index:0:1"}}) -> ({results}) {{',
             f"  %i = weft.iota dim = 0 : tensor<{VALUES}xi32, #cpu>",
             f"  %bits = weft.add %i, %zero : tensor<{VALUES}xi32, #cpu>",
             f"  %short = weft.convert %bits to i16 : tensor<{VALUES}xi32, #cpu>",
             f"  %x = weft.bitcast %short to {dtype} : tensor<{VALUES}xi16, #cpu>"]
    lines += [f"  %{name} = weft.{name} %x : {tensor}" for name in FUNCTIONS]
    lines += [f"  weft.return {', '.join('%' + name for name in FUNCTIONS)} : {results}", "}"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--part", choices=["ci", "full"], default="ci")
    arguments = parser.parse_args()
    checker = os.path.join(os.path.abspath(arguments.build), "bin", "weft-cuda-kernels")
    with tempfile.TemporaryDirectory() as folder:
        def run(case):
            dtype, target = case
            path = os.path.join(folder, f"{dtype}-{target}.mlir")
            with open(path, "w", encoding="utf-8") as file:
                file.write(program(dtype))
            return subprocess.run([checker, "--threads=1", f"--target=cuda:{target}", path], check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

        cases = [(dtype, target) for dtype in ("f16", "bf16") for target in TARGETS[arguments.part]]
        with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            results = list(pool.map(run, cases))
    failed = 0
    for (dtype, target), result in zip(cases, results):
        if result.returncode == 77:
            return 77
        exact = re.search(r"^(\d+) results with the bits of the CPU, 0 within bounds$", result.stdout, re.MULTILINE)
        right = result.returncode == 0 and exact and int(exact[1]) > 0 and int(exact[1]) % len(FUNCTIONS) == 0
        failed += not right
        print(f"{dtype}, {target}: {'the bits of the CPU' if right else result.stdout[-4000:]}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
