#!/usr/bin/env python3
"""Loops by scan, steps by cond and loops by while_loop, values and gradients, beside the same in PyTorch.

Long enough to be loops of the plan, and short enough to be unrolled. The bound: PyTorch in f32 is off from f64 by what
the rounding of its sums adds up to; Weft may be off by eight times that, plus 16 units in the last place of the largest
element. Gates are saturated nowhere, so that an error of a formula is seen.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from safetensors_file import read_safetensors


def lstm(given):
    """torch.nn.LSTM with these weights."""
    layer = torch.nn.LSTM(given["x"].shape[2], given["h"].shape[1]).to(given["x"].dtype)
    names = {"weight_ih_l0": "w", "bias_ih_l0": "b", "weight_hh_l0": "u", "bias_hh_l0": "v"}
    ys, (_, c) = torch.func.functional_call(layer, {name: given[short] for name, short in names.items()},
                                            (given["x"], (given["h"][None], given["c"][None])))
    return (ys * given["weigh"]).sum() + (c * c).sum()


def decayed(given):
    s, ys = given["s"], []
    for x, decay in zip(reversed(given["x"]), reversed(given["decay"])):
        s = s * torch.sigmoid(decay) + x
        ys.insert(0, s)
    ys = torch.stack(ys)
    return (ys * ys * given["weigh"]).sum()


def chosen(given):
    """torch.cond itself, which asks of its branches that they alias nothing."""
    x, total = given["x"], 0
    for limit in given["limits"]:
        def first(at, scale):
            y = torch.tanh(at @ given["w"] + given["b"])
            return y, (y * scale).sum()

        def second(at, scale):
            return at * scale - given["b"], at.mean()

        x, added = torch.cond(x.sum() > limit, first, second, (x, given["scale"]))
        total = total + added
    return (x * x * given["weigh"]).sum() + total


def grown(given):
    last, trips = torch.while_loop(lambda x, trips: x.abs().sum() < given["limit"],
                                   lambda x, trips: (x @ given["w"] + x, trips + 1),
                                   (given["x"], torch.zeros((), dtype=torch.int64)))
    return (last * given["y"]).sum() * trips


def waved(given):
    """A loop of Python: torch.while_loop passes no gradient through a carry that begins without one, as the sum."""
    x, total = given["x"], torch.zeros_like(given["x"])
    for _ in range(int(given["trips"])):
        x = torch.sin(x * given["w"]) + x * given["b"]
        total = total + x * x
    return (x * given["weigh"]).sum() + total.mean()


def read(given):
    h, total, squares = given["h"], 0, 0
    for token, target in zip(given["tokens"], given["targets"]):
        h = torch.tanh(torch.nn.functional.embedding(token, given["table"]) + h @ given["w"])
        total = total + torch.nn.functional.cross_entropy(h @ given["head"], target, weight=given["weigh"],
                                                          ignore_index=2, label_smoothing=0.1)
        squares = squares + (h * h).sum()
    return total + squares


def inputs(length):
    torch.manual_seed(length)
    batch, features, hidden = 3, 5, 4
    return {"lstm": {"x": torch.randn(length, batch, features), "h": torch.randn(batch, hidden),
                     "c": torch.randn(batch, hidden), "w": torch.randn(4 * hidden, features),
                     "b": torch.randn(4 * hidden), "u": torch.randn(4 * hidden, hidden),
                     "v": torch.randn(4 * hidden), "weigh": torch.randn(length, batch, hidden)},
            "chosen": {"x": torch.randn(batch, hidden), "w": torch.randn(hidden, hidden), "b": torch.randn(hidden),
                       "scale": torch.randn(hidden), "limits": torch.randn(min(length, 8)) * 2,
                       "weigh": torch.randn(batch, hidden)},
            "grown": {"x": torch.randn(batch, hidden) / 4, "w": torch.randn(hidden, hidden),
                      "limit": torch.tensor(float(length) ** 3), "y": torch.randn(batch, hidden)},
            "waved": {"x": torch.randn(batch, hidden), "w": torch.rand(hidden) + 0.5, "b": torch.rand(hidden) / 2,
                      "weigh": torch.randn(batch, hidden), "trips": torch.tensor(7 * length)},
            "read": {"h": torch.randn(batch, hidden), "table": torch.randn(7, hidden), "w": torch.randn(hidden, hidden),
                     "head": torch.randn(hidden, 7), "weigh": torch.rand(7) + 0.5,
                     "tokens": torch.randint(7, (length, batch)), "targets": torch.randint(7, (length, batch))},
            "decayed": {"s": torch.randn(hidden), "x": torch.randn(length, hidden),
                        "decay": torch.randn(length, hidden), "weigh": torch.randn(length, hidden)}}


def in_torch(given, dtype):
    made = {}
    for what, run in (("lstm", lstm), ("decayed", decayed), ("chosen", chosen), ("grown", grown),
                      ("waved", waved), ("read", read)):
        own = {name: tensor.clone().to(dtype).requires_grad_(name not in ("weigh", "limit", "limits"))
               if tensor.is_floating_point() else tensor for name, tensor in given[what].items()}
        loss = run(own)
        loss.backward()
        made[what + ".loss"] = loss.detach().double().numpy()
        made.update({f"{what}.{name}": tensor.grad.double().numpy() for name, tensor in own.items()
                     if tensor.grad is not None})
    return made


def main():
    passed = failed = 0
    program = os.path.join(os.environ["WEFT_BUILD"], "bin", "weft-parity-scan")
    for length in (3, 8, 40):
        given = inputs(length)
        exact, rough = in_torch(given, torch.float64), in_torch(given, torch.float32)
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "in.npz"), os.path.join(folder, "out.safetensors")
            np.savez(source, **{f"{what}.{name}": tensor.detach().numpy() for what, own in given.items()
                                for name, tensor in own.items()})
            for mode in ("lazy", "compiled", "called"):
                subprocess.run([program, source, target, mode], check=True)
                found = read_safetensors(target)
                for name, expected in exact.items():
                    largest = np.abs(expected).max()
                    bound = 8 * np.abs(rough[name] - expected).max() + 16 * 2**-24 * largest
                    off = np.abs(found[name].astype(np.float64) - expected).max()
                    ok = name in found and bool(off <= bound)
                    passed, failed = passed + ok, failed + (not ok)
                    if not ok:
                        print(f"FAILED {mode}, {length} trips, {name}: off by {off:.3g}, bound {bound:.3g}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
