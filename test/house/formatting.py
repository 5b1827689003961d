#!/usr/bin/env python3
"""Every C and C++ file of the tree is as clang-format 19 leaves it."""

import shutil
import subprocess

from common import ROOT, Checks, cxx_files


def main():
    checks = Checks()
    tool = shutil.which("clang-format-19")
    if not checks.check(tool is not None, "clang-format-19 is not installed: scripts/install-deps"):
        checks.finish()
    # A planted fault shows that the tool looks at all.
    planted = subprocess.run([tool, "--dry-run", "-Werror", "--assume-filename=planted.cpp"], cwd=ROOT,
                             input=b"int  main( ){return 0 ;}\n", stderr=subprocess.DEVNULL, check=False)
    checks.check(planted.returncode != 0, "self-test: a badly formatted file was accepted")
    for name in cxx_files():
        result = subprocess.run([tool, "--dry-run", "-Werror", name], cwd=ROOT, capture_output=True, check=False)
        first = result.stderr.decode(errors="replace").splitlines()[:1]
        checks.check(result.returncode == 0, f"{name} is not formatted; run: clang-format-19 -i {name} ({first})")
    checks.finish()


if __name__ == "__main__":
    main()
