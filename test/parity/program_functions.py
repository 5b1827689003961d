"""What the instructions of random programs of dtypes and of modules do in PyTorch; test_programs.py runs them."""

import operator

import torch

DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32,
          "i64": torch.int64, "i1": torch.bool}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
SIZE = 4
# Functions whose result is that of one exact operation, rounded once, or has no rounding: Weft has their bits.
EXACT = {"reciprocal", "abs", "neg", "sign", "square", "relu", "floor", "ceil", "round", "trunc", "isnan",
         "isfinite", "logical_not", "bitwise_not", "add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "eq",
         "ne", "lt", "le", "gt", "ge", "bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "minimum", "logical_and",
         "logical_or", "logical_xor", "amax", "amin", "any", "all", "argmax"}


def quotient(number, tensor):
    """PyTorch's own operator multiplies by the reciprocal, which rounds twice; Weft rounds once (torch-semantics.md)."""
    return torch.div(torch.tensor(number, dtype=torch.result_type(number, tensor)), tensor)


# What takes a number as its left operand.
OPERATORS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": quotient,
             "remainder": operator.mod, "floor_divide": operator.floordiv, "pow": operator.pow, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
             "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor}


def number_of(number, c):
    return number != 0 if c == 2 else int(number) if c == 1 else float(number)


def convert(tensor, dtype):
    """`to`: where a real becomes an integer, PyTorch leaves the result of what does not fit, and of NaN, to the processor.
    Weft saturates, and NaN gives 0 (tensor.hpp, `to`)."""
    if dtype.is_floating_point or dtype == torch.bool or not tensor.is_floating_point():
        return tensor.to(dtype)
    bounds = torch.iinfo(dtype)
    whole = torch.nan_to_num(tensor.detach().double(), nan=0.0, posinf=float("inf"), neginf=float("-inf"))
    low, high = whole <= float(bounds.min), whole >= float(bounds.max)
    inside = torch.where(low | high, 0.0, whole).to(dtype)
    return torch.where(low, bounds.min, torch.where(high, bounds.max, inside)).to(dtype)


def typed(data, dtype):
    """The data in a dtype: integers are eight times as large, bools say what is positive."""
    if dtype == torch.bool:
        return data > 0
    return data.clone().to(dtype) if dtype.is_floating_point else (data * 8).to(dtype)


def division_by_zero(name, a, b, result):
    """Integers that are divided by 0: an error in PyTorch, on a CPU. `result` divides by 1 instead of 0."""
    a, zero = torch.as_tensor(a), torch.as_tensor(b) == 0
    return torch.where(zero, -torch.ones_like(a) if name == "floor_divide" else a, result).to(result.dtype)


def is_whole(x):
    return not (x.is_floating_point() if isinstance(x, torch.Tensor) else isinstance(x, float))


def beside(a, b):
    """Tensor b as an operand beside a: one without dimensions is rounded to halves that it meets, as a number is. PyTorch's
    products and quotients take it as it is (torch-semantics.md)."""
    both = isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
    if both and b.dim() == 0 and b.is_floating_point() and a.dtype in (torch.float16, torch.bfloat16):
        return b.to(torch.result_type(a, b))
    return b


def binary(name, a, b):
    if a is None or b is None:
        raise TypeError("an operand is undefined")
    a, b = beside(b, a), beside(a, b)
    if name in ("remainder", "fmod", "floor_divide") and is_whole(a) and is_whole(b) and \
            not (isinstance(a, torch.Tensor) and a.dtype == torch.bool and (not isinstance(b, torch.Tensor) or
                                                                          b.dtype == torch.bool)):
        zero = torch.as_tensor(b) == 0
        if zero.any() and isinstance(b, torch.Tensor):  # a number is an error in both
            safe = torch.where(zero, torch.ones_like(torch.as_tensor(b)), b)
            return division_by_zero(name, a, b, getattr(torch, name)(torch.as_tensor(a) if not isinstance(
                a, torch.Tensor) else a, safe))
    if isinstance(a, torch.Tensor):
        return getattr(torch, name)(a, b)
    if name in ("eq", "ne"):  # Python's operators make an error a False
        return getattr(torch, name)(b, a)
    return OPERATORS[name](a, b)


def reduction(name, a, along, dtype):
    """along: 0 all dimensions, 1 the first, 2 the last, which is kept."""
    if dtype is not None:
        a = convert(a, dtype)
    keep, dim = along == 2, 0 if along == 1 else -1
    if name == "cumsum":
        return a.cumsum(dim) if dtype is None else a.cumsum(dim, dtype=dtype)
    if name == "argmax":
        return a.argmax() if along == 0 else a.argmax(dim, keep)
    if name == "logsumexp":
        return a.logsumexp(0 if along == 0 else dim, keep)
    options = {} if dtype is None else {"dtype": dtype}
    function = getattr(a, name)
    return function(**options) if along == 0 else function(dim, keepdim=keep, **options)


#===------------------------------------------------------------------------===#
# Modules and optimisers
#===------------------------------------------------------------------------===#

def square(x):
    return x.reshape(1, 1, SIZE, SIZE)


ROWS = torch.tensor([0, 3, 1, 3])
# By the names of test/programs/Program.h: how to make one, and what it makes of a matrix.
MODULES = {
    "Linear": (lambda: torch.nn.Linear(SIZE, SIZE), lambda m, x: m(x)),
    "LayerNorm": (lambda: torch.nn.LayerNorm(SIZE), lambda m, x: m(x)),
    "RMSNorm": (lambda: torch.nn.RMSNorm(SIZE), lambda m, x: m(x)),
    "Embedding": (lambda: torch.nn.Embedding(5, SIZE), lambda m, x: m(ROWS) * x),
    "Conv2d": (lambda: torch.nn.Conv2d(1, 2, 3, padding=1), lambda m, x: m(square(x)).sum((0, 1))),
    "BatchNorm1d": (lambda: torch.nn.BatchNorm1d(SIZE), lambda m, x: m(x)),
    "GroupNorm": (lambda: torch.nn.GroupNorm(2, SIZE), lambda m, x: m(x)),
    "PReLU": (lambda: torch.nn.PReLU(SIZE), lambda m, x: m(x)),
    "MLP": (lambda: torch.nn.Sequential(torch.nn.Linear(SIZE, 6), torch.nn.GELU(), torch.nn.Linear(6, SIZE)),
            lambda m, x: m(x)),
    "RNN": (lambda: torch.nn.RNN(SIZE, SIZE), lambda m, x: m(x)[0]),
    "GRU": (lambda: torch.nn.GRU(SIZE, SIZE), lambda m, x: m(x)[0]),
    "LSTM": (lambda: torch.nn.LSTM(SIZE, SIZE), lambda m, x: m(x)[0]),
    "MultiheadAttention": (lambda: torch.nn.MultiheadAttention(SIZE, 2), lambda m, x: m(x, x, x)[0]),
}
OPTIMIZERS = {
    "SGD": (torch.optim.SGD, {"lr": 0.125}),
    "SGD with momentum": (torch.optim.SGD, {"lr": 0.125, "momentum": 0.75, "dampening": 0.25}),
    "SGD with Nesterov": (torch.optim.SGD, {"lr": 0.125, "momentum": 0.75, "weight_decay": 0.125, "nesterov": True}),
    "Adam": (torch.optim.Adam, {"lr": 0.125, "eps": 1e-3, "weight_decay": 0.125}),
    "AdamW": (torch.optim.AdamW, {"lr": 0.125, "eps": 1e-3}),
    "AMSGrad": (torch.optim.AdamW, {"lr": 0.125, "eps": 1e-3, "amsgrad": True, "maximize": True}),
    "RMSprop": (torch.optim.RMSprop, {"lr": 0.125, "eps": 1e-3, "momentum": 0.5, "centered": True}),
    "Adagrad": (torch.optim.Adagrad, {"lr": 0.125, "lr_decay": 0.25, "eps": 1e-3}),
    "Adamax": (torch.optim.Adamax, {"lr": 0.125, "eps": 1e-3}),
    "NAdam": (torch.optim.NAdam, {"lr": 0.125, "eps": 1e-3}),
    "Adadelta": (torch.optim.Adadelta, {"lr": 0.5, "eps": 1e-3}),
    "RAdam": (torch.optim.RAdam, {"lr": 0.125, "eps": 1e-3, "weight_decay": 0.125}),
}


def by_name(named):
    return [tensor for _, tensor in sorted(named)]


class Networks:
    """The modules and optimisers of a program, with the weights of `weightsOf` (Program.cpp)."""

    def __init__(self, program):
        self.names = program["modules"]
        self.modules = [MODULES[name][0]() for name in self.names]
        with torch.no_grad():
            for m, module in enumerate(self.modules):
                for number, parameter in enumerate(by_name(module.named_parameters())):
                    k = torch.arange(parameter.numel())
                    parameter.copy_((((k * 7 + m * 3 + number * 5) % 17 - 8) / 16).reshape(parameter.shape))
        self.optimizers = []
        for name, modules in program["optimizers"]:
            make, options = OPTIMIZERS[name]
            self.optimizers.append(make([p for m in modules for p in self.parameters(m)], **options))

    def call(self, m, x):
        return MODULES[self.names[m]][1](self.modules[m], x)

    def parameters(self, m):
        return by_name(self.modules[m].named_parameters())

    def all_parameters(self):
        return [p for m in range(len(self.modules)) for p in self.parameters(m)]

    def state(self):
        return self.all_parameters() + [b for module in self.modules for b in by_name(module.named_buffers())]
