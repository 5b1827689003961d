"""Runs of random programs of the C++ interface in PyTorch, instruction by instruction; test_programs.py compares them
with Weft's. What they do where Weft differs has the numbers of DEVIATIONS there."""

import torch

import program_functions as functions

VARIABLES = 8
ROUNDING = 2.0 ** -24


class Twin:
    """One run of a program in PyTorch."""

    def __init__(self, program, wide=False, noise=None):
        self.dtype = torch.float64 if wide else torch.float32
        self.noise = noise
        self.data = [torch.tensor(rows, dtype=self.dtype).reshape(4, 4) for rows in program["data"]]
        self.t = [None] * VARIABLES
        self.kept = []
        self.overlaps = 0
        self.networks = functions.Networks(program)

    def rounded(self, tensor, exact=False):
        """A result as rounding to f32 may leave it. exact: other programs have its bits."""
        if self.noise is None:
            return tensor
        return tensor * (1 + ROUNDING * (2 * torch.rand(tensor.shape, generator=self.noise, dtype=self.dtype) - 1))

    def inexact(self, function, *operands):
        return self.rounded(function(*operands))

    def round_in_place(self, tensor, exact=False):
        if self.noise is not None:
            tensor.mul_(1 + ROUNDING * (2 * torch.rand(tensor.shape, generator=self.noise, dtype=self.dtype) - 1))

    def round_gradients(self):
        """The wide runs are exact."""

    def begin_call(self):
        self.t, self.kept = [None] * VARIABLES, []

    def stop(self, tensor):
        """Deviation 3."""
        stopped = tensor.detach()
        stopped.stops = True
        self.t = [stopped if t is tensor else t for t in self.t]
        self.kept = [stopped if t is tensor else t for t in self.kept]

    def stop_gradients(self):
        """Of views whose flag is that of their base, and which no gradient leaves."""
        for tensor in [*self.t, *self.kept]:
            if tensor is not None and tensor._is_view() and not getattr(tensor, "is_wanted", False):
                try:
                    passes_none = tensor.grad_fn is None and tensor.requires_grad
                except RuntimeError:  # made while gradients were off, of a base that was written since
                    passes_none = True
                if passes_none:
                    self.stop(tensor)

    def make_leaf(self, leaf, wanted):
        others = [t for t in [*self.t, *self.kept] if t is not None and t is not leaf and t._base is leaf]
        before = [t.requires_grad for t in others]
        was = leaf.requires_grad
        leaf.requires_grad_(wanted)
        leaf.is_wanted = wanted
        for other, required in zip(others, before):
            if was != wanted and (not wanted or not required):
                self.stop(other)

    def forget_history(self, a):
        """Deviation 9, of variable a. Views that shared the history are made anew of what is left."""
        written = self.t[a]
        if written is None or written.is_leaf and not written._is_view() or getattr(written, "stops", False):
            return
        base = written._base if written._is_view() else written
        if not torch.is_grad_enabled() or base.grad_fn is None or base.numel() != written.numel():
            return
        base.detach_()
        for view in [*self.t, *self.kept]:
            if view is not None and view._base is base:
                anew = base.as_strided(view.shape, view.stride(), view.storage_offset())
                self.t = [anew if t is view else t for t in self.t]
                self.kept = [anew if t is view else t for t in self.kept]

    def overwrites(self, op, a, b, i):
        """Whether an instruction replaces all that variable a holds."""
        written, source = self.t[a], self.t[b]
        if op == "copyInPlace" and written is not None and source is not None and source is not written:
            try:
                return torch.broadcast_shapes(written.shape, source.shape) == written.shape
            except RuntimeError:
                return False
        return op == "fillInPlace" or op == "writeRow" and written is not None and written.shape[:1] == (1,) and i == 0

    def execute(self, op, d, a, b, i, number, *more):
        if self.overwrites(op, a, b, i):
            source = self.t[b].clone() if op == "copyInPlace" else None  # with the history that it has now
            self.forget_history(a)
            return self.with_operand(source, op, d, a, b, i, number)
        try:
            return self.further(op, d, a, b, i, number, *more) if more else \
                self.instruction(op, d, a, b, i, number)
        except RuntimeError as error:
            if "refer to a single memory location" not in str(error) or \
                    op not in ("addInPlace", "binaryInPlace", "maskedFill"):
                raise
            self.overlaps += 1  # deviation 7
            return self.with_operand(self.t[b].clone(), op, d, a, b, i, number, *more)

    def with_operand(self, operand, op, d, a, b, i, number, *more):
        """The instruction with this tensor in place of variable b."""
        if operand is None:
            return self.instruction(op, d, a, b, i, number)
        self.t.append(operand)
        try:
            return self.further(op, d, a, VARIABLES, i, number, *more) if more else \
                self.instruction(op, d, a, VARIABLES, i, number)
        finally:
            self.t.pop()

    def instruction(self, op, d, a, b, i, number):
        """The tensor that the instruction shows, or nothing."""
        number = float(number)
        t, at, bt = self.t, self.t[a], self.t[b]
        if op == "make":
            t[d] = self.data[i].clone()
        elif op == "fill":
            t[d] = torch.full((4, 4), number, dtype=self.dtype)
        elif op in ("row", "transpose", "part"):
            view = at[i] if op == "row" else at.t() if op == "transpose" else at.narrow(0, i, 2)
            if getattr(at, "stops", False) and not at.requires_grad:
                view.stops = True
            t[d] = view
        elif op == "detach":
            t[d] = at.detach()
            t[d].stops = True
        elif op == "alias":
            t[d] = at
        elif op == "clone":
            t[d] = at.clone()
        elif op == "unary":
            t[d] = self.inexact((torch.tanh, torch.sin, torch.exp, torch.abs)[i], at)
        elif op == "scale":
            t[d] = self.rounded(at * number, exact=True)
        elif op == "add":
            t[d] = self.rounded(at + bt, exact=True)
        elif op == "mul":
            t[d] = self.rounded(at * bt, exact=True)
        elif op == "matmul":
            t[d] = self.inexact(torch.matmul, at, bt)
        elif op == "sum":
            t[d] = self.inexact(torch.sum, at)
        elif op == "pick":
            t[d] = at.index_select(0, torch.tensor([i % at.size(0)]))
        elif op == "addInPlace":
            at.add_(bt)
            self.round_in_place(at, exact=True)
        elif op == "scaleInPlace":
            at.mul_(number)
            self.round_in_place(at, exact=True)
        elif op == "fillInPlace":
            at.fill_(number)
        elif op == "copyInPlace":
            at.copy_(bt if at is None or bt is None else functions.convert(bt, at.dtype))
        elif op == "writeRow":
            at[i] = number
        elif op == "drop":
            t[a] = None
        elif op == "leaf":
            self.make_leaf(at, i != 0)
        elif op == "backward":
            (at * at.detach()).sum().backward(retain_graph=True)  # deviation 1
            self.round_gradients()
        elif op == "gradient":
            t[d] = at.grad
        elif op == "gradOf":
            t[d] = self.rounded(torch.autograd.grad(bt.sum(), [at], retain_graph=True)[0].clone())  # deviation 4
        elif op == "clearGrad":
            at.grad = None
        elif op == "keep":
            self.kept.append(at)
        elif op == "read":
            return at
        elif op == "fail":
            return at.index_select(0, torch.tensor([4]))
        elif op == "noGrad":
            torch.set_grad_enabled(not i)
        else:
            raise ValueError(f"'{op}' is no instruction")
        return None


class TypedTwin(Twin):
    """A run in the dtypes of the program. With noise, results that two programs may round differently are off by some
    units of their last place; what is one rounded operation in both is not."""

    def __init__(self, program, noise=None):
        super().__init__(program)
        self.noise = noise
        for parameter in self.networks.all_parameters():
            self.round_in_place(parameter)

    def factors(self, tensor, dtype):
        random = 2 * torch.rand(tensor.shape, generator=self.noise, dtype=torch.float64) - 1
        return 1 + 1.5 * torch.finfo(dtype).eps * random

    def rounded(self, tensor, exact=False):
        if self.noise is None or exact or not tensor.is_floating_point():
            return tensor
        return (tensor.double() * self.factors(tensor, tensor.dtype)).to(tensor.dtype)

    def round_in_place(self, tensor, exact=False):
        if self.noise is not None and not exact and tensor.is_floating_point():
            with torch.no_grad():
                largest = tensor.abs().nan_to_num(0, 0, 0).amax() if tensor.numel() else 0
                spread = (self.factors(tensor, tensor.dtype) - 1) * (largest + tensor.abs()) / 2
                tensor.detach().copy_(tensor + spread.nan_to_num(0, 0, 0))

    def inexact(self, function, *operands):
        """Operands are off as well, since the sum of large terms may be small. Halves are added up in f32."""
        result = function(*operands)
        if self.noise is None:
            return result
        wide = []
        for operand in operands:
            if operand.is_floating_point():
                dtype = torch.promote_types(operand.dtype, torch.float32)
                operand = (operand.double() * self.factors(operand, dtype)).to(dtype)
            wide.append(operand)
        return self.rounded(function(*wide).to(result.dtype))

    def round_gradients(self):
        if self.noise is None:
            return
        gradients = {id(x.grad): x.grad for x in [*self.t, *self.kept, *self.networks.all_parameters()]
                     if x is not None and x.grad is not None}
        for gradient in gradients.values():
            self.round_in_place(gradient)

    def instruction(self, op, d, a, b, i, number):
        if op in ("add", "mul"):
            self.t[d] = functions.binary(op, self.t[a], self.t[b])
        elif op == "addInPlace":
            self.write("add", self.t[a], self.t[b])
        else:
            return super().instruction(op, d, a, b, i, number)
        return None

    def further(self, op, d, a, b, i, number, c, dtype, name):
        """The instructions that programs of matrices do not have."""
        t, at, bt = self.t, self.t[a], self.t[b]
        value, dtype = functions.number_of(number, c), functions.DTYPES.get(dtype)
        compute = (lambda f, *x: f(*x)) if name in functions.EXACT else self.inexact
        if op == "typed":
            t[d] = functions.typed(self.data[i], dtype)
        elif op == "constant":
            t[d] = torch.full((4, 4), value, dtype=dtype)
        elif op == "cast":
            t[d] = functions.convert(at, dtype)
        elif op == "function":
            t[d] = compute(getattr(torch, name), at)
        elif op == "binary":
            t[d] = compute(lambda x, y: functions.binary(name, x, y), at, bt)
        elif op == "withNumber":
            t[d] = compute((lambda x: functions.binary(name, value, x)) if b % 2 else
                           (lambda x: functions.binary(name, x, value)), at)
        elif op == "select":
            t[d] = torch.where(t[c].to(torch.bool), at, bt)
        elif op == "selectNumber":
            t[d] = torch.where(bt.to(torch.bool), at, value)
        elif op == "reduce":
            t[d] = compute(lambda x: functions.reduction(name, x, b % 3, dtype), at)
        elif op == "join":
            t[d] = torch.cat([at, bt]).narrow(0, i, 4)
        elif op in ("binaryInPlace", "numberInPlace"):
            self.write(name, at, bt if op == "binaryInPlace" else value)
        elif op == "maskedFill":
            at.masked_fill_(bt.to(torch.bool), value)
        else:
            self.use_networks(op, d, at, b, i, number)

    def write(self, name, written, operand):
        operand = functions.beside(written, operand)
        divides = name in ("remainder", "floor_divide") and isinstance(operand, torch.Tensor) and \
            functions.is_whole(written) and functions.is_whole(operand)
        if divides and written.dtype != torch.bool and (operand == 0).any():
            written.copy_(functions.binary(name, written.clone(), operand))
            return
        getattr(written, name + "_")(operand)
        self.round_in_place(written, exact=name in functions.EXACT)

    def use_networks(self, op, d, at, b, i, number):
        networks = self.networks
        if op == "call":
            self.t[d] = self.inexact(lambda x: networks.call(b, x), at)
        elif op == "parameter":
            parameters = networks.parameters(b)
            self.t[d] = parameters[i % len(parameters)]
        elif op == "train":
            networks.modules[b].train(i != 0)
        elif op == "freeze":
            for parameter in networks.parameters(b):
                self.make_leaf(parameter, i != 0)
        elif op == "clip":
            self.t[d] = torch.nn.utils.clip_grad_norm_(networks.parameters(b), number)
        elif op == "step":
            networks.optimizers[b].step()
            for group in networks.optimizers[b].param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self.round_in_place(parameter)
        elif op == "zeroGrad":
            networks.optimizers[b].zero_grad(set_to_none=i != 0)
        else:
            raise ValueError(f"'{op}' is no instruction")
