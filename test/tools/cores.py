"""Every launch of the benchmark's steps and of an example that is estimated at over 50 us has at least as many tasks as the
target has threads. The programs that the steps record are compiled for 16 and 64 threads."""
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys

MOST_NS = 50_000
# A reduction over columns is cut down to one vector of f32 columns: finer pieces would leave lanes of the vector empty, so
# that twice as many threads would take as long.
VECTOR = 16


def most_pieces(launch):
    """The pieces that the kind of a launch can have without being slower."""
    if not launch["kind"].startswith("column"):
        return 1 << 30
    # What is as large as the domain is no sum; sums have one element a column.
    columns = min(math.prod(map(int, sizes.split("x"))) for sizes in re.findall(r"\[([\dx]+)\]", launch["results"]))
    return -(-columns // VECTOR)


folder = sys.argv[1]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
for step in ("mlp_step", "deep_step", "lstm_step", "gpt_step", "adam_300"):
    subprocess.run(["weft-bench", "--first-step", step], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "WEFT_TRACE_DIR": os.path.join(folder, step)})
programs = glob.glob(os.path.join(folder, "*", "run-*", "*", "recorded.mlir")) + sys.argv[2:]
checked = failed = 0
for program in programs:
    for cores in (16, 64):
        command = ["weft", "explain", program, f"--target=cpu:{cores}", "--json"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for function in json.loads(text)["functions"]:
            for launch in function["launches"]:
                if launch["pieces"] is None or launch["estimated_ns"] <= MOST_NS:
                    continue
                checked += 1
                if launch["pieces"] < min(cores, most_pieces(launch)):
                    failed += 1
                    print(f"{program}, {function['name']}: {launch['kind']} -> {launch['results']} is estimated at "
                          f"{launch['estimated_ns'] / 1000:.0f} us on {launch['pieces']} of {cores} threads")
print(f"{len(programs)} programs, {checked} launches over {MOST_NS // 1000} us, {failed} on too few threads")
sys.exit(1 if failed else 0)
