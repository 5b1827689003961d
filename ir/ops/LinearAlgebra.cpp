//===- LinearAlgebra.cpp - factorize, triangular_solve --------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/ops/Common.h"

using namespace mlir;
namespace weft::ir {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static LogicalResult checkMatrices(std::optional<Location> loc, StringRef op, Type type, StringRef name) {
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getRank() < 2 || (!tensor.getElementType().isF32() && !tensor.getElementType().isF64()))
    return emitOptionalError(loc, "'", op, "' op needs matrices of f32 or f64, found ", name, " of type ",
                             tensor);
  if (anySymbolic(sizesOf(tensor).take_back(2)))
    return emitOptionalError(loc, "'", op, "' op needs matrices whose rows and columns are numbers, found ",
                             name, " of type ", tensor);
  return success();
}

LogicalResult FactorizeOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(operands[0].getType());
  if (failed(checkMatrices(loc, getOperationName(), from, "a")))
    return failure();
  ArrayRef<Size> sizes = sizesOf(from), batch = sizes.drop_back(2);
  const int64_t m = sizes[sizes.size() - 2].asNumber(), n = sizes.back().asNumber(), k = std::min(m, n);
  const Factorization kind = op.getKind();
  if (m != n && (kind == Factorization::cholesky || kind == Factorization::eigh))
    return emitOptionalError(loc, "'weft.factorize' op of kind ", stringifyFactorization(kind),
                             " needs square matrices, found ", from);
  const bool full = op.getFull();
  if (full && kind != Factorization::qr && kind != Factorization::svd)
    return emitOptionalError(loc, "'weft.factorize' op of kind ", stringifyFactorization(kind),
                             " has one form only, found full");
  auto add = [&](std::initializer_list<int64_t> last, Type element = {}) {
    SmallVector<Size> shape(batch);
    llvm::append_range(shape, last);
    types.push_back(withShape(from, shape, element ? element : from.getElementType()));
  };
  Type i32 = IntegerType::get(context, 32), i64 = IntegerType::get(context, 64);
  switch (kind) {
  case Factorization::cholesky:
    add({n, n});
    add({}, i32);
    break;
  case Factorization::lu:
    add({m, n});
    add({k}, i32);
    add({m}, i64);
    break;
  case Factorization::qr:
    add({m, full ? m : k});
    add({full ? m : k, n});
    break;
  case Factorization::eigh:
    add({n});
    add({n, n});
    break;
  case Factorization::svd:
    add({m, full ? m : k});
    add({k});
    add({full ? n : k, n});
    break;
  }
  return success();
}

LogicalResult FactorizeOp::verify() { return success(); }

LogicalResult TriangularSolveOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                  ValueRange operands, DictionaryAttr, OpaqueProperties,
                                                  RegionRange, SmallVectorImpl<Type> &types) {
  auto a = cast<RankedTensorType>(operands[0].getType()), b = cast<RankedTensorType>(operands[1].getType());
  if (failed(checkMatrices(loc, getOperationName(), a, "a")) ||
      failed(checkMatrices(loc, getOperationName(), b, "b")))
    return failure();
  ArrayRef<Size> of = sizesOf(a), right = sizesOf(b);
  if (a.getElementType() != b.getElementType() || of.drop_back(2) != right.drop_back(2) ||
      of.back() != of[of.size() - 2] || of.back() != right[right.size() - 2])
    return emitOptionalError(loc,
                             "'weft.triangular_solve' op needs square matrices, and right sides with as many "
                             "rows, of one batch and element type, found ",
                             a, " and ", b);
  types.push_back(b);
  return success();
}

LogicalResult TriangularSolveOp::verify() { return success(); }

//===----------------------------------------------------------------------===//
// Other devices
//===----------------------------------------------------------------------===//

SmallVector<Value> FactorizeOp::decompose(OpBuilder &builder) { return computeOnHost(*this, builder); }
SmallVector<Value> TriangularSolveOp::decompose(OpBuilder &builder) { return computeOnHost(*this, builder); }

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

namespace {

/// Operations on batches of matrices.
struct Matrices {
  VjpBuilder &v;

  static int64_t rank(Sym a) { return a.type().getRank(); }
  static Size rows(Sym a) { return sizesOf(a.type())[static_cast<size_t>(rank(a) - 2)]; }
  static Size columns(Sym a) { return sizesOf(a.type()).back(); }

  Sym transposed(Sym a) const {
    SmallVector<int64_t> perm = allDims(rank(a));
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return v.make<TransposeOp>(a.value, perm);
  }
  Sym product(Sym a, Sym b) const {
    SmallVector<int64_t> batch = allDims(rank(a) - 2);
    return v.make<DotGeneralOp>(a.value, b.value, Value(), batch, batch, ArrayRef<int64_t>{rank(a) - 1},
                                ArrayRef<int64_t>{rank(b) - 2}, false);
  }
  Sym solve(Sym a, Sym b, bool upper, bool unit = false) const {
    return v.make<TriangularSolveOp>(a.value, b.value, upper, unit);
  }
  /// x with x a = b.
  Sym solveFromRight(Sym a, Sym b, bool upper) const {
    return transposed(solve(transposed(a), transposed(b), !upper));
  }
  /// The elements at which `row compare column` holds, and zeros.
  template <typename Compare> Sym where(Sym a) const {
    auto type = withShape(a.type(), sizesOf(a.type()), IntegerType::get(a.value.getContext(), 64));
    Sym row = v.make<IotaOp>(type, rank(a) - 2), column = v.make<IotaOp>(type, rank(a) - 1);
    return v.select(v.compare<Compare>(row, column), a, v.like(a, 0.0));
  }
  Sym belowDiagonal(Sym a) const { return where<GtOp>(a); }
  Sym lower(Sym a) const { return where<GeOp>(a); }
  Sym upper(Sym a) const { return where<LeOp>(a); }
  Sym diagonal(Sym a) const { return where<EqOp>(a); }
  /// A vector beside each row, or with `asRows` below each column, of a square matrix.
  Sym spread(Sym vector, Size size, bool asRows) const {
    SmallVector<Size> shape(sizesOf(vector.type()));
    SmallVector<int64_t> dims = allDims(rank(vector));
    if (asRows) // [.., k] as [.., size, k]
      shape.insert(shape.end() - 1, size);
    else // [.., k] as [.., k, size]
      shape.push_back(size);
    if (asRows)
      dims.back() = static_cast<int64_t>(shape.size()) - 1;
    return v.make<BroadcastInDimOp>(vector.value, dims, shape);
  }
  Sym asDiagonal(Sym vector) const { return diagonal(spread(vector, sizesOf(vector.type()).back(), true)); }
  /// Elements off the diagonal divided by x_j - x_i, and 0 on the diagonal.
  Sym byDifferences(Sym a, Sym x) const {
    Size size = columns(a);
    Sym difference = spread(x, size, true) - spread(x, size, false);
    Sym quotient = a / (difference + asDiagonal(v.like(x, 1.0)));
    return quotient - diagonal(quotient);
  }
  /// Rows [r0, r1) and columns [c0, c1).
  Sym part(Sym a, Size r0, Size r1, Size c0, Size c1) const {
    if (r0 == 0 && c0 == 0 && r1 == rows(a) && c1 == columns(a))
      return a;
    SmallVector<Size> start(sizesOf(a.type()).size(), 0), limit(sizesOf(a.type()));
    start[start.size() - 2] = r0;
    start.back() = c0;
    limit[limit.size() - 2] = r1;
    limit.back() = c1;
    return v.make<SliceOp>(a.value, start, limit, SmallVector<int64_t>(limit.size(), 1));
  }
  Sym firstColumns(Sym a, Size count) const { return part(a, 0, rows(a), 0, count); }
};

/// Murray, Differentiation of the Cholesky decomposition, 2016.
Sym choleskyVjp(VjpBuilder &v) {
  Matrices m{v};
  Sym l = v.result(0), inner = m.lower(m.product(m.transposed(l), v.cotangent(0)));
  inner = inner - m.diagonal(inner) * 0.5;
  Sym s = m.solve(m.transposed(l), inner, /*upper=*/true);
  s = m.solveFromRight(l, s, /*upper=*/false);
  return (s + m.transposed(s)) * 0.5;
}

/// The cotangent of the permuted matrix L U, k x k, of those of both factors.
Sym squareLuVjp(const Matrices &m, Sym l, Sym u, Sym gl, Sym gu) {
  Sym inner = m.belowDiagonal(m.product(m.transposed(l), m.belowDiagonal(gl))) +
              m.upper(m.product(m.upper(gu), m.transposed(u)));
  Sym permuted = m.solve(m.transposed(l), inner, /*upper=*/true, /*unit=*/true);
  return m.solveFromRight(m.transposed(u), permuted, /*upper=*/false);
}

/// The columns of U behind a square are L^-1 times those of the matrix, and the rows of L below it are those
/// of the matrix times U^-1.
Sym luVjp(VjpBuilder &v) {
  Matrices m{v};
  Sym factors = v.result(0), g = v.cotangent(0);
  Size rows = Matrices::rows(factors), columns = Matrices::columns(factors),
       k = rows.asNumber() < columns.asNumber() ? rows : columns;
  Sym corner = m.part(factors, 0, k, 0, k);
  Sym one = m.asDiagonal(v.like(v.sum(corner, {Matrices::rank(corner) - 1}), 1.0));
  Sym l = m.belowDiagonal(corner) + one, u = m.upper(corner), gl = m.part(g, 0, k, 0, k), gu = gl, permuted,
      more;
  if (columns != k) {
    more = m.solve(m.transposed(l), m.part(g, 0, k, k, columns), /*upper=*/true, /*unit=*/true);
    gl = gl - m.product(more, m.transposed(m.part(factors, 0, k, k, columns)));
  } else if (rows != k) {
    more = m.solveFromRight(m.transposed(u), m.part(g, k, rows, 0, k), /*upper=*/false);
    gu = gu - m.product(m.transposed(m.part(factors, k, rows, 0, k)), more);
  }
  permuted = squareLuVjp(m, l, u, gl, gu);
  if (more)
    permuted = v.make<ConcatOp>(ValueRange{permuted.value, more.value},
                                Matrices::rank(factors) - (columns != k ? 1 : 2));
  // Row i of the factors is row permutation[i] of the operand.
  Sym index = m.spread(v.result(2), columns, false);
  return v.make<ScatterOp>(v.like(permuted, 0.0).value, index.value, permuted.value,
                           Matrices::rank(factors) - 2, ScatterKind::add, IndexMode::assume);
}

/// Of matrices with at least as many rows as columns (Walter and Lehmann, 2018).
Sym tallQrVjp(const Matrices &m, Sym q, Sym r, Sym gq, Sym gr) {
  Sym inner = m.product(r, m.transposed(gr)) - m.product(m.transposed(gq), q);
  Sym below = m.belowDiagonal(inner);
  Sym symmetric = below + m.transposed(below) + m.diagonal(inner);
  return m.solveFromRight(m.transposed(r), gq + m.product(q, symmetric), /*upper=*/false);
}

/// The columns of R behind a square are Q^T times those of the matrix.
Sym qrVjp(VjpBuilder &v) {
  Matrices m{v};
  Sym a = v.operand(0), q = v.result(0), r = v.result(1), gq = v.cotangent(0), gr = v.cotangent(1);
  Size rows = Matrices::rows(a), columns = Matrices::columns(a);
  if (rows.asNumber() >= columns.asNumber())
    return tallQrVjp(m, q, r, gq, gr);
  Sym behind = m.part(gr, 0, rows, rows, columns);
  gq = gq + m.product(m.part(a, 0, rows, rows, columns), m.transposed(behind));
  Sym square = tallQrVjp(m, q, m.part(r, 0, rows, 0, rows), gq, m.part(gr, 0, rows, 0, rows));
  return v.make<ConcatOp>(ValueRange{square.value, m.product(q, behind).value}, Matrices::rank(a) - 1);
}

Sym eighVjp(VjpBuilder &v) {
  Matrices m{v};
  Sym w = v.result(0), x = v.result(1), inner = m.asDiagonal(v.cotangent(0));
  if (v.hasCotangent(1))
    inner = inner + m.byDifferences(m.product(m.transposed(x), v.cotangent(1)), w);
  Sym gradient = m.product(m.product(x, inner), m.transposed(x));
  return (gradient + m.transposed(gradient)) * 0.5;
}

/// Townsend, Differentiating the singular value decomposition, 2016.
Sym svdVjp(VjpBuilder &v) {
  Matrices m{v};
  Sym s = v.result(1);
  Size k = sizesOf(s.type()).back();
  Sym u = m.firstColumns(v.result(0), k), x = m.firstColumns(m.transposed(v.result(2)), k);
  Sym inner = m.asDiagonal(v.cotangent(1)), more;
  auto skew = [&](Sym a) { return m.byDifferences(a - m.transposed(a), s * s); };
  Sym reciprocal = v.like(s, 1.0) / s;
  // What is orthogonal to the vectors: (1 - x x^T) g, divided by the singular value of each column.
  auto beside = [&](Sym vectors, Sym g) {
    Sym rest = g - m.product(vectors, m.product(m.transposed(vectors), g));
    return rest * m.spread(reciprocal, Matrices::rows(g), true);
  };
  auto add = [&](Sym part) { more = more ? more + part : part; };
  if (v.hasCotangent(0)) {
    Sym g = m.firstColumns(v.cotangent(0), k);
    inner = inner + skew(m.product(m.transposed(u), g)) * m.spread(s, k, true);
    if (Matrices::rows(u) != k)
      add(m.product(beside(u, g), m.transposed(x)));
  }
  if (v.hasCotangent(2)) {
    Sym g = m.firstColumns(m.transposed(v.cotangent(2)), k);
    inner = inner + skew(m.product(m.transposed(x), g)) * m.spread(s, k, false);
    if (Matrices::rows(x) != k)
      add(m.product(u, m.transposed(beside(x, g))));
  }
  Sym gradient = m.product(m.product(u, inner), m.transposed(x));
  return more ? gradient + more : gradient;
}

} // namespace

LogicalResult FactorizeOp::buildVjp(VjpBuilder &vjp) {
  if (!vjp.needs(0))
    return success();
  Sym a = vjp.operand(0);
  Size m = Matrices::rows(a), n = Matrices::columns(a);
  switch (getKind()) {
  case Factorization::cholesky:
    vjp.set(0, choleskyVjp(vjp));
    return success();
  case Factorization::lu:
    vjp.set(0, luVjp(vjp));
    return success();
  case Factorization::qr:
    if (getFull() && m.asNumber() > n.asNumber())
      return emitOpError() << "has no derivative of full results for matrices with more rows than columns ("
                           << "WEFT-G001" << "), found " << a.type();
    vjp.set(0, qrVjp(vjp));
    return success();
  case Factorization::eigh:
    vjp.set(0, eighVjp(vjp));
    return success();
  case Factorization::svd:
    vjp.set(0, svdVjp(vjp));
    return success();
  }
  return success();
}

LogicalResult TriangularSolveOp::buildVjp(VjpBuilder &vjp) {
  Matrices m{vjp};
  Sym a = vjp.operand(0), gb = m.solve(m.transposed(a), vjp.cotangent(0), !getUpper(), getUnit());
  if (vjp.needs(1))
    vjp.set(1, gb);
  if (vjp.needs(0)) {
    Sym ga = -m.product(gb, m.transposed(vjp.result(0)));
    ga = getUpper() ? m.upper(ga) : m.lower(ga);
    vjp.set(0, getUnit() ? ga - m.diagonal(ga) : ga);
  }
  return success();
}

} // namespace weft::ir
