//===- ops_linalg.cpp - Factorizations ------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Signs of singular and eigenvectors, and vectors beyond the rank, are any: their magnitudes are compared.
//
//===----------------------------------------------------------------------===//
#include "ops_protocol.h"

using namespace weft;

static std::optional<double> number(const parity::Args &a, size_t i) {
  return a.has(i) ? std::optional(a.real(i)) : std::nullopt;
}
/// Gradients of symmetric matrices are compared through this: only their symmetric part has a meaning.
static Tensor symmetric(const Tensor &a) { return (a + a.mT()) / 2; }
static bool isWord(const parity::Args &a, size_t i) {
  return a.has(i) && std::holds_alternative<std::string>(a.values[i]);
}

static parity::Tensors magnitudes(const linalg::SvdResult &parts, bool isTransposed) {
  int64_t k = parts.S.size(-1);
  Tensor right = isTransposed ? parts.Vh.narrow(-2, 0, k) : parts.Vh.narrow(-1, 0, k);
  return {abs(parts.U.narrow(-1, 0, k)), parts.S, abs(right)};
}

static void addFactorizations(parity::Table &table) {
  using namespace parity;
  for (const char *name : {"cholesky", "linalg_cholesky"})
    table[name] = [](const Args &a) { return Tensors{linalg::cholesky(a.tensor(0), a.flag(1))}; };
  table["linalg_cholesky_ex"] = [](const Args &a) {
    auto result = linalg::cholesky_ex(a.tensor(0), a.flag(1));
    return Tensors{result.L, result.info};
  };
  table["cholesky_inverse"] = [](const Args &a) { return Tensors{cholesky_inverse(a.tensor(0), a.flag(1))}; };
  table["cholesky_solve"] = [](const Args &a) {
    return Tensors{cholesky_solve(a.tensor(0), a.tensor(1), a.flag(2))};
  };
  table["linalg_lu"] = [](const Args &a) {
    auto result = linalg::lu(a.tensor(0));
    return Tensors{result.P, result.L, result.U};
  };
  table["lu"] = [](const Args &a) {
    auto result = linalg::lu_factor(a.tensor(0));
    return a.flag(1) ? Tensors{result.LU, result.pivots, result.info} : Tensors{result.LU, result.pivots};
  };
  table["linalg_lu_factor_ex"] = [](const Args &a) {
    auto result = linalg::lu_factor_ex(a.tensor(0));
    return Tensors{result.LU, result.pivots, result.info};
  };
  table["lu_solve"] = [](const Args &a) { return Tensors{lu_solve(a.tensor(0), a.tensor(1), a.tensor(2))}; };
  table["linalg_lu_solve"] = [](const Args &a) {
    return Tensors{linalg::lu_solve(a.tensor(0), a.tensor(1), a.tensor(2), a.flag(3, true), a.flag(4))};
  };
  table["lu_unpack"] = [](const Args &a) {
    auto result = lu_unpack(a.tensor(0), a.tensor(1));
    return Tensors{result.P, result.L, result.U};
  };
  table["qr"] = [](const Args &a) {
    auto result = qr(a.tensor(0), a.flag(1, true));
    return Tensors{result.Q, result.R};
  };
  table["linalg_qr"] = [](const Args &a) {
    auto result = linalg::qr(a.tensor(0), a.word(1, "reduced"));
    return Tensors{result.Q, result.R};
  };
  table["svd"] = [](const Args &a) { return magnitudes(svd(a.tensor(0), a.flag(1, true)), false); };
  table["linalg_svd"] = [](const Args &a) {
    return magnitudes(linalg::svd(a.tensor(0), a.flag(1, true)), true);
  };
  table["svdvals"] = [](const Args &a) { return Tensors{linalg::svdvals(a.tensor(0))}; };
  table["eigh"] = [](const Args &a) {
    auto result = linalg::eigh(symmetric(a.tensor(0)), a.word(1, "L"));
    return Tensors{result.eigenvalues, abs(result.eigenvectors)};
  };
  table["eigvalsh"] = [](const Args &a) { return Tensors{linalg::eigvalsh(a.tensor(0), a.word(1, "L"))}; };
}

static void addNorms(parity::Table &table) {
  using namespace parity;
  table["matrix_norm"] = [](const Args &a) {
    IntList dims = a.list(2, {-2, -1});
    return Tensors{isWord(a, 1) ? linalg::matrix_norm(a.tensor(0), a.word(1), dims, a.flag(3))
                   : a.has(1)   ? linalg::matrix_norm(a.tensor(0), a.real(1), dims, a.flag(3))
                                : linalg::matrix_norm(a.tensor(0), "fro", dims, a.flag(3))};
  };
  table["linalg_norm"] = [](const Args &a) {
    IntList dims = a.list(2, {});
    return Tensors{isWord(a, 1) ? linalg::norm(a.tensor(0), a.word(1), dims, a.flag(3))
                   : a.has(1)   ? linalg::norm(a.tensor(0), a.real(1), dims, a.flag(3))
                                : linalg::norm(a.tensor(0), dims, a.flag(3))};
  };
  table["cond"] = [](const Args &a) {
    return Tensors{isWord(a, 1) ? linalg::cond(a.tensor(0), a.word(1))
                                : linalg::cond(a.tensor(0), a.real(1, 0))};
  };
  table["matrix_rank"] = [](const Args &a) {
    return Tensors{linalg::matrix_rank(a.tensor(0), number(a, 1), number(a, 2), a.flag(3))};
  };
  table["pinv"] = [](const Args &a) {
    Tensor of = a.flag(3) ? symmetric(a.tensor(0)) : a.tensor(0);
    return Tensors{linalg::pinv(of, number(a, 1), number(a, 2), a.flag(3))};
  };
  table["pinverse"] = [](const Args &a) { return Tensors{pinverse(a.tensor(0), a.real(1, 1e-15))}; };
  table["matrix_power"] = [](const Args &a) {
    return Tensors{linalg::matrix_power(a.tensor(0), a.whole(1))};
  };
  table["multi_dot"] = [](const Args &a) { return Tensors{linalg::multi_dot(a.tensors(0))}; };
  table["vander"] = [](const Args &a) {
    return Tensors{linalg::vander(a.tensor(0), a.has(1) ? std::optional(a.whole(1)) : std::nullopt)};
  };
  table["vecdot"] = [](const Args &a) {
    return Tensors{linalg::vecdot(a.tensor(0), a.tensor(1), a.whole(2, -1))};
  };
  table["tensorinv"] = [](const Args &a) { return Tensors{linalg::tensorinv(a.tensor(0), a.whole(1, 2))}; };
  table["tensorsolve"] = [](const Args &a) {
    return Tensors{linalg::tensorsolve(a.tensor(0), a.tensor(1), a.list(2, {}))};
  };
}

void parity::addLinalg(Table &table) {
  addFactorizations(table);
  addNorms(table);
  table["solve"] = [](const Args &a) {
    return Tensors{linalg::solve(a.tensor(0), a.tensor(1), a.flag(2, true))};
  };
  table["solve_ex"] = [](const Args &a) {
    auto solved = linalg::solve_ex(a.tensor(0), a.tensor(1), a.flag(2, true));
    return Tensors{solved.result, solved.info};
  };
  table["solve_triangular"] = [](const Args &a) {
    return Tensors{linalg::solve_triangular(a.tensor(0), a.tensor(1), a.flag(2), a.flag(3, true), a.flag(4))};
  };
  table["triangular_solve"] = [](const Args &a) {
    return Tensors{triangular_solve(a.tensor(0), a.tensor(1), a.flag(2, true), a.flag(3), a.flag(4))};
  };
  table["lstsq"] = [](const Args &a) {
    return Tensors{linalg::lstsq(a.tensor(0), a.tensor(1), number(a, 2))};
  };
  table["inv"] = [](const Args &a) { return Tensors{linalg::inv(a.tensor(0))}; };
  table["inv_ex"] = [](const Args &a) {
    auto inverted = linalg::inv_ex(a.tensor(0));
    return Tensors{inverted.result, inverted.info};
  };
  table["det"] = [](const Args &a) { return Tensors{linalg::det(a.tensor(0))}; };
  table["logdet"] = [](const Args &a) { return Tensors{logdet(a.tensor(0))}; };
  table["slogdet"] = [](const Args &a) {
    auto parts = linalg::slogdet(a.tensor(0));
    return Tensors{parts.sign, parts.logabsdet};
  };
}
