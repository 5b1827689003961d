#!/usr/bin/env python3
"""Random programs of the C++ interface beside the same programs in PyTorch.

weft-interface-programs --describe gives programs (test/programs) and what each of their instructions did when they
ran lazily: the values that were read, to the bit, the errors, and after each instruction the types of the variables,
whether they require a gradient, and whether they have one. Here the same instructions run in PyTorch, one by one.

How exact a value is follows from the program. One of matrices runs a second time in f64, which is the reference, and
further times in f64 where every result is off by a random part of the rounding of f32. How far those, and PyTorch's own
f32, are from the reference is what rounding makes of the program; a value of Weft may be FACTOR times as far. Programs of
dtypes and of modules run in their dtypes, and further times with noise of some units in the last place, where two
programs may round differently: a value may be TYPED_FACTOR times as far from PyTorch's as those are, and has PyTorch's
bits where no noise reaches it. An integer or a bool that noise changes is unsure, and is not compared.

Where Weft documents that it differs from PyTorch, the rule is in DEVIATIONS, with its place in the documents. The
comparison goes on behind one where PyTorch can be made to do the same, and ends there where it cannot.

Programs that agree show nothing unless wrong ones would not: each of DEFECTS is a wrong instruction of the twin, which
the first seeds must find.

test_programs.py [COUNT [SEED [KIND]]] compares other programs; the fixed ones are as many as WEFT_TEST_LEVEL says.
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

import program_functions as functions
from program_twins import TypedTwin, Twin, VARIABLES

COUNTS = {"quick": 100, "default": 300, "ci": 1000, "full": 5000}
FACTOR = 32
TYPED_FACTOR = 16
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
    10: "torch-semantics.md, bools for which PyTorch has no kernel or no derivative: the comparison ends.",
    11: "torch-semantics.md, gradients of quotients that are rounded down: the comparison ends.",
    12: "torch-semantics.md, numbers beside halves: a tensor without dimensions is rounded to them first.",
}
LOOKED_FOR = (5, 6, 7, 8, 10, 11)
WRITES = ("addInPlace", "scaleInPlace", "fillInPlace", "copyInPlace", "writeRow", "binaryInPlace", "numberInPlace",
          "maskedFill")


class Mismatch(Exception):
    """What Weft did and what PyTorch did, as text."""


class End(Exception):
    """The comparison ends here: a deviation that PyTorch cannot be made to follow."""


def type_text(tensor):
    name = functions.NAMES[tensor.dtype]
    return f"{name}[{','.join(map(str, tensor.shape))}]{'g' if tensor.requires_grad else ''}"


def variables_text(twin):
    return "".join((type_text(t) + ("d" if t.grad is not None else "") if t is not None else "-") + " " for t in twin.t)


def parse(shown):
    """The type and the numbers of what Weft showed."""
    words = shown.split(" ")
    name = words[0].split("[")[0]
    if name == "i1":
        return words[0], [word == "01" for word in words[1:]]
    if name == "bf16":
        words = [words[0]] + [word + "0000" for word in words[1:]]
    code = {"f64": ">d", "f16": ">e", "i32": ">i", "i64": ">q"}.get(name, ">f")
    return words[0], [struct.unpack(code, bytes.fromhex(word))[0] for word in words[1:]]


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


def compare_typed(shown, twins):
    """twins: what PyTorch shows, and what it shows with noise. Returns whether noise leaves anything to compare."""
    own, *noisy = twins
    if own is None or shown == "none":
        if own is not None or shown != "none":
            raise Mismatch(f"Weft shows {shown[:60]}, PyTorch {'None' if own is None else type_text(own)}")
        return True
    kind, values = parse(shown)
    if kind != type_text(own):
        raise Mismatch(f"Weft shows {kind}, PyTorch {type_text(own)}")
    exact, rough = flat(own), [flat(t) for t in noisy]
    if not own.is_floating_point():
        if any(run != exact for run in rough):
            return False
        if values != exact:
            raise Mismatch(f"Weft {values}, PyTorch {exact}")
        return True
    spread = max((abs(r - x) for run in rough for r, x in zip(run, exact) if math.isfinite(r) and math.isfinite(x)),
                 default=0)
    for k, (value, x) in enumerate(zip(values, exact)):
        others = [run[k] for run in rough]
        if not math.isfinite(x) or not all(map(math.isfinite, others)):
            same = [y == x or math.isnan(y) and math.isnan(x) for y in others]
            good = value == x or math.isnan(value) and math.isnan(x) or not all(same)
        else:
            good = abs(value - x) <= TYPED_FACTOR * spread
        if not good:
            raise Mismatch(f"element {k}: Weft {value!r}, PyTorch {x!r}, with noise off by {spread:.3g}")
    return True


def lacks_kernel(error, instruction):
    """Deviation 10: bools have no quotient that is rounded down, and no derivative as an exponent."""
    if "bool tensor is not supported" in error:
        divides = "floor_divide" in instruction and error.startswith("Negation")
        return divides or instruction[0] in ("backward", "gradOf") and error.startswith("Subtraction")
    if "INTERNAL ASSERT FAILED" in error:  # the gradient of `false ** x`
        return instruction[0] in ("backward", "gradOf") and "Scalar.cpp" in error
    return "not implemented for 'Bool'" in error


class Comparison:
    def __init__(self, program, statistics, make=Twin, noise=(1, 2)):
        self.program, self.statistics = program, statistics
        noise = [torch.Generator().manual_seed(n) for n in noise]
        self.is_typed = program["kind"] != "matrices"
        if self.is_typed:
            make = TypedTwin if make is Twin else make
            self.twins = [make(program)] + [make(program, noise=g) for g in noise]
        else:
            self.twins = [make(program), make(program, wide=True)] + [make(program, True, g) for g in noise]
        self.steps = iter(program["steps"])

    def is_left_out(self, error, op, d, a, b, *rest):
        """Whether Weft refused a write for a reason of its own, and rightly so."""
        t = self.twins[0].t
        if op not in WRITES or t[a] is None:
            return False
        stops = getattr(t[a], "stops", False)
        rule = 0
        if "WEFT-G004" in error and stops and op in ("addInPlace", "copyInPlace", "binaryInPlace") and t[b].requires_grad:
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
        except (RuntimeError, TypeError, AttributeError, IndexError, ValueError, AssertionError) as thrown:
            mine = str(thrown).split("\n")[0] or type(thrown).__name__
        self.statistics["steps"] += 1
        for twin in self.twins:
            twin.stop_gradients()
        if not error and "appears to not have been used" in mine and single.t[instruction[2]]._is_view():
            self.statistics[8] += 1
            raise End
        if not error and lacks_kernel(mine, instruction):
            self.statistics[10] += 1
            raise End
        if not error and re.match("derivative for aten::(floor_divide|remainder)_? is not implemented", mine):
            self.statistics[11] += 1
            raise End
        if bool(mine) != bool(error):
            raise Mismatch(f"{what}\n  Weft: {error or 'no error'}\n  PyTorch: {mine or 'no error'}")
        try:
            if shown and not mine:
                self.statistics["values"] += 1
                if not self.is_typed:
                    compare_shown(shown, results)
                elif not compare_typed(shown, results):
                    self.statistics["unsure"] += 1
            if variables and variables != variables_text(single):
                raise Mismatch(f"the variables\n  Weft:    {variables}\n  PyTorch: {variables_text(single)}")
        except Mismatch as mismatch:
            raise Mismatch(f"{what}\n  {mismatch}") from None

    def call(self):
        """One run of the whole program."""
        program = self.program
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
        for twin in self.twins:
            for parameter in twin.networks.all_parameters():
                parameter.requires_grad_(True)

    def run(self):
        try:
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
                for _ in range(self.program["calls"]):
                    for twin in self.twins:
                        twin.begin_call()
                    self.call()
                for twin in self.twins:
                    twin.begin_call()
                for k in range(len(self.twins[0].networks.state())):
                    self.one(f"state {k} at the end", lambda twin: twin.networks.state()[k])
                    self.one(f"the gradient of state {k} at the end", lambda twin: twin.networks.state()[k].grad)
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


class NumberAsTensor(TypedTwin):
    kind = "dtypes"

    def further(self, op, d, a, b, i, number, c, dtype, name):
        super().further(op, d, a, b, i, number, c, dtype, name)
        if op == "withNumber" and c == 0 and self.t[d].dtype in (torch.float16, torch.bfloat16):
            self.t[d] = self.t[d].float()


class ReducedInItsOwnDtype(TypedTwin):
    kind = "dtypes"

    def further(self, op, d, a, b, i, number, c, dtype, name):
        super().further(op, d, a, b, i, number, c, "" if op == "reduce" else dtype, name)


class RoundedCast(TypedTwin):
    kind = "dtypes"

    def further(self, op, d, a, b, i, number, c, dtype, name):
        super().further(op, d, a, b, i, number, c, dtype, name)
        if op == "cast" and dtype in ("i32", "i64") and self.t[a].is_floating_point():
            self.t[d] = functions.convert(self.t[a].round(), self.t[d].dtype)


class KeptGradients(TypedTwin):
    kind = "modules"

    def further(self, op, *more):
        if op != "zeroGrad":
            super().further(op, *more)


class StaleStatistics(TypedTwin):
    kind = "modules"

    def further(self, op, *more):
        if op != "train":
            super().further(op, *more)


class ForgottenMomentum(TypedTwin):
    kind = "modules"

    def further(self, op, d, a, b, *more):
        if op == "step":
            self.networks.optimizers[b].state.clear()
        super().further(op, d, a, b, *more)


class WrongRow(Twin):
    def instruction(self, op, d, a, b, i, number):
        return super().instruction(op, d, a, b, 0 if op == "writeRow" else i, number)


DEFECTS = (NumberAsTensor, ReducedInItsOwnDtype, RoundedCast, KeptGradients, StaleStatistics, ForgottenMomentum,
           StaleView, LeakingGuard, ForgottenGradient, DetachedCopy, LostHistory, RoughFunction, SilentRefusal,
           WrongRow)
SEEDS_FOR_DEFECTS = 100


def missed_defects():
    """The names of those that no program finds."""
    left = list(DEFECTS)
    for kind in ("matrices", "dtypes", "modules"):
        for program in programs(SEEDS_FOR_DEFECTS, 1, kind):
            of_kind = [defect for defect in left if getattr(defect, "kind", "matrices") == kind]
            if not of_kind:
                break
            for defect in of_kind:
                try:
                    Comparison(program, dict.fromkeys(("steps", "values", "unsure", *LOOKED_FOR), 0), defect).run()
                except Mismatch:
                    left.remove(defect)
    return [defect.__name__ for defect in left]


def programs(count, seed, kind=None):
    tool = os.path.join(os.environ["WEFT_BUILD"], "bin", "weft-interface-programs")
    with subprocess.Popen([tool, "--describe", f"--count={count}", f"--seed={seed}",
                           *([f"--kind={kind}"] if kind else [])], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode != 0:
        raise RuntimeError(f"weft-interface-programs ended with {process.returncode}")


def compare(program, statistics):
    try:
        Comparison(program, statistics).run()
    except Mismatch:
        if program["kind"] == "matrices":
            raise
        # Two runs with noise may both miss an element next to where a comparison or a cast changes its result.
        Comparison(program, statistics, noise=range(1, 31)).run()


def main():
    warnings.filterwarnings("ignore")  # that the gradient of a tensor which is no leaf is read
    torch.set_num_threads(1)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNTS[os.environ.get("WEFT_TEST_LEVEL", "default")]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    kind = sys.argv[3] if len(sys.argv) > 3 else None
    missed = missed_defects()
    for name in missed:
        print(f"FAILED: {SEEDS_FOR_DEFECTS} programs do not find {name}")
    passed, failed = len(DEFECTS) - len(missed), len(missed)
    statistics = dict.fromkeys(("steps", "values", "unsure", *LOOKED_FOR), 0)
    for program in programs(count, seed, kind):
        try:
            compare(program, statistics)
            passed += 1
        except Mismatch as mismatch:
            failed += 1
            print(f"FAILED: seed {program['seed']}: {mismatch}\n"
                  f"  the program: weft-interface-programs --print --count=1 "
                  f"--kind={program['kind']} --seed={program['seed']}")
    met = ", ".join(f"{rule}: {statistics[rule]}" for rule in LOOKED_FOR)
    print(f"{statistics['steps']} instructions, {statistics['values']} values shown, {statistics['unsure']} of them "
          f"unsure; deviations met: {met}")
    if statistics["values"] < 10 * count:
        failed += 1
        print("FAILED: too few values are compared")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
