#!/usr/bin/env python3
"""Joins, windows and indices beside PyTorch: values, dtypes and gradients.

Elements are moved, not computed, and the inputs are multiples of 1/16, so that sums of them are exact too: results must be
equal, but for products (scatter_reduce prod) and ranges, which round.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F


def made(shape, seed, dtype=torch.float32):
    i = np.arange(int(np.prod(shape, dtype=np.int64)))
    return torch.from_numpy((((i * 7919 + seed * 104729) % 97 - 48) / 16).astype(np.float32)).reshape(shape).to(dtype)


def ints(values, shape):
    return torch.tensor(values, dtype=torch.int64).reshape(shape)


def triangles(x, u):
    return [x.tril(), x.triu(), x.tril(2), x.triu(-1), x.tril(-9)]


def embedding(x, u):
    i = ints([0, 3, 3, 4, 2, 3], (2, 3))
    return [F.embedding(i, x), F.embedding(i, x, padding_idx=3), F.embedding(i, x, padding_idx=-1)]


def scatter_reduce(x, u):
    i, a, b = ints([0, 4, 0, 0, 4, 4], (2, 3)), x.detach(), u.detach()
    return [a.scatter_reduce(0, i, b, "prod"), a.scatter_reduce(0, i, b, "amax"), a.scatter_reduce(0, i, b, "amin"),
            x.scatter_reduce(0, i, u[:, :3], "sum")]


def index(x, u):
    y = x.unsqueeze(1)
    return [x[ints([0, -1, 2], (3,))], x[ints([0, 4], (2, 1)), ints([-7, 6, 6], (3,))], x[:, ints([1, -1], (2,))],
            y[ints([1, 1], (2,)), :, ints([3, -2], (2,))]]


def index_put(x, u):
    return [x.index_put((ints([3, -5], (2,)),), u), x.index_put((ints([3, 3], (2,)),), u, accumulate=True),
            x.index_put((ints([0, -1], (2,)), ints([2, -7], (2,))), u[1][:2]),
            x.index_put((torch.arange(5)[:, None], ints([2, 4], (2,))), u[0][:1], accumulate=True)]


def meshgrid(x, u):
    return [*torch.meshgrid(torch.arange(3), torch.arange(2), indexing="ij"),
            *torch.meshgrid(torch.arange(3), torch.arange(2), indexing="xy")]


CASES = {
    "cat": lambda x, u: [torch.cat([x, u, x], 0), torch.cat([x, x * 2], 1), torch.cat([x, x], -1)],
    "cat_promotes": lambda x, u: [torch.cat([x.half(), ints([1, 2, 3], (1, 3)).expand(5, 3)], 1)],
    "stack": lambda x, u: [torch.stack([x, x + 1], 0), torch.stack([x, x * x], -1)],
    "split": lambda x, u: x.split(3, 1),
    "split_sizes": lambda x, u: x.split([1, 0, 4], 0),
    "chunk": lambda x, u: x.chunk(3, 1),
    "unbind": lambda x, u: x.unbind(0),
    "narrow": lambda x, u: [x.narrow(1, 2, 4), x.narrow(0, -3, 2)],
    "repeat": lambda x, u: [x.repeat(2, 3), x.repeat(2, 1, 2), x.tile((2,))],
    "repeat_interleave": lambda x, u: [x.repeat_interleave(3, 0), x.repeat_interleave(2, 1), x.repeat_interleave(2)],
    "flip": lambda x, u: [x.flip(0), x.flip(1), x.flip(1, 0)],
    "roll": lambda x, u: [x.roll(2, 1), x.roll((-1, 3), (0, 1)), x.roll(4), x.roll(9, 0)],
    "pad": lambda x, u: [F.pad(x, (1, 2)), F.pad(x, (1, 2, 3, 0), value=0.5), F.pad(x, (-1, 2)),
                         F.pad(x, (-2, -1, -1, 1), value=-2)],
    "triangles": triangles,
    "gather": lambda x, u: [x.gather(1, ints([0, 6, 3, 3, 1, 2], (3, 2))), x.gather(0, ints([4, 4, 0, 1], (2, 2)))],
    "index_select": lambda x, u: [x.index_select(0, ints([4, 0, 0, 2], (4,))), x.index_select(1, ints([6, 6, 1], (3,)))],
    "take": lambda x, u: [x.take(ints([0, 34, -1, -35, 7, 7], (2, 3)))],
    "index": index,
    "embedding": embedding,
    "scatter": lambda x, u: [x.scatter(0, ints([0, 4, 2, 3, 1, 0], (2, 3)), u[:, :3]), x.scatter(1, ints([6, 0], (2, 1)), u[:, 2:3]),
                             x.scatter(1, ints([5, 2], (2, 1)), 1.25)],
    "scatter_add": lambda x, u: [x.scatter_add(0, ints([0, 4, 0, 0, 4, 4], (2, 3)), u[:, :3]),
                                 x.scatter_add(0, ints([1, 1], (2, 1)).expand(2, 7), u)],
    "scatter_reduce": scatter_reduce,
    "index_add": lambda x, u: [x.index_add(0, ints([3, 3], (2,)), u), x.index_add(0, ints([1, 0], (2,)), u, alpha=2.5)],
    "index_copy": lambda x, u: [x.index_copy(0, ints([3, 0], (2,)), u)],
    "index_put": index_put,
    "masked_fill": lambda x, u: [x.masked_fill(x > 0.5, -1), x.masked_fill(x < 0, 2)],
    "ranges": lambda x, u: [torch.arange(2, 11, 3), torch.arange(5, -5, -4), torch.arange(0.5, 3.0, 0.25),
                            torch.linspace(-1, 2, 7), torch.linspace(3, 3, 1), torch.eye(3), torch.eye(2, 4),
                            F.one_hot(ints([0, 2, 1], (3,)), 4), F.one_hot(ints([0, 2], (1, 2)))],
    "meshgrid": meshgrid,
}


def main():
    passed = failed = 0

    def check(what, ours, theirs, rounds=False):
        nonlocal passed, failed
        theirs = theirs.detach().numpy()
        same = ours.shape == theirs.shape and ours.dtype == theirs.dtype and (
            np.allclose(ours, theirs, rtol=1e-6, atol=1e-6) if rounds else np.array_equal(ours, theirs))
        passed, failed = passed + same, failed + (not same)
        if not same:
            print(f"FAILED {what}: expected {theirs.dtype}{theirs.shape}\n{theirs}\nfound {ours.dtype}{ours.shape}\n{ours}")

    program = os.path.join(os.environ["WEFT_BUILD"], "bin", "weft-parity-indexing")
    with tempfile.TemporaryDirectory(prefix="weft-parity-") as folder:
        subprocess.run([program, folder], check=True)
        written = set(os.listdir(folder))
        for name, case in CASES.items():
            x, u = made((5, 7), 1).requires_grad_(), made((2, 7), 2).requires_grad_()
            loss = None
            for number, result in enumerate(case(x, u)):
                file = f"{name}.{number}.npy"
                written.discard(file)
                check(f"{name} {number}", np.load(os.path.join(folder, file)), result,
                      rounds=name in ("ranges", "scatter_reduce"))
                if result.requires_grad:
                    part = (result.float() * made(result.shape, 4 + number)).sum()
                    loss = part if loss is None else loss + part
            if loss is None:
                continue
            loss.backward()
            for leaf, tensor in (("x", x), ("u", u)):
                if tensor.grad is not None:
                    file = f"{name}.grad_{leaf}.npy"
                    written.discard(file)
                    check(f"{name} gradient of {leaf}", np.load(os.path.join(folder, file)), tensor.grad)
        for file in sorted(written):
            failed += 1
            print(f"FAILED {file}: has no counterpart")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
