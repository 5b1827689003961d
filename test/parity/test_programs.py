#!/usr/bin/env python3
"""Random programs of the C++ interface beside the same programs in PyTorch.

weft-interface-programs --describe gives programs (test/programs) and what each of their instructions did when they
ran lazily: the values that were read, to the bit, the errors, and after each instruction the types of the variables,
whether they require a gradient, and whether they have one. Here the same instructions run in PyTorch, one by one.

How exact a value is follows from the program: it runs a second time in f64, which is the reference, and further times
in f64 where every result is off by a random part of the rounding of f32. How far those, and PyTorch's own f32, are from
the reference is what rounding makes of the program; a value of Weft may be FACTOR times as far.

Where Weft documents that it differs from PyTorch, the rule is in DEVIATIONS, with its place in the documents. The
comparison goes on behind one where PyTorch can be made to do the same, and ends there where it cannot.

Programs that agree show nothing unless wrong ones would not: each of DEFECTS is a wrong instruction of the twin, which
the first seeds must find.

test_programs.py [COUNT [SEED]] compares other programs; the fixed ones are as many as WEFT_TEST_LEVEL says.
"""

import json
import math
import os
import re
import struct
import subprocess
import sys
import warnings

import torch

COUNTS = {"quick": 100, "default": 300, "ci": 1000, "full": 5000}
VARIABLES = 8
FACTOR = 32
ROUNDING = 2.0 ** -24


# Where Weft differs from PyTorch, and what is done about it here. LOOKED_FOR are met where the two disagree about an
# error; PyTorch is made to do the others from the start.
DEVIATIONS = {
    1: "torch-semantics.md, `backward` twice: graphs are retained.",
    2: "contract.md, a value that is overwritten after a gradient needs it: copies are saved. "
       "(allow_mutation_on_saved_tensors() does not see writes through views.)",
    3: "torch-semantics.md, a view through which no gradient flows: it is detached.",
    4: "torch-semantics.md, results of `grad()`: they are cloned.",
    5: "contract.md, WEFT-G004: the write that Weft refuses is left out.",
    6: "torch-semantics.md, a view through which no gradient flows: so is a write to one that Weft refuses.",
    7: "torch-semantics.md, operands that overlap what is written: they are cloned.",
    8: "torch-semantics.md, `grad()` with respect to a view that was written: the comparison ends.",
    9: "torch-semantics.md, a tensor that is overwritten whole: its history is cut first.",
}
LOOKED_FOR = (5, 6, 7, 8)


class Mismatch(Exception):
    """What Weft did and what PyTorch did, as text."""


class End(Exception):
    """The comparison ends here: a deviation that PyTorch cannot be made to follow."""


class Twin:
    """One run of a program in PyTorch."""

    def __init__(self, program, wide=False, noise=None):
        self.dtype = torch.float64 if wide else torch.float32
        self.noise = noise
        self.data = [torch.tensor(rows, dtype=self.dtype).reshape(4, 4) for rows in program["data"]]
        self.t = [None] * VARIABLES
        self.kept = []
        self.overlaps = 0

    def rounded(self, tensor):
        """A result as rounding to f32 may leave it."""
        if self.noise is None:
            return tensor
        return tensor * (1 + ROUNDING * (2 * torch.rand(tensor.shape, generator=self.noise, dtype=self.dtype) - 1))

    def round_in_place(self, tensor):
        if self.noise is not None:
            tensor.mul_(1 + ROUNDING * (2 * torch.rand(tensor.shape, generator=self.noise, dtype=self.dtype) - 1))

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

    def execute(self, op, d, a, b, i, number):
        if self.overwrites(op, a, b, i):
            source = self.t[b].clone() if op == "copyInPlace" else None  # with the history that it has now
            self.forget_history(a)
            return self.with_operand(source, op, d, a, b, i, number)
        try:
            return self.instruction(op, d, a, b, i, number)
        except RuntimeError as error:
            if "refer to a single memory location" not in str(error) or op != "addInPlace":
                raise
            self.overlaps += 1  # deviation 7
            return self.with_operand(self.t[b].clone(), op, d, a, b, i, number)

    def with_operand(self, operand, op, d, a, b, i, number):
        """The instruction with this tensor in place of variable b."""
        if operand is None:
            return self.instruction(op, d, a, b, i, number)
        self.t.append(operand)
        try:
            return self.instruction(op, d, a, VARIABLES, i, number)
        finally:
            self.t.pop()

    def instruction(self, op, d, a, b, i, number):
        """The tensor that the instruction shows, or nothing."""
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
            t[d] = self.rounded((torch.tanh, torch.sin, torch.exp, torch.abs)[i](at))
        elif op == "scale":
            t[d] = self.rounded(at * number)
        elif op == "add":
            t[d] = self.rounded(at + bt)
        elif op == "mul":
            t[d] = self.rounded(at * bt)
        elif op == "matmul":
            t[d] = self.rounded(torch.matmul(at, bt))
        elif op == "sum":
            t[d] = self.rounded(at.sum())
        elif op == "pick":
            t[d] = at.index_select(0, torch.tensor([i % at.size(0)]))
        elif op == "addInPlace":
            at.add_(bt)
            self.round_in_place(at)
        elif op == "scaleInPlace":
            at.mul_(number)
            self.round_in_place(at)
        elif op == "fillInPlace":
            at.fill_(number)
        elif op == "copyInPlace":
            at.copy_(bt)
        elif op == "writeRow":
            at[i] = number
        elif op == "drop":
            t[a] = None
        elif op == "leaf":
            self.make_leaf(at, i != 0)
        elif op == "backward":
            (at * at.detach()).sum().backward(retain_graph=True)  # deviation 1
        elif op == "gradient":
            t[d] = at.grad
        elif op == "gradOf":
            t[d] = torch.autograd.grad(bt.sum(), [at], retain_graph=True)[0].clone()  # deviation 4
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


def type_text(tensor):
    name = {torch.float32: "f32", torch.float64: "f64"}[tensor.dtype]
    return f"{name}[{','.join(map(str, tensor.shape))}]{'g' if tensor.requires_grad else ''}"


def variables_text(twin):
    return "".join((type_text(t) + ("d" if t.grad is not None else "") if t is not None else "-") + " " for t in twin.t)


def parse(shown):
    """The type and the numbers of what Weft showed."""
    words = shown.split(" ")
    return words[0], [struct.unpack(">f", bytes.fromhex(word))[0] for word in words[1:]]


def flat(tensor):
    return tensor.detach().reshape(-1).tolist()


def compare_shown(shown, twins):
    """twins: what each run shows: f32, the reference, and the noisy ones."""
    single, reference, *noisy = twins
    if single is None:
        if shown != "none":
            raise Mismatch(f"Weft shows {shown[:60]}, PyTorch None")
        return
    if shown == "none":
        raise Mismatch(f"Weft shows none, PyTorch {type_text(single)}")
    kind, values = parse(shown)
    if kind != type_text(single):
        raise Mismatch(f"Weft shows {kind}, PyTorch {type_text(single)}")
    exact, rough = flat(reference), [flat(single)] + [flat(t) for t in noisy]
    finite = [x for x in exact if math.isfinite(x)]
    scale = max(map(abs, finite), default=0)
    spread = max((abs(r - x) for run in rough for r, x in zip(run, exact) if math.isfinite(r) and math.isfinite(x)),
                 default=0)
    bound = FACTOR * (spread + ROUNDING * scale)
    for k, (value, x, own) in enumerate(zip(values, exact, rough[0])):
        if not math.isfinite(own) or not math.isfinite(x):
            good = value == own or math.isnan(value) and math.isnan(own) or math.isfinite(own) != math.isfinite(x)
        else:
            good = abs(value - x) <= bound
        if not good:
            raise Mismatch(f"element {k}: Weft {value!r}, PyTorch {own!r}, in f64 {x!r}, bound {bound:.3g}")


class Comparison:
    def __init__(self, program, statistics, make=Twin):
        self.program, self.statistics = program, statistics
        noise = [torch.Generator().manual_seed(n) for n in (1, 2)]
        self.twins = [make(program), make(program, wide=True)] + [make(program, True, g) for g in noise]
        self.steps = iter(program["steps"])

    def is_left_out(self, error, op, d, a, b, *rest):
        """Whether Weft refused a write for a reason of its own, and rightly so."""
        t = self.twins[0].t
        if op not in ("addInPlace", "scaleInPlace", "fillInPlace", "copyInPlace", "writeRow") or t[a] is None:
            return False
        stops = getattr(t[a], "stops", False)
        rule = 0
        if "WEFT-G004" in error and stops and op in ("addInPlace", "copyInPlace") and t[b].requires_grad:
            rule = 5
        elif re.match("a view of a leaf Variable|A view was created in no_grad mode", error) and stops:
            rule = 6
        if rule:
            self.statistics[rule] += 1
        return bool(rule)

    def one(self, what, action, instruction=()):
        """One step: `action` runs it in a twin and gives what it shows."""
        shown, error, variables = next(self.steps)
        single = self.twins[0]
        if error and instruction and self.is_left_out(error, *instruction):
            return
        mine = ""
        results = []
        enabled = torch.is_grad_enabled()
        try:
            for twin in self.twins:
                torch.set_grad_enabled(enabled)
                results.append(action(twin))
        except (RuntimeError, TypeError, AttributeError, IndexError, ValueError) as thrown:
            mine = str(thrown).split("\n")[0] or type(thrown).__name__
        self.statistics["steps"] += 1
        for twin in self.twins:
            twin.stop_gradients()
        if not error and "appears to not have been used" in mine and single.t[instruction[2]]._is_view():
            self.statistics[8] += 1
            raise End
        if bool(mine) != bool(error):
            raise Mismatch(f"{what}\n  Weft: {error or 'no error'}\n  PyTorch: {mine or 'no error'}")
        try:
            if shown and not mine:
                self.statistics["values"] += 1
                compare_shown(shown, results)
            if variables and variables != variables_text(single):
                raise Mismatch(f"the variables\n  Weft:    {variables}\n  PyTorch: {variables_text(single)}")
        except Mismatch as mismatch:
            raise Mismatch(f"{what}\n  {mismatch}") from None

    def run(self):
        program = self.program
        try:
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
                lists = [program["before"]] + [program["body"]] * program["iterations"] + [program["after"]]
                for instructions in lists:
                    for *instruction, text in instructions:
                        self.one(text, lambda twin: twin.execute(*instruction), instruction)
                torch.set_grad_enabled(True)
                for v in reversed(range(VARIABLES)):
                    self.one(f"t{v} at the end", lambda twin: twin.t[v])
                    if self.twins[0].t[v] is not None:
                        self.one(f"the gradient of t{v} at the end", lambda twin: twin.t[v].grad)
                for k in range(len(self.twins[0].kept)):
                    self.one(f"kept {k} at the end", lambda twin: twin.kept[k])
                if next(self.steps, None) is not None:
                    raise Mismatch("Weft shows more at the end")
        except End:
            pass
        finally:
            torch.set_grad_enabled(True)
            self.statistics[7] += self.twins[0].overlaps


class StaleView(Twin):
    def instruction(self, op, d, a, b, i, number):
        if op == "addInPlace":
            self.t[a] = self.t[a] + self.t[b]
            return None
        return super().instruction(op, d, a, b, i, number)


class LeakingGuard(Twin):
    def instruction(self, op, d, a, b, i, number):
        return super().instruction(op, d, a, b, 0 if op == "noGrad" else i, number)


class ForgottenGradient(Twin):
    def instruction(self, op, d, a, b, i, number):
        if op == "backward":
            for tensor in self.t:
                if tensor is not None and tensor.is_leaf:
                    tensor.grad = None
        return super().instruction(op, d, a, b, i, number)


class DetachedCopy(Twin):
    def instruction(self, op, d, a, b, i, number):
        shown = super().instruction(op, d, a, b, i, number)
        if op == "detach":
            self.t[d] = self.t[d].clone()
        return shown


class LostHistory(Twin):
    def instruction(self, op, d, a, b, i, number):
        shown = super().instruction(op, d, a, b, i, number)
        if op == "clone":
            self.t[d] = self.t[d].detach()
        return shown


class RoughFunction(Twin):
    def instruction(self, op, d, a, b, i, number):
        shown = super().instruction(op, d, a, b, i, number)
        if op == "unary" and i == 0:
            self.t[d] = self.t[d] * (1 + 1e-5)
        return shown


class SilentRefusal(Twin):
    def instruction(self, op, d, a, b, i, number):
        return None if op == "fail" else super().instruction(op, d, a, b, i, number)


class WrongRow(Twin):
    def instruction(self, op, d, a, b, i, number):
        return super().instruction(op, d, a, b, 0 if op == "writeRow" else i, number)


DEFECTS = (StaleView, LeakingGuard, ForgottenGradient, DetachedCopy, LostHistory, RoughFunction, SilentRefusal,
           WrongRow)
SEEDS_FOR_DEFECTS = 100


def missed_defects():
    """The names of those that no program finds."""
    left = list(DEFECTS)
    for program in programs(SEEDS_FOR_DEFECTS, 1):
        for defect in list(left):
            try:
                Comparison(program, dict.fromkeys(("steps", "values", *LOOKED_FOR), 0), defect).run()
            except Mismatch:
                left.remove(defect)
    return [defect.__name__ for defect in left]


def programs(count, seed):
    tool = os.path.join(os.environ["WEFT_BUILD"], "bin", "weft-interface-programs")
    with subprocess.Popen([tool, "--describe", f"--count={count}", f"--seed={seed}"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode != 0:
        raise RuntimeError(f"weft-interface-programs ended with {process.returncode}")


def main():
    warnings.filterwarnings("ignore")  # that the gradient of a tensor which is no leaf is read
    torch.set_num_threads(1)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNTS[os.environ.get("WEFT_TEST_LEVEL", "default")]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    missed = missed_defects()
    for name in missed:
        print(f"FAILED: {SEEDS_FOR_DEFECTS} programs do not find {name}")
    passed, failed = len(DEFECTS) - len(missed), len(missed)
    statistics = dict.fromkeys(("steps", "values", *LOOKED_FOR), 0)
    for program in programs(count, seed):
        try:
            Comparison(program, statistics).run()
            passed += 1
        except Mismatch as mismatch:
            failed += 1
            print(f"FAILED: seed {program['seed']}: {mismatch}\n"
                  f"  the program: weft-interface-programs --print --count=1 --seed={program['seed']}")
    met = ", ".join(f"{rule}: {statistics[rule]}" for rule in LOOKED_FOR)
    print(f"{statistics['steps']} instructions, {statistics['values']} values shown; deviations met: {met}")
    if statistics["values"] < 10 * count:
        failed += 1
        print("FAILED: too few values are compared")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
