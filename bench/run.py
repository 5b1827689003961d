#!/usr/bin/env python3
"""Runs Weft's rows and the peers' in turn, and prints one table. `scripts/bench` builds and calls this.

    scripts/bench                        everything; some minutes, most of it torch.compile
    scripts/bench --no-torch-compile     without what takes longest
    scripts/bench --rows 'softmax|_sum'
    scripts/bench --record               also writes bench/results/<date>-<processor>.json
    scripts/bench --against FOLDER       this build beside another one, without peers: what a change costs
    scripts/bench --neighbours 2         the training steps, quiet and beside 2 busy processes
    scripts/bench --quota                the training steps in a control group with a quota
    scripts/bench --device cuda:0        the rows of a GPU, beside PyTorch and JAX on it
"""

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import bars  # noqa: E402
import device  # noqa: E402
import neighbours  # noqa: E402
import paired  # noqa: E402
import quota  # noqa: E402
import servers  # noqa: E402
from call_times import STEP_ROWS  # noqa: E402
from first_calls import ADAM_ROWS, COMPILE_ROWS, Commands, add_first_calls, compile_rows  # noqa: E402
from servers import Server  # noqa: E402

TITLES = {
    "copy": "copy 64 MB",
    "mul_add": "x*2 + y*y - x, 16M",
    "gelu_sigmoid": "gelu(x*y+z) * sigmoid(z), 16M",
    "bias_relu": "relu((x+row) * col), 4096^2",
    "transpose_add": "x.T + y, 4096^2",
    "softmax": "softmax, 8192 x 1024",
    "layer_norm": "layer_norm, 8192 x 1024",
    "residual_norm_gelu": "gelu(layer_norm(x+r)), 8192 x 1024",
    "column_sum": "column sum of squares, 8192 x 1024",
    "full_sum": "full sum of squares, 16M",
    "softmax_middle": "softmax, dim 1 of 64 x 197 x 768",
    "norm_middle": "normalised, dim 1 of 64 x 197 x 768",
    "mean_middle": "mean, dim 1 of 64 x 197 x 768",
    "var_middle": "variance, dim 1 of 64 x 197 x 768",
    "one_row": "one row through 784-512-256-10",
    "mlp_step": "MLP training step",
    "deep_step": "20 layers of 64, training step",
    "lstm_step": "LSTM of 20 steps, training step",
    "lstm_layers_step": "nn::LSTM, 2 x 256, 64 steps, training step",
    "gpt_step": "GPT 4 x 128, training step",
    "gpt_long_step": "GPT 4 x 128, 4 x 512 tokens, training step",
    "gpt_token": "GPT 4 x 128, one token with a cache",
    "resnet_step": "ResNet-18 at 32^2, training step",
    "resnet_fast_step": "the same with fast numerics",
    "adam_300": "Adam over 300 tensors of 64^2",
    "adam_3000": "Adam over 3,000 tensors of 64^2",
    "loader_step": "MLP training step, two loader workers",
    "alternating": "8 x (matmul, kernel)",
    "small_call": "cached call, 8 elements",
    "product_i32": "i32 matmul, 512^3",
    "product_bf16": "bf16 matmul, 512^3",
    "product_f16": "f16 matmul, 512^3",
    "product_f64": "f64 matmul, 512^3",
    **{f"conv_{kind}{back}": f"convolution {shape}{', gradients' if back else ''}"
       for back in ("", "_gradients")
       for kind, shape in (("3x3", "3x3, 64-64 at 32^2"), ("3x3_deep", "3x3, 256-256 at 8^2"), ("1x1", "1x1, 64-64 at 32^2"),
                           ("7x7", "7x7, 3-64 at 32^2"), ("depthwise", "3x3 depthwise, 64 at 32^2"))},
    "batch_norm": "batch_norm and its derivative, 32 x 64 x 32^2",
    "max_pool": "max_pool2d 3x3, stride 2, 32 x 64 x 56^2",
    "bilinear": "twice the size, bilinear, 16 x 64 x 64^2",
    "sort": "sort of 1,000,000 f32",
    "topk": "the 10 largest of 1,000,000 f32",
    "topk_1000": "the 1,000 largest of 1,000,000 f32",
    "cholesky": "Cholesky factor of 512^2 f32",
    "linalg_solve": "system of 512 equations, 512 right sides",
    "qr": "QR of 512^2 f32",
    "eigh": "eigenvectors of 512^2 f32, symmetric",
    "svd": "singular vectors of 512^2 f32",
    "solve_batch": "1,000 systems of 8 equations",
    "svd_batch": "singular vectors of 64 times 64^2 f32",
    "fft": "Fourier, complex, 64 x 1,024 f32",
    "fft_long": "Fourier, complex, 64 x 65,536 f32",
    "fft_one": "Fourier, complex, 1,048,576 f32",
    "fft_prime": "Fourier, complex, 64 x 1,009 f32",
    "fft2": "Fourier, complex, 512^2 f32",
    "rfft": "Fourier, real, 64 x 65,536 f32",
    "cold_compile": "MLP step: compile, no caches",
    "disk_compile": "MLP step: compile, disk cache",
    "gpt_compile": "GPT step: compile, no caches",
    "lstm_compile": "nn::LSTM step: compile, no caches",
    "resnet_compile": "ResNet-18 step: compile, no caches",
    "runtime_size": "libweft-runtime.so, stripped",
}
SECOND = {"alternating": "parts", "loader_step": "plain"}  # what the column of the loop has instead
COLUMNS = ["torch eager", "torch.compile", "jax", "drjit"]
PEER_OF = {"torch eager": "torch", "torch.compile": "torch", "jax": "jax", "drjit": "drjit"}


def note(text):
    print(text, file=sys.stderr, flush=True)


def cpu_model():
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def commit():
    def git(*arguments):
        return subprocess.run(["git", "-C", HERE, *arguments], capture_output=True, text=True).stdout.strip()
    return git("rev-parse", "--short", "HEAD") + (" with changes" if git("status", "--porcelain", "-uno") else "")


def merge(into, results):
    """Adds samples of a further visit to a row."""
    for column, found in results.items():
        known = into.setdefault(column, {"samples_ms": [], "visits_ms": []})
        known["samples_ms"] += found["samples_ms"]
        known["visits_ms"].append(found["ms"])
        known["ms"] = statistics.median(known["samples_ms"])
        known["min_ms"] = min(known["samples_ms"])
        if len(known["samples_ms"]) > 3:
            low, _, high = statistics.quantiles(known["samples_ms"], n=4)
            known["spread"] = (high - low) / known["ms"]


def run_row(name, weft, peers):
    """Ours, every peer, and ours again, so that a machine that changes its speed shows."""
    row = {"results": {}, "errors": {}, "figures": {}, "bytes": 0, "note": ""}

    def ours():
        answer = weft.ask(name)
        merge(row["results"], answer["results"])
        row["bytes"] = answer.get("bytes", row["bytes"])
        row["note"] = answer.get("note", row["note"])
        row["figures"].update(answer.get("figures", {}))
        if "error" in answer:
            row["errors"]["weft"] = answer["error"]

    ours()
    for peer, server in peers.items():
        answer = server.ask(name)
        merge(row["results"], answer["results"])
        if "error" in answer:
            row["errors"][peer] = answer["error"]
    if "weft" not in row["errors"]:
        ours()
    return row


def runtime_size(build):
    row = {"results": {}, "errors": {}, "figures": {}, "bytes": 0, "note": ""}
    library = os.path.join(build, "lib", "libweft-runtime.so")
    strip = shutil.which("llvm-strip-19") or shutil.which("strip")
    if not strip:
        row["errors"]["weft"] = "neither llvm-strip-19 nor strip is installed"
        return row
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as folder:
        target = os.path.join(folder, "stripped.so")
        done = subprocess.run([strip, "-o", target, library], capture_output=True, text=True)
        if done.returncode != 0:
            row["errors"]["weft"] = done.stderr.strip()
        else:
            row["figures"]["megabytes"] = os.path.getsize(target) / 1e6
    return row


def against(names, options, environment):
    """This build beside the one of another folder."""
    builds = (options.against, options.build)
    for build in builds:
        if not os.access(os.path.join(build, "bin", "weft-bench"), os.X_OK):
            sys.exit(f"bench: {build} has no bin/weft-bench: build it there with 'ninja -C {build} weft-bench'")
    environments = [paired.environment_of(build, environment) for build in builds]
    binaries = [os.path.join(build, "bin", "weft-bench") for build in builds]
    servers = [Server([binary, "--serve"], own) for binary, own in zip(binaries, environments)]

    def visit(which, name):
        if name not in COMPILE_ROWS:
            return servers[which].ask(name)
        row = compile_rows([name], Commands(binaries[which], None, options.threads), ["weft"], environments[which],
                           merge, visits=1)[name]
        return {"results": row["results"], **({"error": row["errors"]["weft"]} if row["errors"] else {})}

    load = os.getloadavg()[0]
    rows = paired.compare([name for name in names if name not in ("copy", "runtime_size")], visit, options.rounds, note)
    for server in servers:
        server.stop()
    print(f"{cpu_model()}, {options.threads} threads, {options.rounds} rounds, load {load:.1f} before\n")
    slower = paired.report(rows, TITLES)
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"cpu": cpu_model(), "threads": options.threads, "load_before": load, "rows": rows}, out, indent=1)
    return 1 if slower else 0


def disturbed(names, options, environment, available):
    """The training steps beside busy processes, or with a quota of processor time."""
    names = [name for name in STEP_ROWS if name in names]
    if not names:
        sys.exit(f"bench: --neighbours and --quota measure these rows: {', '.join(STEP_ROWS)}")
    commands = Commands(os.path.join(options.build, "bin", "weft-bench"), find_python(options.python), options.threads)
    load = os.getloadavg()[0]
    if options.quota:
        rows = quota.run(names, available, commands, environment, note)
    else:
        columns = ["weft"] + (["torch eager", "jax"] if options.with_peers else [])
        rows = neighbours.run(names, options.neighbours, columns, commands, environment, note)
    print(f"\n{cpu_model()}, {len(available) if options.quota else options.threads} processors, Weft at {commit()}, "
          f"load {load:.1f} before\n")
    if load > 0.5:
        print("warning: other work was running; repeat this on a quiet machine\n")
    if options.quota:
        quota.report(rows, TITLES)
    else:
        neighbours.report(rows, options.neighbours, TITLES)
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"cpu": cpu_model(), "threads": options.threads, "load_before": load, "rows": rows}, out, indent=1)
    failed = [row for row in rows.values() if "error" in row or any("error" in found for found in row.values())]
    return 1 if failed else 0


# ---------------------------------------------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------------------------------------------

def milliseconds(value):
    if value is None:
        return "-"
    if value < 0.1:
        return f"{value * 1e3:.2f} us"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def summarise(name, row):
    """Adds what is derived: ratios, share of copy bandwidth, verdicts."""
    medians = {column: found["ms"] for column, found in row["results"].items()}
    weft, hand, copy = (medians.get(column) for column in ("weft", "hand", "copy"))
    row["speed_of_hand"] = hand / weft if weft and hand else None
    row["share_of_copy"] = row["bytes"] / (weft or hand) / ((1 << 27) / copy) if (weft or hand) and copy and row["bytes"] else None
    best = min(((medians[column], column) for column in COLUMNS if column in medians), default=None)
    row["best_peer"] = best[1] if best else None
    row["over_best_peer"] = weft / best[0] if weft and best else None
    failed = any(who.startswith("weft") for who in row["errors"])  # a row that we cannot run is missed, whatever the peers did
    row["bars"] = [{"bar": text, "found": found, "limit": limit, "passed": False if failed else passed}
                   for text, found, limit, passed in bars.judge(name, medians, row["figures"])]
    visits = row["results"].get("weft", {}).get("visits_ms", [])
    row["drift"] = visits[-1] / visits[0] - 1 if len(visits) == 2 else None
    return row


def table(rows):
    head = ["row (ms)", "weft", "min", "+-", "drift", "hand", "x hand", "% copy", *COLUMNS, "x best peer", "must reach"]
    lines = [head]
    for name, row in rows.items():
        found = row["results"]
        weft = found.get("weft", {})
        value = lambda column: milliseconds(found.get(column, {}).get("ms"))
        percent = lambda number: "-" if number is None else f"{100 * number:.0f}%"
        ratio = lambda number: "-" if number is None else f"{number:.2f}"
        shown = row["figures"].get("megabytes")
        second = SECOND.get(name, "f32" if name.startswith("product") else "hand")
        cells = [TITLES[name], f"{shown:.1f} MB" if shown else value("weft"), milliseconds(weft.get("min_ms")),
                 percent(weft.get("spread")), percent(row["drift"]), value(second), ratio(row["speed_of_hand"]),
                 percent(row["share_of_copy"]), *[value(column) for column in COLUMNS], ratio(row["over_best_peer"])]
        verdicts = []
        for bar in row["bars"]:
            mark = {True: "ok", False: "MISSED", None: "not measured"}[bar["passed"]]
            detail = ""
            if bar["found"] is not None:
                shown = 1 / bar["found"] if bar["bar"].startswith(("hand", "f32")) else bar["found"]
                detail = f" ({shown:.3g})"
            verdicts.append(f"{mark}: {bar['bar']}{detail}")
        lines.append(cells + ["; ".join(verdicts) or "-"])
    widths = [max(len(line[i]) for line in lines) for i in range(len(head) - 1)]
    text = []
    for line in lines:
        cells = [line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:-1], widths[1:])]
        text.append("  ".join(cells) + "  " + line[-1])
    return "\n".join(text)


def report(result):
    print(f"\n{result['cpu']}, {result['threads']} threads, {result['date']}, Weft at {result['commit']}")
    print("peers: " + ", ".join(f"{peer} {state}" for peer, state in result["peers"].items()) + "\n")
    if result["load_before"] > 0.5:
        print(f"warning: other work was running (load {result['load_before']:.1f} before the start); "
              "repeat this on a quiet machine\n")
    print(table(result["rows"]))
    for name, row in result["rows"].items():
        figures = ", ".join(f"{key} {value:.4g}" for key, value in row["figures"].items() if value is not None)
        if figures or row["note"]:
            print(f"  {name}: " + "; ".join(part for part in (figures, row["note"]) if part))
        for who, error in row["errors"].items():
            print(f"  {name}: {who} failed: {error}")
    judged = [bar for row in result["rows"].values() for bar in row["bars"]]
    count = lambda state: sum(bar["passed"] is state for bar in judged)
    print(f"\n{count(True)} bars reached, {count(False)} missed, {count(None)} not measured")


def find_python(wanted):
    if wanted:
        return wanted
    own = os.path.join(HERE, "..", ".venv", "bin", "python")
    return own if os.access(own, os.X_OK) else sys.executable


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", metavar="REGEX", help="only the rows whose names match")
    parser.add_argument("--json", metavar="FILE", help="also write everything that was measured")
    parser.add_argument("--record", action="store_true", help="write bench/results/<date>-<processor>.json")
    parser.add_argument("--python", metavar="EXE", help="the Python that has the peers (default: .venv's, then this one)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-torch-compile", action="store_true", help="leave out torch.compile, which takes minutes")
    parser.add_argument("--no-peers", action="store_true", help="Weft and the hand-written loops alone")
    parser.add_argument("--verbose", action="store_true", help="show what the processes print on stderr")
    parser.add_argument("--build", default="build/release", help="the build folder (default: build/release)")
    parser.add_argument("--against", metavar="FOLDER", help="the build folder of another version: both alternately, and the "
                        "ratio of their times for each row")
    parser.add_argument("--rounds", type=int, default=9, help="with --against: visits of each build to each row (default: 9)")
    parser.add_argument("--neighbours", type=int, nargs="?", const=2, metavar="N", help="only the training steps, call by "
                        "call, quiet and beside N busy processes that this starts and ends (default: 2)")
    parser.add_argument("--with-peers", action="store_true", help="with --neighbours: PyTorch's eager and JAX's steps too")
    parser.add_argument("--quota", action="store_true", help="only the training steps, in a control group that may use 1 "
                        "and 1.5 processors, beside as many processors by affinity; it is removed at the end")
    parser.add_argument("--device", metavar="NAME", help="the rows of this CUDA device, by its own clock, beside PyTorch and JAX")
    options = parser.parse_args()
    servers.VERBOSE = options.verbose
    if options.threads < 1:
        parser.error(f"--threads must be at least 1, found {options.threads}")
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1, found {options.rounds}")
    if options.neighbours is not None and options.neighbours < 1:
        parser.error(f"--neighbours must be at least 1, found {options.neighbours}")
    if (options.against is not None) + (options.neighbours is not None) + options.quota + (options.device is not None) > 1:
        parser.error("--against, --neighbours, --quota and --device are runs of their own: give one of them")
    try:
        wanted = re.compile(options.rows)
    except re.error as error:
        parser.error(f"--rows is no regular expression: {error}")
    if options.device:
        code, result = device.run(options.device, options.rows, options.build, find_python(options.python), not options.no_peers,
                                  dict(os.environ))
        if options.json:
            with open(options.json, "w") as file:
                json.dump({"date": datetime.datetime.now().isoformat(timespec="seconds"), "commit": commit(), **result}, file, indent=1)
        return code
    names = [name for name in TITLES if wanted.search(name)]
    if not names:
        parser.error(f"no row matches '{options.rows}'; rows: {', '.join(TITLES)}")

    available_cpus = sorted(os.sched_getaffinity(0))
    if len(available_cpus) > options.threads:
        os.sched_setaffinity(0, available_cpus[:options.threads])
    environment = dict(os.environ, WEFT_NUM_THREADS=str(options.threads))
    # What was started is ended, and what was made removed, also when somebody ends this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended by SIGTERM"))
    if options.quota or options.neighbours:
        return disturbed(names, options, environment, available_cpus)
    if options.against:
        return against(names, options, environment)
    binary = os.path.join(options.build, "bin", "weft-bench")
    python = find_python(options.python)
    states, peers = {}, {}
    peer_rows = [name for name in names if name not in COMPILE_ROWS and name != "runtime_size"]
    if not options.no_peers:
        peers_file = os.path.join(HERE, "peers.py")
        listed = subprocess.run([python, peers_file, "--list"], capture_output=True, text=True)
        if listed.returncode != 0:
            sys.exit(f"bench: {python} cannot run {peers_file}: {listed.stderr.strip()}")
        for peer, there in json.loads(listed.stdout).items():
            if not there:
                states[peer] = "missing"
                continue
            note(f"bench: starting {peer}")
            command = [python, peers_file, "--serve", peer, "--threads", str(options.threads)]
            server = Server(command + (["--no-torch-compile"] if options.no_torch_compile else []), environment)
            if "error" in server.hello:
                states[peer] = "cannot start: " + server.hello["error"]
            else:
                states[peer] = server.hello["version"]
                peers[peer] = server
    else:
        states = {peer: "left out" for peer in ("torch", "jax", "drjit")}

    result = {"date": datetime.datetime.now().isoformat(timespec="seconds"), "cpu": cpu_model(),
              "threads": options.threads, "commit": commit(), "peers": states,
              "load_before": os.getloadavg()[0], "rows": {}}
    commands = Commands(binary, python, options.threads)
    columns = ["weft"] + [column for column in COLUMNS if PEER_OF[column] in peers and column != "drjit" and
                          not (column == "torch.compile" and options.no_torch_compile)]
    weft = Server([binary, "--serve"], environment) if peer_rows else None
    for i, name in enumerate(peer_rows):
        note(f"bench: [{i + 1}/{len(peer_rows)}] {name}")
        row = run_row(name, weft, peers)
        if name in ADAM_ROWS:
            add_first_calls(name, row, commands, [column for column in columns if column != "torch.compile"], environment)
        result["rows"][name] = summarise(name, row)
    for server in [*peers.values(), *([weft] if weft else [])]:
        server.stop()
    compiled = [name for name in names if name in COMPILE_ROWS]
    if compiled:
        note("bench: first calls of the training step in fresh processes")
        for name, row in compile_rows(compiled, commands, columns, environment, merge).items():
            result["rows"][name] = summarise(name, row)
    if "runtime_size" in names:
        result["rows"]["runtime_size"] = summarise("runtime_size", runtime_size(options.build))
    result["load_after"] = os.getloadavg()[0]

    report(result)
    files = [options.json] if options.json else []
    if options.record:
        slug = re.sub(r"[^a-z0-9]+", "-", result["cpu"].lower()).strip("-")
        files.append(os.path.join(HERE, "results", f"{result['date'][:10]}-{slug}.json"))
    for file in files:
        os.makedirs(os.path.dirname(os.path.abspath(file)), exist_ok=True)
        with open(file, "w") as out:
            json.dump(result, out, indent=1)
            out.write("\n")
        note(f"bench: wrote {file}")
    return 1 if any("weft" in row["errors"] for row in result["rows"].values()) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
