"""The rows in Dr.Jit that are about kernels."""

import glob
import os
import re

from peer_timing import COLUMNS_2D, MIDDLE, N, ROWS_2D, SIDE, data, measure


class DrJit:
    columns = ["drjit"]

    def __init__(self, threads):
        if "DRJIT_LIBLLVM_PATH" not in os.environ:
            # The newest of the LLVM libraries that the system has.
            found = glob.glob("/usr/lib/llvm-*/lib/libLLVM*.so*") + glob.glob("/usr/lib/*-linux-gnu/libLLVM*.so*")
            number = lambda path: max([int(n) for n in re.findall(r"\d+", path.split("x86_64")[-1])] or [0])
            if found:
                os.environ["DRJIT_LIBLLVM_PATH"] = max(found, key=number)
        import drjit
        import drjit.llvm
        self.dr, self.llvm = drjit, drjit.llvm
        drjit.set_thread_count(threads)
        self.version = drjit.__version__
        drjit.eval(drjit.llvm.Float([1, 2]) + 1)  # fails here where there is no LLVM

    def vector(self, seed, n=N):
        return self.llvm.Float(data((n,), seed))

    def tensor(self, shape, seed):
        return self.llvm.TensorXf(data(shape, seed))

    def functions(self, row):
        dr = self.dr
        sigmoid = lambda z: 1 / (1 + dr.exp(-z))
        if row == "mul_add":
            return (lambda x, y: x * 2 + y * y - x), (self.vector(0), self.vector(1))
        if row == "gelu_sigmoid":
            def chain(x, y, z):
                v = x * y + z
                inner = 0.7978845608028654 * (v + 0.044715 * v * v * v)
                return 0.5 * v * (1 + dr.tanh(inner)) * sigmoid(z)
            return chain, (self.vector(0), self.vector(1), self.vector(2))
        if row == "bias_relu":
            return (lambda x, r, c: dr.maximum((x + r) * c, 0),
                    (self.tensor((SIDE, SIDE), 0), self.tensor((1, SIDE), 1), self.tensor((SIDE, 1), 2)))
        if row == "softmax":
            def softmax(x):
                e = dr.exp(x - dr.max(x, axis=1, mode="evaluated")[:, None])
                return e / dr.sum(e, axis=1, mode="evaluated")[:, None]
            return softmax, (self.tensor((ROWS_2D, COLUMNS_2D), 0),)
        def layer_norm(x, w, b):
            centred = x - dr.mean(x, axis=1, mode="evaluated")[:, None]
            variance = dr.mean(centred * centred, axis=1, mode="evaluated")
            return centred * dr.rsqrt(variance + 1e-5)[:, None] * w + b

        if row == "layer_norm":
            return layer_norm, (self.tensor((ROWS_2D, COLUMNS_2D), 0), self.tensor((1, COLUMNS_2D), 1), self.tensor((1, COLUMNS_2D), 2))
        if row == "residual_norm_gelu":
            def residual_norm_gelu(x, r, w, b):
                v = layer_norm(x + r, w, b)
                return 0.5 * v * (1 + dr.tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)))
            return residual_norm_gelu, (self.tensor((ROWS_2D, COLUMNS_2D), 0), self.tensor((ROWS_2D, COLUMNS_2D), 1),
                                        self.tensor((1, COLUMNS_2D), 2), self.tensor((1, COLUMNS_2D), 3))
        if row == "column_sum":
            return (lambda x: dr.sum(x * x, axis=0)), (self.tensor((ROWS_2D, COLUMNS_2D), 0),)
        if row.endswith("_middle"):
            across = lambda reduce, x: reduce(x, axis=1, mode="evaluated")[:, None, :]

            def softmax_middle(x):
                e = dr.exp(x - across(dr.max, x))
                return e / across(dr.sum, e)

            def norm(x):
                centred = x - across(dr.mean, x)
                return centred * dr.rsqrt(across(dr.mean, centred * centred) + 1e-5)

            def var(x):
                centred = x - across(dr.mean, x)
                return dr.sum(centred * centred, axis=1) * (1 / (MIDDLE[1] - 1))

            bodies = {"softmax": softmax_middle, "norm": norm, "mean": lambda x: dr.mean(x, axis=1), "var": var}
            return bodies[row[:-7]], (self.tensor(MIDDLE, 0),)
        if row == "full_sum":
            return (lambda x: dr.sum(x * x)), (self.vector(0),)
        if row == "small_call":
            return dr.freeze(lambda x, y: x * 2 + y * y - x), (self.vector(0, 8), self.vector(1, 8))
        return None

    def run(self, row):
        made = self.functions(row)
        if made is None:
            return {}
        function, arguments = made
        dr = self.dr
        dr.eval(*arguments)

        def call():
            dr.eval(function(*arguments))
            if row != "small_call":
                dr.sync_thread()
        return {"drjit": measure(call, dr.sync_thread)}
