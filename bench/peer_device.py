#!/usr/bin/env python3
"""The rows of the benchmark, and training steps, in PyTorch and JAX on the GPU of this machine, as JSON.

    python3 bench/peer_device.py [--rows 'softmax|gpt'] > peers.json

Times are medians in microseconds on the device, of calls that follow each other without waiting; "wait" is the
time until the host has seen the end of one call. "bytes" counts each input and output once, without what is
computed between.
"""

import argparse
import json
import os
import re
import statistics
import sys
import time

from peer_timing import STEPS


def timing_of(call, wait, seconds_of, budget):
    """`seconds_of` runs so many calls that follow each other, and says how long they took."""
    for _ in range(3):
        call()
    wait()

    def single():
        start = time.perf_counter()
        call()
        wait()
        return time.perf_counter() - start

    once = max(single(), 1e-5)
    inner = max(1, min(200, int(0.01 / once)))
    times, waits = [], []
    for _ in range(max(5, min(40, int(budget / (once * inner))))):
        times.append(seconds_of(inner) * 1e6 / inner)
        waits.append(single() * 1e6)
    return {"device": round(statistics.median(times), 2), "wait": round(statistics.median(waits), 2)}


def torch_timing(torch, call, budget=0.25):
    def seconds_of(calls):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e-3

    return timing_of(call, torch.cuda.synchronize, seconds_of, budget)


def jax_step_timing(call, wait, budget=1.0):
    """JAX has no events: `device` is the clock's, of calls that follow each other."""
    def seconds_of(calls):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        wait()
        return time.perf_counter() - start

    return timing_of(call, wait, seconds_of, budget)


def jax_timing(call, budget=0.25):
    box = [None]

    def again():
        box[0] = call()

    return jax_step_timing(again, lambda: box[0].block_until_ready(), budget)


def torch_rows(torch):
    functional = torch.nn.functional
    device = "cuda"
    n = lambda *shape: torch.randn(*shape, device=device)  # noqa: E731
    large = 1 << 26
    return {
        "copy": (lambda x: x.clone(), lambda: (n(large),), 8 * large),
        "mul_add": (lambda x, y: x * 2 + y * y - x, lambda: (n(large), n(large)), 12 * large),
        "gelu_sigmoid": (lambda x, y, z: functional.gelu(x * y + z, approximate="tanh") * torch.sigmoid(z),
                         lambda: (n(large), n(large), n(large)), 16 * large),
        "bias_relu": (lambda x, r, c: torch.relu((x + r) * c), lambda: (n(8192, 8192), n(8192), n(8192, 1)), 8 * large),
        "transpose_add": (lambda x, y: x.T + y, lambda: (n(8192, 8192), n(8192, 8192)), 12 * large),
        "softmax_1024": (lambda x: torch.softmax(x, 1), lambda: (n(65536, 1024),), 8 * large),
        **{f"softmax_{columns}": (lambda x: torch.softmax(x, 1), lambda columns=columns: (n(large // columns, columns),), 8 * large)
           for columns in (8192, 16384, 32768, 131072)},
        "layer_norm": (lambda x, w, b: functional.layer_norm(x, (1024,), w, b),
                       lambda: (n(65536, 1024), n(1024), n(1024)), 8 * large),
        **{f"layer_norm_{columns}": (lambda x, w, b: functional.layer_norm(x, w.shape, w, b),
                                     lambda columns=columns: (n(large // columns, columns), n(columns), n(columns)), 8 * large)
           for columns in (8192, 32768)},
        "residual_norm_gelu": (lambda x, r, w, b: functional.gelu(functional.layer_norm(x + r, (1024,), w, b), approximate="tanh"),
                               lambda: (n(65536, 1024), n(65536, 1024), n(1024), n(1024)), 12 * large),
        "column_sum": (lambda x: (x * x).sum(0), lambda: (n(65536, 1024),), 4 * large),
        "column_sum_small": (lambda x: (x * x).sum(0), lambda: (n(8192, 1024),), 4 * 8192 * 1024),
        "full_sum": (lambda x: (x * x).sum(), lambda: (n(large),), 4 * large),
        "small_call": (lambda x, y: x * 2 + y * y - x, lambda: (n(8), n(8)), 96),
        "product_f32": (lambda a, b: a @ b, lambda: (n(4096, 4096), n(4096, 4096)), None),
        "product_bf16": (lambda a, b: a @ b, lambda: (n(8192, 8192).bfloat16(), n(8192, 8192).bfloat16()), None),
        "attention_f16": (lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
                          lambda: tuple(n(4, 16, 2048, 64).half() for _ in range(3)), None),
    }


def torch_large_gpt(torch):
    """A training step of a GPT with 6 layers of width 384, as weft::models::Gpt has them."""
    functional = torch.nn.functional
    layers, width, heads, length, words = 6, 384, 6, 256, 65

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
            self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
            self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

        def forward(self, x):
            b, t, w = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, heads, w // heads).permute(2, 0, 3, 1, 4)
            a = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(a.transpose(1, 2).reshape(b, t, w))
            return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))

    class Gpt(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = torch.nn.Embedding(words, width), torch.nn.Embedding(length, width)
            self.blocks = torch.nn.Sequential(*(Block() for _ in range(layers)))
            self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, words, bias=False)

        def forward(self, x):
            places = self.places(torch.arange(x.shape[1], device=x.device))
            return self.head(self.norm(self.blocks(self.tokens(x) + places)))

    def make(compiled, mode):
        model = Gpt().cuda()
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=None if compiled else True)
        text, following = (torch.randint(0, words, (32, length), device="cuda") for _ in range(2))

        def step():
            loss = functional.cross_entropy(model(text).flatten(0, 1), following.flatten())
            loss.backward()
            optimiser.step()
            optimiser.zero_grad()
            return loss.detach()
        return torch.compile(step, mode=mode) if compiled else step
    return make


def torch_steps(torch):
    """For each row, a function that makes the step: eager, or compiled in a mode of torch.compile."""
    import peer_torch_steps

    made = {row: lambda compiled, mode, row=row: peer_torch_steps.steps(row, compiled, "cuda", mode)[-1] for row in STEPS}
    return {**made, "gpt_step_6x384": torch_large_gpt(torch)}


def jax_rows(jax):
    jnp = jax.numpy
    large = 1 << 26
    key = jax.random.key(0)
    n = lambda *shape: jax.random.normal(key, shape, dtype=jnp.float32)  # noqa: E731

    def layer_norm(x, w, b):
        mean = x.mean(1, keepdims=True)
        var = ((x - mean) ** 2).mean(1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(var + 1e-5) * w + b

    return {
        "mul_add": (lambda x, y: x * 2 + y * y - x, lambda: (n(large), n(large)), 12 * large),
        "gelu_sigmoid": (lambda x, y, z: jax.nn.gelu(x * y + z) * jax.nn.sigmoid(z),
                         lambda: (n(large), n(large), n(large)), 16 * large),
        "bias_relu": (lambda x, r, c: jax.nn.relu((x + r) * c), lambda: (n(8192, 8192), n(8192), n(8192, 1)), 8 * large),
        "transpose_add": (lambda x, y: x.T + y, lambda: (n(8192, 8192), n(8192, 8192)), 12 * large),
        "softmax_1024": (lambda x: jax.nn.softmax(x, 1), lambda: (n(65536, 1024),), 8 * large),
        **{f"softmax_{columns}": (lambda x: jax.nn.softmax(x, 1), lambda columns=columns: (n(large // columns, columns),), 8 * large)
           for columns in (8192, 16384, 32768, 131072)},
        "layer_norm": (layer_norm, lambda: (n(65536, 1024), n(1024), n(1024)), 8 * large),
        "residual_norm_gelu": (lambda x, r, w, b: jax.nn.gelu(layer_norm(x + r, w, b)),
                               lambda: (n(65536, 1024), n(65536, 1024), n(1024), n(1024)), 12 * large),
        "column_sum": (lambda x: (x * x).sum(0), lambda: (n(65536, 1024),), 4 * large),
        "column_sum_small": (lambda x: (x * x).sum(0), lambda: (n(8192, 1024),), 4 * 8192 * 1024),
        "full_sum": (lambda x: (x * x).sum(), lambda: (n(large),), 4 * large),
        "small_call": (lambda x, y: x * 2 + y * y - x, lambda: (n(8), n(8)), 96),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=".", help="a regular expression")
    arguments = parser.parse_args()
    results = {}

    def note(row, column, value, size=None):
        results.setdefault("rows", {}).setdefault(row, {})[column] = value
        if size and "device" in value:
            value["gigabytes_a_second"] = round(size / value["device"] * 1e-3)
        print(row, column, value, file=sys.stderr, flush=True)

    import torch
    results["device"] = torch.cuda.get_device_name()
    results["torch"] = torch.__version__
    with torch.no_grad():
        for row, (function, inputs, size) in torch_rows(torch).items():
            if not re.search(arguments.rows, row):
                continue
            try:
                values = inputs()
                note(row, "torch", torch_timing(torch, lambda: function(*values)), size)
                start = time.perf_counter()
                compiled = torch.compile(function)
                compiled(*values)
                torch.cuda.synchronize()
                first = time.perf_counter() - start
                timing = torch_timing(torch, lambda: compiled(*values))
                timing["first_call_seconds"] = round(first, 2)
                note(row, "torch.compile", timing, size)
            except Exception as error:  # a peer that fails is a result, too
                note(row, "torch.compile", {"failed": str(error)[:200]})
            values = None
            torch.cuda.empty_cache()
    for row, make in torch_steps(torch).items():
        if not re.search(arguments.rows, row):
            continue
        for column, compiled, mode in (("torch", False, None), ("torch.compile", True, None),
                                       ("torch.compile, graphs", True, "reduce-overhead")):
            try:
                step = make(compiled, mode)
                start = time.perf_counter()
                step()
                torch.cuda.synchronize()
                first = time.perf_counter() - start
                for _ in range(5):
                    step()
                timing = torch_timing(torch, step, 1.0)
                timing["first_call_seconds"] = round(first, 2)
                note(row, column, timing)
            except Exception as error:  # a peer that fails is a result, too
                note(row, column, {"failed": str(error)[:200]})
            torch._dynamo.reset()
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    try:
        import jax
    except ImportError as error:
        results["jax"] = f"missing: {error}"
        json.dump(results, sys.stdout, indent=1)
        print()
        return
    results["jax"] = jax.__version__
    for row, (function, inputs, size) in jax_rows(jax).items():
        if not re.search(arguments.rows, row):
            continue
        try:
            values = inputs()
            compiled = jax.jit(function)
            start = time.perf_counter()
            compiled(*values).block_until_ready()
            first = time.perf_counter() - start
            timing = jax_timing(lambda: compiled(*values))
            timing["first_call_seconds"] = round(first, 2)
            note(row, "jax", timing, size)
            del values
        except Exception as error:
            note(row, "jax", {"failed": str(error)[:200]})
    import peer_jax_steps
    for row in STEPS:
        if not re.search(arguments.rows, row):
            continue
        try:
            for call, wait in peer_jax_steps.steps(row):
                start = time.perf_counter()
                call()
                wait()
                first = time.perf_counter() - start
                timing = jax_step_timing(call, wait)
                timing["first_call_seconds"] = round(first, 2)
                known = results.get("rows", {}).get(row, {}).get("jax")
                if not known or timing["device"] < known["device"]:
                    note(row, "jax", timing)
        except Exception as error:
            note(row, "jax", {"failed": str(error)[:200]})
    json.dump(results, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
