#cpu = #weft.device<cpu>
// Vectors of pads and joins that lie inside of one part as a whole, and those that do not; a pad that cuts off.
weft.func @pads(%x: tensor<24x128xf32, #cpu>, %y: tensor<24x64xf32, #cpu>, %z: tensor<24x37xf32, #cpu>)
    -> (tensor<24x512xf32, #cpu>, tensor<512xf32, #cpu>, tensor<96xf32, #cpu>, tensor<24xf32, #cpu>, tensor<229xf32, #cpu>, tensor<192xf32, #cpu>, tensor<24x192xf32, #cpu>) {
  %a = weft.pad %x, low = [0, 256], high = [0, 128], interior = [0, 0] : tensor<24x128xf32, #cpu>
  %b = weft.pad %y, low = [0, 0], high = [0, 448], interior = [0, 0] : tensor<24x64xf32, #cpu>
  %c = weft.add %a, %b : tensor<24x512xf32, #cpu>
  %s = weft.sum %c, dims = [0] : tensor<24x512xf32, #cpu>
  %d = weft.pad %x, low = [0, -16], high = [0, -16], interior = [0, 0] : tensor<24x128xf32, #cpu>
  %t = weft.sum %d, dims = [0] : tensor<24x96xf32, #cpu>
  %e = weft.pad %x, low = [0, 32], high = [0, 16], interior = [0, 0] : tensor<24x128xf32, #cpu>
  %u = weft.sum %e, dims = [1] : tensor<24x176xf32, #cpu>
  %f = weft.concat (%x, %y, %z), dim = 1 : tensor<24x128xf32, #cpu>, tensor<24x64xf32, #cpu>, tensor<24x37xf32, #cpu>
  %v = weft.sum %f, dims = [0] : tensor<24x229xf32, #cpu>
  %g = weft.concat (%x, %y), dim = 1 : tensor<24x128xf32, #cpu>, tensor<24x64xf32, #cpu>
  %w = weft.rmax %g, dims = [0] : tensor<24x192xf32, #cpu>
  %h = weft.exp %g : tensor<24x192xf32, #cpu>
  weft.return %c, %s, %t, %u, %v, %w, %h : tensor<24x512xf32, #cpu>, tensor<512xf32, #cpu>, tensor<96xf32, #cpu>, tensor<24xf32, #cpu>, tensor<229xf32, #cpu>, tensor<192xf32, #cpu>, tensor<24x192xf32, #cpu>
}
// Rows that are cut into pieces.
weft.func @tall(%x: tensor<5000x256xf32, #cpu>, %y: tensor<3x4096x96xbf16, #cpu>) -> (tensor<256xf32, #cpu>, tensor<256xf32, #cpu>, tensor<3x96xbf16, #cpu>) {
  %0 = weft.sum %x, dims = [0] : tensor<5000x256xf32, #cpu>
  %1 = weft.rmin %x, dims = [0] : tensor<5000x256xf32, #cpu>
  %2 = weft.sum %y, dims = [1] : tensor<3x4096x96xbf16, #cpu>
  weft.return %0, %1, %2 : tensor<256xf32, #cpu>, tensor<256xf32, #cpu>, tensor<3x96xbf16, #cpu>
}
// Moments in f64 of narrower types, with rows left over from trees of eight.
weft.func @moments(%x: tensor<3x29x80xf32, #cpu>, %y: tensor<3x29x80xf16, #cpu>) -> (tensor<3x80xf64, #cpu>, tensor<3x80xf64, #cpu>, tensor<3x80xf64, #cpu>) {
  %0 = weft.convert %x to f64 : tensor<3x29x80xf32, #cpu>
  %mean, %m2, %n = weft.welford %0, dims = [1] : tensor<3x29x80xf64, #cpu>
  %1 = weft.convert %y to f64 : tensor<3x29x80xf16, #cpu>
  %mean2, %m22, %n2 = weft.welford %1, dims = [1] : tensor<3x29x80xf64, #cpu>
  weft.return %mean, %m2, %m22 : tensor<3x80xf64, #cpu>, tensor<3x80xf64, #cpu>, tensor<3x80xf64, #cpu>
}
