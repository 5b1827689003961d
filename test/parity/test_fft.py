#!/usr/bin/env python3
"""Fourier transforms beside PyTorch's, values and gradients, f32 and f64.

PyTorch's own samples are complex tensors, which Weft has not; here both sides take real tensors with a last dimension of
2. Lengths are products of small factors, primes below and beyond what is one product, and those that divide in several
steps.
"""

import sys
import types
import warnings

import torch
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


def main():
    server, passed, failed = Server(), 0, 0
    for dtype in (torch.float32, torch.float64):
        for cases in (one_dimension, several_dimensions, frames, others):
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
    server.process.stdin.close()
    server.process.wait()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
