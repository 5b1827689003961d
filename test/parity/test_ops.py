#!/usr/bin/env python3
"""Every function that Weft shares with PyTorch, over PyTorch's own sample inputs (OpInfo), values and gradients.

weft-parity-ops computes Weft's side. Both sides are measured against PyTorch in f64 on the same numbers: Weft may be off
by what PyTorch in the same dtype is off, eight times over (another order of summation, another polynomial), plus 16
units in the last place of the element and 4 of the largest. For a gradient in f64, which may cancel down to rounding
noise, what PyTorch is off is estimated from its f32: nearby numbers, its error scaled by the ratio of the units.
Integers and bools are exact. Shapes, dtypes and which
gradients exist are exact too. Samples that Weft has no form for are counted by reason; TABLE says which those are.
"""

import collections
import itertools
import os
import random
import subprocess
import sys
import warnings

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ops_table import DEVIATIONS, TABLE, Skip  # noqa: E402

warnings.filterwarnings("ignore")
NAMES = {torch.bool: "i1", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
         torch.uint8: "ui8", torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32",
         torch.float64: "f64"}
DTYPES = {name: dtype for dtype, name in NAMES.items()}
# What other tests call.
ELSEWHERE = {"recurrent": "test_recurrent.py", "recurrent_cell": "test_recurrent.py", "pad_sequence": "test_recurrent.py"}
SAMPLES = int(os.environ.get("WEFT_PARITY_SAMPLES", "16"))  # of one operation and dtype
ORDER = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool]


def to_bytes(tensor):
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().tobytes()
    return tensor.numpy().tobytes()


def from_bytes(data, dtype, shape):
    if dtype == torch.bfloat16:
        return torch.from_numpy(np.frombuffer(data, np.int16).copy()).view(dtype).reshape(shape)
    kind = torch.zeros((), dtype=dtype).numpy().dtype
    return torch.from_numpy(np.frombuffer(data, kind).copy()).reshape(shape)


class Server:
    """weft-parity-ops; its protocol is in ops_protocol.h."""

    def __init__(self):
        self.program = os.path.join(os.environ["WEFT_BUILD"], "bin", "weft-parity-ops")
        self.known = set(subprocess.run([self.program, "--list"], check=True, capture_output=True,
                                        text=True).stdout.split())
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read_tensor(self, words):
        dtype, shape = DTYPES[words[0]], [int(word) for word in words[2:]]
        count = int(np.prod(shape)) if shape else 1
        return from_bytes(self.process.stdout.read(count * dtype.itemsize), dtype, shape)

    def line(self):
        text = self.process.stdout.readline().decode()
        if not text:
            raise RuntimeError(f"weft-parity-ops died with code {self.process.wait()}")
        return text.split()

    def call(self, name, arguments, cotangents, second=False, record=None):
        """(results, gradients), or a string: the error. With `second` the gradients are those of the gradients. With
        `record` the call becomes a program in that file, whose arguments are the tensors in the order of `arguments`."""
        lines, tensors = [b"second\n"] if second else [], []
        if record:
            lines.append(f"record {record}\n".encode())

        def number(tensor):
            wanted = int(tensor.requires_grad)
            shape = " ".join(map(str, tensor.shape))
            lines.append(f"tensor {NAMES[tensor.dtype]} {wanted} {tensor.dim()} {shape}\n".encode() + to_bytes(tensor))
            tensors.append(tensor)
            return len(tensors) - 1

        words = []
        for value in arguments:
            if isinstance(value, torch.Tensor):
                words.append(f"t {number(value)}")
            elif isinstance(value, bool):
                words.append(f"b {int(value)}")
            elif isinstance(value, int):
                words.append(f"i {value}")
            elif isinstance(value, float):
                words.append(f"f {value!r}")
            elif isinstance(value, str):
                words.append(f"s {value}")
            elif isinstance(value, torch.dtype):
                words.append(f"s {NAMES[value]}")
            elif value is None:
                words.append("none")
            elif all(isinstance(item, torch.Tensor) for item in value) and len(value):
                indices = [number(item) for item in value]
                words.append(f"ts {len(indices)} " + " ".join(map(str, indices)))
            else:
                words.append(f"is {len(value)} " + " ".join(str(int(item)) for item in value))
        for tensor in cotangents:
            shape = " ".join(map(str, tensor.shape))
            lines.append(f"cotangent {NAMES[tensor.dtype]} {tensor.dim()} {shape}\n".encode() + to_bytes(tensor))
        request = f"call {name}\n".encode() + b"".join(lines) + "".join(w + "\n" for w in words).encode() + b"run\n"
        self.process.stdin.write(request)
        self.process.stdin.flush()
        head = self.line()
        if head[0] == "error":
            return self.process.stdout.read(int(head[1])).decode()
        results = [self.read_tensor(self.line()) for _ in range(int(head[1]))]
        gradients = []
        for _ in range(int(self.line()[1])):
            words = self.line()
            gradients.append(None if words[0] == "none" else self.read_tensor(words))
        return results, gradients


def operator_database():
    """PyTorch's OpInfo of each function, by its name and variant.

    Its iterators of samples look through the whole stack for a unittest.TestCase, which a quarter of the time went to. There is
    none here, so they are told.
    """
    from torch.testing._internal import common_utils
    common_utils.extract_test_fn = lambda: None
    from torch.testing._internal.common_methods_invocations import op_db
    return {(op.name, op.variant_test_name): op for op in op_db}


def leaves_of(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from leaves_of(value)


def results_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [item for item in value if isinstance(item, torch.Tensor)]


def change_dtype(value, dtype, factor=1):
    """The same argument in another floating-point dtype, a leaf of its own."""
    if isinstance(value, torch.Tensor):
        real = value.is_floating_point()
        other = (value.detach() * factor).to(dtype, copy=True) if real else value.detach().clone()
        return other.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(change_dtype(item, dtype, factor) for item in value)
    return dtype if isinstance(value, torch.dtype) and value.is_floating_point else value


def evaluate_in(dtype, function, arguments, keywords, cotangents):
    return evaluate(function, change_dtype(arguments, dtype),
                    {key: change_dtype(value, dtype) for key, value in keywords.items()}, cotangents)


def gradient_slacks(function, arguments, keywords, cotangents):
    """For each gradient in f64, about how far rounding takes PyTorch from the exact value.

    A few numbers near the arguments, since a small gradient may come out exact by luck.
    """
    scale = torch.finfo(torch.float64).eps / torch.finfo(torch.float32).eps
    slacks = collections.defaultdict(float)
    for step in range(4):
        near = change_dtype(arguments, torch.float32, 1 + step / 4096)
        near_keywords = {key: change_dtype(value, torch.float32, 1 + step / 4096) for key, value in keywords.items()}
        _, rough = evaluate_in(torch.float32, function, near, near_keywords, cotangents)
        _, fine = evaluate_in(torch.float64, function, near, near_keywords, cotangents)
        for i, (one, two) in enumerate(zip(rough, fine)):
            if one is not None and two is not None:
                off = (one.double() - two).abs()
                slacks[i] = max(slacks[i], scale * off[off.isfinite()].amax().item() if off.isfinite().any() else 0.0)
    return slacks


def evaluate(function, arguments, keywords, cotangents):
    """(results, gradients of the leaves that require one)."""
    results = results_of(function(*arguments, **keywords))
    return results, gradients_of(results, arguments, keywords, cotangents)


def gradients_of(results, arguments, keywords, cotangents):
    """Those of the leaves that require one."""
    leaves = [leaf for leaf in leaves_of(list(arguments) + list(keywords.values())) if leaf.requires_grad]
    total = None
    for result, cotangent in zip(results, cotangents or []):
        if result.requires_grad:
            part = (result * cotangent.to(result.dtype)).sum()
            total = part if total is None else total + part
    if total is None:
        return [None] * len(leaves)
    return list(torch.autograd.grad(total, leaves, allow_unused=True))


def allowance(plain, wide, slack=0.0):
    """What each element may be off PyTorch's in f64, `wide`; `plain` is PyTorch's in the dtype."""
    p, w = plain.detach().double(), wide.detach().double()
    eps = torch.finfo(plain.dtype).eps
    finite = w.isfinite() & p.isfinite()
    largest = w[finite].abs().max() if finite.any() else 0.0
    slack = max(slack, (p - w)[finite].abs().max() if finite.any() else 0.0)
    return 8 * slack + 16 * eps * w.abs() + 4 * eps * largest + torch.finfo(plain.dtype).tiny


def difference(weft, plain, wide, slack=0.0):
    """What is wrong with Weft's tensor beside PyTorch's, in its dtype and in f64; None if nothing.

    `slack` is what PyTorch may be off at least.
    """
    if weft.dtype != plain.dtype or weft.shape != plain.shape:
        return f"{NAMES[weft.dtype]}{list(weft.shape)}, PyTorch has {plain.dtype}{list(plain.shape)}"
    if not plain.is_floating_point():
        wrong = weft != plain
        if not wrong.any():
            return None
        at = tuple(int(i) for i in wrong.nonzero()[0])
        return f"{weft[at].item()} at {list(at)}, PyTorch has {plain[at].item()}"
    if plain.numel() == 0:
        return None
    a, p, w = weft.double(), plain.detach().double(), wide.detach().double()
    allowed = allowance(plain, wide, slack)
    same = (a == p) | (a.isnan() & p.isnan()) | (a == w.to(plain.dtype).double()) | (a.isnan() & w.isnan())
    wrong = ~same & ~((a - w).abs() <= allowed)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in wrong.nonzero()[0])
    return f"{a[at].item():.9g} at {list(at)}, PyTorch has {p[at].item():.9g} and in f64 {w[at].item():.17g}"


def check(server, entry, sample, dtype):
    """What is wrong, None if nothing; raises Skip."""
    arguments = entry.adapt(sample)
    if isinstance(sample.input, torch.Tensor) and sample.input.is_complex():
        raise Skip("complex numbers")
    for leaf in leaves_of(arguments):
        if leaf.dtype not in NAMES or leaf.layout != torch.strided:
            raise Skip("dtype or layout that Weft does not have")
    torch_arguments = (sample.input, *sample.args)
    plain = results_of(entry.function(*torch_arguments, **sample.kwargs))
    generator = torch.Generator().manual_seed(7)
    wanted = any(leaf.requires_grad for leaf in leaves_of(arguments)) and any(r.requires_grad for r in plain)
    cotangents = [torch.randint(1, 5, r.shape, generator=generator).to(r.dtype) / 4 for r in plain] if wanted else []
    plain_gradients = gradients_of(plain, torch_arguments, sample.kwargs, cotangents)
    wide, wide_gradients = evaluate_in(torch.float64, entry.function, torch_arguments, sample.kwargs, cotangents)
    outcome = server.call(entry.name, arguments, cotangents)
    if isinstance(outcome, str):
        return "error: " + outcome.splitlines()[0]
    results, gradients = outcome
    results = results[:len(plain)] if entry.more_results else results
    if len(results) != len(plain):
        return f"{len(results)} results, PyTorch has {len(plain)}"
    for i, (mine, one, two) in enumerate(zip(results, plain, wide)):
        if wrong := difference(mine, one, two):
            return f"result {i} is {wrong}"
    if not wanted:
        return None
    # The leaves come in the order of Weft's arguments here, of PyTorch's there.
    order = [leaf for leaf in leaves_of(list(torch_arguments) + list(sample.kwargs.values())) if leaf.requires_grad]
    mine_by_leaf = dict(zip((id(leaf) for leaf in leaves_of(arguments) if leaf.requires_grad), gradients))
    slacks = None  # they take longer than all the rest, and are seldom needed
    for i, (leaf, one, two) in enumerate(zip(order, plain_gradients, wide_gradients)):
        mine = mine_by_leaf.get(id(leaf))
        if mine is None and (one is None or not one.any()):
            continue
        if one is None:
            one, two = torch.zeros_like(leaf), torch.zeros_like(leaf, dtype=torch.float64)
        if mine is None:
            return "no gradient, PyTorch has one"
        wrong = difference(mine, one, two)
        if wrong and dtype == torch.float64:
            slacks = slacks or gradient_slacks(entry.function, torch_arguments, sample.kwargs, cotangents)
            wrong = difference(mine, one, two, slacks[i])
        if wrong:
            return f"gradient is {wrong}"
    return None


def main():
    torch.set_num_threads(1)  # samples are small, and threads that wait take a processor from Weft
    server, by_name = Server(), operator_database()
    passed = failed = 0
    skipped, shown = collections.Counter(), collections.Counter()
    used = set()
    only = sys.argv[1:]
    for entry in TABLE:
        op = by_name.get((entry.op, entry.variant))
        if op is None:
            print(f"FAILED {entry.op} {entry.variant}: PyTorch has no such OpInfo")
            failed += 1
            continue
        used.add(entry.name)
        if only and entry.name not in only:
            continue
        if entry.name not in server.known:
            print(f"FAILED {entry.op}: weft-parity-ops has no function {entry.name}")
            failed += 1
            continue
        good = 0
        for dtype in ORDER:
            if dtype not in op.dtypes or dtype in entry.without:
                continue
            grad = dtype in (torch.float32, torch.float64) and op.supports_autograd and entry.gradient
            torch.manual_seed(0)
            np.random.seed(0)
            random.seed(0)
            most = min(SAMPLES, entry.samples or SAMPLES)
            samples = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=grad), 4 * SAMPLES))
            if len(samples) > most:  # spread over all of them
                skipped["more samples than are run"] += len(samples) - most
                samples = [samples[i * len(samples) // most] for i in range(most)]
            for number, sample in enumerate(samples):
                label = f"{entry.op}{'.' + entry.variant if entry.variant else ''} {NAMES[dtype]} #{number}"
                try:
                    wrong = check(server, entry, sample, dtype)
                except Skip as reason:
                    skipped[str(reason)] += 1
                    continue
                except (RuntimeError, BrokenPipeError) as error:
                    wrong = f"{error}"
                    if server.process.poll() is not None:
                        server.start()
                if wrong is None:
                    good += 1
                    continue
                known = next((why for pattern, why in DEVIATIONS if pattern(entry, dtype, sample, wrong)), None)
                if known:
                    skipped["known deviation: " + known] += 1
                    continue
                failed += 1
                shown[entry.name] += 1
                if shown[entry.name] <= 3:
                    print(f"FAILED {label}: {wrong}")
        passed += good
        if good == 0:
            print(f"FAILED {entry.op}: not one sample ran")
            failed += 1
    for name, count in shown.items():
        if count > 3:
            print(f"       {name}: {count - 3} more")
    if not only:
        for name in sorted(server.known - used - set(ELSEWHERE)):
            if name.startswith("fft_"):  # of test_fft.py
                continue
            print(f"FAILED {name}: no entry of ops_table.py calls it")
            failed += 1
    print("skipped samples, by reason:")
    for reason, count in skipped.most_common():
        print(f"  {count:6} {reason}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
