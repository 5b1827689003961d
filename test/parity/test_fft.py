#!/usr/bin/env python3
"""Fourier transforms beside PyTorch's, values and gradients, f32 and f64.

Weft has no complex tensors: both sides take real tensors with a last dimension of 2. Lengths are those of every radix,
primes below and beyond the largest one, of real lines that are halved and that are not, and of lines that are matrices;
then there are PyTorch's own samples of its operator database. NumPy in f64 says how far off f32 is.
"""

import sys
import types
import warnings

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from ops_table import Entry
from test_ops import Server, check

warnings.filterwarnings("ignore")
LENGTHS = (1, 2, 3, 4, 7, 16, 60, 64, 65, 67, 96, 128, 131, 134, 257, 521, 1000, 1024)
FEW = (1, 7, 60, 521)  # of functions that are made of others, and of f64
NORMS = ("backward", "ortho", "forward")
OF_REAL, TO_REAL = ("rfft", "ihfft"), ("irfft", "hfft")


def pairs(function, name):
    """A function on tensors with a last dimension of 2."""
    def call(x, *arguments, **keywords):
        base = name.rstrip("n2")
        if base not in OF_REAL:
            x = torch.view_as_complex(x.contiguous())
        result = function(x, *arguments, **keywords)
        return torch.view_as_real(result.resolve_conj()) if result.is_complex() else result
    return call


def draw(shape, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def sample(x, *arguments):
    return types.SimpleNamespace(input=x, args=arguments, kwargs={})


def one_dimension(dtype):
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        entry = Entry("fft." + name, "input n dim norm", name="fft_" + name, function=pairs(getattr(torch.fft, name), name))
        last = () if name in OF_REAL else (2,)
        lengths = LENGTHS if name in ("fft", "irfft") else FEW
        for n in lengths if dtype == torch.float32 else FEW:
            size = n // 2 + 1 if name in TO_REAL else n
            yield entry, sample(draw((3, size, *last), dtype), n, -1, NORMS[n % 3])
        for n in (4, 9):  # cut and extended
            yield entry, sample(draw((2, 6, 3, *last), dtype), n, 1, "backward")
        yield entry, sample(draw((2, 6, *last), dtype), None, 0, "ortho")


def several_dimensions(dtype):
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        last = () if name in OF_REAL else (2,)
        if dtype == torch.float64 and name not in ("fft", "irfft"):
            continue
        for kind in "n2":
            full = name + kind
            entry = Entry("fft." + full, "input s dim norm", name="fft_" + full, function=pairs(getattr(torch.fft, full), full))
            for s, dims, norm in ((None, (0, 2), "backward"), ((4, 9), (-1, 1), "ortho"), ((5, 6), (1, 2), "forward")):
                yield entry, sample(draw((4, 6, 5, *last), dtype), s, dims, norm)
            if kind == "n":
                yield entry, sample(draw((4, 6, 5, *last), dtype), None, None, "backward")
                yield entry, sample(draw((4, 6, 5, *last), dtype), (3, 8), None, "backward")


def frames(dtype):
    def forward(x, n, hop, length, window, center, mode, normalized):
        return torch.view_as_real(torch.stft(x, n, hop, length, window, center, mode, normalized, return_complex=True))

    def backward(x, n, hop, length, window, center, mode, normalized, total):
        return torch.istft(torch.view_as_complex(x.contiguous()), n, hop, length, window, center, normalized, length=total)

    names = "input n_fft hop_length win_length window center pad_mode normalized"
    entry = Entry("stft", names, name="fft_stft", function=forward)
    window = torch.hann_window(16, dtype=dtype)
    yield entry, sample(draw((2, 50), dtype), 16, 4, 16, window, True, "reflect", False)
    yield entry, sample(draw((50,), dtype), 15, None, None, torch.ones(15, dtype=dtype), False, "reflect", True)
    yield entry, sample(draw((2, 50), dtype), 20, 5, 16, window, True, "constant", False)
    entry = Entry("istft", names + " length", name="fft_istft", function=backward)
    yield entry, sample(draw((2, 9, 12, 2), dtype), 16, 4, 16, window, True, None, False, None)
    yield entry, sample(draw((9, 12, 2), dtype), 16, 4, 16, window, True, None, True, 40)
    yield entry, sample(draw((9, 6, 2), dtype), 16, 4, 16, torch.ones(16, dtype=dtype), False, None, False, 40)


def others(dtype):
    for name, function in (("fft_shift", torch.fft.fftshift), ("fft_unshift", torch.fft.ifftshift)):
        entry = Entry(function.__name__, "input dims", name=name, function=function)
        yield entry, sample(draw((4, 5), dtype), None)
        yield entry, sample(draw((4, 5, 3), dtype), (0, -1))
    for n in (1, 2, 7, 8):
        yield Entry("freq", "n d", name="fft_freq", gradient=False,
                    function=lambda n, d: (torch.fft.fftfreq(n, d), torch.fft.rfftfreq(n, d))), sample(n, 0.5)
    yield Entry("polar", "input angle", name="fft_polar",
                function=lambda x, angle: torch.view_as_real(torch.polar(x, angle))), sample(
        draw((3, 4), dtype).abs(), draw((3, 4), dtype, 1))


def database(dtype):
    """PyTorch's samples, where both sides have a form: real ones of what takes real tensors, complex ones of the others."""
    complex_dtype = torch.complex64 if dtype == torch.float32 else torch.complex128
    found = {op.name: op for op in op_db if op.name.startswith("fft.")}
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        for kind in ("", "2", "n"):
            full = name + kind
            base = "rfft" if name in OF_REAL else name
            entry = Entry("fft." + full, "input s dim norm" if kind else "input n dim norm", name="fft_" + full,
                          function=pairs(getattr(torch.fft, full), base))
            for given in found["fft." + full].sample_inputs("cpu", dtype if name in OF_REAL else complex_dtype):
                x = given.input.detach().resolve_conj()
                given.input = (torch.view_as_real(x) if x.is_complex() else x).clone()
                yield entry, given
    for name, ours in (("fftshift", "fft_shift"), ("ifftshift", "fft_unshift")):
        entry = Entry("fft." + name, "input dim", name=ours, function=getattr(torch.fft, name))
        for given in found["fft." + name].sample_inputs("cpu", dtype):
            given.input = given.input.detach().clone()
            yield entry, given


def precision(server):
    """f32 beside NumPy in f64, relative to the largest value: a few units, of any kind of length."""
    wrong = []
    for n in (1024, 65536, 1000, 1009, 65537, 99999):
        x = draw((1, n, 2), torch.float32)
        results, _ = server.call("fft_fft", [x], [])
        found = torch.view_as_complex(results[0]).numpy()
        expected = np.fft.fft(torch.view_as_complex(x.double()).numpy())
        error = np.sqrt((abs(found - expected) ** 2).sum() / (abs(expected) ** 2).sum())
        if not error < 5e-7:
            wrong.append(f"fft of {n} f32 is off by {error:.2g}")
    return wrong


def main():
    server, passed, failed = Server(), 0, 0
    for dtype in (torch.float32, torch.float64):
        for cases in (one_dimension, several_dimensions, frames, others, database):
            for entry, case in cases(dtype):
                if isinstance(case.input, torch.Tensor):
                    case.input.requires_grad_()
                    shape = list(case.input.shape)
                else:
                    shape = case.input
                try:
                    wrong = check(server, entry, case, dtype)
                except (RuntimeError, BrokenPipeError) as error:
                    wrong = str(error)
                    if server.process.poll() is not None:
                        server.start()
                passed += wrong is None
                failed += wrong is not None
                if wrong is not None and failed < 40:
                    values = [a if not isinstance(a, torch.Tensor) else "tensor" for a in case.args]
                    print(f"FAILED {entry.name} {dtype} of {shape} with {values}: {wrong}")
    for wrong in precision(server):
        failed += 1
        print("FAILED", wrong)
    server.process.stdin.close()
    server.process.wait()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
