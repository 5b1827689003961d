"""The rows in PyTorch, eager and compiled."""

from peer_timing import COLUMNS_2D, CONVOLUTIONS, MIDDLE, N, PAIRS, ROWS_2D, SIDE, STEPS, data, measure, whole_numbers


class Torch:
    def __init__(self, threads, compiled=True):
        import torch
        self.torch = torch
        torch.set_num_threads(threads)
        self.version = torch.__version__
        self.columns = ["torch eager"] + (["torch.compile"] if compiled else [])

    def tensor(self, shape, seed):
        return self.torch.from_numpy(data(shape, seed))

    def functions(self, row):
        torch, functional = self.torch, self.torch.nn.functional
        if row == "copy":
            source, target = self.tensor((N,), 0), torch.zeros(N)
            return (lambda: target.copy_(source)), ()
        if row == "mul_add":
            return (lambda x, y: x * 2 + y * y - x), (self.tensor((N,), 0), self.tensor((N,), 1))
        if row == "gelu_sigmoid":
            return (lambda x, y, z: functional.gelu(x * y + z, approximate="tanh") * torch.sigmoid(z),
                    tuple(self.tensor((N,), i) for i in range(3)))
        if row == "bias_relu":
            return (lambda x, r, c: torch.relu((x + r) * c),
                    (self.tensor((SIDE, SIDE), 0), self.tensor((SIDE,), 1), self.tensor((SIDE, 1), 2)))
        if row == "transpose_add":
            return (lambda x, y: x.T + y), (self.tensor((SIDE, SIDE), 0), self.tensor((SIDE, SIDE), 1))
        if row == "softmax":
            return (lambda x: torch.softmax(x, 1)), (self.tensor((ROWS_2D, COLUMNS_2D), 0),)
        if row == "layer_norm":
            return ((lambda x, w, b: functional.layer_norm(x, (COLUMNS_2D,), w, b)),
                    (self.tensor((ROWS_2D, COLUMNS_2D), 0), self.tensor((COLUMNS_2D,), 1), self.tensor((COLUMNS_2D,), 2)))
        if row == "residual_norm_gelu":
            return ((lambda x, r, w, b: functional.gelu(functional.layer_norm(x + r, (COLUMNS_2D,), w, b), approximate="tanh")),
                    (self.tensor((ROWS_2D, COLUMNS_2D), 0), self.tensor((ROWS_2D, COLUMNS_2D), 1),
                     self.tensor((COLUMNS_2D,), 2), self.tensor((COLUMNS_2D,), 3)))
        if row.startswith("product_"):
            dtype = {"i32": torch.int32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64}[row[8:]]
            return (lambda x, y: x @ y), tuple(torch.from_numpy(whole_numbers(i)).to(dtype) for i in range(2))
        if row.startswith("conv_"):
            channels, extent, outputs, window, stride, padding, groups = CONVOLUTIONS[row[5:].removesuffix("_gradients")]
            x = self.tensor((32, channels, extent, extent), 0)
            w = self.tensor((outputs, channels // groups, window, window), 1)
            if not row.endswith("_gradients"):
                return (lambda x, w: functional.conv2d(x, w, None, stride, padding, 1, groups)), (x, w)
            places = (extent + 2 * padding - window) // stride + 1
            return (lambda x, w, g: torch.ops.aten.convolution_backward(
                g, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups, [True, True, False])[:2],
                (x, w, self.tensor((32, outputs, places, places), 2)))
        if row == "gpt_token":
            import peer_torch_steps
            return peer_torch_steps.next_word()
        if row == "batch_norm":
            def batch_norm(x, g, weight, bias):
                y, mean, scale = torch.ops.aten.native_batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5)
                return y, *torch.ops.aten.native_batch_norm_backward(g, x, weight, None, None, mean, scale, True, 1e-5,
                                                                     [True, True, True])
            return batch_norm, (self.tensor((32, 64, 32, 32), 0), self.tensor((32, 64, 32, 32), 1), self.tensor((64,), 2),
                                self.tensor((64,), 3))
        if row == "max_pool":
            return (lambda x: functional.max_pool2d(x, 3, 2, 1)), (self.tensor((32, 64, 56, 56), 0),)
        if row == "bilinear":
            return ((lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear")), (self.tensor((16, 64, 64, 64), 0),))
        if row == "sort":
            return torch.sort, (self.tensor((1_000_000,), 0),)
        if row.startswith("topk"):
            return (lambda x: torch.topk(x, 1000 if row == "topk_1000" else 10)), (self.tensor((1_000_000,), 0),)
        library = self.matrices_body(row) or self.fourier_body(row)
        if library:
            return library
        if row == "column_sum":
            return (lambda x: (x * x).sum(0)), (self.tensor((ROWS_2D, COLUMNS_2D), 0),)
        if row.endswith("_middle"):
            def norm(x):
                variance, mean = torch.var_mean(x, 1, correction=0, keepdim=True)
                return (x - mean) * torch.rsqrt(variance + 1e-5)

            bodies = {"softmax": lambda x: torch.softmax(x, 1), "norm": norm, "mean": lambda x: x.mean(1),
                      "var": lambda x: x.var(1)}
            return bodies[row[:-7]], (self.tensor(MIDDLE, 0),)
        if row == "one_row":
            import peer_torch_steps
            return peer_torch_steps.mlp(), (self.tensor((1, 784), 0),)
        if row == "full_sum":
            return (lambda x: (x * x).sum()), (self.tensor((N,), 0),)
        if row == "small_call":
            return (lambda x, y: x * 2 + y * y - x), (self.tensor((8,), 0), self.tensor((8,), 1))
        if row == "alternating":
            def alternating(x, w):
                h = x
                for _ in range(PAIRS):
                    z = h @ w
                    h = torch.tanh(z) * torch.sigmoid(z) + x
                return h
            return alternating, (self.tensor((2048, 128), 0), self.tensor((128, 128), 1) * 0.1)
        return None

    def fourier_body(self, row):
        """A row of Fourier transforms and its argument, or nothing for another row."""
        fft = self.torch.fft
        shapes = {"fft": (64, 1024), "fft_long": (64, 65536), "fft_one": (1, 1 << 20), "fft_prime": (64, 1009),
                  "fft2": (512, 512)}
        if row == "rfft":
            return fft.rfft, (self.tensor((64, 65536), 0),)
        if row not in shapes:
            return None
        x = self.torch.view_as_complex(self.tensor((*shapes[row], 2), 0))
        return (fft.fft2 if row == "fft2" else fft.fft), (x,)

    def matrices_body(self, row):
        """A row of factorizations and its arguments, or nothing for another row."""
        linalg = self.torch.linalg
        batch, n = {"solve_batch": ((1000,), 8), "svd_batch": ((64,), 64)}.get(row, ((), 512))
        a = self.tensor((*batch, n, n), 0)
        symmetric = a + a.mT + 2 * n * self.torch.eye(n)
        if row in ("linalg_solve", "solve_batch"):
            return linalg.solve, (symmetric, self.tensor((*batch, n, n), 1))
        if row in ("svd", "svd_batch"):
            return (lambda a: linalg.svd(a, full_matrices=False)), (a,)
        bodies = {"cholesky": (linalg.cholesky, symmetric), "qr": (linalg.qr, a), "eigh": (linalg.eigh, symmetric)}
        return (bodies[row][0], (bodies[row][1],)) if row in bodies else None

    def steps(self, row, compiled):
        """The ways to write a training step, of which the fastest counts; each a function that does one."""
        import peer_torch_steps
        return peer_torch_steps.steps(row, compiled)

    def update(self, count):
        """Adam over many matrices, with gradients that stay as they are."""
        torch = self.torch
        parameters = [torch.nn.Parameter(self.tensor((64, 64), i)) for i in range(count)]
        for i, parameter in enumerate(parameters):
            parameter.grad = self.tensor((64, 64), count + i)
        return torch.optim.Adam(parameters, lr=1e-3, fused=True).step

    def first(self, row, compiled):
        """What --first-step calls."""
        return self.update(int(row[5:])) if row.startswith("adam_") else self.steps(row, compiled)[0]

    def run(self, row):
        torch = self.torch
        wait = lambda: None
        if row.startswith("adam_"):
            # torch.compile is busy with 300 tensors for five minutes, and has no column.
            return {"torch eager": measure(self.update(int(row[5:])), wait)}
        if row in STEPS:
            results = {}
            for column in self.columns:
                torch._dynamo.reset()
                tried = [measure(call, wait, warm_calls=6) for call in self.steps(row, column == "torch.compile")]
                results[column] = min(tried, key=lambda found: found["ms"])
            return results
        made = self.functions(row)
        if made is None:
            return {}
        function, arguments = made
        results = {}
        with torch.no_grad():
            results["torch eager"] = measure(lambda: function(*arguments), wait)
            if "torch.compile" in self.columns and row != "copy":
                torch._dynamo.reset()
                compiled = torch.compile(function)
                results["torch.compile"] = measure(lambda: compiled(*arguments), wait)
        return results
