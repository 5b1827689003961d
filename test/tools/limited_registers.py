"""usage: limited_registers.py COUNT COMMAND...

Runs a command whose kernels get so many registers a thread at most, whatever their launch bounds say: the wrapper of NVRTC
(docs/cudasim.md) adds the options. Compiled kernels are neither taken from a cache nor left there."""
import os
import re
import shutil
import subprocess
import sys

doctor = subprocess.run(["weft", "doctor"], check=False, capture_output=True, text=True).stdout
nvrtc = re.search(r"nvrtc +version \S+ in '(.*)'", doctor)
if not nvrtc:
    sys.exit("weft doctor finds no NVRTC:\n" + doctor)
build = os.path.dirname(os.path.dirname(shutil.which("weft")))
os.environ.update({
    "CUSIM_NVRTC": nvrtc[1], "WEFT_CUDA_PATH": os.path.join(build, "cudasim"), "WEFT_CACHE": "0",
    "CUSIM_NVRTC_OPTIONS": f"--ptxas-options=--override-directive-values --ptxas-options=--maxrregcount={sys.argv[1]}"})
os.execvp(sys.argv[2], sys.argv[2:])
