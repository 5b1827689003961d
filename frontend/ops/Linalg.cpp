//===- Linalg.cpp - Factorizations and what is made of them ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/linalg.hpp"

#include "frontend/graph/Symbols.h"
#include "frontend/ops/Term.h"
#include "weft/gather_scatter.hpp"
#include "weft/joining.hpp"
#include "weft/linear_algebra.hpp"
#include "weft/reduce.hpp"
#include "weft/sorting.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

using namespace frontend;

namespace {

/// Throws Error unless this is a batch of matrices of f32 or f64, which are square if they have to.
void checkMatrices(const char *function, const Tensor &a, bool isSquare, Loc loc) {
  if (a.dtype(loc) != DType::f32 && a.dtype(loc) != DType::f64)
    fail(std::string(function) + ": Expected a floating point tensor of f32 or f64 as input. Got " +
             std::string(name(a.dtype(loc))),
         loc, {use(a, loc)});
  if (a.dim(loc) < 2)
    fail(std::string(function) + ": The input tensor A must have at least 2 dimensions, found shape " +
             shapeText(a.sizes(loc)),
         loc, {use(a, loc)});
  if (isSquare && a.sizes(loc).back() != a.sizes(loc)[a.sizes(loc).size() - 2])
    fail(std::string(function) + ": A must be batches of square matrices, but they are " +
             shapeText(a.sizes(loc)),
         loc, {use(a, loc)});
}

/// The results of weft.factorize. With `isOfValues` nothing reads the vectors.
std::vector<Tensor> factorize(const Tensor &a, const char *kind, bool full, Loc loc,
                              bool isOfValues = false) {
  GraphLock lock(graphMutex());
  std::vector<Attr> attrs{{"kind", std::string(kind)}, {"full", full}};
  if (isOfValues)
    attrs.push_back({"weft.values_only", true});
  auto node = record("factorize", {use(a, loc)}, attrs, loc);
  std::vector<Tensor> results;
  for (uint32_t i = 0; i < node->results.size(); ++i)
    results.push_back(wrap(Ref{node, i}, loc));
  return results;
}

/// The rows and columns of matrices.
int64_t rowsOf(const Tensor &a, Loc loc) { return a.sizes(loc)[a.sizes(loc).size() - 2]; }
int64_t columnsOf(const Tensor &a, Loc loc) { return a.sizes(loc).back(); }
Shape batchOf(const Tensor &a, Loc loc) { return {a.sizes(loc).begin(), a.sizes(loc).end() - 2}; }
Tensor withBatch(const Tensor &a, Shape batch, Loc loc) {
  batch.insert(batch.end(), a.sizes(loc).end() - 2, a.sizes(loc).end());
  return batch == a.sizes(loc) ? a : a.expand(batch, loc);
}

Tensor triangular(Tensor a, Tensor b, bool upper, bool unit, Loc loc) {
  const Shape batch = broadcast_shapes({batchOf(a, loc), batchOf(b, loc)}, loc);
  a = withBatch(a, batch, loc);
  b = withBatch(b, batch, loc);
  GraphLock lock(graphMutex());
  return wrap(
      record1("triangular_solve", {use(a, loc), use(b, loc)}, {{"upper", upper}, {"unit", unit}}, loc), loc);
}

Tensor product(const Term &a, const Term &b) { return matmul(a.tensor, b.tensor, a.loc); }
Tensor diagonalOf(const Tensor &a, Loc loc) { return a.diagonal(0, -2, -1, loc); }

/// The factors of square matrices, the row of `a` in each of their rows, and whether none is singular.
struct Factors {
  Tensor lu, pivots, permutation;
  Factors(const Tensor &a, Loc loc) {
    std::vector<Tensor> results = factorize(a, "lu", false, loc);
    lu = results[0];
    pivots = results[1];
    permutation = results[2];
  }
  /// i32: 0, or the number of the first 0 on the diagonal of U.
  Tensor info(Loc loc) const {
    NoGradGuard guard;
    Term diagonal{diagonalOf(lu, loc).detach(loc), loc};
    if (diagonal.tensor.sizes(loc).back() == 0)
      return zeros(batchOf(lu, loc), {.dtype = DType::i32, .device = lu.device(loc)}, loc);
    Tensor isZero = (diagonal == 0.0).tensor.to(DType::ui8, loc);
    Term first{isZero.argmax(-1, false, loc), loc};
    return select({(diagonal == 0.0).tensor.any({-1}, false, loc), loc}, first + int64_t(1), {0, loc})
        .tensor.to(DType::i32, loc);
  }
};

/// Rows of b, [.., n, k], in the order of a permutation, [.., n].
Tensor permutedRows(const Tensor &b, const Tensor &permutation, Loc loc) {
  return b.gather(-2, permutation.unsqueeze(-1, loc).expand(b.sizes(loc), loc), loc);
}

/// x with a x = b, from the factors of a.
Tensor solveByFactors(const Tensor &lu, const Tensor &permutation, Tensor b, Loc loc) {
  const Shape batch = broadcast_shapes({batchOf(lu, loc), batchOf(b, loc)}, loc);
  b = withBatch(b, batch, loc);
  Shape places = batch;
  places.push_back(rowsOf(lu, loc));
  b = permutedRows(b, permutation.expand(places, loc), loc);
  Tensor y = triangular(lu, b, /*upper=*/false, /*unit=*/true, loc);
  return triangular(lu, y, /*upper=*/true, /*unit=*/false, loc);
}

/// x with a^T x = b: the permutation comes last, and backwards.
Tensor solveTransposed(const Tensor &lu, const Tensor &permutation, const Tensor &b, Loc loc) {
  Tensor y = triangular(lu.mT(loc), b, /*upper=*/false, /*unit=*/false, loc);
  y = triangular(lu.mT(loc), y, /*upper=*/true, /*unit=*/true, loc);
  Shape places = batchOf(y, loc);
  places.push_back(rowsOf(lu, loc));
  return permutedRows(y, argsort(permutation, -1, false, true, loc).expand(places, loc), loc);
}

/// The permutation that exchanges of rows one after the other make: [.., n] from [.., k].
Tensor permutationOf(const Tensor &pivots, int64_t rows, Loc loc) {
  NoGradGuard guard;
  Shape shape = pivots.sizes(loc);
  const int64_t count = shape.back();
  shape.back() = rows;
  Tensor order = positions(shape, static_cast<int64_t>(shape.size()) - 1, pivots.device(loc), loc);
  Tensor wanted = sub({pivots.to(DType::i64, loc), loc}, {1, loc});
  for (int64_t i = 0; i < count; ++i) {
    Tensor at = wanted.narrow(-1, i, 1, loc), here = order.narrow(-1, i, 1, loc),
           there = order.gather(-1, at, loc);
    order = order.scatter(-1, at, {here, loc}, loc);
    order =
        order.scatter(-1, full(at.sizes(loc), {i, loc}, {.dtype = DType::i64, .device = at.device(loc)}, loc),
                      {there, loc}, loc);
  }
  return order;
}

void assertRegular(const char *function, const Tensor &info, Loc loc) {
  if (anySymbolic(info.sizes(loc)) || info.numel(loc) == 0)
    return;
  assert_true(eq({info, loc}, {0, loc}),
              std::string(function) + ": The solver failed because the input matrix is singular.", loc);
}

/// Whether b is a batch of vectors beside a batch of matrices.
bool isVector(const Tensor &a, const Tensor &b, Loc loc) {
  Shape rows(a.sizes(loc).begin(), a.sizes(loc).end() - 1);
  return b.dim(loc) == 1 || (b.dim(loc) == a.dim(loc) - 1 && b.sizes(loc) == rows);
}

void checkRightSide(const char *function, const Tensor &a, const Tensor &b, bool left, Loc loc) {
  if (b.dtype(loc) != a.dtype(loc) || b.dim(loc) < 2 ||
      (left ? rowsOf(b, loc) : columnsOf(b, loc)) != rowsOf(a, loc))
    fail(std::string(function) + ": Incompatible shapes or dtypes of A and B for the equation " +
             (left ? "AX = B (" : "XA = B (") + std::string(name(a.dtype(loc))) + shapeText(a.sizes(loc)) +
             " and " + std::string(name(b.dtype(loc))) + shapeText(b.sizes(loc)) + ")",
         loc, {use(a, loc), use(b, loc)});
}

/// 1 or -1 for each permutation: the parity of its exchanges.
Term parityOf(const Tensor &pivots, Loc loc) {
  Term at{positions(pivots.sizes(loc), pivots.dim(loc) - 1, pivots.device(loc), loc), loc};
  Tensor exchanges = ne({pivots.to(DType::i64, loc), loc}, at + int64_t(1)).sum({-1}, false, loc);
  return Term{remainder({exchanges, loc}, {2, loc}), loc} * int64_t(-2) + int64_t(1);
}

} // namespace

//===----------------------------------------------------------------------===//
// Factorizations
//===----------------------------------------------------------------------===//

namespace linalg {

CholeskyResult cholesky_ex(const Tensor &a, bool upper, Loc loc) {
  checkMatrices("linalg.cholesky", a, true, loc);
  std::vector<Tensor> results = factorize(upper ? a.mT(loc) : a, "cholesky", false, loc);
  return {upper ? results[0].mT(loc) : results[0], results[1]};
}

Tensor cholesky(const Tensor &a, bool upper, Loc loc) {
  CholeskyResult result = cholesky_ex(a, upper, loc);
  if (!anySymbolic(result.info.sizes(loc)) && result.info.numel(loc))
    assert_true(eq({result.info, loc}, {0, loc}),
                "linalg.cholesky: The factorization could not be completed because the input is not "
                "positive-definite",
                loc);
  return result.L;
}

LuFactors lu_factor_ex(const Tensor &a, Loc loc) {
  checkMatrices("linalg.lu_factor", a, false, loc);
  Factors factors(a, loc);
  return {factors.lu, factors.pivots, factors.info(loc)};
}
LuFactors lu_factor(const Tensor &a, Loc loc) { return lu_factor_ex(a, loc); }

LuResult lu(const Tensor &a, Loc loc) {
  checkMatrices("linalg.lu", a, false, loc);
  Factors factors(a, loc);
  return lu_unpack(factors.lu, factors.pivots, loc);
}

Tensor lu_solve(const Tensor &lu, const Tensor &pivots, const Tensor &b, bool left, bool adjoint, Loc loc) {
  checkMatrices("linalg.lu_solve", lu, true, loc);
  checkRightSide("linalg.lu_solve", lu, b, left, loc);
  Tensor permutation = permutationOf(pivots, rowsOf(lu, loc), loc);
  // x a = b is a^T x^T = b^T.
  Tensor side = left ? b : b.mT(loc);
  Tensor x = left != adjoint ? solveByFactors(lu, permutation, side, loc)
                             : solveTransposed(lu, permutation, side, loc);
  return left ? x : x.mT(loc);
}

QrResult qr(const Tensor &a, const std::string &mode, Loc loc) {
  checkMatrices("linalg.qr", a, false, loc);
  if (mode != "reduced" && mode != "complete" && mode != "r")
    fail("qr received unrecognized mode '" + mode +
             "' but expected one of 'reduced' (default), 'r', or 'complete'",
         loc);
  std::vector<Tensor> results = factorize(a, "qr", mode == "complete", loc);
  if (mode == "r")
    results[0] = zeros({0}, {.dtype = a.dtype(loc), .device = a.device(loc)}, loc);
  return {results[0], results[1]};
}

/// Whether a gradient may flow to `a` from its values, which needs the vectors.
static bool needsVectors(const Tensor &a, Loc loc) { return gradEnabled() && a.requires_grad(loc); }

static std::vector<Tensor> eigenvectors(const Tensor &a, const std::string &uplo, bool isOfValues, Loc loc) {
  checkMatrices("linalg.eigh", a, true, loc);
  if (uplo != "L" && uplo != "U")
    fail("Expected UPLO argument to be 'L' or 'U', but got '" + uplo + "'", loc);
  return factorize(uplo == "U" ? a.mT(loc) : a, "eigh", false, loc, isOfValues);
}
EighResult eigh(const Tensor &a, const std::string &uplo, Loc loc) {
  std::vector<Tensor> results = eigenvectors(a, uplo, false, loc);
  return {results[0], results[1]};
}
Tensor eigvalsh(const Tensor &a, const std::string &uplo, Loc loc) {
  return eigenvectors(a, uplo, !needsVectors(a, loc), loc)[0];
}

SvdResult svd(const Tensor &a, bool full_matrices, Loc loc) {
  checkMatrices("linalg.svd", a, false, loc);
  std::vector<Tensor> results = factorize(a, "svd", full_matrices, loc);
  return {results[0], results[1], results[2]};
}
Tensor svdvals(const Tensor &a, Loc loc) {
  checkMatrices("linalg.svd", a, false, loc);
  return factorize(a, "svd", false, loc, !needsVectors(a, loc))[1];
}

//===----------------------------------------------------------------------===//
// Systems of equations
//===----------------------------------------------------------------------===//

ResultInfo solve_ex(const Tensor &a, const Tensor &b, bool left, Loc loc) {
  checkMatrices("linalg.solve", a, true, loc);
  const bool vector = isVector(a, b, loc);
  Tensor side = vector ? b.unsqueeze(-1, loc) : b;
  checkRightSide("linalg.solve", a, side, left || vector, loc);
  Factors factors(a, loc);
  Tensor x = left || vector ? solveByFactors(factors.lu, factors.permutation, side, loc)
                            : solveTransposed(factors.lu, factors.permutation, side.mT(loc), loc).mT(loc);
  return {vector ? x.squeeze({-1}, loc) : x, factors.info(loc)};
}

Tensor solve(const Tensor &a, const Tensor &b, bool left, Loc loc) {
  ResultInfo solved = solve_ex(a, b, left, loc);
  assertRegular("linalg.solve", solved.info, loc);
  return solved.result;
}

Tensor solve_triangular(const Tensor &a, const Tensor &b, bool upper, bool left, bool unitriangular,
                        Loc loc) {
  checkMatrices("linalg.solve_triangular", a, true, loc);
  checkRightSide("linalg.solve_triangular", a, b, left, loc);
  if (left)
    return triangular(a, b, upper, unitriangular, loc);
  return triangular(a.mT(loc), b.mT(loc), !upper, unitriangular, loc).mT(loc);
}

ResultInfo inv_ex(const Tensor &a, Loc loc) {
  checkMatrices("linalg.inv", a, true, loc);
  Tensor one = eye(rowsOf(a, loc), {}, {.dtype = a.dtype(loc), .device = a.device(loc)}, loc);
  return solve_ex(a, withBatch(one, batchOf(a, loc), loc), true, loc);
}
Tensor inv(const Tensor &a, Loc loc) {
  ResultInfo inverted = inv_ex(a, loc);
  assertRegular("linalg.inv", inverted.info, loc);
  return inverted.result;
}

/// The determinants by factors.
static Term determinantOf(const Factors &factors, Loc loc) {
  Tensor diagonal = diagonalOf(factors.lu, loc).prod({-1}, false, loc);
  return parityOf(factors.pivots, loc) * Term{diagonal, loc};
}

namespace {

/// What makes singular matrices regular: a multiple of a unit vector in the place of each 0 on the diagonal
/// of U.
struct Repair {
  Term isZero, shift; ///< [.., n]; [.., n, n], which is added to the matrices
  Term zeros;         ///< [..]: the number of zeros
};

} // namespace

static Repair repairOf(const Tensor &a, const Factors &factors, Loc loc) {
  NoGradGuard guard;
  const Term lu{factors.lu.detach(loc), loc}, isZero = Term{diagonalOf(lu.tensor, loc), loc} == 0.0;
  const Term largest{abs(a.detach(loc), loc).amax({-2, -1}, false, loc).unsqueeze(-1, loc), loc};
  const Tensor added = select(isZero, select(largest > 0.0, largest, {1.0, loc}), {0.0, loc}).tensor;
  const Term columns = Term{tril(lu.tensor, -1, loc), loc} * Term{added.unsqueeze(-2, loc), loc} +
                       Term{diag_embed(added, 0, -2, -1, loc), loc};
  const Tensor order = argsort(factors.permutation, -1, false, true, loc);
  return {
      isZero, {permutedRows(columns.tensor, order, loc), loc}, {isZero.tensor.sum({-1}, false, loc), loc}};
}

/// The determinant of the rows and columns with a 0 of t, which is 0 up to rounding on and below the
/// diagonal: then all cofactors are 0 but that of the corner on the left, which is the product of what stands
/// beside the diagonal. There are other second derivatives than those of that product; `curved` says that
/// they are not known.
static Term cornerDeterminant(const Term &t, const Repair &repair, Loc loc) {
  Tensor behind; // [.., n, n]: pairs of a 0 and one behind it
  {
    NoGradGuard guard;
    behind = triu(logical_and({repair.isZero.tensor.unsqueeze(-1, loc), loc},
                              {repair.isZero.tensor.unsqueeze(-2, loc), loc}),
                  1, loc);
  }
  const Term hasNext{behind.any({-1}, false, loc), loc}, hasPrevious{behind.any({-2}, false, loc), loc};
  const Term isNext = Term{behind, loc} && Term{behind.cumsum(-1, loc), loc} == int64_t(1);
  const Term beside{select(isNext, t, {0.0, loc}).tensor.sum({-1}, false, loc), loc};
  const Term chain{select(hasNext, beside, {1.0, loc}).tensor.prod({-1}, false, loc), loc};
  const Term isLast = repair.isZero && !hasNext, isFirst = repair.isZero && !hasPrevious;
  const Term isCorner =
      Term{isLast.tensor.unsqueeze(-1, loc), loc} && Term{isFirst.tensor.unsqueeze(-2, loc), loc};
  const Term corner{select(isCorner, t, {0.0, loc}).tensor.sum({-2, -1}, false, loc), loc};
  const Term isEven = Term{remainder({repair.zeros.tensor, loc}, {2, loc}), loc} == int64_t(0);
  return chain * corner * select(isEven, {-1.0, loc}, {1.0, loc});
}

/// 0, with a derivative of 0 and an infinite second one with respect to t, where there are five zeros and
/// more and t is not 0; a constant elsewhere.
static Term curved(const Term &t, const Repair &repair, Loc loc) {
  const Term sum{t.tensor.sum({-2, -1}, false, loc), loc};
  const Term isThere{(Arg(t.tensor.detach(loc), loc) != Arg(0.0, loc)).any({-2, -1}, false, loc), loc};
  const Term unknown = repair.zeros > int64_t(4) && isThere;
  const Term none = select(unknown, sum - Term{sum.tensor.detach(loc), loc}, {1.0, loc});
  return select(unknown, {pow({none.tensor, loc}, {1.5, loc}), loc}, {0.0, loc});
}

/// det(a) = det(a + s) det(1 - (a + s)^-1 s), where a + s is regular, so that its derivatives are those of
/// regular matrices. The second factor is that of the rows and columns with a 0, of which there are few.
static Term repairedDeterminant(const Tensor &a, const Repair &repair, Loc loc) {
  const Term regular = Term{a, loc} + repair.shift;
  const Factors factors(regular.tensor, loc);
  const Term inner{solveByFactors(factors.lu, factors.permutation, repair.shift.tensor, loc), loc};
  const Term one{diag_embed(repair.isZero.tensor.to(a.dtype(loc), loc), 0, -2, -1, loc), loc};
  const Term both = Term{repair.isZero.tensor.unsqueeze(-1, loc), loc} &&
                    Term{repair.isZero.tensor.unsqueeze(-2, loc), loc};
  const Term t = one - select(both, inner, {0.0, loc}), turned{t.tensor.mT(loc), loc};
  // Newton's identities: the determinant by the traces of the first powers.
  const auto total = [&](const Term &x) { return Term{x.tensor.sum({-2, -1}, false, loc), loc}; };
  const Term t1{diagonalOf(t.tensor, loc).sum({-1}, false, loc), loc}, t2 = total(t * turned);
  const Term square{product(t, t), loc};
  const Term t3 = total(square * turned), t4 = total(square * Term{square.tensor.mT(loc), loc});
  const Term two = (t1 * t1 - t2) * 0.5, three = (t1 * t1 * t1 - t1 * t2 * 3.0 + t3 * 2.0) / 6.0;
  const Term four = (t1 * t1 * (t1 * t1 - t2 * 6.0) + t2 * t2 * 3.0 + t1 * t3 * 8.0 - t4 * 6.0) / 24.0;
  Term factor = rowsOf(a, loc) > 4 ? cornerDeterminant(t, repair, loc) + curved(t, repair, loc) : t1;
  factor = select(repair.zeros == int64_t(4), four, factor);
  factor = select(repair.zeros == int64_t(3), three, factor);
  factor = select(repair.zeros == int64_t(2), two, factor);
  factor = select(repair.zeros == int64_t(1), t1, factor);
  return determinantOf(factors, loc) * select(repair.zeros == int64_t(0), {1.0, loc}, factor);
}

Tensor det(const Tensor &a, Loc loc) {
  checkMatrices("linalg.det", a, true, loc);
  if (!a.requires_grad(loc) || isSymbolic(rowsOf(a, loc)) || rowsOf(a, loc) == 0)
    return determinantOf(Factors(a, loc), loc).tensor;
  const Factors factors(a.detach(loc), loc);
  const Repair repair = repairOf(a, factors, loc);
  const Term repaired = repairedDeterminant(a, repair, loc);
  // The value is that of the factors, also where the other formula is 0 up to rounding, or overflows.
  const Term difference = Term{repaired.tensor.detach(loc), loc} - repaired;
  const Term change = select({isfinite(difference.tensor.detach(loc), loc), loc}, difference, {0.0, loc});
  return select(repair.zeros == int64_t(0), repaired, determinantOf(factors, loc) - change).tensor;
}

SlogdetResult slogdet(const Tensor &a, Loc loc) {
  checkMatrices("linalg.slogdet", a, true, loc);
  Factors factors(a, loc);
  Tensor diagonal = diagonalOf(factors.lu, loc);
  Term signs{sign(diagonal.detach(loc), loc).prod({-1}, false, loc), loc};
  return {(parityOf(factors.pivots, loc) * signs).tensor, log(abs(diagonal, loc), loc).sum({-1}, false, loc)};
}

/// The largest singular value that counts as 0, [.., 1].
static Term toleranceOf(const Tensor &s, const Tensor &a, std::optional<double> atol,
                        std::optional<double> rtol, Loc loc) {
  const double unit = a.dtype(loc) == DType::f64 ? 0x1p-52 : 0x1p-23;
  const double relative = rtol ? *rtol
                          : atol && *atol > 0
                              ? 0
                              : static_cast<double>(std::max(rowsOf(a, loc), columnsOf(a, loc))) * unit;
  Term largest{s.detach(loc).amax({-1}, true, loc), loc};
  return {maximum(Arg(largest * relative), {atol.value_or(0), loc}), loc};
}

Tensor pinv(const Tensor &a, std::optional<double> atol, std::optional<double> rtol, bool hermitian,
            Loc loc) {
  checkMatrices("linalg.pinv", a, hermitian, loc);
  if (a.numel(loc) == 0)
    return a.mT(loc).clone(loc);
  Tensor left, values, right; // a = left values right^T
  if (hermitian) {
    EighResult parts = eigh(a, "L", loc);
    values = parts.eigenvalues;
    left = right = parts.eigenvectors;
  } else {
    SvdResult parts = linalg::svd(a, false, loc);
    values = parts.S;
    left = parts.U;
    right = parts.Vh.mT(loc);
  }
  Term s{values, loc}, isThere = abs(s) > toleranceOf(abs(s).tensor, a, atol, rtol, loc);
  Term inverse =
      select(isThere, Term{reciprocal(select(isThere, s, {1.0, loc}).tensor, loc), loc}, {0.0, loc});
  return product(Term{right, loc} * Term{inverse.tensor.unsqueeze(-2, loc), loc}, {left.mT(loc), loc});
}

Tensor lstsq(const Tensor &a, const Tensor &b, std::optional<double> rcond, Loc loc) {
  checkMatrices("linalg.lstsq", a, false, loc);
  if (b.dtype(loc) != a.dtype(loc) || b.dim(loc) < 2 || rowsOf(b, loc) != rowsOf(a, loc))
    fail("linalg.lstsq: input.size(-2) should match other.size(-2), and their dtypes be equal, found " +
             std::string(name(a.dtype(loc))) + shapeText(a.sizes(loc)) + " and " +
             std::string(name(b.dtype(loc))) + shapeText(b.sizes(loc)),
         loc, {use(a, loc), use(b, loc)});
  // In f64, because the rounding of an inverse would be multiplied by its size.
  const double unit = a.dtype(loc) == DType::f64 ? 0x1p-52 : 0x1p-23;
  const double tolerance =
      rcond.value_or(unit * static_cast<double>(std::max(rowsOf(a, loc), columnsOf(a, loc))));
  Tensor inverse = pinv(a.to(DType::f64, loc), {}, tolerance, false, loc);
  return matmul(inverse, b.to(DType::f64, loc), loc).to(a.dtype(loc), loc);
}

Tensor matrix_rank(const Tensor &a, std::optional<double> atol, std::optional<double> rtol, bool hermitian,
                   Loc loc) {
  checkMatrices("linalg.matrix_rank", a, hermitian, loc);
  NoGradGuard guard;
  if (a.numel(loc) == 0)
    return zeros(batchOf(a, loc), {.dtype = DType::i64, .device = a.device(loc)}, loc);
  Tensor s = hermitian ? abs(eigvalsh(a, "L", loc), loc) : svdvals(a, loc);
  return (Term{s, loc} > toleranceOf(s, a, atol, rtol, loc)).tensor.sum({-1}, false, loc);
}

//===----------------------------------------------------------------------===//
// Condition numbers
//===----------------------------------------------------------------------===//

Tensor cond(const Tensor &a, double p, Loc loc) {
  checkMatrices("linalg.cond", a, false, loc);
  if (p == 0 || std::abs(p) == 2) {
    Term s{svdvals(a, loc), loc};
    Term largest{s.tensor.select(-1, 0, loc), loc}, smallest{s.tensor.select(-1, -1, loc), loc};
    return (p == -2 ? smallest / largest : largest / smallest).tensor;
  }
  checkMatrices("linalg.cond", a, true, loc);
  return mul({matrix_norm(a, p, {-2, -1}, false, loc), loc},
             {matrix_norm(inv_ex(a, loc).result, p, {-2, -1}, false, loc), loc});
}
Tensor cond(const Tensor &a, const std::string &p, Loc loc) {
  checkMatrices("linalg.cond", a, true, loc);
  return mul({matrix_norm(a, p, {-2, -1}, false, loc), loc},
             {matrix_norm(inv_ex(a, loc).result, p, {-2, -1}, false, loc), loc});
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Tensor matrix_power(const Tensor &a, int64_t n, Loc loc) {
  if (a.dim(loc) < 2 || rowsOf(a, loc) != columnsOf(a, loc))
    fail("linalg.matrix_power: A must be batches of square matrices, but they are " + shapeText(a.sizes(loc)),
         loc, {use(a, loc)});
  if (n == 0) {
    // A gradient of 0 flows to `a`, of which no element is chosen.
    const Tensor one = eye(rowsOf(a, loc), {}, {.dtype = a.dtype(loc), .device = a.device(loc)}, loc);
    const Tensor nowhere = zeros(a.sizes(loc), {.dtype = DType::i1, .device = a.device(loc)}, loc);
    return where(nowhere, {a, loc}, {withBatch(one, batchOf(a, loc), loc), loc}, loc);
  }
  Tensor square = n < 0 ? inv(a, loc) : a, result;
  for (uint64_t rest = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n);;
       square = matmul(square, square, loc)) {
    if (rest & 1)
      result = result.defined() ? matmul(result, square, loc) : square;
    if (rest >>= 1; rest == 0)
      return result;
  }
}

Tensor multi_dot(const std::vector<Tensor> &tensors, Loc loc) {
  if (tensors.size() < 2)
    fail("multi_dot(): expected at least 2 tensors but got " + std::to_string(tensors.size()), loc);
  std::vector<Tensor> chain = tensors;
  const bool isRow = chain.front().dim(loc) == 1, isColumn = chain.back().dim(loc) == 1;
  if (isRow)
    chain.front() = chain.front().unsqueeze(0, loc);
  if (isColumn)
    chain.back() = chain.back().unsqueeze(1, loc);
  std::vector<double> sizes;
  for (const Tensor &each : chain) {
    if (each.dim(loc) != 2)
      fail("multi_dot(): tensors must be matrices, and the first and last may be vectors, found shape " +
               shapeText(each.sizes(loc)),
           loc, {use(each, loc)});
    sizes.push_back(static_cast<double>(each.size(0, loc)));
  }
  sizes.push_back(static_cast<double>(chain.back().size(1, loc)));
  // The cost of each part of the chain, and where it is cut.
  const size_t count = chain.size();
  std::vector<std::vector<double>> cost(count, std::vector<double>(count, 0));
  std::vector<std::vector<size_t>> cut(count, std::vector<size_t>(count, 0));
  for (size_t length = 1; length < count; ++length)
    for (size_t i = 0; i + length < count; ++i) {
      const size_t j = i + length;
      cost[i][j] = INFINITY;
      for (size_t k = i; k < j; ++k)
        if (double found = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
            found < cost[i][j]) {
          cost[i][j] = found;
          cut[i][j] = k;
        }
    }
  auto multiply = [&](auto &next, size_t i, size_t j) -> Tensor {
    if (i == j)
      return chain[i];
    return mm(next(next, i, cut[i][j]), next(next, cut[i][j] + 1, j), loc);
  };
  Tensor result = multiply(multiply, 0, count - 1);
  if (isColumn)
    result = result.squeeze({1}, loc);
  return isRow ? result.squeeze({0}, loc) : result;
}

Tensor vander(const Tensor &x, std::optional<int64_t> n, Loc loc) {
  if (x.dim(loc) == 0)
    return vander(x.reshape({1}, loc), n, loc);
  const int64_t count = n.value_or(x.sizes(loc).back());
  if (count <= 0)
    fail("linalg.vander: N must be greater than 0, found " + std::to_string(count), loc);
  std::vector<Tensor> powers{ones_like(x, loc)};
  if (x.dtype(loc) == DType::i1 || itemsize(x.dtype(loc)) < 8)
    if (!is_floating_point(x.dtype(loc)))
      powers[0] = powers[0].to(DType::i64, loc);
  for (int64_t i = 1; i < count; ++i)
    powers.push_back(mul({powers.back(), loc}, {x, loc}));
  return stack(powers, -1, loc);
}

Tensor vecdot(const Tensor &a, const Tensor &b, int64_t dim, Loc loc) {
  checkFloat(use(a, loc), "linalg.vecdot", loc);
  Tensor wide = widened(a, loc);
  return mul({wide, loc}, {widened(b, loc), loc}).sum({dim}, false, loc).to(a.dtype(loc), loc);
}

Tensor tensorinv(const Tensor &a, int64_t ind, Loc loc) {
  if (ind < 1 || ind > a.dim(loc))
    fail("Expected a strictly positive integer for 'ind', at most the number of dimensions, found " +
             std::to_string(ind),
         loc, {use(a, loc)});
  const Shape &shape = a.sizes(loc);
  Shape first(shape.begin(), shape.begin() + ind), last(shape.begin() + ind, shape.end());
  int64_t rows = 1;
  for (int64_t size : first)
    rows *= size;
  Shape inverted = last;
  inverted.insert(inverted.end(), first.begin(), first.end());
  return inv(a.reshape({rows, -1}, loc), loc).reshape(inverted, loc);
}

Tensor tensorsolve(const Tensor &a, const Tensor &b, IntList dims, Loc loc) {
  Tensor moved = a;
  if (!dims.empty()) {
    std::vector<int64_t> ends;
    for (size_t i = 0; i < dims.size(); ++i)
      ends.push_back(a.dim(loc) - static_cast<int64_t>(dims.size() - i));
    moved = a.movedim(dims, ends, loc);
  }
  const Shape &shape = moved.sizes(loc);
  Shape wanted(shape.begin() + std::min<int64_t>(b.dim(loc), moved.dim(loc)), shape.end());
  const int64_t rows = b.numel(loc);
  return solve(moved.reshape({rows, -1}, loc), b.reshape({-1}, loc), true, loc).reshape(wanted, loc);
}

} // namespace linalg

//===----------------------------------------------------------------------===//
// Older names
//===----------------------------------------------------------------------===//

Tensor cholesky(const Tensor &a, bool upper, Loc loc) { return linalg::cholesky(a, upper, loc); }

Tensor cholesky_solve(const Tensor &b, const Tensor &factor, bool upper, Loc loc) {
  checkMatrices("cholesky_solve", factor, true, loc);
  checkRightSide("cholesky_solve", factor, b, true, loc);
  Tensor l = upper ? factor.mT(loc) : factor;
  return triangular(l.mT(loc), triangular(l, b, false, false, loc), true, false, loc);
}

Tensor cholesky_inverse(const Tensor &factor, bool upper, Loc loc) {
  checkMatrices("cholesky_inverse", factor, true, loc);
  Tensor one = eye(rowsOf(factor, loc), {}, {.dtype = factor.dtype(loc), .device = factor.device(loc)}, loc);
  return cholesky_solve(withBatch(one, batchOf(factor, loc), loc), factor, upper, loc);
}

Tensor inverse(const Tensor &a, Loc loc) { return linalg::inv(a, loc); }
Tensor det(const Tensor &a, Loc loc) { return linalg::det(a, loc); }

Tensor logdet(const Tensor &a, Loc loc) {
  linalg::SlogdetResult parts = linalg::slogdet(a, loc);
  return where(lt({parts.sign, loc}, {0, loc}), {NAN, loc}, {parts.logabsdet, loc}, loc);
}

Tensor pinverse(const Tensor &a, double rcond, Loc loc) { return linalg::pinv(a, 0.0, rcond, false, loc); }

Tensor lu_solve(const Tensor &b, const Tensor &lu, const Tensor &pivots, Loc loc) {
  return linalg::lu_solve(lu, pivots, b, true, false, loc);
}

linalg::LuResult lu_unpack(const Tensor &lu, const Tensor &pivots, Loc loc) {
  checkMatrices("lu_unpack", lu, false, loc);
  const int64_t m = rowsOf(lu, loc), n = columnsOf(lu, loc), k = std::min(m, n);
  TensorOptions options{.dtype = lu.dtype(loc), .device = lu.device(loc)};
  Tensor lower = add({tril(lu, -1, loc).narrow(-1, 0, k, loc), loc}, {eye(m, k, options, loc), loc});
  Tensor permutation = permutationOf(pivots, m, loc);
  // Row permutation[i] of P has its one in column i.
  Tensor p = eq({permutation.unsqueeze(-2, loc), loc},
                {arange(m, {.device = lu.device(loc)}, loc).unsqueeze(-1, loc), loc});
  return {p.to(lu.dtype(loc), loc), lower, triu(lu, 0, loc).narrow(-2, 0, k, loc)};
}

linalg::QrResult qr(const Tensor &a, bool some, Loc loc) {
  return linalg::qr(a, some ? "reduced" : "complete", loc);
}

linalg::SvdResult svd(const Tensor &a, bool some, Loc loc) {
  linalg::SvdResult parts = linalg::svd(a, !some, loc);
  return {parts.U, parts.S, parts.Vh.mT(loc)};
}

Tensor triangular_solve(const Tensor &b, const Tensor &a, bool upper, bool transpose, bool unitriangular,
                        Loc loc) {
  checkMatrices("triangular_solve", a, true, loc);
  checkRightSide("triangular_solve", a, b, true, loc);
  return triangular(transpose ? a.mT(loc) : a, b, upper != transpose, unitriangular, loc);
}

} // namespace weft
