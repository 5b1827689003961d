#!/usr/bin/env python3
"""Recurrent layers and cells beside PyTorch's, over all of their options: outputs, final states, and the gradients of inputs,
initial states and every parameter.

The bounds are those of test_ops.py. Packed sequences are packed without an order and padded again, by both. The options of
PyTorch's own samples for modules (ModuleInfo) are among the combinations.
"""

import collections
import itertools
import sys

import torch
from test_ops import Server, difference
from torch import nn
from torch.nn.utils import rnn

MODES = ("tanh", "relu", "LSTM", "GRU")
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INPUT, HIDDEN, LENGTH, LENGTHS = 3, 4, 5, (2, 5, 1, 4)


def module_of(mode, cell=False, **options):
    if mode in ("LSTM", "GRU"):
        return getattr(nn, mode + ("Cell" if cell else ""))(INPUT, HIDDEN, **options)
    return (nn.RNNCell if cell else nn.RNN)(INPUT, HIDDEN, nonlinearity=mode, **options)


def states_of(mode, given):
    return None if given is None else tuple(given) if mode == "LSTM" else given[0]


def flat(out, state):
    return [out, *(state if isinstance(state, tuple) else (state,))]


def run_torch(module, mode, x, states, weights, lengths, batch_first, cell):
    """The results of PyTorch's module with these tensors as parameters."""
    names = [name for name, _ in module.named_parameters()]

    def forward(*arguments):
        return torch.func.functional_call(module, dict(zip(names, weights)), arguments)

    if cell:
        result = forward(x, states_of(mode, states))
        return list(result) if isinstance(result, tuple) else [result]
    if lengths:
        packed = rnn.pack_padded_sequence(x, torch.tensor(lengths), batch_first, enforce_sorted=False)
        out, state = forward(packed, states_of(mode, states))
        out = rnn.pad_packed_sequence(out, batch_first, 0.25)[0]
    else:
        out, state = forward(x, states_of(mode, states))
    return flat(out, state)


def gradients_of(results, cotangents, leaves):
    total = sum((result * cotangent.to(result.dtype)).sum() for result, cotangent in zip(results, cotangents))
    return torch.autograd.grad(total, leaves, allow_unused=True)


def copies(dtype, x, states, weights):
    def copy(tensor):
        return tensor.detach().to(dtype, copy=True).requires_grad_()
    return copy(x), states and [copy(state) for state in states], [copy(weight) for weight in weights]


def compare(server, mode, dtype, module, x, states, lengths, batch_first, cell):
    """What is wrong, None if nothing."""
    weights = list(module.parameters())
    plain_leaves = copies(dtype, x, states, weights)
    # The wide numbers are those that the narrow ones are.
    wide_leaves = copies(torch.float64, *plain_leaves)
    found = []
    for own_x, own_states, own_weights in (plain_leaves, wide_leaves):
        results = run_torch(module, mode, own_x, own_states, own_weights, lengths, batch_first, cell)
        generator = torch.Generator().manual_seed(7)
        cotangents = [torch.randint(1, 5, result.shape, generator=generator).to(dtype) / 4 for result in results]
        found.append((results, gradients_of(results, cotangents, [own_x, *(own_states or ()), *own_weights])))
    (plain, plain_gradients), (wide, wide_gradients) = found
    own_x, own_states, own_weights = plain_leaves
    arguments = [mode, own_x, own_states, own_weights]
    if not cell:
        arguments += [HIDDEN, module.num_layers, batch_first, module.bidirectional, module.proj_size, list(lengths or ()) or None]
    outcome = server.call("recurrent_cell" if cell else "recurrent", arguments, cotangents)
    if isinstance(outcome, str):
        return "error: " + outcome.splitlines()[0]
    results, gradients = outcome
    # A state of a half is rounded at each step, in other places than PyTorch's; of f64 nobody knows what PyTorch is off.
    steps = 1 if cell else LENGTH * module.num_layers
    coarse = torch.finfo(dtype).eps * steps * (2 if dtype.itemsize == 2 else 1)
    names = ["output", *("state" for _ in results[1:])]
    for name, mine, one, two in zip(names, results, plain, wide, strict=True):
        if wrong := difference(mine, one, two, coarse):
            return f"{name} is {wrong}"
    names = ["x", *("state" for _ in own_states or ()), *(name for name, _ in module.named_parameters())]
    for name, mine, one, two in zip(names, gradients, plain_gradients, wide_gradients, strict=True):
        if mine is None:
            return f"no gradient of {name}"
        if wrong := difference(mine, one, two, coarse * two.abs().max().item()):
            return f"gradient of {name} is {wrong}"
    return None


def layer_cases():
    for mode, layers, both, batch_first, bias, initial, form in itertools.product(
            MODES, (1, 2), (False, True), (False, True), (True, False), (False, True), ("batch", "single", "packed")):
        for projected in (0, 2) if mode == "LSTM" else (0,):
            if (form == "single" and batch_first) or (initial and not bias):
                continue  # batch_first says nothing without a batch
            yield mode, form, initial, {"num_layers": layers, "bidirectional": both, "batch_first": batch_first, "bias": bias,
                                        **({"proj_size": projected} if projected else {})}


def run_layers(server, dtype, record):
    for mode, form, initial, options in layer_cases():
        if dtype != torch.float32 and (options["num_layers"] == 1 or not options["bias"] or not initial):
            continue
        torch.manual_seed(0)
        module = module_of(mode, **options)
        rows, projected = options["num_layers"] * (1 + options["bidirectional"]), options.get("proj_size", 0)
        batch = len(LENGTHS)
        shape = (LENGTH, INPUT) if form == "single" else (batch, LENGTH, INPUT) if options["batch_first"] else (LENGTH, batch, INPUT)
        x = torch.randn(shape)
        features = [projected or HIDDEN, *([HIDDEN] if mode == "LSTM" else [])]
        states = [torch.randn((rows, size) if form == "single" else (rows, batch, size)) for size in features] if initial else None
        lengths = LENGTHS if form == "packed" else None
        record(f"{mode} {form} {options} {dtype} states={initial}",
               lambda: compare(server, mode, dtype, module, x, states, lengths, options["batch_first"], False))


def run_cells(server, dtype, record):
    for mode, bias, initial, batched in itertools.product(MODES, (True, False), (False, True), (True, False)):
        torch.manual_seed(0)
        module = module_of(mode, cell=True, bias=bias)
        x = torch.randn((6, INPUT) if batched else (INPUT,))
        states = [torch.randn(*x.shape[:-1], HIDDEN) for _ in range(2 if mode == "LSTM" else 1)] if initial else None
        record(f"{mode}Cell bias={bias} batched={batched} {dtype} states={initial}",
               lambda: compare(server, mode, dtype, module, x, states, None, False, True))


def run_padding(server, record):
    sequences = [torch.randn(length, 2, requires_grad=True) for length in LENGTHS]

    def one(batch_first, value, side):
        outcome = server.call("pad_sequence", [sequences, batch_first, value, side], [])
        if isinstance(outcome, str):
            return "error: " + outcome
        expected = [rnn.pad_sequence(sequences, batch_first, value, side), rnn.pack_sequence(sequences, False).data]
        for mine, theirs in zip(outcome[0], expected, strict=True):
            if not torch.equal(mine, theirs.detach()):
                return f"{mine}, PyTorch has {theirs}"
        return None

    for batch_first, value, side in itertools.product((False, True), (0.0, -1.5), ("right", "left")):
        record(f"pad_sequence {batch_first} {value} {side}", lambda: one(batch_first, value, side))


def main():
    server = Server()
    counts, shown = collections.Counter(), 0

    def record(label, test):
        nonlocal shown
        wrong = test()
        counts[wrong is None] += 1
        if wrong is not None and shown < 20:
            shown += 1
            print(f"FAILED {label}: {wrong}")

    only = sys.argv[1:]
    for dtype in DTYPES:
        if only and str(dtype).split(".")[1] not in only:
            continue
        run_cells(server, dtype, record)
        run_layers(server, dtype, record)
    run_padding(server, record)
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
