"""First calls of training steps, in fresh processes."""

import json
import os
import shutil
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COMPILE_ROWS = ["cold_compile", "disk_compile"]
ADAM_ROWS = ["adam_300", "adam_3000"]
LIMIT_S = 120  # a first call that takes longer is not waited for


class Commands:
    """How to run one step of one column in a process of its own."""

    def __init__(self, binary, python, threads):
        self.binary, self.python, self.threads = binary, python, threads

    def first(self, column, step):
        if column == "weft":
            return [self.binary, "--first-step", step]
        return [self.python, os.path.join(HERE, "peers.py"), "--threads", str(self.threads), "--first-step", column,
                "--step", step]

    def calls(self, column, step):
        if column == "weft":
            return [self.binary, "--calls", step]
        return [self.python, os.path.join(HERE, "peers.py"), "--threads", str(self.threads), "--calls", column,
                "--step", step]


def in_fresh_processes(command, environment, times):
    """What `times` processes say that find empty cache folders at first, then what those before left. The last is a
    text where one failed."""
    folder = tempfile.mkdtemp(prefix="weft-bench-")
    own = dict(environment, WEFT_CACHE_DIR=folder + "/weft", TORCHINDUCTOR_CACHE_DIR=folder + "/inductor",
               TRITON_CACHE_DIR=folder + "/triton", JAX_COMPILATION_CACHE_DIR=folder + "/jax",
               JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0", JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="-1")
    found = []
    try:
        for _ in range(times):
            try:
                done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                return found + [f"not done after {LIMIT_S} s"]
            if done.returncode != 0:
                tail = done.stderr.strip().splitlines()[-1:] or ["no message"]
                return found + [f"status {done.returncode}: {tail[0]}"]
            found.append(json.loads(done.stdout.strip().splitlines()[-1]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def compile_rows(names, commands, columns, environment, merge, visits=5):
    """`cold_compile` and `disk_compile`: what the training step's first call takes beyond a later one."""
    made = {name: {"results": {}, "errors": {}, "figures": {}, "bytes": 0, "note": ""} for name in COMPILE_ROWS}
    for column, times in (("weft", visits), ("torch.compile", 1), ("jax", 3)):
        for _ in range(times if column in columns else 0):
            for name, found in zip(COMPILE_ROWS, in_fresh_processes(commands.first(column, "mlp_step"), environment,
                                                                    len(COMPILE_ROWS))):
                if isinstance(found, str):
                    made[name]["errors"][column] = found
                    break
                value = max(found["first_ms"] - (0 if column == "torch.compile" else found["third_ms"]), 0)
                merge(made[name]["results"], {column: {"ms": value, "samples_ms": [value]}})
                for key in ("setup_ms", "compile_ms"):
                    if key in found:
                        made[name]["figures"].setdefault(key, []).append(found[key])
            if any(column in row["errors"] for row in made.values()):
                break
    for row in made.values():
        row["figures"] = {key: statistics.median(values) for key, values in row["figures"].items()}
    return {name: made[name] for name in names}


def add_first_calls(name, row, commands, columns, environment, visits=3):
    """To an `adam_` row: the whole first call in seconds, the median of a few processes without caches."""
    for column in columns:
        seconds = []
        for _ in range(visits if column == "weft" else 1):
            found = in_fresh_processes(commands.first(column, name), environment, 1)[0]
            if isinstance(found, str):
                row["errors"][column + " (first call)"] = found
                break
            seconds.append(found["first_ms"] / 1e3)
        if seconds:
            row["figures"]["first_s" if column == "weft" else "first_s of " + column] = statistics.median(seconds)
