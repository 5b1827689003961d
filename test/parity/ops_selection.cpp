//===- ops_selection.cpp - Order, selections, special functions -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ops_protocol.h"

using namespace weft;

static std::optional<int64_t> dim(const parity::Args &a, size_t i) {
  return a.has(i) ? std::optional(a.whole(i)) : std::nullopt;
}
static parity::Tensors both(const ValuesIndices &result) { return {result.values, result.indices}; }

static void addOrder(parity::Table &table) {
  using namespace parity;
  // Arguments: tensor, dim, descending, stable.
  table["sort"] = [](const Args &a) { return both(sort(a.tensor(0), a.whole(1, -1), a.flag(2), a.flag(3))); };
  table["argsort"] = [](const Args &a) {
    return Tensors{argsort(a.tensor(0), a.whole(1, -1), a.flag(2), a.flag(3))};
  };
  table["msort"] = [](const Args &a) { return Tensors{msort(a.tensor(0))}; };
  table["topk"] = [](const Args &a) {
    return both(topk(a.tensor(0), a.whole(1), a.whole(2, -1), a.flag(3, true), a.flag(4, true)));
  };
  table["kthvalue"] = [](const Args &a) {
    return both(kthvalue(a.tensor(0), a.whole(1), a.whole(2, -1), a.flag(3)));
  };
  table["median"] = [](const Args &a) {
    return a.has(1) ? both(median(a.tensor(0), a.whole(1), a.flag(2))) : Tensors{median(a.tensor(0))};
  };
  table["nanmedian"] = [](const Args &a) {
    return a.has(1) ? both(nanmedian(a.tensor(0), a.whole(1), a.flag(2))) : Tensors{nanmedian(a.tensor(0))};
  };
  table["mode"] = [](const Args &a) { return both(mode(a.tensor(0), a.whole(1, -1), a.flag(2))); };
  // Arguments: tensor, q, dim, keepdim, interpolation.
  auto quantiles = [](auto function) {
    return [function](const Args &a) {
      std::string between = a.word(4, "linear");
      return Tensors{std::holds_alternative<Tensor>(a.values[1])
                         ? function(a.tensor(0), a.tensor(1), dim(a, 2), a.flag(3), between)
                         : function(a.tensor(0), a.real(1), dim(a, 2), a.flag(3), between)};
    };
  };
  table["quantile"] = quantiles([](const auto &...arguments) { return quantile(arguments...); });
  table["nanquantile"] = quantiles([](const auto &...arguments) { return nanquantile(arguments...); });
  table["cummax"] = [](const Args &a) { return both(cummax(a.tensor(0), a.whole(1))); };
  table["cummin"] = [](const Args &a) { return both(cummin(a.tensor(0), a.whole(1))); };
  table["logcumsumexp"] = [](const Args &a) { return Tensors{logcumsumexp(a.tensor(0), a.whole(1))}; };
  // Arguments: row, values, right, sorter.
  table["searchsorted"] = [](const Args &a) {
    return Tensors{std::holds_alternative<Tensor>(a.values[1])
                       ? searchsorted(a.tensor(0), a.tensor(1), a.flag(2), a.tensorOrNone(3))
                       : searchsorted(a.tensor(0), a.real(1), a.flag(2), a.tensorOrNone(3))};
  };
  table["bucketize"] = [](const Args &a) { return Tensors{bucketize(a.tensor(0), a.tensor(1), a.flag(2))}; };
  table["isin"] = [](const Args &a) { return Tensors{isin(a.tensor(0), a.tensor(1), a.flag(2))}; };
}

static void addSizes(parity::Table &table) {
  using namespace parity;
  table["nonzero"] = [](const Args &a) {
    return a.flag(1) ? Tensors{where(a.tensor(0))} : Tensors{nonzero(a.tensor(0))};
  };
  table["argwhere"] = [](const Args &a) { return Tensors{argwhere(a.tensor(0))}; };
  table["nonzero_static"] = [](const Args &a) {
    return Tensors{nonzero_static(a.tensor(0), a.whole(1), a.whole(2, -1))};
  };
  table["masked_select"] = [](const Args &a) { return Tensors{masked_select(a.tensor(0), a.tensor(1))}; };
  table["masked_scatter"] = [](const Args &a) {
    return Tensors{masked_scatter(a.tensor(0), a.tensor(1), a.tensor(2))};
  };
  auto asked = [](const UniqueResult &result) {
    Tensors list{result.values};
    for (const Tensor &more : {result.inverse, result.counts})
      if (more.defined())
        list.push_back(more);
    return list;
  };
  table["unique"] = [asked](const Args &a) {
    return asked(unique(a.tensor(0), a.flag(1, true), a.flag(2), a.flag(3), dim(a, 4)));
  };
  table["unique_consecutive"] = [asked](const Args &a) {
    return asked(unique_consecutive(a.tensor(0), a.flag(1), a.flag(2), dim(a, 3)));
  };
  table["bincount"] = [](const Args &a) {
    return Tensors{bincount(a.tensor(0), a.tensorOrNone(1), a.whole(2, 0))};
  };
  table["histc"] = [](const Args &a) {
    return Tensors{histc(a.tensor(0), a.whole(1, 100), a.real(2, 0), a.real(3, 0))};
  };
  table["combinations"] = [](const Args &a) {
    return Tensors{combinations(a.tensor(0), a.whole(1, 2), a.flag(2))};
  };
  table["unravel_index"] = [](const Args &a) { return unravel_index(a.tensor(0), a.list(1)); };
}

void parity::addSelection(Table &table) {
  addOrder(table);
  addSizes(table);
#define WEFT_SPECIAL(function, name)                                                                         \
  table[name] = [](const Args &a) { return Tensors{function(a.tensor(0))}; };
  WEFT_SPECIAL(lgamma, "lgamma")
  WEFT_SPECIAL(digamma, "digamma")
  WEFT_SPECIAL(erfc, "erfc")
  WEFT_SPECIAL(erfinv, "erfinv")
  WEFT_SPECIAL(i0, "i0")
  WEFT_SPECIAL(special::i0e, "i0e")
  WEFT_SPECIAL(special::i1, "i1")
  WEFT_SPECIAL(special::i1e, "i1e")
  WEFT_SPECIAL(special::erfcx, "erfcx")
  WEFT_SPECIAL(special::ndtr, "ndtr")
  WEFT_SPECIAL(special::ndtri, "ndtri")
  WEFT_SPECIAL(special::log_ndtr, "log_ndtr")
  WEFT_SPECIAL(special::entr, "entr")
  WEFT_SPECIAL(special::modified_bessel_i0, "modified_bessel_i0")
  WEFT_SPECIAL(special::modified_bessel_i1, "modified_bessel_i1")
  WEFT_SPECIAL(special::modified_bessel_k0, "modified_bessel_k0")
  WEFT_SPECIAL(special::modified_bessel_k1, "modified_bessel_k1")
  WEFT_SPECIAL(special::scaled_modified_bessel_k0, "scaled_modified_bessel_k0")
  WEFT_SPECIAL(special::scaled_modified_bessel_k1, "scaled_modified_bessel_k1")
  WEFT_SPECIAL(special::spherical_bessel_j0, "spherical_bessel_j0")
#undef WEFT_SPECIAL
  table["polygamma"] = [](const Args &a) { return Tensors{polygamma(a.whole(0), a.tensor(1))}; };
  table["mvlgamma"] = [](const Args &a) { return Tensors{mvlgamma(a.tensor(0), a.whole(1))}; };
  table["xlog1py"] = [](const Args &a) { return Tensors{special::xlog1py(a.operand(0), a.operand(1))}; };
  table["zeta"] = [](const Args &a) { return Tensors{special::zeta(a.operand(0), a.operand(1))}; };
}
