// backend: compilation: at : kernel 'main.row.0' is not valid kernel IR; this is an error of Weft: please report it with the program'arith.subf' op requires the same type for all operands and results
// from seed 194; inputs-seed: 194
#cpu = #weft.device<cpu>
module {
  weft.func @main() -> tensor<16xbf16, #cpu> {
    %0 = weft.constant dense<-1.882810e+00> : tensor<16xbf16, #cpu>
    %1 = weft.cos %0 : tensor<16xbf16, #cpu>
    %2 = weft.log_softmax %1, dim = 0 : tensor<16xbf16, #cpu>
    weft.return %2 : tensor<16xbf16, #cpu>
  }
}

