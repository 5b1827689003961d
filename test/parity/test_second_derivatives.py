#!/usr/bin/env python3
"""Derivatives of derivatives of every function that has them in PyTorch, over PyTorch's own samples.

For each function of ops_table.py whose OpInfo has second derivatives: the gradients of a weighted sum of its results, and of
these, each element times the cosine of its number, the gradients with respect to the same leaves. Both sides compute in f64.
The bound is 1e-8 of the largest element, as second derivatives cancel; a rule that is wrong is off by whole factors.
"""

import collections
import itertools
import random
import sys

import numpy as np
import torch
from ops_table import TABLE, Skip
from test_ops import NAMES, Server, leaves_of, operator_database, results_of

SAMPLES = 2
TOLERANCE = 1e-8
# Functions whose second derivatives are others, with the reason; each has to fail, so that none stays here.
KNOWN = {name: "the triangle of the factor that is not read has no gradient; PyTorch's gradient is a whole matrix"
         for name in ("cholesky_inverse", "cholesky_solve")}
KNOWN["ctc_loss"] = "PyTorch has no derivative of its derivative"


def seconds_of_torch(function, arguments, keywords, cotangents, leaves):
    total = sum((result * cotangent).sum() for result, cotangent in zip(results_of(function(*arguments, **keywords)), cotangents)
                if result.requires_grad)
    parts = [(gradient * torch.cos(torch.arange(gradient.numel(), dtype=gradient.dtype)).reshape(gradient.shape)).sum()
             for gradient in torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
             if gradient is not None and gradient.requires_grad]
    return list(torch.autograd.grad(sum(parts), leaves, allow_unused=True)) if parts else [None] * len(leaves)


def difference(mine, theirs, like):
    a = torch.zeros_like(like) if mine is None else mine
    b = torch.zeros_like(like) if theirs is None else theirs.detach()
    if a.shape != b.shape:
        return f"of shape {list(a.shape)}, PyTorch has {list(b.shape)}"
    finite = a.isfinite() & b.isfinite()
    same = (a == b) | (a.isnan() & b.isnan())
    largest = max(b[finite].abs().max().item() if finite.any() else 0, 1)
    wrong = ~same & ~((a - b).abs() <= TOLERANCE * largest)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in wrong.nonzero()[0])
    return f"{a[at].item():.12g} at {list(at)}, PyTorch has {b[at].item():.12g}"


def check(server, entry, sample):
    arguments = entry.adapt(sample)
    if any(leaf.dtype not in NAMES or leaf.layout != torch.strided for leaf in leaves_of(arguments)):
        raise Skip("dtype or layout that Weft does not have")
    torch_arguments = (sample.input, *sample.args)
    plain = results_of(entry.function(*torch_arguments, **sample.kwargs))
    order = [leaf for leaf in leaves_of(list(torch_arguments) + list(sample.kwargs.values())) if leaf.requires_grad]
    mine_leaves = [leaf for leaf in leaves_of(arguments) if leaf.requires_grad]
    if not order or not any(result.requires_grad for result in plain):
        raise Skip("no gradient")
    generator = torch.Generator().manual_seed(7)
    cotangents = [torch.randint(1, 5, r.shape, generator=generator).to(r.dtype) / 4 for r in plain]
    theirs = seconds_of_torch(entry.function, torch_arguments, sample.kwargs, cotangents, order)
    outcome = server.call(entry.name, arguments, cotangents, second=True)
    if isinstance(outcome, str):
        return "error: " + outcome.splitlines()[0]
    mine = dict(zip(map(id, mine_leaves), outcome[1]))
    for leaf, one in zip(order, theirs):
        if wrong := difference(mine.get(id(leaf)), one, leaf.detach()):
            return "second derivative is " + wrong
    return None


def main():
    server, by_name = Server(), operator_database()
    passed = failed = functions = 0
    skipped, known = collections.Counter(), set()
    only = sys.argv[1:]
    for entry in TABLE:
        op = by_name.get((entry.op, entry.variant))
        if op is None or not op.supports_autograd or not op.supports_gradgrad or not entry.gradient:
            continue
        if torch.float64 not in op.dtypes or torch.float64 in entry.without or (only and entry.name not in only):
            continue
        torch.manual_seed(0)
        np.random.seed(0)
        random.seed(0)
        samples = list(itertools.islice(op.sample_inputs("cpu", torch.float64, requires_grad=True), 12))
        samples = [samples[i * len(samples) // SAMPLES] for i in range(SAMPLES)] if len(samples) > SAMPLES else samples
        good = 0
        for number, sample in enumerate(samples):
            try:
                wrong = check(server, entry, sample)
            except Skip as reason:
                skipped[str(reason)] += 1
                continue
            except (RuntimeError, BrokenPipeError, NotImplementedError) as error:
                wrong = f"{type(error).__name__}: {error}"
                if server.process.poll() is not None:
                    server.start()
            if wrong is None:
                good += 1
            elif entry.name in KNOWN:
                known.add(entry.name)
            else:
                failed += 1
                print(f"FAILED {entry.op}{'.' + entry.variant if entry.variant else ''} #{number}: {wrong.splitlines()[0]}")
        passed += good
        functions += bool(good)
    for name in sorted(set(KNOWN) - known) if not only else ():
        print(f"FAILED {name}: is in KNOWN, and is right")
        failed += 1
    if not only and functions < 150:
        print(f"FAILED only {functions} functions were compared")
        failed += 1
    print(f"{functions} functions; skipped: {dict(skipped)}; known: {sorted(known)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
