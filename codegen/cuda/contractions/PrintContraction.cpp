//===- PrintContraction.cpp -----------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/contractions/PrintContraction.h"

#include "codegen/cuda/contractions/ContractionText.h"
#include "codegen/cuda/contractions/DeviceText.h"
#include "codegen/cuda/contractions/WindowsText.h"

#include "llvm/ADT/StringExtras.h"

#include <vector>

namespace weft::codegen {

namespace {

/// What is known of an element type.
struct ElementText {
  const char *stored, *sum; ///< types in CUDA C++
};
ElementText elementText(DType dtype) {
  switch (dtype) {
  case DType::i1:
  case DType::ui8:
    return {"unsigned char", "unsigned"};
  case DType::i8:
    return {"signed char", "unsigned"};
  case DType::i16:
    return {"short", "unsigned"};
  case DType::i32:
    return {"int", "unsigned"};
  case DType::i64:
    return {"long long", "unsigned long long"};
  case DType::f16:
  case DType::bf16:
    return {"unsigned short", "float"};
  case DType::f32:
    return {"float", "float"};
  case DType::f64:
    return {"double", "double"};
  }
  return {};
}

class ContractionPrinter {
public:
  ContractionPrinter(const CudaContraction &c, const ContractionSchedule &s)
      : c(c), s(s), element(elementText(c.dtype)) {}

  std::string print() {
    return functions() + signature() + numbers() + place() + tiles() +
           (c.windows ? windowFunctions(c, s) : "") + copies("A", s.a, "m0", "m", "blockM", c.m, s.blockM) +
           copies("B", s.b, "n0", "n", "blockN", c.n, s.blockN) +
           (s.matrixUnits ? multiplyMatrices() : multiplyPlain()) + loop() +
           (c.windows && c.windows->hasZeros() ? again() : "") + write();
  }

private:
  std::string functions() const;
  std::string signature() const;
  std::string numbers() const;
  std::string place() const;
  std::string tiles() const;
  std::string copies(const std::string &operand, const TileCopy &copy, const std::string &first,
                     const std::string &extent, const std::string &tile, const Extent &size,
                     int64_t tileSize) const;
  std::string multiplyPlain() const;
  std::string multiplyMatrices() const;
  std::string loop() const;
  std::string again() const;
  std::string write() const;

  /// The words of all texts.
  Words words() const {
    const bool isWide = c.resultType() != c.dtype;
    Words all = {{"T", element.stored}, {"S", element.sum}};
    all["RESULT"] = isWide ? element.sum : element.stored;
    all["STORED"] = isWide ? "value" : "weft_narrow(value)";
    all["DEPTH"] = itemsize(c.dtype) == 1 ? "32" : "16";
    return all;
  }
  bool isSigned() const { return c.dtype != DType::ui8; }
  /// Neighbouring rows, or columns, of a thread that are read together from a tile across k.
  int64_t group(int64_t elements) const {
    int64_t most = 16 / static_cast<int64_t>(itemsize(c.dtype));
    while (elements % most != 0)
      most /= 2;
    return most;
  }
  /// The accesses of a thread to the tile of an operand.
  int64_t copiesOf(const TileCopy &copy, int64_t tile) const {
    const int64_t each = s.threads() * copy.vector;
    return (tile * s.blockK + each - 1) / each;
  }
  /// Extents and strides in the order of the parameters.
  std::vector<std::pair<const char *, const Extent *>> extents() const {
    static constexpr const char *names[] = {"m",      "n",  "k",  "aBatch", "aM", "aK",
                                            "bBatch", "bK", "bN", "cBatch", "cM", "cN"};
    std::vector<std::pair<const char *, const Extent *>> named;
    for (auto [name, extent] : llvm::zip_equal(names, c.sizes()))
      named.emplace_back(name, extent);
    return named;
  }

  const CudaContraction &c;
  const ContractionSchedule &s;
  const ElementText element;
};

std::string ContractionPrinter::functions() const {
  using namespace contraction;
  using namespace devicetext;
  Words known = words();
  std::string text = vectorText;
  text += fill(c.dtype == DType::f16        ? f16Text
               : c.dtype == DType::bf16     ? bf16Text
               : is_floating_point(c.dtype) ? sameText
                                            : integerText,
               known);
  if (s.a.async || s.b.async)
    text += fill(asyncText, known);
  if (!s.a.async || !s.b.async)
    text += fill(fetchText, known);
  if (!s.matrixUnits) {
    known["FMA"] = c.dtype == DType::f64 ? "fma" : "fmaf";
    return text + fill(is_floating_point(c.dtype) ? addProductReal : addProductInteger, known);
  }
  if (s.a.alongK || s.b.alongK)
    text += fill(loadMatricesText, known);
  if (!s.a.alongK || !s.b.alongK)
    text += fill(loadTransposedText, known);
  const bool real = isHalf(c.dtype);
  known["MT"] = c.dtype == DType::f16 ? "f16" : c.dtype == DType::bf16 ? "bf16" : isSigned() ? "s8" : "u8";
  known["MS"] = real ? "f32" : "s32";
  known["R"] = real ? "f" : "r";
  return text + fill(multiplyMatricesText, known) + (s.exchanges() ? exchangeText : "");
}

std::string ContractionPrinter::signature() const {
  const std::string type = element.stored, operand = "const " + type + " *";
  std::string text = "\nextern \"C\" __global__ void __launch_bounds__(" + std::to_string(s.threads()) +
                     ", " + std::to_string(s.resident) + ")\nweft_kernel(" + operand + "a, " + operand +
                     "b, ";
  if (c.bias)
    text += operand + "bias, ";
  // The residual may be the result.
  if (c.residual)
    text += operand + "residual, ";
  if (c.windows)
    for (size_t i = 0; i < c.windows->besideCount(); ++i)
      text += operand + "beside" + std::to_string(i) + ", ";
  text += words()["RESULT"] + " *c";
  for (const auto &[name, extent] : extents())
    if (extent->isParameter)
      text += std::string(", long long ") + name;
  return text + ") {\n";
}

std::string ContractionPrinter::numbers() const {
  std::string text = s.wideIndex ? "  typedef long long index; // of an element of a matrix\n"
                                 : "  typedef int index; // of an element of a matrix\n";
  for (const auto &[name, extent] : extents()) {
    // With zeros between elements, each remainder has its steps.
    const bool ofRemainder = extent == &c.k && c.windows && c.windows->hasZeros();
    if (!extent->isParameter && !ofRemainder) {
      const bool ofBatch = llvm::StringRef(name).ends_with("Batch");
      text += std::string("  constexpr ") + (ofBatch ? "long long " : "index ") + name + " = " +
              std::to_string(extent->value) + (ofBatch || s.wideIndex ? "ll;\n" : ";\n");
    }
  }
  auto constants = [&](std::vector<std::pair<const char *, int64_t>> list) {
    text += "  constexpr int ";
    for (size_t i = 0; i < list.size(); ++i)
      text += std::string(i ? ", " : "") + list[i].first + " = " + std::to_string(list[i].second);
    text += ";\n";
  };
  constants({{"threads", s.threads()}, {"stages", s.stages}});
  constants({{"blockM", s.blockM}, {"blockN", s.blockN}, {"blockK", s.blockK}});
  constants({{"warpM", s.warpM}, {"warpN", s.warpN}});
  if (!s.matrixUnits)
    constants({{"depth", s.depth}});
  constants({{"vectorA", s.a.vector}, {"vectorB", s.b.vector}, {"vectorC", s.vectorC}});
  constants({{"copiesA", copiesOf(s.a, s.blockM)}, {"copiesB", copiesOf(s.b, s.blockN)}});
  constants({{"pitchA", s.pitchA()}, {"tileA", s.tileA()}, {"pitchB", s.pitchB()}, {"tileB", s.tileB()}});
  if (!s.matrixUnits && !s.a.alongK)
    constants({{"groupA", group(s.warpM / 4)}});
  if (!s.matrixUnits && !s.b.alongK)
    constants({{"groupB", group(s.warpN / 8)}});
  return text;
}

/// Remainders of one tile are blocks beside each other: they write neighbours.
std::string ContractionPrinter::place() const {
  const int64_t remainders = c.windows ? c.windows->remainders() : 1;
  return fill(contraction::placeText,
              {{"BLOCK", "(index)blockIdx.x" + (remainders == 1 ? "" : " / " + std::to_string(remainders))}});
}

std::string ContractionPrinter::tiles() const {
  return fill("  extern __shared__ __align__(16) unsigned char shared[];\n"
              "  $T *const tilesA = ($T *)shared, *const tilesB = tilesA + stages * tileA;\n",
              words());
}

std::string ContractionPrinter::copies(const std::string &operand, const TileCopy &copy,
                                       const std::string &first, const std::string &extent,
                                       const std::string &tile, const Extent &size, int64_t tileSize) const {
  const std::string lower = operand == "A" ? "a" : "b", free = operand == "A" ? "M" : "N";
  const bool memoryAlongK = copy.alongK != copy.turned;
  Words known = words();
  known["X"] = operand;
  known["x"] = lower;
  known["OUTER"] = memoryAlongK ? tile : "blockK";
  known["INNER"] = memoryAlongK ? "blockK" : tile;
  const std::string atFree = first + (memoryAlongK ? " + outer" : " + inner");
  const std::string atK = memoryAlongK ? "k0 + inner" : "k0 + outer";
  known["FROM"] = lower + " + (" + atFree + ") * " + lower + free + " + (" + atK + ") * " + lower + "K";
  // Where a dimension is made of whole tiles, nothing is left over.
  const bool wholeFree = !size.isParameter && size.value % tileSize == 0;
  const bool wholeK = c.hasWholeSteps(s.blockK);
  const std::string outside =
      memoryAlongK ? (wholeFree ? "" : atFree + " < " + extent) : (wholeK ? "" : atK + " < k");
  std::string valid = memoryAlongK ? (wholeK ? "vector$X" : "k - k0 - inner")
                                   : (wholeFree ? "vector$X" : extent + " - " + first + " - inner");
  valid = fill(valid, known);
  known["VALID"] = outside.empty() ? valid : outside + " ? " + valid + " : 0";
  known["BEFORE"] = known["WHERE"] = "";
  if (c.windows)
    describeWindowCopy(c, s, operand, known);
  // Many copies that are unrolled would keep many addresses in registers; few, where those decide how many
  // blocks a multiprocessor holds.
  const int64_t copies = copiesOf(copy, tileSize);
  const int64_t unrolled = s.resident > 1 ? 2 : copies > 8 ? 4 : copies;
  known["UNROLL"] = copy.early || unrolled >= copies ? "" : " " + std::to_string(unrolled);
  // A wavefront of shared memory has 128 bytes.
  const int64_t rowBytes = s.blockK * static_cast<int64_t>(itemsize(c.dtype));
  const bool together = copy.alongK && !copy.turned && rowBytes < 128 && tileSize % 8 == 0;
  known["ROWS"] = std::to_string(128 / rowBytes);
  known["LINE"] = together ? "line" : "outer";
  known["ORDER"] = together ? fill(contraction::orderText, known) : "";
  std::string chunk = fill(contraction::chunkText, known);
  if (tileSize * s.blockK % (s.threads() * copy.vector) != 0)
    chunk += fill(contraction::guardText, known);
  known["CHUNK"] = chunk;
  known["READ"] = copy.early ? "fetched" + operand + "[i]" : "read";
  known["STORE"] = fill(copy.turned ? contraction::storeTurnedText : contraction::storeText, known);
  if (copy.early)
    return fill(contraction::fetchedText, known);
  known["COPY"] = copy.async ? fill(contraction::copyAsyncText, known)
                             : fill(contraction::copyNowText, known) + known["STORE"];
  return fill(contraction::copyText, known);
}

std::string ContractionPrinter::multiplyPlain() const {
  using namespace contraction;
  Words known = words();
  known["ROW"] = s.a.alongK ? "i * 4 + laneM" : "i / groupA * (4 * groupA) + laneM * groupA + i % groupA";
  known["COLUMN"] = s.b.alongK ? "j * 8 + laneN" : "j / groupB * (8 * groupB) + laneN * groupB + j % groupB";
  auto read = [&](bool alongK, const char *operand, const char *place, const char *variable,
                  const char *index) {
    Words each = known;
    each["X"] = operand;
    each["PLACE"] = place;
    each["V"] = variable;
    each["I"] = index;
    return fill(alongK ? readAlongText : readAcrossText, each);
  };
  known["UNROLL"] = std::to_string(s.unroll);
  known["READA"] = read(s.a.alongK, "A", "rowOf", "x", "i");
  known["READB"] = read(s.b.alongK, "B", "columnOf", "y", "j");
  known["AT_A"] = s.a.alongK ? "rowOf(i) * pitchA + p" : "p * pitchA + rowOf(i)";
  known["AT_B"] = s.b.alongK ? "columnOf(j) * pitchB + p" : "p * pitchB + columnOf(j)";
  const bool whole = c.hasWholeSteps(s.blockK);
  known["WHOLE"] = whole ? "" : wholeText;
  known["REST"] = whole ? "" : fill(restText, known);
  return fill(plainText, known);
}

std::string ContractionPrinter::multiplyMatrices() const {
  Words known = words();
  // Two bytes are what ldmatrix moves. In its order, the matrices of x are the first rows, the last rows, and
  // the same of the second half of k; those of y are both halves of k of the first columns, then of the last.
  const std::string scale = itemsize(c.dtype) == 1 ? " * 2" : "";
  auto load = [&](bool alongK, const std::string &operand, const std::string &into, const std::string &free,
                  const std::string &freeHalf, const std::string &kHalf) {
    const std::string tile = "tileOf" + operand, pitch = "pitch" + operand;
    if (alongK)
      return "weft_load_matrices(" + into + ", " + tile + " + (" + free + " + " + freeHalf + " + low) * " +
             pitch + " + p + " + kHalf + scale + ")";
    return "weft_load_transposed(" + into + ", " + tile + " + (p + " + kHalf + " + low) * " + pitch + " + " +
           free + " + " + freeHalf + ")";
  };
  known["LOADA"] = load(s.a.alongK, "A", "x[i]", "warpM0 + i * 16", "first", "second");
  known["LOADB"] = load(s.b.alongK, "B", "y[j]", "warpN0 + j * 16", "second", "first");
  return fill(contraction::matrixText, known);
}

std::string ContractionPrinter::loop() const {
  Words known;
  const bool async = s.a.async || s.b.async;
  auto all = [&](const std::string &indent, const std::string &step, const std::string &slot, bool storing) {
    std::string text;
    for (auto [operand, copy] : {std::pair("A", &s.a), std::pair("B", &s.b)}) {
      Words each = {{"IN", indent}, {"X", operand}, {"STEP", step}, {"SLOT", slot}};
      text += fill(!copy->early ? "$INcopy$X((index)$STEP * blockK, $SLOT);\n"
                   : storing    ? "$INfetch$X((index)$STEP * blockK);\n$INstore$X($SLOT);\n"
                                : "$INfetch$X((index)$STEP * blockK);\n",
                   each);
    }
    return text;
  };
  known["FIRST"] = all("      ", "step", "step", true);
  known["AHEAD"] = all("      ", "ahead", "next", false);
  known["COMMIT"] = async ? "    weft_commit();\n" : "";
  known["WAIT"] = async ? "    weft_wait<stages - 2>();\n" : "";
  known["MULTIPLY"] = s.matrixUnits ? "multiply(slot)" : "multiply(slot, k - step * blockK)";
  if (s.a.early || s.b.early) {
    known["STORES"] = "    if (ahead < steps) {\n";
    known["STORES"] += !s.a.early ? "" : "      storeA(next);\n";
    known["STORES"] += !s.b.early ? "" : "      storeB(next);\n";
    known["STORES"] += "    }\n";
  } else {
    known["STORES"] = "";
  }
  return fill(contraction::loopText, known);
}

std::string ContractionPrinter::again() const {
  Words known = words();
  known["FMA"] = c.dtype == DType::f64 ? "fma" : "fmaf";
  known["COUNT"] = s.matrixUnits ? "rowsOfWarp * columnsOfWarp * 4" : "threadM * threadN";
  known["ROW"] = s.matrixUnits ? "warpM0 + at / (4 * columnsOfWarp) * 16 + at % 4 / 2 * 8 + lane / 4"
                               : "rowOf(at / threadN)";
  known["COLUMN"] = s.matrixUnits ? "warpN0 + at / 4 % columnsOfWarp * 8 + lane % 4 * 2 + at % 2"
                                  : "columnOf(at % threadN)";
  return fill(contraction::againText, known);
}

std::string ContractionPrinter::write() const {
  Words known = words();
  // Where a dimension is made of whole tiles, nothing lies outside.
  std::string outside = !c.m.isParameter && c.m.value % s.blockM == 0 ? "" : "row >= m";
  if (c.n.isParameter || c.n.value % s.blockN != 0)
    outside += outside.empty() ? "column >= n" : " || column >= n";
  if (c.windows && leavesPlacesOut(*c.windows))
    outside += outside.empty() ? "!isPlace(column)" : " || !isPlace(column)";
  known["OUTSIDE"] = outside.empty() ? "" : "    if (" + outside + ")\n      return;\n";
  known["RESIDUAL"] = c.residual ? "  residual += matrix * cBatch;\n" : "";
  known["READ"] =
      c.residual ? fill("    const auto added = *(const weft_vector<$T, vectorC> *)(residual + at);\n", known)
                 : "";
  std::string epilogue;
  if (c.bias)
    epilogue += "      value += weft_widen(bias[column + l]);\n";
  if (c.residual)
    epilogue += "      value += weft_widen(added.at[l]);\n";
  if (c.relu && is_floating_point(c.dtype))
    epilogue += "      value = value < 0 ? 0 : value; // a NaN stays\n";
  else if (c.relu)
    epilogue += "      value = weft_narrow(value) < 0 ? 0 : value;\n";
  known["COLUMN"] = "column * cN";
  if (c.windows) {
    EpilogueText steps = epilogueText(c);
    known["COLUMN"] = "columnOfC(column)";
    known["RESIDUAL"] = std::move(steps.matrix);
    known["READ"] = fill(steps.read, known);
    epilogue = std::move(steps.epilogue);
  }
  known["EPILOGUE"] = epilogue;
  return fill(contraction::writeText, known) + (!s.matrixUnits  ? contraction::writePlainText
                                                : s.exchanges() ? fill(contraction::writeExchangedText, known)
                                                                : contraction::writeMatrixText);
}

} // namespace

Expected<std::string> printContraction(const CudaContraction &contraction,
                                       const ContractionSchedule &schedule,
                                       const ir::TargetDescription &device) {
  if (Status status = verifyContractionSchedule(schedule, contraction, device); !status)
    return status;
  return ContractionPrinter(contraction, schedule).print();
}

} // namespace weft::codegen
