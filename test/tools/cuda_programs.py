"""Compiles the kernels of programs with NVRTC for three targets: those of the given texts, and those that examples and the
benchmark's steps record. No kernel that is used may spill registers (WEFT-F012), and at least one block of each, or as many as its
schedule says, has to be resident with the registers that it has. No launch of the examples and steps has the schedule of one thread
a task."""
import glob
import os
import re
import shutil
import subprocess
import sys
import time

WARP = 32
TARGETS = ("sm_80", "sm_90", "sm_100")
EXAMPLES = ("lazy_tensors", "linear_regression", "lstm", "save_step")
STEPS = ("mlp_step", "deep_step", "lstm_step", "gpt_step", "adam_300")

folder = sys.argv[1]
shutil.rmtree(folder, ignore_errors=True)
for command in [["mnist", "--epochs", "1", "--output", "."]] + [[example] for example in EXAMPLES] + [["weft-bench", "--first-step", step] for step in STEPS]:
    own = os.path.join(folder, command[-1] if command[0] == "weft-bench" else command[0])
    os.makedirs(own)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=own, env={**os.environ, "WEFT_TRACE_DIR": own})
recorded = glob.glob(os.path.join(folder, "*", "run-*", "*", "recorded.mlir"))
if not recorded:
    sys.exit("the examples recorded no program")
# Those of the demo are compiled by test/cudasim/kernels/programs.py.
programs = sorted(path for path in recorded if not path.startswith(os.path.join(folder, "mnist", ""))) + sys.argv[2:]
# The time of a compilation is that of all kernels, so compile each once.
environment = {**os.environ, "WEFT_CACHE_DIR": os.path.join(folder, "cache")}
kernels = changed = failed = 0
started = time.monotonic()
for program in programs:
    for target in TARGETS:
        command = ["weft", "kernels", program, f"--target=cuda:{target}", "--device=cuda:0", "--emit=report"]
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
        if result.returncode != 0:
            failed += 1
            print(f"{program}, {target}: {result.stderr}")
            continue
        for name, report in re.findall(r"^// (\S+), \d+ launch(?:es)?\n((?:.+\n)*)", result.stdout, re.MULTILINE):
            kernels += 1
            changed += "// WEFT-F012: " in report
            stored, loaded = map(int, re.search(r"^spilled bytes +(\d+) stored, (\d+) loaded", report, re.MULTILINE).groups())
            threads = int(re.search(r"^threads of a block +(\d+)", report, re.MULTILINE)[1])
            warps = int(re.search(r"^resident warps +(\d+) of", report, re.MULTILINE)[1])
            # Of schedules, the report shows those of contractions, and those that were chosen after a spill.
            resident = re.search(r"\bresident = (\d+)|\b(\d+) resident\b", report)
            blocks = max(map(int, filter(None, resident.groups()))) if resident else 1
            if stored or loaded:
                failed += 1
                print(f"{program}, {target}: {name} stores {stored} and loads {loaded} bytes of spilled registers")
            if warps < blocks * -(-threads // WARP):
                failed += 1
                print(f"{program}, {target}: {name} has {warps} resident warps, expected {blocks} blocks of {threads} threads")
# "WEFT-F009 at PLACE: .." in the explanation
for program in recorded:
    command = ["weft", "explain", program, "--target=cuda:sm_90", "--device=cuda:0", "--full"]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    fallbacks = [line for line in result.stdout.splitlines() if "WEFT-F009" in line]
    if result.returncode != 0 or fallbacks:
        failed += 1
        print(f"{program}: {result.stderr}", *fallbacks, sep="\n")
compiled = len(glob.glob(os.path.join(folder, "cache", "*")))
print(f"{len(programs)} programs, {kernels} kernels, {compiled} different, {changed} with another schedule after a spill, {failed} failures")
print(f"{(time.monotonic() - started) * 1000 / max(compiled, 1):.0f} ms a kernel, programs read and printed included")
sys.exit(1 if failed else 0)
