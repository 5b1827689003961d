"""First calls of training steps, in fresh processes."""

import json
import os
import shutil
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# The step of each row, and which process of several that share their caches.
COMPILE_ROWS = {"cold_compile": ("mlp_step", 0), "disk_compile": ("mlp_step", 1), "gpt_compile": ("gpt_step", 0),
                "lstm_compile": ("lstm_layers_step", 0), "resnet_compile": ("resnet_step", 0)}
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
    """What a training step's first call takes beyond a later one."""
    made = {name: {"results": {}, "errors": {}, "figures": {}, "bytes": 0, "note": ""} for name in names}
    for step in dict.fromkeys(COMPILE_ROWS[name][0] for name in names):
        rows = {COMPILE_ROWS[name][1]: made[name] for name in names if COMPILE_ROWS[name][0] == step}
        for column, times in (("weft", visits), ("torch.compile", 1), ("jax", 3)):
            if column in columns:
                visit_compile_rows(rows, step, column, times, commands, environment, merge)
    for row in made.values():
        row["figures"] = {key: statistics.median(values) for key, values in row["figures"].items()}
    return made


def visit_compile_rows(rows, step, column, times, commands, environment, merge):
    """Adds to the rows of one step, by the process that they are about, what `times` visits of a column find."""
    for _ in range(times):
        for which, found in enumerate(in_fresh_processes(commands.first(column, step), environment, max(rows) + 1)):
            row = rows.get(which, {"results": {}, "errors": {}, "figures": {}})
            if isinstance(found, str):
                for each in rows.values():
                    each["errors"][column] = found
                return
            value = max(found["first_ms"] - (0 if column == "torch.compile" else found["third_ms"]), 0)
            merge(row["results"], {column: {"ms": value, "samples_ms": [value]}})
            for key in ("setup_ms", "compile_ms", "pass_ms", "machine_code_ms", "processor_ms"):
                if key in found:
                    row["figures"].setdefault(key, []).append(found[key])


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
