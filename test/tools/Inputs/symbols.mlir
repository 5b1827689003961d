#cpu = #weft.device<cpu>
#b = #weft.device<cpu, [batch]>
#bs = #weft.device<cpu, [batch, seq]>
#p = #weft.device<cpu, [batch, 2 + seq]>
weft.func @f(%x: tensor<?x?xf32, #bs> {weft.name = "x"}, %y: tensor<?xf32, #b>)
    -> (tensor<?x?xf32, #p>, tensor<?xf32, #b> {weft.name = "y"})
    attributes {weft.symbols = [#weft.symbol<"batch", 1, 64>, #weft.symbol<"seq", 2, 600>]} {
  %p = weft.pad %x, low = [0, 1], high = [0, 1], interior = [0, 0] : tensor<?x?xf32, #bs>
  %n = weft.neg %y : tensor<?xf32, #b>
  weft.return %p, %n : tensor<?x?xf32, #p>, tensor<?xf32, #b>
}
