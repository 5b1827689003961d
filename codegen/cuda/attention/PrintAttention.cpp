//===- PrintAttention.cpp -------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/attention/PrintAttention.h"

#include "codegen/cuda/PrintKernel.h"
#include "codegen/cuda/attention/AttentionText.h"
#include "codegen/cuda/contractions/DeviceText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

namespace weft::codegen {

using namespace attention;

namespace {

const char *typeOf(DType dtype) {
  return dtype == DType::f32 ? "float" : dtype == DType::i1 ? "unsigned char" : "unsigned short";
}

/// The type of an access of so many bytes.
const char *unitOf(int64_t bytes) {
  return bytes == 16 ? "uint4" : bytes == 8 ? "uint2" : bytes == 4 ? "unsigned" : "unsigned short";
}

class AttentionPrinter {
public:
  AttentionPrinter(const CudaAttention &a, const AttentionSchedule &s) : a(a), s(s) {
    words["T"] = typeOf(a.dtype);
    words["S"] = "float";
    words["MASK_PARAMETER"] = a.mask ? std::string(", const ") + typeOf(*a.mask) + " *mask" : "";
    words["MASK_ARGUMENT"] = a.mask ? ", mask" : "";
    words["TILE"] = tile(s.others);
    words["SCORES"] = s.matrixUnits ? "nullptr" : "scores";
    const bool async = copies(/*async=*/true);
    words["COMMIT"] = async ? "    weft_commit();\n" : "";
    words["WAIT"] = async ? "    weft_wait<0>();\n" : "";
  }

  std::string print(const std::string &elementary) {
    std::string text = numbers() + functions(elementary);
    if (!a.backward)
      return text + "\n" + signature("extern \"C\" __global__ void " + bounds(), "weft_kernel") + forward() +
             "}\n";
    // Two functions of one kernel, of which each block runs one.
    const std::string inlined = "static __device__ __forceinline__ void\n";
    text += "\n// dk and dv of the keys that the block owns.\n" +
            signature(inlined, "weft_keys", "int block, ") + backward(/*ofKeys=*/true) + "}\n";
    text += "\n// dq of the rows that the block owns.\n" + signature(inlined, "weft_rows", "int block, ") +
            backward(/*ofKeys=*/false) + "}\n";
    const std::string given = arguments();
    text += "\n" + signature("extern \"C\" __global__ void " + bounds(), "weft_kernel");
    text += "  constexpr int key_blocks = matrices * ((keys + own - 1) / own);\n"
            "  const int block = (int)blockIdx.x;\n"
            "  if (block < key_blocks)\n    weft_keys(block, " +
            given + ");\n  else\n    weft_rows(block - key_blocks, " + given + ");\n}\n";
    return text;
  }

private:
  std::string numbers() const;
  std::string functions(const std::string &elementary);
  std::string copyFunctions();
  std::string score();
  std::string place(const std::string &extent, bool lastFirst) const;
  std::string loop(const std::string &compute) const;
  std::string forward();
  std::string backward(bool ofKeys);

  std::string bounds() const {
    return "__launch_bounds__(" + std::to_string(s.threads()) + ", " + std::to_string(s.resident) + ")\n";
  }
  std::string signature(const std::string &before, const std::string &name,
                        const std::string &more = "") const {
    std::string text = before + name + "(" + more;
    for (const AttentionOperand &operand : a.operands)
      text += (&operand == &a.operands.front() ? "" : ", ") + std::string(operand.isWritten ? "" : "const ") +
              typeOf(operand.dtype) + " *" + operand.name;
    return text + ") {\n";
  }
  std::string arguments() const {
    std::string text;
    for (const AttentionOperand &operand : a.operands)
      text += (text.empty() ? "" : ", ") + operand.name;
    return text;
  }
  /// The array of a thread that holds its part of rows of `columns` columns.
  std::string tile(int64_t columns) const {
    const int64_t own = s.rowsOfThread;
    if (s.matrixUnits)
      return "[" + std::to_string(s.padded(columns) / 8) + "][4]";
    return "[" + std::to_string(own) + "][" + std::to_string(s.padded(columns) / 8) + "]";
  }
  /// Whether an operand comes to shared memory by cp.async, or through registers.
  bool copies(bool async) const {
    return llvm::any_of(llvm::zip(a.operands, s.accesses), [&](auto pair) {
      return a.isCopied(std::get<0>(pair)) && std::get<1>(pair).async == async;
    });
  }
  /// Whether a result is written in wider accesses than a lane has columns beside each other.
  bool exchanges(const AttentionAccess &access) const {
    return s.matrixUnits && access.vector > s.matrixColumns;
  }
  /// Whether a result is written so, or whether one is not.
  bool writes(bool exchanged) const {
    return llvm::any_of(llvm::zip(a.operands, s.accesses), [&](auto pair) {
      const auto &[operand, access] = pair;
      return operand.isWritten && operand.name != "lse" && exchanges(access) == exchanged;
    });
  }
  const AttentionAccess &accessOf(const std::string &name) const {
    return s.accesses[static_cast<size_t>(a.find(name) - a.operands.data())];
  }
  static std::string nameOfCopy(const AttentionAccess &access) {
    return std::string(access.async ? "copy" : "fetch") + (access.down ? "_down" : "") + "_rows";
  }
  /// Copies `count` rows of an operand from `first` on.
  std::string load(const std::string &name, const std::string &count, const std::string &first,
                   const std::string &to) const {
    const AttentionOperand &operand = *a.find(name);
    const AttentionAccess &access = accessOf(name);
    const bool hasFeatures = operand.columns == a.extents.features && (name == "q" || name == "k");
    const std::string kind = hasFeatures ? "feature" : "value";
    const bool ofKeys = name == "k" || name == "v";
    return "weft_" + nameOfCopy(access) + "<" + count + ", " + kind + "_columns, " +
           std::to_string(access.vector) + ">(" + to + ", " + kind + "_pitch, " + name + ", " + first + ", " +
           (ofKeys ? "keys" : "rows") + ", " + (hasFeatures ? "features" : "values") + ", " + name +
           "_row, " + name + "_column);";
  }
  std::string write(const std::string &name, const std::string &result, const std::string &factor) const {
    const AttentionAccess &access = accessOf(name);
    const bool hasFeatures = name == "dq" || name == "dk", ofKeys = name == "dk" || name == "dv";
    const std::string group = hasFeatures ? "feature_group, " : "value_group, ",
                      unit = unitOf(access.vector * static_cast<int64_t>(itemsize(a.dtype))),
                      width = hasFeatures ? ", features" : ", values";
    return (exchanges(access) ? "weft_write_exchanged<" + unit + width + ">("
                              : "weft_write<" + group + unit + width + ", own_of_thread>(") +
           name + ", " + result + ", own0, " + (ofKeys ? "keys" : "rows") + ", " + name + "_row, " + name +
           "_column,\n             [&](int i) { return " + factor + "; });";
  }
  /// The scale in f32, where a number of f64 may be infinite.
  std::string scale() const {
    const auto rounded = static_cast<float>(a.scale);
    std::string text;
    llvm::raw_string_ostream os(text);
    if (std::isinf(rounded))
      os << "__uint_as_float(" << (rounded < 0 ? "0xff800000u)" : "0x7f800000u)");
    else
      os << llvm::format("%a", static_cast<double>(rounded)) << "f";
    return text;
  }

  const CudaAttention &a;
  const AttentionSchedule &s;
  Words words;
};

std::string AttentionPrinter::numbers() const {
  const ir::AttentionExtents &e = a.extents;
  std::string text = s.wideIndex ? "typedef long long index; // of an element of a matrix\n"
                                 : "typedef int index; // of an element of a matrix\n";
  auto constants = [&](const char *type, std::vector<std::pair<std::string, int64_t>> list) {
    text += std::string("constexpr ") + type + " ";
    for (size_t i = 0; i < list.size(); ++i)
      text += (i ? ", " : "") + list[i].first + " = " + std::to_string(list[i].second);
    text += ";\n";
  };
  constants("int", {{"rows", e.rows}, {"keys", e.keys}, {"features", e.features}, {"values", e.values}});
  constants("int", {{"threads", s.threads()}, {"own", s.own()}, {"others", s.others}, {"stages", s.stages}});
  constants("int", {{"own_of_thread", s.rowsOfThread}, {"others_of_thread", s.othersOfThread()}});
  if (a.backward)
    constants("int", {{"matrices", e.batchCount()}});
  constants("int", {{"feature_columns", s.padded(e.features)},
                    {"value_columns", s.padded(e.values)},
                    {"feature_pitch", s.pitch(e.features, a.dtype)},
                    {"value_pitch", s.pitch(e.values, a.dtype)}});
  constants("int", {{"feature_group", s.groupOf(e.features, a.dtype)},
                    {"value_group", s.groupOf(e.values, a.dtype)}});
  if (!s.matrixUnits)
    constants("int", {{"score_pitch", s.scorePitch()}});
  for (const AttentionOperand &operand : a.operands) {
    const llvm::ArrayRef<int64_t> strides = operand.view.strides;
    constants("index", {{operand.name + "_row", strides.drop_back().back()},
                        {operand.name + "_column", strides.back()}});
  }
  return text;
}

std::string AttentionPrinter::copyFunctions() {
  std::string text;
  for (const bool async : {true, false})
    for (const bool down : {false, true}) {
      AttentionAccess form;
      form.async = async;
      form.down = down;
      const bool isUsed = llvm::any_of(llvm::zip(a.operands, s.accesses), [&](auto pair) {
        const auto &[operand, access] = pair;
        return access.async == async && access.down == down && a.isCopied(operand);
      });
      if (!isUsed)
        continue;
      Words known = words;
      known["NAME"] = nameOfCopy(form);
      known["ROW"] = down ? "chunk % count" : "chunk / in_row";
      known["COLUMN"] = down ? "chunk / count * N" : "chunk % in_row * N";
      // Threads wait for what comes through registers, so that several of these copies are under way.
      known["UNROLL"] = async ? "1" : "4";
      known["COPY"] = fill(async ? copyAsyncText : copyNowText, known);
      text += fill(copyText, known);
    }
  return text;
}

std::string AttentionPrinter::score() {
  // Tiles at the end have keys and rows that do not exist. No sum may count such a row for a key, nor its
  // mask be read.
  std::string hidden;
  if (a.extents.keys % s.others != 0 || (a.backward && a.extents.keys % s.own() != 0))
    hidden += "  if (key >= keys)\n    return weft_lowest();\n";
  if (a.extents.rows % s.own() != 0 || (a.backward && a.extents.rows % s.others != 0))
    hidden += "  if (row >= rows)\n    return weft_lowest();\n";
  if (a.causal)
    hidden += "  if (key > row)\n    return weft_lowest();\n";
  std::string masked = "  return score;\n";
  const std::string element = "mask[row * mask_row + key * mask_column]";
  if (a.mask == DType::i1)
    masked = "  return " + element + " ? score : weft_lowest();\n";
  else if (a.mask)
    masked = "  return score + " + (a.mask != DType::f32 ? "weft_widen(" + element + ")" : element) + ";\n";
  Words known = words;
  known["HIDDEN"] = hidden;
  known["MASKED"] = masked;
  known["SCALE"] = scale();
  return fill(scoreText, known);
}

std::string AttentionPrinter::functions(const std::string &elementary) {
  using namespace devicetext;
  Words known = words;
  known["DEPTH"] = "16";
  known["MS"] = "f32";
  known["MT"] = a.dtype == DType::f16 ? "f16" : "bf16";
  known["R"] = "f";
  std::string text = vectorText;
  text += fill(a.dtype == DType::f32 ? sameText : a.dtype == DType::f16 ? f16Text : bf16Text, known);
  if (copies(true))
    text += fill(asyncText, known);
  if (copies(false))
    text += fill(fetchText, known);
  text += copyFunctions();
  text += lowestText + fill(rowText, {{"ROW_LANES", s.matrixUnits ? "4" : "8"}});
  if (s.matrixUnits) {
    text +=
        fill(std::string(loadMatricesText) + loadTransposedText + multiplyMatricesText + matrixText, known);
    if (a.roundsScores)
      text += a.dtype == DType::f16 ? packF16Text : packBf16Text;
    text += fill(a.roundsScores ? accumulateRoundedText : accumulateText, known);
  } else {
    text += fill(plainText, known);
  }
  text += elementary + score();
  if (writes(false))
    text += fill(writeText, known);
  if (writes(true))
    text += exchangeText + fill(writeExchangedText, known);
  if (a.backward)
    text += fill(statisticsText, known);
  return text;
}

/// The block's matrix and rows. `lastFirst`: blocks with more work begin first.
std::string AttentionPrinter::place(const std::string &extent, bool lastFirst) const {
  const std::string block = a.backward ? "block" : "(int)blockIdx.x";
  std::string text =
      "  constexpr int tiles = (" + extent + " + own - 1) / own;\n  const int matrix = " + block +
      " / tiles, own0 = " + (lastFirst ? "(tiles - 1 - " + block + " % tiles)" : block + " % tiles") +
      " * own;\n";
  for (const AttentionOperand &operand : a.operands) {
    // The batch index in dimension d is matrix / (extents after d) % (extent of d).
    std::vector<std::string> terms;
    if (operand.view.offset)
      terms.push_back(std::to_string(operand.view.offset) + "ll");
    int64_t after = 1;
    for (size_t d = a.extents.batch.size(); d-- > 0;) {
      const int64_t extent = a.extents.batch[d], stride = operand.view.strides[d];
      if (extent > 1 && stride) {
        std::string index = after == 1 ? "matrix" : "matrix / " + std::to_string(after);
        if (after * extent < a.extents.batchCount())
          index += " % " + std::to_string(extent);
        terms.push_back((index == "matrix" ? index : "(" + index + ")") + " * " + std::to_string(stride) +
                        "ll");
      }
      after *= extent;
    }
    if (!terms.empty())
      text += "  " + operand.name + " += " + llvm::join(terms, " + ") + ";\n";
  }
  return text;
}

std::string AttentionPrinter::loop(const std::string &compute) const {
  Words known = words;
  known["COMPUTE"] = compute;
  return fill(s.stages == 2 ? twoStagesText : oneStageText, known);
}

std::string AttentionPrinter::forward() {
  Words known = words;
  known["RESULT"] = tile(a.extents.values);
  known["END"] = a.causal ? "min(keys, own0 + own)" : "keys";
  known["VALUES_OF_THREAD"] = std::to_string(s.columnsOfThread(a.extents.values));
  known["SLOT_K"] = "tiles_k + slot * (others * feature_pitch)";
  known["SLOT_V"] = "tiles_v + slot * (others * value_pitch)";
  known["LOAD_Q"] = load("q", "own", "own0", "own_q");
  known["LOAD_K"] = load("k", "others", "first", known["SLOT_K"]);
  known["LOAD_V"] = load("v", "others", "first", known["SLOT_V"]);
  known["LOOP"] = loop(fill(forwardComputeText, known));
  known["WRITE_OUT"] = write("out", "result", "total[i]");
  std::string tiles = "  extern __shared__ __align__(16) unsigned char shared[];\n"
                      "  $T *const own_q = ($T *)shared, *const tiles_k = own_q + own * feature_pitch;\n"
                      "  $T *const tiles_v = tiles_k + stages * others * feature_pitch;\n";
  if (!s.matrixUnits)
    tiles += "  float *const scores = (float *)(tiles_v + stages * others * value_pitch);\n";
  return place("rows", a.causal) + fill(tiles + forwardText, known);
}

std::string AttentionPrinter::backward(bool ofKeys) {
  Words known = words;
  known["FEATURES"] = tile(a.extents.features);
  known["SLOT_A"] = "tiles_a + slot * (others * feature_pitch)";
  known["SLOT_B"] = "tiles_b + slot * (others * value_pitch)";
  const std::string row = ofKeys ? "at + weft_other(j)" : "own0 + weft_own(i)",
                    key = ofKeys ? "own0 + weft_own(i)" : "at + weft_other(j)";
  known["ROW"] = row;
  known["KEY"] = key;
  known["PLACE"] = ofKeys ? "slot * others + weft_other(j)" : "weft_own(i)";
  // Keys beyond the last have no part in the sums of a row, whatever is subtracted.
  known["SLOPE"] = !ofKeys && a.extents.keys % s.others != 0 ? "key < keys ? p * (d - inner[place]) : 0"
                                                             : "p * (d - inner[place])";
  known["BEGIN"] = ofKeys && a.causal ? "own0 / others * others" : "0";
  known["END"] = ofKeys ? "rows" : a.causal ? "min(keys, own0 + own)" : "keys";
  known["LOAD_OWN_A"] = load(ofKeys ? "k" : "q", "own", "own0", "own_a");
  known["LOAD_OWN_B"] = load(ofKeys ? "v" : "grad", "own", "own0", "own_b");
  known["LOAD_OTHER_A"] = load(ofKeys ? "q" : "k", "others", "first", known["SLOT_A"]);
  known["LOAD_OTHER_B"] = load(ofKeys ? "grad" : "v", "others", "first", known["SLOT_B"]);
  known["STATISTICS_OWN"] = ofKeys ? "" : "  weft_statistics(own, own0, out, grad, lse, shifts, inner);\n";
  known["STATISTICS_OTHER"] = ofKeys ? "    weft_statistics(others, first, out, grad, lse, shifts + slot * "
                                       "others, inner + slot * others);\n"
                                     : "";
  known["SECOND"] = ofKeys ? "  float sum_b" + tile(a.extents.values) + " = {};\n" : "";
  known["ACCUMULATE_SECOND"] =
      ofKeys ? fill("    weft_accumulate<value_group>(sum_b, score, $SCORES, $SLOT_B, value_pitch);\n", known)
             : "";
  known["LOOP"] = loop(fill(backwardComputeText, known));
  known["WRITE"] = ofKeys ? write("dk", "sum_a", scale()) + "\n  " + write("dv", "sum_b", "1.0f")
                          : write("dq", "sum_a", scale());
  std::string tiles = "  extern __shared__ __align__(16) unsigned char shared[];\n"
                      "  $T *const own_a = ($T *)shared, *const own_b = own_a + own * feature_pitch;\n"
                      "  $T *const tiles_a = own_b + own * value_pitch;\n"
                      "  $T *const tiles_b = tiles_a + stages * others * feature_pitch;\n";
  const std::string end = "tiles_b + stages * others * value_pitch";
  if (s.matrixUnits)
    tiles += "  float *const shifts = (float *)(" + end + ");\n";
  else
    tiles += "  float *const scores = (float *)(" + end + "), *const shifts = scores + own * score_pitch;\n";
  tiles += "  float *const inner = shifts + (own > stages * others ? own : stages * others);\n";
  return place(ofKeys ? "keys" : "rows", a.causal && !ofKeys) + fill(tiles + backwardText, known);
}

} // namespace

Expected<std::string> printAttention(const CudaAttention &attention, const AttentionSchedule &schedule,
                                     const ir::TargetDescription &device) {
  if (Status status = verifyAttentionSchedule(schedule, attention, device); !status)
    return status;
  Expected<std::string> functions =
      elementaryFunctions(attention.backward ? llvm::ArrayRef<llvm::StringRef>{"exp"}
                                             : llvm::ArrayRef<llvm::StringRef>{"exp", "log"});
  if (!functions)
    return functions.status();
  return AttentionPrinter(attention, schedule).print(*functions);
}

} // namespace weft::codegen
