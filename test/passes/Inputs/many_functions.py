"""Prints a module of four functions of about 150 ops each: elementwise chains that share values, reductions, broadcasts,
contractions with epilogues, prints and state. The same text in every run."""
import random

random.seed(11)
print("#cpu = #weft.device<cpu>")
M, V = "tensor<16x16xf32, #cpu>", "tensor<16xf32, #cpu>"
for f in range(4):
    lines, matrices = [], ["%a", "%b"]

    def add(text):
        name = f"%v{len(lines)}"
        lines.append(f"  {name} = {text}")
        return name

    def any_matrix():
        return random.choice(matrices[-12:])

    zero = add(f"weft.constant dense<0.0> : {M}")
    while len(lines) < 150:
        kind = random.randrange(8)
        if kind < 3:
            op = random.choice(["add", "mul", "sub", "max"])
            matrices.append(add(f"weft.{op} {any_matrix()}, {any_matrix()} : {M}"))
        elif kind == 3:
            matrices.append(add(f"weft.{random.choice(['exp', 'tanh', 'neg', 'sin'])} {any_matrix()} : {M}"))
        elif kind == 4:
            s = add(f"weft.sum {any_matrix()}, dims = [{random.randrange(2)}] : {M}")
            matrices.append(add(f"weft.broadcast_in_dim {s}, dims = [{random.randrange(2)}] : {V} -> {M}"))
        elif kind == 5:
            matrices.append(add(f"weft.transpose {any_matrix()}, perm = [1, 0] : {M}"))
        elif kind == 6:
            d = add(f"weft.dot_general {any_matrix()}, {any_matrix()}, contract = [1] x [0] : {M}, {M}")
            w = add(f"weft.broadcast_in_dim %w, dims = [1] : {V} -> {M}")
            d = add(f"weft.add {d}, {w} : {M}")
            d = add(f"weft.add {d}, %b : {M}")
            matrices.append(add(f"weft.max {d}, {zero} : {M}"))
        elif random.randrange(3) == 0:
            lines.append(f"  weft.print {any_matrix()} : {M}")
    old = add(f"weft.sub %s, {any_matrix()} : {M}")
    print(f"weft.func @f{f}(%a: {M}, %b: {M}, %w: {V}, %s: {M} {{weft.donated}}) -> ({M}, {M} {{weft.tied = 3 : i64}}) {{")
    print("\n".join(lines))
    print(f"  weft.return {matrices[-1]}, {old} : {M}, {M}")
    print("}")
