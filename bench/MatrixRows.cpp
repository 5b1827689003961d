//===- MatrixRows.cpp - Factorizations and systems of equations ---------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One matrix of 512 x 512 f32, and batches of small ones; peer_torch.py has the same rows.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include <weft/weft.hpp>

#include <cmath>
#include <functional>
#include <stdexcept>

namespace weft::bench {
namespace {

constexpr int64_t large = 512;

/// Random matrices between -1 and 1, [batch, n, n], or symmetric ones with a large diagonal.
Tensor matrices(int64_t batch, int64_t n, bool symmetric) {
  std::vector<float> values(static_cast<size_t>(batch * n * n));
  uint32_t state = 1;
  for (float &value : values)
    value = static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1;
  const Tensor a = Tensor::from(values, {batch, n, n});
  return symmetric ? a + a.mT() + 2 * static_cast<double>(n) * eye(n) : a;
}

using Results = std::vector<Tensor>;
/// How far the results are from what they should be, of a matrix.
using Check = std::function<Tensor(const Tensor &a, const Results &results)>;

RowResult run(int64_t batch, int64_t n, bool symmetric, const std::function<Results(Tensor)> &body,
              const Check &difference) {
  Tensor a = matrices(batch, n, symmetric);
  if (batch == 1)
    a = a[0];
  const auto compiled = compile(body, {.name = "matrices"});
  const double found = difference(a, compiled(a)).abs().max().item<double>();
  if (!(found < 1e-2))
    throw std::runtime_error("the factors of a matrix are off by " + std::to_string(found));
  RowResult row;
  row.samples = alternate({{"weft", [&] {
                              compiled(a);
                              synchronize();
                            }}});
  return row;
}

RowResult run_svd(int64_t batch, int64_t n) {
  return run(
      batch, n, false,
      [](Tensor a) {
        const linalg::SvdResult r = linalg::svd(a, false);
        return Results{r.U, r.S, r.Vh};
      },
      [](const Tensor &a, const Results &r) { return matmul(r[0] * r[1].unsqueeze(-2), r[2]) - a; });
}

RowResult run_solve(int64_t batch, int64_t n) {
  const Tensor sides = matrices(batch, n, false);
  const Tensor b = batch == 1 ? sides[0] : sides;
  return run(
      batch, n, true, [=](Tensor a) { return Results{linalg::solve(a, b)}; },
      [=](const Tensor &a, const Results &r) { return matmul(a, r[0]) - b; });
}

} // namespace

RowResult run_cholesky() {
  return run(
      1, large, true, [](Tensor a) { return Results{linalg::cholesky(a)}; },
      [](const Tensor &a, const Results &r) { return matmul(r[0], r[0].mT()) - a; });
}
RowResult run_linalg_solve() { return run_solve(1, large); }
RowResult run_solve_batch() { return run_solve(1000, 8); }
RowResult run_qr() {
  return run(
      1, large, false,
      [](Tensor a) {
        const linalg::QrResult r = linalg::qr(a);
        return Results{r.Q, r.R};
      },
      [](const Tensor &a, const Results &r) { return matmul(r[0], r[1]) - a; });
}
RowResult run_eigh() {
  return run(
      1, large, true,
      [](Tensor a) {
        const linalg::EighResult r = linalg::eigh(a);
        return Results{r.eigenvalues, r.eigenvectors};
      },
      [](const Tensor &a, const Results &r) { return matmul(r[1] * r[0].unsqueeze(-2), r[1].mT()) - a; });
}
RowResult run_svd() { return run_svd(1, large); }
RowResult run_svd_batch() { return run_svd(64, 64); }

} // namespace weft::bench
