#!/usr/bin/env python3
"""Every elementwise function beside PyTorch's: values, gradients, dtypes and errors, at the edges too.

The bounds. A float result of Weft and one of PyTorch are both approximations of the same function, so each is compared
with PyTorch's in f64 on equal inputs, and Weft's may be off by its documented bound (op-set: 5 units in the last place
at most for one function, more for formulas of several) or by twice what PyTorch is off. Integers, bools, NaN, infinities
and the signs of zeros must be equal, except where ALLOWED says why they are not.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F

# Without AVX-512 PyTorch gives gelu of f32 to oneDNN, which loses the sign of a zero.
torch.backends.mkldnn.enabled = False

INF, NAN = float("inf"), float("nan")
DTYPES = {"i1": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
          "ui8": torch.uint8, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
REAL, WHOLE = ("f32", "f64", "f16", "bf16"), ("i64", "i32", "i8", "ui8", "i1")

plain_unary = """neg abs sign ceil floor round trunc sqrt rsqrt reciprocal exp expm1 exp2 log log1p log2 log10 sin cos
    tan asin acos atan sinh cosh tanh asinh acosh atanh erf sigmoid square isnan isinf isfinite signbit nan_to_num
    logical_not bitwise_not relu""".split()
plain_binary = """add sub mul div floor_divide remainder fmod pow atan2 copysign maximum minimum fmax fmin eq ne lt le
    gt ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor""".split()
functional = "gelu silu softplus leaky_relu elu celu hardtanh relu6 hardswish hardsigmoid softshrink".split()
in_place_unary = """abs_ neg_ ceil_ floor_ round_ trunc_ square_ sqrt_ rsqrt_ reciprocal_ exp_ expm1_ log_ log1p_ sin_ cos_
    tanh_ sigmoid_ relu_ erf_""".split()
in_place_binary = "add_ sub_ mul_ div_ floor_divide_ remainder_ fmod_ pow_ clamp_min_ clamp_max_".split()


def in_place(update):
    def function(x, *rest):
        y = x.clone()
        update(y, *rest)
        return y
    return function


def member(name, *arguments):
    return in_place(lambda y, *rest: getattr(y, name)(*rest[:1], *arguments))


ONE = {name: getattr(torch, name) for name in plain_unary}
ONE |= {name: getattr(F, name) for name in functional}
ONE |= {name: in_place(lambda y, name=name: getattr(y, name)()) for name in in_place_unary}
ONE |= {
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softplus_2_3": lambda x: F.softplus(x, 2, 3),
    "leaky_relu_half": lambda x: F.leaky_relu(x, 0.5),
    "elu_2": lambda x: F.elu(x, 2),
    "celu_2": lambda x: F.celu(x, 2),
    "hardtanh_0_2": lambda x: F.hardtanh(x, 0, 2),
    "softshrink_1": lambda x: F.softshrink(x, 1),
    "threshold_1_7": lambda x: F.threshold(x, 1, 7),
    "nan_to_num_1_2_3": lambda x: torch.nan_to_num(x, 1, 2, -3),
    "clamp_numbers": lambda x: torch.clamp(x, -1, 2),
    "clamp_crossed": lambda x: torch.clamp(x, 2, -1),
    "clamp_min_number": lambda x: torch.clamp_min(x, 1),
    "clamp_max_number": lambda x: torch.clamp_max(x, 1),
    "2_pow": lambda x: torch.pow(2, x),
    "1_remainder": lambda x: torch.remainder(1, x),
    "remainder_2": lambda x: x % 2,
    "and_or_xor": lambda x: (x & 6) | (x ^ 3),
    "fill_": in_place(lambda y: y.fill_(3)),
    "clamp_": in_place(lambda y: y.clamp_(-1, 2)),
}
ONE |= {f"pow_{text}": lambda x, e=e: torch.pow(x, e) for text, e in
        (("0", 0), ("1", 1), ("2", 2), ("2.0", 2.0), ("3", 3), ("0.5", 0.5), ("-0.5", -0.5), ("-1", -1), ("-2", -2),
         ("2.5", 2.5), ("7", 7))}
TWO = {name: getattr(torch, name) for name in plain_binary}
TWO |= {name: in_place(lambda y, b, name=name: getattr(y, name)(b)) for name in in_place_binary}
TWO |= {
    "clamp_min": torch.clamp_min,
    "clamp_max": torch.clamp_max,
    "div_trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "div_floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "add_alpha": lambda a, b: torch.add(a, b, alpha=3),
    "sub_alpha": lambda a, b: torch.sub(a, b, alpha=3),
    "lerp_quarter": lambda a, b: torch.lerp(a, b, 0.25),
    "lerp_most": lambda a, b: torch.lerp(a, b, 0.75),
}
THREE = {
    "clamp_tensors": torch.clamp,
    "addcmul": torch.addcmul,
    "addcmul_half": lambda a, b, c: torch.addcmul(a, b, c, value=0.5),
    "addcdiv": torch.addcdiv,
    "addcdiv_half": lambda a, b, c: torch.addcdiv(a, b, c, value=0.5),
    "lerp": torch.lerp,
    "lerp_": in_place(lambda y, b, c: y.lerp_(b, c)),
    "addcmul_": in_place(lambda y, b, c: y.addcmul_(b, c, value=0.5)),
    "addcdiv_": in_place(lambda y, b, c: y.addcdiv_(b, c, value=0.5)),
}
ALL = ONE | TWO | THREE

# What a result may be off, in f32, beyond 5 units in its last place: formulas that cancel lose digits in proportion to
# their terms.
SLACK = {"gelu_tanh": lambda x: 2.0 ** -22 * np.abs(x), "gelu": lambda x: 2.0 ** -22 * np.abs(x),
         "lerp": lambda a, b, c: 2.0 ** -22 * np.abs((b - a) * c), "lerp_": lambda a, b, c: 2.0 ** -22 * np.abs((b - a) * c),
         "lerp_most": lambda a, b: 2.0 ** -22 * np.abs(b - a), "lerp_quarter": lambda a, b: 2.0 ** -22 * np.abs(b - a)}
EPSILON = {torch.float16: 2.0 ** -11, torch.bfloat16: 2.0 ** -8, torch.float32: 2.0 ** -24, torch.float64: 2.0 ** -53}


def real_values():
    edges = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 6, -6, 2.5, -2.5, INF, -INF, NAN, 1e-30, -1e-30, 1e-40, 20, 20.5,
             -20, 88, -88, 100, -100, 1e4, -1e4, 1e10, -1e10, 1e30, 0.1, 0.3, -0.7, 3.0000002, -0.9999999, 7, 10.5]
    return np.concatenate([np.float64(edges), np.random.default_rng(1).normal(0, 2, 57)])


def pairs(first, second):
    a, b = np.meshgrid(first, second)
    return a.ravel(), b.ravel()


def make_inputs(folder):
    """{(arity, real): names of files}"""
    files = {}

    def save(key, *arrays):
        files[key] = []
        for i, array in enumerate(arrays):
            files[key].append(f"in_{key[0]}_{key[1]}_{i}.npy")
            np.save(os.path.join(folder, files[key][-1]), np.ascontiguousarray(array))

    x = real_values()
    # f32 first: all sides then start from equal numbers in f64 too.
    some = np.float64([0.0, -0.0, 1, -1, 2, -2, 3, 0.5, -0.5, 0.1, 0.3, 7.5, -7.25, INF, -INF, NAN, 1e4, 1e-5])
    a, b = pairs(some, some)
    rng = np.random.default_rng(2)
    # (No pairs whose quotient is within rounding of a whole number, but for these: there any answer would be an accident.)
    a, b = np.concatenate([a, rng.normal(0, 3, 60)]), np.concatenate([b, rng.normal(0, 2, 60)])
    c = np.resize(np.float64([0.25, 0.75, -1, 2, 0.5, 3, 1]), a.shape)
    as_f32 = lambda v: v.astype(np.float32).astype(np.float64)
    save((1, True), as_f32(x))
    save((2, True), as_f32(a), as_f32(b))
    save((3, True), as_f32(a), as_f32(b), as_f32(c))
    w = np.int64([0, 1, -1, 2, -2, 3, 5, -7, 100, 127, -128, 64])
    a, b = pairs(w, w[w != 0])  # by zero PyTorch raises: see test/unit/frontend/MathTest.cpp
    save((1, False), w)
    save((2, False), a, b)
    save((3, False), a, b, np.resize(w, a.shape))
    np.save(os.path.join(folder, "weights.npy"), as_f32(rng.normal(0, 1, 1000)))
    return files


def ulp(exact, dtype):
    bits, low = {torch.float16: (11, -24), torch.bfloat16: (8, -133), torch.float32: (24, -149),
                 torch.float64: (53, -1074)}[dtype]
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.where(np.isfinite(exact), exact, 1))[1]
    return np.ldexp(1.0, np.maximum(exponent - bits, low))


def to_numpy(tensor):
    return (tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor).detach().numpy()


def difference(found, theirs, exact, dtype, slack, zero_signs):
    """None, what is wrong with `found`, or that with the elements. `exact` is PyTorch's in f64; `slack` what a value may
    be off beyond 5 units in the last place."""
    if found.shape != theirs.shape:
        return f"shape {found.shape}, PyTorch {theirs.shape}"
    if not np.issubdtype(theirs.dtype, np.floating):
        if found.dtype != theirs.dtype:
            return f"dtype {found.dtype}, PyTorch {theirs.dtype}"
        bad = found != theirs
    else:
        with np.errstate(all="ignore"):
            special = ~np.isfinite(theirs) | ~np.isfinite(found)
            same = (np.isnan(found) & np.isnan(theirs)) | (found == theirs)
            unit = ulp(exact, dtype)
            off, their_off = np.abs(found - exact), np.abs(theirs - exact)
            near = (off <= 5 * unit + slack) | (off <= 2 * their_off + unit / 2)
            bad = np.where(special, ~same, ~near)
            if zero_signs:
                bad |= (found == 0) & (theirs == 0) & (np.signbit(found) != np.signbit(theirs))
    return (f"{int(bad.sum())} differ", np.flatnonzero(bad)) if bad.any() else None


def main():
    passed = failed = 0

    def check(what, problem):
        nonlocal passed, failed
        passed, failed = passed + (not problem), failed + bool(problem)
        if problem:
            print(f"FAILED {what}: {problem}")

    program = os.path.join(os.environ["WEFT_BUILD"], "bin", "weft-parity-elementwise")
    with tempfile.TemporaryDirectory(prefix="weft-parity-") as folder:
        files = make_inputs(folder)
        cases = []
        for table, arity in ((ONE, 1), (TWO, 2), (THREE, 3)):
            for name in table:
                for dtype in REAL + WHOLE:
                    cases.append((name, arity, dtype, False))
                if not name.endswith("_"):
                    cases += [(name, arity, "f32", True), (name, arity, "f64", True)]
        with open(os.path.join(folder, "cases.txt"), "w") as out:
            for i, (name, arity, dtype, gradients) in enumerate(cases):
                inputs = ",".join(files[arity, dtype in REAL])
                out.write(f"{name} {'+' if gradients else ''}{dtype} {inputs} {i}\n")
        subprocess.run([program, folder], check=True)

        weights = torch.from_numpy(np.load(os.path.join(folder, "weights.npy")))
        for i, (name, arity, dtype, gradients) in enumerate(cases):
            what = f"{name} of {dtype}" + (" with gradients" if gradients else "")
            arrays = [np.load(os.path.join(folder, f)) for f in files[arity, dtype in REAL]]
            path = os.path.join(folder, str(i))
            error = open(path + ".error").read().strip() if os.path.exists(path + ".error") else None

            def run(kind):
                # Halves' values are the point of departure of the exact side, too.
                operands = [torch.from_numpy(a).to(DTYPES[dtype]).to(kind) for a in arrays]
                for operand in operands:
                    operand.requires_grad_(gradients)
                y = ALL[name](*operands)
                grads = []
                if gradients:
                    (y * weights.to(kind)[:y.numel()]).sum().backward()
                    grads = [torch.zeros_like(o) if o.grad is None else o.grad for o in operands]
                return y, grads

            try:
                theirs, their_grads = run(DTYPES[dtype])
            except (RuntimeError, TypeError, NotImplementedError) as problem:
                accepted = error is None and not MORE.get(name, lambda dtype, gradients: False)(dtype, gradients)
                check(what, f"PyTorch refuses, Weft does not: {str(problem)[:100]}" if accepted else None)
                continue
            if error is not None:
                check(what, f"Weft refuses, PyTorch does not: {error[:300]}")
                continue
            exact, exact_grads = run(torch.float64) if dtype in REAL else (theirs, their_grads)
            kind = theirs.dtype
            epsilon = EPSILON.get(kind, 0)
            slack = SLACK[name](*arrays) * (epsilon * 2 ** 24) if name in SLACK and kind.is_floating_point else 0
            compared = [("", theirs, exact, slack)]
            # A gradient is a sum of products with the weight, each rounded; its terms may cancel.
            scale = 16 * epsilon * np.abs(weights.numpy()[:theirs.numel()])
            compared += [(f", gradient {k}", t, e, scale * max(1, SCALE.get(name, 1)) + 35 * ulp(to_numpy(e), kind))
                         for k, (t, e) in enumerate(zip(their_grads, exact_grads))]
            for k, (label, t, e, slack) in enumerate(compared):
                found = np.load(f"{path}.{k - 1}.npy" if k else path + ".npy")
                problem = difference(found, to_numpy(t), to_numpy(e), t.dtype, slack, zero_signs=k == 0)
                if isinstance(problem, tuple):
                    text, at = problem
                    allowed = ALLOWED.get((name, k)) or ALLOWED.get((name.rstrip("_"), k)) or (lambda *x: False)
                    flat = [a.ravel() for a in arrays]
                    at = [j for j in at if not allowed(*[a[j] for a in flat])]
                    problem = None if not at else text + ": " + "; ".join(
                        f"{[float(a[j]) for a in flat]}: {found.ravel()[j]!r}, PyTorch {to_numpy(t).ravel()[j]!r}"
                        for j in at[:6])
                check(what + label, problem)

        wrong = []
        operands = {}
        for name, dtype in DTYPES.items():
            operands[name] = torch.ones(2, dtype=dtype)
            operands[name + "()"] = torch.ones((), dtype=dtype)
        operands |= {"True": True, "2": 2, "2.5": 2.5}
        names = {dtype: name for name, dtype in DTYPES.items()}
        count = 0
        for line in open(os.path.join(folder, "promotions.txt")):
            op, left, right, found = line.split()
            try:
                expected = names[getattr(torch, op)(operands[left], operands[right]).dtype]
            except (RuntimeError, TypeError, NotImplementedError):
                expected = "error"
            count += 1
            if found != expected and not (expected == "error" and op in ACCEPTS_MORE):
                wrong.append(f"{op} of {left} and {right}: {found}, PyTorch {expected}")
        check("promotion of every pair", None if not wrong else f"{len(wrong)} of {count}: " + "; ".join(wrong[:12]))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


# What Weft accepts and PyTorch's CPU kernels were not written for: function -> (dtype, with gradients) -> bool.
MORE = {name: lambda dtype, gradients: dtype == "i1" for name in
        ("ceil", "floor", "round", "trunc", "ceil_", "floor_", "round_", "trunc_", "clamp_numbers", "clamp_crossed",
         "clamp_min_number", "clamp_max_number", "clamp_", "clamp_tensors")}
MORE["hardtanh"] = lambda dtype, gradients: dtype == "ui8"  # its negative bound wraps
# Integers by zero do not trap; a derivative of 0, and that of a number's remainder, are defined here.
MORE |= {"1_remainder": lambda dtype, gradients: gradients or dtype in WHOLE,
         "floor_divide": lambda dtype, gradients: gradients}
# atan2 and the rest take numbers beside tensors, as the operators do.
ACCEPTS_MORE = {"atan2", "maximum", "logical_xor"}
# PyTorch's vector units pick a zero by position, Weft's by sign, and PyTorch's own choice differs between dtypes.
zeros = lambda a, b=0.0, *rest: a == 0 and b == 0
tiny = lambda a, *rest: abs(a) < 1e-7  # is 0 in f16
some_nan = lambda *x: any(np.isnan(v) for v in x)
SCALE = {}
# Differences that are meant: (function, 0 for its value or 1 + k for the gradient of operand k) -> operands -> bool.
ALLOWED = {
    ("relu", 0): tiny, ("relu6", 0): tiny, ("hardtanh_0_2", 0): tiny,
    ("maximum", 0): zeros, ("minimum", 0): zeros, ("fmax", 0): zeros, ("fmin", 0): zeros,
    ("clamp_min", 0): zeros, ("clamp_max", 0): zeros, ("clamp_tensors", 0): zeros,
    # The sign of NaN is unspecified, here and in PyTorch's conversion to bf16.
    ("signbit", 0): some_nan, ("copysign", 0): some_nan, ("copysign", 1): some_nan,
    # PyTorch's vector code has inf * 0 in f32, and in f16 on some processors, but not in f64.
    ("gelu", 0): lambda a: a > 65504,
    # PyTorch computes the sixth in f32, in f64 too.
    ("hardsigmoid", 1): lambda a: -3 < a < 3,
    # PyTorch's fmod of f32 flushes subnormal divisors.
    ("1_remainder", 0): lambda a: 0 < abs(a) < 2e-38,
    # PyTorch takes the root for the value, but not for the gradient.
    ("pow_-0.5", 1): lambda a: a == 0 or a == -np.inf,
    # A bound may get the gradient of a NaN, in PyTorch by where the other bound lies.
    ("clamp_tensors", 2): some_nan, ("clamp_tensors", 3): some_nan,
    # -0 of f16 underflow: PyTorch's power of -inf is +0 or -0 by dtype.
    ("pow_-0.5", 0): lambda a: a < -65504,
    # Neither derivative exists: by zero.
    ("remainder", 2): lambda a, b: b == 0,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
