#!/usr/bin/env python3
"""The rows of the benchmark, and training steps, in PyTorch and JAX on the GPU of this machine, as JSON.

    python3 test/cudasim/calibration/peers.py [--rows 'softmax|gpt'] > peers.json

Times are medians in microseconds on the device, of calls that follow each other without waiting; "wait" is the
time until the host has seen the end of one call. "bytes" counts each input and output once, without what is
computed between.
"""

import argparse
import json
import re
import statistics
import sys
import time


def torch_timing(torch, call, budget=0.25):
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    once = max(time.perf_counter() - start, 1e-5)
    inner = max(1, min(200, int(0.01 / once)))
    times, waits = [], []
    for _ in range(max(5, min(40, int(budget / (once * inner))))):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(inner):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / inner)
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        waits.append((time.perf_counter() - start) * 1e6)
    return {"device": round(statistics.median(times), 2), "wait": round(statistics.median(waits), 2)}


def jax_timing(call, budget=0.25):
    for _ in range(3):
        out = call()
    out.block_until_ready()
    start = time.perf_counter()
    call().block_until_ready()
    once = max(time.perf_counter() - start, 1e-5)
    inner = max(1, min(200, int(0.01 / once)))
    times, waits = [], []
    for _ in range(max(5, min(40, int(budget / (once * inner))))):
        start = time.perf_counter()
        for _ in range(inner):
            out = call()
        out.block_until_ready()
        times.append((time.perf_counter() - start) * 1e6 / inner)
        start = time.perf_counter()
        call().block_until_ready()
        waits.append((time.perf_counter() - start) * 1e6)
    return {"device": round(statistics.median(times), 2), "wait": round(statistics.median(waits), 2)}


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
        "softmax_32768": (lambda x: torch.softmax(x, 1), lambda: (n(2048, 32768),), 8 * large),
        "softmax_131072": (lambda x: torch.softmax(x, 1), lambda: (n(512, 131072),), 8 * large),
        "layer_norm": (lambda x, w, b: functional.layer_norm(x, (1024,), w, b),
                       lambda: (n(65536, 1024), n(1024), n(1024)), 8 * large),
        "residual_norm_gelu": (lambda x, r, w, b: functional.gelu(functional.layer_norm(x + r, (1024,), w, b), approximate="tanh"),
                               lambda: (n(65536, 1024), n(65536, 1024), n(1024), n(1024)), 12 * large),
        "column_sum": (lambda x: (x * x).sum(0), lambda: (n(65536, 1024),), 4 * large),
        "column_sum_small": (lambda x: (x * x).sum(0), lambda: (n(8192, 1024),), 4 * 8192 * 1024),
        "full_sum": (lambda x: (x * x).sum(), lambda: (n(large),), 4 * large),
        "small_call": (lambda x, y: x * 2 + y * y - x, lambda: (n(8), n(8)), 96),
    }


def torch_steps(torch):
    functional = torch.nn.functional

    class Mlp(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256),
                                              torch.nn.ReLU(), torch.nn.Linear(256, 10))

        def forward(self, x):
            return self.layers(x.flatten(1).float() / 255)

    class Block(torch.nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
            self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
            self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

        def forward(self, x):
            b, t, w = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
            a = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(a.transpose(1, 2).reshape(b, t, w))
            return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))

    class Gpt(torch.nn.Module):
        def __init__(self, layers, width, heads, context, vocabulary=65):
            super().__init__()
            self.tokens, self.places = torch.nn.Embedding(vocabulary, width), torch.nn.Embedding(context, width)
            self.blocks = torch.nn.ModuleList([Block(width, heads) for _ in range(layers)])
            self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, vocabulary)

        def forward(self, x):
            h = self.tokens(x) + self.places(torch.arange(x.shape[1], device=x.device))
            for block in self.blocks:
                h = block(h)
            return self.head(self.norm(h))

    images = torch.randint(0, 256, (128, 28, 28), dtype=torch.uint8, device="cuda")
    labels = torch.randint(0, 10, (128,), device="cuda")
    text = torch.randint(0, 65, (16, 129), device="cuda")
    wide = torch.randint(0, 65, (32, 257), device="cuda")

    def step_of(model, loss_of, compiled):
        model = model.cuda()
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        forward = torch.compile(loss_of, mode=compiled) if compiled else loss_of

        def step():
            loss = forward(model)
            loss.backward()
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            return loss
        return step

    def gpt_loss(x):
        return lambda model: functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())

    return {
        "mlp_step": lambda compiled: step_of(Mlp(), lambda model: functional.cross_entropy(model(images), labels), compiled),
        "gpt_step_4x128": lambda compiled: step_of(Gpt(4, 128, 4, 128), gpt_loss(text), compiled),
        "gpt_step_6x384": lambda compiled: step_of(Gpt(6, 384, 6, 256), gpt_loss(wide), compiled),
    }


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
        "softmax_32768": (lambda x: jax.nn.softmax(x, 1), lambda: (n(2048, 32768),), 8 * large),
        "softmax_131072": (lambda x: jax.nn.softmax(x, 1), lambda: (n(512, 131072),), 8 * large),
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
            del values
            torch.cuda.empty_cache()
    for row, make in torch_steps(torch).items():
        if not re.search(arguments.rows, row):
            continue
        for column, mode in (("torch", None), ("torch.compile", "default"), ("torch.compile, graphs", "reduce-overhead")):
            try:
                step = make(mode)
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
    import os
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
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
    json.dump(results, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
