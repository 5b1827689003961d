"""Prints a module of N functions that each call the one before twice."""
import sys

T = "tensor<4xf32, #weft.device<cpu>>"
for f in range(int(sys.argv[1])):
    visibility = "" if f + 1 == int(sys.argv[1]) else "private "
    print(f"weft.func {visibility}@f{f}(%x: {T}) -> {T} {{")
    if f == 0:
        print(f"  %0 = weft.exp %x : {T}\n  weft.return %0 : {T}\n}}")
    else:
        for i in range(2):
            print(f"  %{i} = weft.call @f{f - 1}({'%x' if i == 0 else '%0'}) : ({T}) -> {T}")
        print(f"  weft.return %1 : {T}\n}}")
