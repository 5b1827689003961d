//===- PlanConstants.cpp -----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/PlanConstants.h"

#include "ir/Decisions.h"
#include "ir/interp/Literal.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>
#include <new>
#include <unistd.h>

using namespace mlir;
using namespace weft::ir;

namespace weft::codegen {

/// A third of the machine's memory: while a package is written, memory holds its constants three times (here,
/// in the section and in the file).
static size_t maxConstantBytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(page) / 3 : SIZE_MAX;
}

static Status noMemory(ConstantOp constant, size_t bytes) {
  std::string type;
  llvm::raw_string_ostream(type) << constant.getType();
  return Status::error("CPU out of memory. Tried to allocate " + std::to_string(bytes) +
                           " bytes for the elements of a constant of type " + type + " (at " +
                           ir::locationText(constant.getLoc()) +
                           "), which is kept in the package: make it smaller, or pass it as an argument",
                       "WEFT-M001");
}

Status appendConstant(ConstantOp constant, std::vector<std::byte> &constants) {
  auto slices = constant->getAttrOfType<ArrayAttr>(attr::slices);
  if (!slices)
    return {}; // a splat that only fusions read holds no storage
  auto slice = cast<SliceAttr>(slices[0]);
  // A constant with storage has static dimensions, so its position and size are numbers.
  size_t begin = static_cast<size_t>(slice.getPosition().asNumber()),
         bytes = static_cast<size_t>(bytesOf(constant.getType()).asNumber());
  if (constants.size() < begin + bytes) {
    if (begin + bytes > maxConstantBytes())
      return noMemory(constant, bytes);
    try {
      constants.resize(begin + bytes);
    } catch (const std::bad_alloc &) {
      return noMemory(constant, bytes);
    }
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue())) {
    ArrayRef<char> data = resource.getRawHandle().getBlob()->getData();
    std::memcpy(constants.data() + begin, data.data(), bytes);
    return {};
  }
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!dense)
    return Status::error("'" + constant->getName().getStringRef().str() + "' at " +
                         ir::locationText(constant.getLoc()) + " holds a kind of constant that has no bytes");
  if (bytes == 0)
    return {};
  // If all elements are equal, convert only one.
  const bool splat = dense.isSplat();
  Literal literal(dtypeOf(constant.getType()), splat ? ArrayRef<int64_t>() : constant.getType().getShape());
  const auto put = [&](auto set, auto numbers) {
    int64_t i = 0;
    if (splat)
      set(i, *numbers.begin());
    else
      for (const auto &number : numbers)
        set(i++, number);
  };
  if (literal.isReal())
    put(
        [&](int64_t i, APFloat value) {
          bool lost = false;
          value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
          literal.setReal(i, value.convertToDouble());
        },
        dense.getValues<APFloat>());
  else
    put(
        [&](int64_t i, const APInt &value) {
          literal.setWhole(i, value.getBitWidth() == 1 ? static_cast<int64_t>(value.getZExtValue())
                                                       : value.getSExtValue());
        },
        dense.getValues<APInt>());
  literal.toBytes(constants.data() + begin);
  const size_t item = splat ? itemsize(dtypeOf(constant.getType())) : bytes;
  for (size_t at = item; at < bytes; at += item)
    std::memcpy(constants.data() + begin + at, constants.data() + begin, item);
  return {};
}

} // namespace weft::codegen
