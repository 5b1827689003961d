//===- FusionCases.cpp -----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FusionCases.h"

namespace weft::testing {

void PrintTo(const FusionCase &each, std::ostream *os) { *os << each.name; }

static const FusionCase cases[] = {
    {"chain", ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<70x131xf32, #cpu>, %b: tensor<131xf32, #cpu>) -> tensor<70x131xf32, #cpu> {
      %0 = weft.broadcast_in_dim %b, dims = [1] : tensor<131xf32, #cpu> -> tensor<70x131xf32, #cpu>
      %1 = weft.mul %x, %0 : tensor<70x131xf32, #cpu>
      %2 = weft.exp %1 : tensor<70x131xf32, #cpu>
      weft.return %2 : tensor<70x131xf32, #cpu>
    })"},
    {"aligned",
     ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<64x128xf32, #cpu>, %y: tensor<64x128xf32, #cpu>) -> (tensor<64x128xf32, #cpu>, tensor<64x128xi1, #cpu>) {
      %0 = weft.tanh %x : tensor<64x128xf32, #cpu>
      %1 = weft.lt %0, %y : tensor<64x128xf32, #cpu>
      weft.return %0, %1 : tensor<64x128xf32, #cpu>, tensor<64x128xi1, #cpu>
    })",
     {0}},
    {"transposed", ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<2x100x70xf32, #cpu>, %y: tensor<2x70x100xf64, #cpu>, %z: tensor<100x2x70xbf16, #cpu>)
          -> (tensor<2x70x100xf64, #cpu>, tensor<2x70x100xbf16, #cpu>) {
      %0 = weft.transpose %x, perm = [0, 2, 1] : tensor<2x100x70xf32, #cpu>
      %1 = weft.convert %0 to f64 : tensor<2x70x100xf32, #cpu>
      %2 = weft.sub %1, %y : tensor<2x70x100xf64, #cpu>
      %3 = weft.transpose %z, perm = [1, 2, 0] : tensor<100x2x70xbf16, #cpu>
      weft.return %2, %3 : tensor<2x70x100xf64, #cpu>, tensor<2x70x100xbf16, #cpu>
    })"},
    // Neighbouring dimensions that move together, and types of 1, 2 and 8 bytes, in whole vectors or not.
    {"transposed_bytes",
     ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<3x128x16x40xi8, #cpu>, %y: tensor<3x16x40x128xi8, #cpu>) -> (tensor<3x16x40x128xi8, #cpu>, tensor<3x16x40x128xi1, #cpu>) {
      %0 = weft.transpose %x, perm = [0, 2, 3, 1] : tensor<3x128x16x40xi8, #cpu>
      %1 = weft.add %0, %y : tensor<3x16x40x128xi8, #cpu>
      %2 = weft.lt %0, %y : tensor<3x16x40x128xi8, #cpu>
      weft.return %1, %2 : tensor<3x16x40x128xi8, #cpu>, tensor<3x16x40x128xi1, #cpu>
    })",
     {1}},
    {"transposed_halves", ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<2x102x450xf16, #cpu>, %b: tensor<450x1xf32, #cpu>, %z: tensor<2x102x450xi1, #cpu>) -> tensor<450x2x102xf16, #cpu> {
      %0 = weft.transpose %x, perm = [2, 0, 1] : tensor<2x102x450xf16, #cpu>
      %1 = weft.convert %b to f16 : tensor<450x1xf32, #cpu>
      %2 = weft.reshape %1 : tensor<450x1xf16, #cpu> -> tensor<450xf16, #cpu>
      %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<450xf16, #cpu> -> tensor<450x2x102xf16, #cpu>
      %4 = weft.mul %0, %3 : tensor<450x2x102xf16, #cpu>
      %5 = weft.transpose %z, perm = [2, 0, 1] : tensor<2x102x450xi1, #cpu>
      %6 = weft.select %5, %4, %3 : tensor<450x2x102xi1, #cpu>, tensor<450x2x102xf16, #cpu>
      weft.return %6 : tensor<450x2x102xf16, #cpu>
    })"},
    {"transposed_doubles",
     ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<33x97xf64, #cpu>, %y: tensor<97x33xf64, #cpu>, %i: tensor<97x33xi8, #cpu>) -> (tensor<97x33xf64, #cpu>, tensor<97x33xi8, #cpu>) {
      %0 = weft.neg %x : tensor<33x97xf64, #cpu>
      %1 = weft.transpose %0, perm = [1, 0] : tensor<33x97xf64, #cpu>
      %2 = weft.add %1, %y : tensor<97x33xf64, #cpu>
      %3 = weft.neg %i : tensor<97x33xi8, #cpu>
      weft.return %2, %3 : tensor<97x33xf64, #cpu>, tensor<97x33xi8, #cpu>
    })",
     {1}},
    {"transposed_views", ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<80x5x70xf32, #cpu>, %y: tensor<64x96xf32, #cpu>, %i: tensor<64xi64, #cpu>) -> tensor<64x96xf32, #cpu> {
      %0 = weft.reshape %x : tensor<80x5x70xf32, #cpu> -> tensor<400x70xf32, #cpu>
      %1 = weft.slice %0, start = [7, 3], limit = [103, 67], step = [1, 1] : tensor<400x70xf32, #cpu>
      %2 = weft.transpose %1, perm = [1, 0] : tensor<96x64xf32, #cpu>
      %3 = weft.gather %y, %i, dim = 0, kind = points mode = clip : tensor<64x96xf32, #cpu>, tensor<64xi64, #cpu>
      %4 = weft.sub %2, %3 : tensor<64x96xf32, #cpu>
      weft.return %4 : tensor<64x96xf32, #cpu>
    })"},
    {"random", ir::FusionKind::loop,
     R"(weft.func @main(%k: tensor<i64, #cpu>, %c: tensor<i64, #cpu>, %x: tensor<100x39xf32, #cpu>) -> tensor<39x100xf32, #cpu> {
      %0, %1 = weft.rng_bits_philox %k, %c, shape = [39, 100] stream = 5 : tensor<i64, #cpu>
      %2 = weft.convert %0 to f32 : tensor<39x100xi32, #cpu>
      %3 = weft.transpose %x, perm = [1, 0] : tensor<100x39xf32, #cpu>
      %4 = weft.mul %2, %3 : tensor<39x100xf32, #cpu>
      weft.return %4 : tensor<39x100xf32, #cpu>
    })"},
    {"random_rows", ir::FusionKind::loop,
     R"(weft.func @main(%k: tensor<i64, #cpu>, %c: tensor<i64, #cpu>) -> tensor<7x122xi32, #cpu> {
      %0, %1 = weft.rng_bits_philox %k, %c, shape = [7, 123] : tensor<i64, #cpu>
      %2 = weft.slice %0, start = [0, 1], limit = [7, 123], step = [1, 1] : tensor<7x123xi32, #cpu>
      weft.return %2 : tensor<7x122xi32, #cpu>
    })"},
    {"joined", ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<9x33xf32, #cpu>, %y: tensor<9x64xf32, #cpu>) -> tensor<9x97xf32, #cpu> {
      %0 = weft.neg %x : tensor<9x33xf32, #cpu>
      %1 = weft.concat(%0, %y), dim = 1 : tensor<9x33xf32, #cpu>, tensor<9x64xf32, #cpu>
      %2 = weft.exp %1 : tensor<9x97xf32, #cpu>
      weft.return %2 : tensor<9x97xf32, #cpu>
    })"},
    {"gathered", ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<8x70xf32, #cpu>, %i: tensor<30xi64, #cpu>) -> tensor<30x70xf32, #cpu> {
      %0 = weft.gather %x, %i, dim = 0, kind = points : tensor<8x70xf32, #cpu>, tensor<30xi64, #cpu>
      %1 = weft.reverse %0, dims = [1] : tensor<30x70xf32, #cpu>
      weft.return %1 : tensor<30x70xf32, #cpu>
    })"},
    {"bias",
     ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<3x50x512xf32, #cpu>, %b: tensor<512xf32, #cpu>, %r: tensor<3x50x1xf32, #cpu>)
          -> (tensor<3x50x512xf32, #cpu>, tensor<3x50x512xi1, #cpu>) {
      %0 = weft.broadcast_in_dim %b, dims = [2] : tensor<512xf32, #cpu> -> tensor<3x50x512xf32, #cpu>
      %1 = weft.add %x, %0 : tensor<3x50x512xf32, #cpu>
      %2 = weft.broadcast_in_dim %r, dims = [0, 1, 2] : tensor<3x50x1xf32, #cpu> -> tensor<3x50x512xf32, #cpu>
      %3 = weft.mul %1, %2 : tensor<3x50x512xf32, #cpu>
      %4 = weft.lt %3, %2 : tensor<3x50x512xf32, #cpu>
      weft.return %3, %4 : tensor<3x50x512xf32, #cpu>, tensor<3x50x512xi1, #cpu>
    })",
     {0}},
    {"long_rows", ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<600x2100xf32, #cpu>, %b: tensor<2100xf32, #cpu>) -> tensor<600x2100xf32, #cpu> {
      %0 = weft.broadcast_in_dim %b, dims = [1] : tensor<2100xf32, #cpu> -> tensor<600x2100xf32, #cpu>
      %1 = weft.add %x, %0 : tensor<600x2100xf32, #cpu>
      weft.return %1 : tensor<600x2100xf32, #cpu>
    })"},
    {"joined_vectors", ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<9x32xf32, #cpu>, %y: tensor<9x64xf32, #cpu>, %z: tensor<4x96xf32, #cpu>)
          -> (tensor<9x96xf32, #cpu>, tensor<9x96xf32, #cpu>) {
      %0 = weft.concat(%x, %y), dim = 1 : tensor<9x32xf32, #cpu>, tensor<9x64xf32, #cpu>
      %1 = weft.slice %0, start = [0, 0], limit = [5, 96], step = [1, 1] : tensor<9x96xf32, #cpu>
      %2 = weft.concat(%z, %1), dim = 0 : tensor<4x96xf32, #cpu>, tensor<5x96xf32, #cpu>
      %3 = weft.add %0, %2 : tensor<9x96xf32, #cpu>
      weft.return %0, %3 : tensor<9x96xf32, #cpu>, tensor<9x96xf32, #cpu>
    })"},
    {"joined_middle", ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<3x4x10xf32, #cpu>, %y: tensor<3x7x10xf32, #cpu>, %b: tensor<3x11x1xf32, #cpu>)
          -> tensor<3x11x10xf32, #cpu> {
      %0 = weft.concat(%x, %y), dim = 1 : tensor<3x4x10xf32, #cpu>, tensor<3x7x10xf32, #cpu>
      %1 = weft.broadcast_in_dim %b, dims = [0, 1, 2] : tensor<3x11x1xf32, #cpu> -> tensor<3x11x10xf32, #cpu>
      %2 = weft.mul %0, %1 : tensor<3x11x10xf32, #cpu>
      weft.return %2 : tensor<3x11x10xf32, #cpu>
    })"},
    {"padded", ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<20x30xf32, #cpu>, %y: tensor<44x72xf32, #cpu>) -> tensor<22x36xf32, #cpu> {
      %0 = weft.pad %x, low = [1, 4], high = [1, 2], interior = [0, 0] : tensor<20x30xf32, #cpu>
      %1 = weft.slice %y, start = [1, 0], limit = [44, 72], step = [2, 2] : tensor<44x72xf32, #cpu>
      %2 = weft.add %0, %1 : tensor<22x36xf32, #cpu>
      weft.return %2 : tensor<22x36xf32, #cpu>
    })"},
    {"selected", ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<5x8x16xf16, #cpu>, %i: tensor<3x2xi64, #cpu>, %j: tensor<5x3x2x16xi64, #cpu>, %s: tensor<i64, #cpu>)
          -> (tensor<5x3x2x16xf16, #cpu>, tensor<5x3x2x16xf16, #cpu>) {
      %0 = weft.gather %x, %i, dim = 1, kind = points : tensor<5x8x16xf16, #cpu>, tensor<3x2xi64, #cpu>
      %1 = weft.reshape %x : tensor<5x8x16xf16, #cpu> -> tensor<5x4x2x16xf16, #cpu>
      %2 = weft.dynamic_slice %1, starts(%s, %s, %s, %s), sizes = [5, 3, 2, 16] : tensor<5x4x2x16xf16, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
      %3 = weft.gather %x, %s, dim = 1, kind = points : tensor<5x8x16xf16, #cpu>, tensor<i64, #cpu>
      %4 = weft.broadcast_in_dim %3, dims = [0, 3] : tensor<5x16xf16, #cpu> -> tensor<5x3x2x16xf16, #cpu>
      %5 = weft.add %2, %4 : tensor<5x3x2x16xf16, #cpu>
      weft.return %0, %5 : tensor<5x3x2x16xf16, #cpu>, tensor<5x3x2x16xf16, #cpu>
    })"},
    {"softmax",
     ir::FusionKind::row,
     R"(weft.func @main(%x: tensor<9x217xf32, #cpu>) -> tensor<9x217xf32, #cpu> {
      %1 = weft.rmax %x, dims = [1] : tensor<9x217xf32, #cpu>
      %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<9xf32, #cpu> -> tensor<9x217xf32, #cpu>
      %3 = weft.sub %x, %2 : tensor<9x217xf32, #cpu>
      %4 = weft.exp %3 : tensor<9x217xf32, #cpu>
      %5 = weft.sum %4, dims = [1] : tensor<9x217xf32, #cpu>
      %6 = weft.broadcast_in_dim %5, dims = [0] : tensor<9xf32, #cpu> -> tensor<9x217xf32, #cpu>
      %7 = weft.div %4, %6 : tensor<9x217xf32, #cpu>
      weft.return %7 : tensor<9x217xf32, #cpu>
    })",
     {0}},
    {"statistics", ir::FusionKind::row,
     R"(weft.func @main(%x: tensor<5x7x128xf64, #cpu>) -> (tensor<5xf64, #cpu>, tensor<5xf64, #cpu>, tensor<5xf64, #cpu>) {
      %0 = weft.exp %x : tensor<5x7x128xf64, #cpu>
      %mean, %m2, %n = weft.welford %0, dims = [1, 2] : tensor<5x7x128xf64, #cpu>
      %1 = weft.prod %x, dims = [1, 2] : tensor<5x7x128xf64, #cpu>
      weft.return %mean, %m2, %1 : tensor<5xf64, #cpu>, tensor<5xf64, #cpu>, tensor<5xf64, #cpu>
    })"},
    {"short_rows", ir::FusionKind::row,
     R"(weft.func @main(%x: tensor<300x11xbf16, #cpu>) -> (tensor<300xbf16, #cpu>, tensor<300xi64, #cpu>) {
      %0 = weft.sum %x, dims = [1] : tensor<300x11xbf16, #cpu>
      %1 = weft.argmax %x, dim = 1 : tensor<300x11xbf16, #cpu>
      weft.return %0, %1 : tensor<300xbf16, #cpu>, tensor<300xi64, #cpu>
    })"},
    {"aligned_rows", ir::FusionKind::row,
     R"(weft.func @main(%x: tensor<6x256xf32, #cpu>) -> (tensor<6x256xf32, #cpu>, tensor<6xi64, #cpu>) {
      %0 = weft.tanh %x : tensor<6x256xf32, #cpu>
      %1 = weft.sum %0, dims = [1] : tensor<6x256xf32, #cpu>
      %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<6xf32, #cpu> -> tensor<6x256xf32, #cpu>
      %3 = weft.add %0, %2 : tensor<6x256xf32, #cpu>
      %4 = weft.argmin %0, dim = 1 : tensor<6x256xf32, #cpu>
      weft.return %3, %4 : tensor<6x256xf32, #cpu>, tensor<6xi64, #cpu>
    })"},
    {"padded_windows", ir::FusionKind::loop,
     R"(weft.func @main(%x: tensor<19x11x43xf32, #cpu>) -> tensor<19x6x22xf32, #cpu> {
      %c = weft.constant dense<-3.0> : tensor<f32, #cpu>
      %p = weft.pad %x value %c, low = [0, 1, 1], high = [0, 1, 1], interior = [0, 0, 0] : tensor<19x11x43xf32, #cpu>, tensor<f32, #cpu>
      %0 = weft.slice %p, start = [0, 0, 0], limit = [19, 11, 43], step = [1, 2, 2] : tensor<19x13x45xf32, #cpu>
      %1 = weft.slice %p, start = [0, 0, 1], limit = [19, 11, 44], step = [1, 2, 2] : tensor<19x13x45xf32, #cpu>
      %2 = weft.slice %p, start = [0, 2, 2], limit = [19, 13, 45], step = [1, 2, 2] : tensor<19x13x45xf32, #cpu>
      %3 = weft.max %0, %1 : tensor<19x6x22xf32, #cpu>
      %4 = weft.min %3, %2 : tensor<19x6x22xf32, #cpu>
      weft.return %4 : tensor<19x6x22xf32, #cpu>
    })"},
    {"rows_in_pieces", ir::FusionKind::row,
     R"(weft.func @main(%x: tensor<3x5x128xf32, #cpu>) -> (tensor<3x5x128xf32, #cpu>, tensor<5xf32, #cpu>) {
      %0 = weft.exp %x : tensor<3x5x128xf32, #cpu>
      %1 = weft.sum %0, dims = [0, 2] : tensor<3x5x128xf32, #cpu>
      %2 = weft.broadcast_in_dim %1, dims = [1] : tensor<5xf32, #cpu> -> tensor<3x5x128xf32, #cpu>
      %3 = weft.div %0, %2 : tensor<3x5x128xf32, #cpu>
      weft.return %3, %1 : tensor<3x5x128xf32, #cpu>, tensor<5xf32, #cpu>
    })"},
    {"rows_in_short_pieces", ir::FusionKind::row,
     R"(weft.func @main(%x: tensor<3x2x5x4x48xf32, #cpu>) -> (tensor<3x2x5x4x48xf32, #cpu>, tensor<3x5xf32, #cpu>) {
      %mean, %m2, %n = weft.welford %x, dims = [1, 3, 4] : tensor<3x2x5x4x48xf32, #cpu>
      %1 = weft.broadcast_in_dim %mean, dims = [0, 2] : tensor<3x5xf32, #cpu> -> tensor<3x2x5x4x48xf32, #cpu>
      %2 = weft.sub %x, %1 : tensor<3x2x5x4x48xf32, #cpu>
      weft.return %2, %m2 : tensor<3x2x5x4x48xf32, #cpu>, tensor<3x5xf32, #cpu>
    })"},
    {"columns", ir::FusionKind::column,
     R"(weft.func @main(%x: tensor<37x410xf32, #cpu>) -> (tensor<410xf32, #cpu>, tensor<410xi64, #cpu>, tensor<37x410xf32, #cpu>) {
      %0 = weft.exp %x : tensor<37x410xf32, #cpu>
      %1 = weft.sum %0, dims = [0] : tensor<37x410xf32, #cpu>
      %2 = weft.argmax %x, dim = 0 : tensor<37x410xf32, #cpu>
      weft.return %1, %2, %0 : tensor<410xf32, #cpu>, tensor<410xi64, #cpu>, tensor<37x410xf32, #cpu>
    })"},
    {"column_moments", ir::FusionKind::column,
     R"(weft.func @main(%x: tensor<19x200xf64, #cpu>) -> (tensor<200xf64, #cpu>, tensor<200xf64, #cpu>) {
      %0, %1, %n = weft.welford %x, dims = [0] : tensor<19x200xf64, #cpu>
      weft.return %0, %1 : tensor<200xf64, #cpu>, tensor<200xf64, #cpu>
    })"},
    {"column_second_pass", ir::FusionKind::column,
     R"(weft.func @main(%x: tensor<21x100xf16, #cpu>) -> tensor<21x100xf16, #cpu> {
      %0 = weft.sum %x, dims = [0] : tensor<21x100xf16, #cpu>
      %1 = weft.broadcast_in_dim %0, dims = [1] : tensor<100xf16, #cpu> -> tensor<21x100xf16, #cpu>
      %2 = weft.sub %x, %1 : tensor<21x100xf16, #cpu>
      weft.return %2 : tensor<21x100xf16, #cpu>
    })"},
    {"middle_softmax",
     ir::FusionKind::column,
     R"(weft.func @main(%x: tensor<3x29x410xf32, #cpu>) -> tensor<3x29x410xf32, #cpu> {
      %0 = weft.rmax %x, dims = [1] : tensor<3x29x410xf32, #cpu>
      %1 = weft.broadcast_in_dim %0, dims = [0, 2] : tensor<3x410xf32, #cpu> -> tensor<3x29x410xf32, #cpu>
      %2 = weft.sub %x, %1 : tensor<3x29x410xf32, #cpu>
      %3 = weft.exp %2 : tensor<3x29x410xf32, #cpu>
      %4 = weft.sum %3, dims = [1] : tensor<3x29x410xf32, #cpu>
      %5 = weft.broadcast_in_dim %4, dims = [0, 2] : tensor<3x410xf32, #cpu> -> tensor<3x29x410xf32, #cpu>
      %6 = weft.div %3, %5 : tensor<3x29x410xf32, #cpu>
      weft.return %6 : tensor<3x29x410xf32, #cpu>
    })",
     {0}},
    {"middle_aligned", ir::FusionKind::column,
     R"(weft.func @main(%x: tensor<2x12x128xf32, #cpu>, %w: tensor<12xf32, #cpu>) -> (tensor<2x12x128xf32, #cpu>, tensor<2x128xf32, #cpu>) {
      %v = weft.broadcast_in_dim %w, dims = [1] : tensor<12xf32, #cpu> -> tensor<2x12x128xf32, #cpu>
      %t = weft.tanh %v : tensor<2x12x128xf32, #cpu>
      %y = weft.mul %x, %t : tensor<2x12x128xf32, #cpu>
      %0 = weft.sum %y, dims = [1] : tensor<2x12x128xf32, #cpu>
      %1 = weft.exp %0 : tensor<2x128xf32, #cpu>
      %2 = weft.broadcast_in_dim %1, dims = [0, 2] : tensor<2x128xf32, #cpu> -> tensor<2x12x128xf32, #cpu>
      %3 = weft.mul %2, %t : tensor<2x12x128xf32, #cpu>
      %4 = weft.add %y, %3 : tensor<2x12x128xf32, #cpu>
      weft.return %4, %1 : tensor<2x12x128xf32, #cpu>, tensor<2x128xf32, #cpu>
    })"},
    {"lines", ir::FusionKind::scan,
     R"(weft.func @main(%x: tensor<9x203xf32, #cpu>) -> tensor<9x203xf32, #cpu> {
      %0 = weft.exp %x : tensor<9x203xf32, #cpu>
      %1 = weft.cumsum %0, dim = 1 : tensor<9x203xf32, #cpu>
      weft.return %1 : tensor<9x203xf32, #cpu>
    })"},
    {"scanned_columns",
     ir::FusionKind::scan,
     R"(weft.func @main(%x: tensor<3x17x205xf32, #cpu>) -> tensor<3x17x205xf32, #cpu> {
      %0 = weft.cumprod %x, dim = 1 reverse : tensor<3x17x205xf32, #cpu>
      %1 = weft.neg %0 : tensor<3x17x205xf32, #cpu>
      weft.return %1 : tensor<3x17x205xf32, #cpu>
    })",
     {0}},
    {"rows_by_index",
     ir::FusionKind::update,
     R"(weft.func @main(%x: tensor<8x77xf32, #cpu>, %u: tensor<300x77xf32, #cpu>, %i: tensor<300xi64, #cpu>) -> tensor<8x77xf32, #cpu> {
      %0 = weft.index_update %x, %u, %i, dim = 0 accumulate mode = assume : tensor<8x77xf32, #cpu>, tensor<300x77xf32, #cpu>, tensor<300xi64, #cpu>
      weft.return %0 : tensor<8x77xf32, #cpu>
    })",
     {0}},
    {"scattered",
     ir::FusionKind::update,
     R"(weft.func @main(%x: tensor<5x8x9xbf16, #cpu>, %i: tensor<4x33x9xi64, #cpu>, %u: tensor<5x33x10xbf16, #cpu>) -> tensor<5x8x9xbf16, #cpu> {
      %0 = weft.scatter %x, %i, %u, dim = 1, kind = add mode = assume : tensor<5x8x9xbf16, #cpu>, tensor<4x33x9xi64, #cpu>, tensor<5x33x10xbf16, #cpu>
      weft.return %0 : tensor<5x8x9xbf16, #cpu>
    })",
     {0}},
    {"window",
     ir::FusionKind::update,
     R"(weft.func @main(%x: tensor<40x90xf32, #cpu>, %u: tensor<21x70xf32, #cpu>, %i: tensor<i64, #cpu>) -> tensor<40x90xf32, #cpu> {
      %0 = weft.exp %u : tensor<21x70xf32, #cpu>
      %1 = weft.dynamic_update_slice %x, %0, starts(%i, %i) : tensor<40x90xf32, #cpu>, tensor<21x70xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
      weft.return %1 : tensor<40x90xf32, #cpu>
    })",
     {0}},
    {"wide_rows_by_index",
     ir::FusionKind::update,
     R"(weft.func @main(%x: tensor<70x640xf32, #cpu>, %u: tensor<90x640xf32, #cpu>, %i: tensor<90xi64, #cpu>) -> tensor<70x640xf32, #cpu> {
      %0 = weft.index_update %x, %u, %i, dim = 0 accumulate mode = assume : tensor<70x640xf32, #cpu>, tensor<90x640xf32, #cpu>, tensor<90xi64, #cpu>
      weft.return %0 : tensor<70x640xf32, #cpu>
    })",
     {0}},
    {"scattered_rows",
     ir::FusionKind::update,
     R"(weft.func @main(%x: tensor<8x200xf32, #cpu>, %i: tensor<33x200xi64, #cpu>, %u: tensor<33x200xf32, #cpu>) -> tensor<8x200xf32, #cpu> {
      %0 = weft.scatter %x, %i, %u, dim = 0, kind = add mode = assume : tensor<8x200xf32, #cpu>, tensor<33x200xi64, #cpu>, tensor<33x200xf32, #cpu>
      weft.return %0 : tensor<8x200xf32, #cpu>
    })",
     {0}},
    {"row_window",
     ir::FusionKind::update,
     R"(weft.func @main(%x: tensor<40x64xf32, #cpu>, %u: tensor<21x64xf32, #cpu>, %i: tensor<i64, #cpu>) -> tensor<40x64xf32, #cpu> {
      %0 = weft.exp %u : tensor<21x64xf32, #cpu>
      %1 = weft.dynamic_update_slice %x, %0, starts(%i, %i) : tensor<40x64xf32, #cpu>, tensor<21x64xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
      weft.return %1 : tensor<40x64xf32, #cpu>
    })",
     {0}},
    {"steps",
     ir::FusionKind::multi_tensor,
     R"(weft.func @main(%p: tensor<1000xf32, #cpu>, %g: tensor<1000xf32, #cpu>, %b: tensor<1000xf32, #cpu>,
          %q: tensor<300xf64, #cpu>, %h: tensor<300xf64, #cpu>, %c: tensor<300xf64, #cpu>,
          %t: tensor<i64, #cpu>, %l: tensor<f64, #cpu>, %m: tensor<f64, #cpu>, %a: tensor<f64, #cpu>, %d: tensor<f64, #cpu>)
          -> (tensor<1000xf32, #cpu>, tensor<1000xf32, #cpu>, tensor<300xf64, #cpu>, tensor<300xf64, #cpu>) {
      %0, %1 = weft.sgd_step(%p, %g buf %b, step %t, lr %l, momentum %m, dampening %a, decay %d) : tensor<1000xf32, #cpu>, tensor<1000xf32, #cpu> buf tensor<1000xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
      %2, %3 = weft.sgd_step(%q, %h buf %c, step %t, lr %l, momentum %m, dampening %a, decay %d) nesterov : tensor<300xf64, #cpu>, tensor<300xf64, #cpu> buf tensor<300xf64, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
      weft.return %0, %1, %2, %3 : tensor<1000xf32, #cpu>, tensor<1000xf32, #cpu>, tensor<300xf64, #cpu>, tensor<300xf64, #cpu>
    })",
     {0, 2, 3, 5}},
};

std::span<const FusionCase> fusionCases() { return cases; }

} // namespace weft::testing
