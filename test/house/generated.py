#!/usr/bin/env python3
"""Pages that are generated from the sources are up to date."""

import os
import subprocess
import sys

from common import ROOT, Checks


def main():
    checks = Checks()
    for script in ("op-reference", "torch-names"):
        result = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", script), "--check"],
                                capture_output=True, check=False)
        checks.check(result.returncode == 0, result.stderr.decode().strip())
    checks.finish()


if __name__ == "__main__":
    main()
