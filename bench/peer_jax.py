"""The rows in JAX."""

import os

from peer_timing import COLUMNS_2D, MIDDLE, N, PAIRS, ROWS_2D, SIDE, STEPS, data, measure, whole_numbers


class Jax:
    columns = ["jax"]

    def __init__(self, threads):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax
        self.jax = jax
        self.version = jax.__version__

    def array(self, shape, seed):
        return self.jax.device_put(data(shape, seed))

    def functions(self, row):
        jax = self.jax
        np = jax.numpy
        if row == "mul_add":
            return (lambda x, y: x * 2 + y * y - x), (self.array((N,), 0), self.array((N,), 1))
        if row == "gelu_sigmoid":
            return (lambda x, y, z: jax.nn.gelu(x * y + z, approximate=True) * jax.nn.sigmoid(z),
                    tuple(self.array((N,), i) for i in range(3)))
        if row == "bias_relu":
            return (lambda x, r, c: jax.nn.relu((x + r) * c),
                    (self.array((SIDE, SIDE), 0), self.array((SIDE,), 1), self.array((SIDE, 1), 2)))
        if row == "transpose_add":
            return (lambda x, y: x.T + y), (self.array((SIDE, SIDE), 0), self.array((SIDE, SIDE), 1))
        if row == "softmax":
            return (lambda x: jax.nn.softmax(x, axis=1)), (self.array((ROWS_2D, COLUMNS_2D), 0),)
        def layer_norm(x, w, b):
            return jax.nn.standardize(x, axis=1, epsilon=1e-5) * w + b

        if row == "layer_norm":
            return layer_norm, (self.array((ROWS_2D, COLUMNS_2D), 0), self.array((COLUMNS_2D,), 1), self.array((COLUMNS_2D,), 2))
        if row == "residual_norm_gelu":
            return ((lambda x, r, w, b: jax.nn.gelu(layer_norm(x + r, w, b), approximate=True)),
                    (self.array((ROWS_2D, COLUMNS_2D), 0), self.array((ROWS_2D, COLUMNS_2D), 1),
                     self.array((COLUMNS_2D,), 2), self.array((COLUMNS_2D,), 3)))
        if row.startswith("product_") and row != "product_f64":  # which JAX has not without a switch for the process
            dtype = {"i32": np.int32, "bf16": np.bfloat16, "f16": np.float16}[row[8:]]
            return (lambda x, y: x @ y), tuple(jax.device_put(whole_numbers(i)).astype(dtype) for i in range(2))
        if row == "column_sum":
            return (lambda x: (x * x).sum(0)), (self.array((ROWS_2D, COLUMNS_2D), 0),)
        if row.endswith("_middle"):
            bodies = {"softmax": lambda x: jax.nn.softmax(x, axis=1),
                      "norm": lambda x: jax.nn.standardize(x, axis=1, epsilon=1e-5), "mean": lambda x: x.mean(1),
                      "var": lambda x: x.var(1, ddof=1)}
            return bodies[row[:-7]], (self.array(MIDDLE, 0),)
        if row == "one_row":
            import peer_jax_steps
            parameters = peer_jax_steps.mlp()
            return (lambda x, parameters: peer_jax_steps.mlp_forward(parameters, x)), (self.array((1, 784), 0), parameters)
        if row == "full_sum":
            return (lambda x: (x * x).sum()), (self.array((N,), 0),)
        if row == "small_call":
            return (lambda x, y: x * 2 + y * y - x), (self.array((8,), 0), self.array((8,), 1))
        if row == "alternating":
            def alternating(x, w):
                h = x
                for _ in range(PAIRS):
                    z = h @ w
                    h = np.tanh(z) * jax.nn.sigmoid(z) + x
                return h
            return alternating, (self.array((2048, 128), 0), self.array((128, 128), 1) * 0.1)
        return None

    def steps(self, row):
        """The ways to write a training step, of which the fastest counts; each with what waits for it."""
        import peer_jax_steps
        return peer_jax_steps.steps(row)

    def first(self, row):
        """What --first-step calls."""
        return self.steps(row)[0]

    def run(self, row):
        if row in STEPS or row.startswith("adam_"):
            tried = []
            for call, wait in self.steps(row):
                def waited(call=call, wait=wait):
                    call()
                    wait()
                tried.append(measure(waited, lambda: None, warm_calls=4))
            return {"jax": min(tried, key=lambda found: found["ms"])}
        made = self.functions(row)
        if made is None:
            return {}
        function, arguments = made
        compiled = self.jax.jit(function)
        if row == "small_call":  # calls follow each other; only the last is waited for
            last = [None]

            def call():
                last[0] = compiled(*arguments)
            return {"jax": measure(call, lambda: last[0].block_until_ready())}
        return {"jax": measure(lambda: compiled(*arguments).block_until_ready(), lambda: None)}
