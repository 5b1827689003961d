#!/usr/bin/env python3
"""The rows of the benchmark in PyTorch, JAX and Dr.Jit.

    python3 bench/peers.py                      every row of every peer that can be imported, as JSON
    python3 bench/peers.py --rows 'softmax|sum' some rows
    python3 bench/peers.py --list               which peers there are

`scripts/bench` starts one process a peer (--serve) and asks for one row at a time, so that peers and Weft take
turns; --first-step runs a training step in a fresh process and reports its first call.
"""

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import time

ROWS = ["copy", "mul_add", "gelu_sigmoid", "bias_relu", "transpose_add", "softmax", "layer_norm",
        "residual_norm_gelu", "column_sum", "full_sum", "softmax_middle", "norm_middle", "mean_middle", "var_middle",
        "one_row", "mlp_step", "deep_step", "lstm_step", "lstm_layers_step", "gpt_step", "gpt_long_step", "gpt_token", "resnet_step", "resnet_fast_step",
        "adam_300", "adam_3000", "small_call",
        "alternating", "product_i32", "product_bf16", "product_f16", "product_f64",
        *(f"conv_{kind}{back}" for back in ("", "_gradients") for kind in ("3x3", "3x3_deep", "1x1", "7x7", "depthwise")),
        "batch_norm", "max_pool", "bilinear", "sort", "topk", "topk_1000",
        "cholesky", "linalg_solve", "qr", "eigh", "svd", "solve_batch", "svd_batch",
        "fft", "fft_long", "fft_one", "fft_prime", "fft2", "rfft"]
PEERS = ["torch", "jax", "drjit"]


def limit_threads(threads):
    """Before any library starts its own: every peer gets the same processors and thread count."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) > threads:
        os.sched_setaffinity(0, cpus[:threads])


def make(peer, threads, compiled):
    """Imports the peer, after the limits of `limit_threads` are set."""
    if peer == "torch":
        from peer_torch import Torch
        return Torch(threads, compiled)
    if peer == "jax":
        from peer_jax import Jax
        return Jax(threads)
    from peer_drjit import DrJit
    return DrJit(threads)


def own_stdout():
    """The real stdout for our lines alone; what libraries print goes to stderr."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return out


def describe(error):
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"[:300]


def serve(peer, threads, compiled):
    out = own_stdout()

    def say(message):
        print(json.dumps(message), file=out, flush=True)

    try:
        framework = make(peer, threads, compiled)
    except Exception as error:  # a peer that cannot start is reported, not fatal
        say({"peer": peer, "error": describe(error)})
        return 1
    say({"peer": peer, "version": framework.version, "columns": framework.columns})
    for line in sys.stdin:
        row = line.strip()
        if not row:
            continue
        try:
            say({"row": row, "results": framework.run(row)})
        except Exception as error:
            say({"row": row, "results": {}, "error": describe(error)})
    return 0


def one_step(column, threads, step):
    """A training step of one column: a function that does one, and one that waits for it."""
    if column == "jax":
        framework = make("jax", threads, True)
        framework.jax.block_until_ready(framework.jax.numpy.zeros(1) + 1)
        return framework.first(step)
    return make("torch", threads, True).first(step, column == "torch.compile"), lambda: None


def first_step(column, threads, step):
    """The first call of a training step in this process, which is fresh; imports are not counted."""
    out = own_stdout()
    call, wait = one_step(column, threads, step)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        wait()
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"column": column, "first_ms": times[0], "third_ms": times[2]}), file=out, flush=True)
    return 0


def serve_calls(column, threads, step):
    """Every call of a training step by itself, as `weft-bench --calls` does it."""
    out = own_stdout()
    call, wait = one_step(column, threads, step)
    for _ in range(6):
        call()
        wait()
    print(json.dumps({"calls_of": step}), file=out, flush=True)
    for line in sys.stdin:
        seconds, least = line.split()
        call()
        wait()
        times = []
        start = last = time.perf_counter()
        while last - start < float(seconds) or len(times) < int(least):
            call()
            wait()
            now = time.perf_counter()
            times.append((now - last) * 1e3)
            last = now
        print(json.dumps({"calls_ms": times}), file=out, flush=True)
    return 0


def everything(rows, threads, compiled):
    report = {"threads": threads, "peers": {}, "rows": {}}
    for peer in PEERS:
        if importlib.util.find_spec(peer) is None:
            report["peers"][peer] = "missing"
            print(f"{peer}: missing", file=sys.stderr)
            continue
        command = [sys.executable, os.path.abspath(__file__), "--serve", peer, "--threads", str(threads)]
        command += [] if compiled else ["--no-torch-compile"]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        hello = json.loads(child.stdout.readline() or '{"error": "ended at once"}')
        report["peers"][peer] = hello.get("version", hello.get("error"))
        for row in rows if "version" in hello else []:
            print(f"{peer}: {row}", file=sys.stderr, flush=True)
            child.stdin.write(row + "\n")
            child.stdin.flush()
            answer = json.loads(child.stdout.readline() or '{"results": {}, "error": "the process ended"}')
            report["rows"].setdefault(row, {}).update(answer["results"])
            if "error" in answer:
                report["rows"][row][peer + " error"] = answer["error"]
        child.stdin.close()
        child.wait()
    print(json.dumps(report, indent=1))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", metavar="REGEX", help="only the rows whose names match")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-torch-compile", action="store_true", help="leave out torch.compile, which compiles for minutes")
    parser.add_argument("--list", action="store_true", help="print which peers can be imported")
    parser.add_argument("--serve", choices=PEERS, help="read row names on stdin, answer each with a line of JSON")
    columns = ["torch eager", "torch.compile", "jax"]
    parser.add_argument("--first-step", choices=columns, help="time the first call of a training step")
    parser.add_argument("--calls", choices=columns, help="time every call of a training step: for each line "
                        "'SECONDS FEWEST_CALLS' on stdin a line of JSON")
    parser.add_argument("--step", default="mlp_step", metavar="ROW", help="which step, of the two above (default: mlp_step)")
    options = parser.parse_args()
    limit_threads(options.threads)
    if options.list:
        print(json.dumps({peer: importlib.util.find_spec(peer) is not None for peer in PEERS}))
        return 0
    if options.serve:
        return serve(options.serve, options.threads, not options.no_torch_compile)
    if options.first_step:
        return first_step(options.first_step, options.threads, options.step)
    if options.calls:
        return serve_calls(options.calls, options.threads, options.step)
    rows = [row for row in ROWS if re.search(options.rows, row)]
    return everything(rows, options.threads, not options.no_torch_compile)


if __name__ == "__main__":
    sys.exit(main())
