//===- Sort.cpp - Sorts of rows -------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sort/Sort.h"

#include "runtime/threads/Executor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace weft::runtime {
namespace {

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// Bits of a floating-point element as a whole number in the order of the elements. Every NaN has the
/// largest.
template <typename Bits, int mantissa> Bits real_key(Bits bits) {
  constexpr Bits sign = Bits(Bits(1) << (sizeof(Bits) * 8 - 1));
  constexpr Bits infinity = Bits((Bits(~Bits(0)) >> (mantissa + 1)) << mantissa);
  const Bits magnitude = bits & Bits(~sign);
  const Bits negative = bits & sign;
  // A negative zero is a zero. Of negative numbers the larger magnitude is the smaller number.
  const Bits ordered = negative ? Bits(sign - magnitude) : Bits(sign + magnitude);
  return magnitude > infinity ? Bits(~Bits(0)) : ordered;
}

/// The keys of elements of one type.
template <DType dtype> struct Keys;
template <typename B, B flipped> struct WholeKeys {
  using Bits = B;
  static Bits of(Bits bits) { return Bits(bits ^ flipped); }
};
template <> struct Keys<DType::i1> : WholeKeys<uint8_t, 0> {};
template <> struct Keys<DType::ui8> : WholeKeys<uint8_t, 0> {};
template <> struct Keys<DType::i8> : WholeKeys<uint8_t, 0x80> {};
template <> struct Keys<DType::i16> : WholeKeys<uint16_t, 0x8000> {};
template <> struct Keys<DType::i32> : WholeKeys<uint32_t, 0x80000000U> {};
template <> struct Keys<DType::i64> : WholeKeys<uint64_t, uint64_t(1) << 63> {};
template <typename B, int mantissa> struct RealKeys {
  using Bits = B;
  static Bits of(Bits bits) { return real_key<Bits, mantissa>(bits); }
};
template <> struct Keys<DType::f16> : RealKeys<uint16_t, 10> {};
template <> struct Keys<DType::bf16> : RealKeys<uint16_t, 7> {};
template <> struct Keys<DType::f32> : RealKeys<uint32_t, 23> {};
template <> struct Keys<DType::f64> : RealKeys<uint64_t, 52> {};

/// A key with the place of its element. No two of a row are equal, so any sort of them is stable.
struct WideEntry {
  uint64_t key, place;
  bool operator<(const WideEntry &other) const {
    return key != other.key ? key < other.key : place < other.place;
  }
};

/// Both in one number, for keys of up to 32 bits and rows of up to 2^32 elements.
struct NarrowEntry {
  uint64_t bits;
  bool operator<(const NarrowEntry &other) const { return bits < other.bits; }
};

uint64_t key_of(const WideEntry &entry) { return entry.key; }
uint64_t key_of(const NarrowEntry &entry) { return entry.bits >> 32; }
uint64_t place_of(const WideEntry &entry) { return entry.place; }
uint64_t place_of(const NarrowEntry &entry) { return entry.bits & 0xffffffffU; }
void make(WideEntry &entry, uint64_t key, uint64_t place) { entry = {key, place}; }
void make(NarrowEntry &entry, uint64_t key, uint64_t place) { entry = {key << 32 | place}; }

bool is_narrow(const SortShape &shape) {
  return itemsize(shape.dtype) <= 4 && shape.extent <= (int64_t(1) << 32);
}

//===----------------------------------------------------------------------===//
// Division of the work
//===----------------------------------------------------------------------===//

constexpr int digitBits = 11;
constexpr int64_t digits = int64_t(1) << digitBits;
/// Up to as many elements are sorted by comparisons.
constexpr int64_t fewElements = 256;
/// Elements of a long row that one task takes.
constexpr int64_t pieceElements = int64_t(1) << 15;
/// A row of at least as many elements may be sorted by all threads together.
constexpr int64_t longRow = 2 * pieceElements;
/// Elements that are compared with the worst of the best so far at once.
constexpr int64_t scanned = 64;
/// Up to as many entries are kept in order while they are searched for.
constexpr int64_t fewSelected = 32;
/// Elements of a row by which the largest key of those that are kept is guessed.
constexpr int64_t sampled = 2048;

size_t align_line(size_t bytes) { return (bytes + 63) & ~size_t(63); }

size_t entry_bytes(const SortShape &shape) {
  return is_narrow(shape) ? sizeof(NarrowEntry) : sizeof(WideEntry);
}

/// Whether only a part of each row is kept that is so small that it is searched for.
bool is_selection(const SortShape &shape) {
  return shape.extent > 4 * fewElements && shape.count <= shape.extent / 16;
}

/// The most elements that a search holds: those that it keeps, and as many new ones.
int64_t held(const SortShape &shape) { return 2 * shape.count + 2 * scanned; }

/// Whether the threads work on each row together, and not on a row each. The results are the same.
bool is_shared(const SortShape &shape) { return shape.extent >= longRow && shape.rows < 64; }

int64_t pieces_of(const SortShape &shape) { return (shape.extent + pieceElements - 1) / pieceElements; }

/// What is held of all pieces of a row, each of which has the best of its elements.
int64_t candidates(const SortShape &shape) { return pieces_of(shape) * std::min(shape.count, pieceElements); }

/// Bytes of the entries of one row, or of a search in one, and of the counts of digits, or a sample of the
/// row.
size_t row_bytes(const SortShape &shape) {
  const int64_t entries = is_selection(shape) ? held(shape) : 2 * shape.extent;
  return align_line(static_cast<size_t>(entries) * entry_bytes(shape)) +
         align_line(static_cast<size_t>(digits) * sizeof(uint64_t));
}

size_t shared_bytes(const SortShape &shape) {
  return align_line(2 * static_cast<size_t>(shape.extent) * entry_bytes(shape)) +
         align_line(static_cast<size_t>(pieces_of(shape) * digits) * sizeof(uint64_t));
}

//===----------------------------------------------------------------------===//
// The sort of one type
//===----------------------------------------------------------------------===//

template <DType dtype, typename Entry> class Sorter {
  using Bits = typename Keys<dtype>::Bits;

public:
  Sorter(const SortShape &shape, const Sort::Parts &parts, std::byte *scratch, bool serial)
      : shape_(shape), source_(static_cast<const Bits *>(parts.source)),
        values_(static_cast<Bits *>(parts.values)), indices_(static_cast<int64_t *>(parts.indices)),
        flipped_(shape.descending ? Bits(~Bits(0)) : Bits(0)), scratch_(scratch), serial_(serial) {}

  void run() {
    if (is_shared(shape_)) {
      for (int64_t row = 0; row < shape_.rows; ++row)
        is_selection(shape_) ? share_selection(row) : share_sort(row);
      return;
    }
    // Several short rows are one range of tasks.
    const int64_t grain = std::max<int64_t>(1, pieceElements / 4 / std::max<int64_t>(shape_.extent, 1));
    for_each(shape_.rows, grain, [&](int64_t row, int worker) {
      std::byte *memory = scratch_ + static_cast<size_t>(worker) * row_bytes(shape_);
      is_selection(shape_) ? select_row(row, memory) : sort_row(row, memory);
    });
  }

private:
  template <typename Body> void for_each(int64_t tasks, int64_t grain, const Body &body) {
    const auto range = [&](int64_t begin, int64_t end, int worker) {
      for (int64_t task = begin; task < end; ++task)
        body(task, worker);
    };
    if (serial_)
      range(0, tasks, 0);
    else
      executor().parallel_for(tasks, grain, range);
  }

  Bits key_at(const Bits *row, int64_t place) const { return Bits(Keys<dtype>::of(row[place]) ^ flipped_); }

  void fill(const Bits *row, int64_t begin, int64_t end, Entry *entries) const {
    for (int64_t i = begin; i < end; ++i)
      make(entries[i], key_at(row, i), static_cast<uint64_t>(i));
  }

  /// Writes the elements of entries [begin, end) of a row in order.
  void write(int64_t row, const Entry *entries, int64_t begin, int64_t end) const {
    const Bits *source = source_ + row * shape_.extent;
    for (int64_t i = begin; i < end; ++i) {
      const auto place = static_cast<int64_t>(place_of(entries[i]));
      values_[row * shape_.count + i] = source[place];
      indices_[row * shape_.count + i] = place;
    }
  }

  static uint64_t digit_of(const Entry &entry, int shift) {
    return key_of(entry) >> shift & static_cast<uint64_t>(digits - 1);
  }

  /// Sorts entries by all digits. The result is in `entries` or in `other`.
  static Entry *sort_entries(Entry *entries, Entry *other, int64_t count, uint64_t *counts) {
    if (count <= fewElements) {
      std::sort(entries, entries + count);
      return entries;
    }
    for (int shift = 0; shift < static_cast<int>(8 * sizeof(Bits)); shift += digitBits) {
      std::fill_n(counts, digits, 0);
      for (int64_t i = 0; i < count; ++i)
        ++counts[digit_of(entries[i], shift)];
      // All elements have one digit.
      if (counts[digit_of(entries[0], shift)] == static_cast<uint64_t>(count))
        continue;
      uint64_t sum = 0;
      for (int64_t digit = 0; digit < digits; ++digit)
        sum += std::exchange(counts[digit], sum);
      for (int64_t i = 0; i < count; ++i)
        other[counts[digit_of(entries[i], shift)]++] = entries[i];
      std::swap(entries, other);
    }
    return entries;
  }

  void sort_row(int64_t row, std::byte *memory) const {
    auto *entries = reinterpret_cast<Entry *>(memory);
    auto *counts = reinterpret_cast<uint64_t *>(
        memory + align_line(2 * static_cast<size_t>(shape_.extent) * sizeof(Entry)));
    fill(source_ + row * shape_.extent, 0, shape_.extent, entries);
    write(row, sort_entries(entries, entries + shape_.extent, shape_.extent, counts), 0, shape_.count);
  }

  /// Sorts a row by all threads: each counts and moves the entries of its pieces, in the order of the pieces.
  void share_sort(int64_t row) {
    const int64_t pieces = pieces_of(shape_);
    auto *entries = reinterpret_cast<Entry *>(scratch_), *other = entries + shape_.extent;
    auto *counts = reinterpret_cast<uint64_t *>(
        scratch_ + align_line(2 * static_cast<size_t>(shape_.extent) * sizeof(Entry)));
    const auto end_of = [&](int64_t piece) { return std::min((piece + 1) * pieceElements, shape_.extent); };
    for (int shift = 0; shift < static_cast<int>(8 * sizeof(Bits)); shift += digitBits) {
      for_each(pieces, 1, [&](int64_t piece, int) {
        uint64_t *own = counts + piece * digits;
        if (shift == 0)
          fill(source_ + row * shape_.extent, piece * pieceElements, end_of(piece), entries);
        std::fill_n(own, digits, 0);
        for (int64_t i = piece * pieceElements; i < end_of(piece); ++i)
          ++own[digit_of(entries[i], shift)];
      });
      uint64_t sum = 0;
      for (int64_t digit = 0; digit < digits; ++digit)
        for (int64_t piece = 0; piece < pieces; ++piece)
          sum += std::exchange(counts[piece * digits + digit], sum);
      for_each(pieces, 1, [&](int64_t piece, int) {
        uint64_t *own = counts + piece * digits;
        for (int64_t i = piece * pieceElements; i < end_of(piece); ++i)
          other[own[digit_of(entries[i], shift)]++] = entries[i];
      });
      std::swap(entries, other);
    }
    for_each(pieces, 1, [&](int64_t piece, int) {
      write(row, entries, std::min(piece * pieceElements, shape_.count),
            std::min(end_of(piece), shape_.count));
    });
  }

  /// Puts the first `count` of the entries that are there, in order or not, to the front.
  static int64_t keep(Entry *entries, int64_t there, int64_t count) {
    if (there <= count)
      return there;
    std::nth_element(entries, entries + count - 1, entries + there);
    return count;
  }

  /// A key that more than `count` elements of a row are not larger than, by a sample of the row: it may be
  /// wrong. The largest key if there is none.
  Bits guess(const Bits *row, std::byte *memory) const {
    const int64_t step = shape_.extent / sampled;
    const double expected =
        static_cast<double>(shape_.count) / static_cast<double>(shape_.extent) * static_cast<double>(sampled);
    const auto rank = static_cast<int64_t>(expected + 4 * std::sqrt(expected) + 4);
    if (step == 0 || rank >= sampled)
      return Bits(~Bits(0));
    auto *keys = reinterpret_cast<Bits *>(memory);
    for (int64_t i = 0; i < sampled; ++i)
      keys[i] = key_at(row, i * step);
    std::nth_element(keys, keys + rank, keys + sampled);
    return keys[rank];
  }

  /// The first `count` entries, in order, of the elements [begin, end) of a row. Returns how many there are.
  int64_t select_few(const Bits *row, int64_t begin, int64_t end, Entry *entries) const {
    int64_t there = 0;
    Bits worst = Bits(~Bits(0)); // of the entries, once there are enough
    for (int64_t at = begin; at < end; at += scanned) {
      const int64_t to = std::min(at + scanned, end);
      if (there == shape_.count && !is_any_below(row, at, to, worst))
        continue;
      for (int64_t i = at; i < to; ++i) {
        const Bits key = key_at(row, i);
        if (there == shape_.count && key >= worst)
          continue;
        Entry entry;
        make(entry, key, static_cast<uint64_t>(i));
        int64_t place = there < shape_.count ? there++ : there - 1;
        for (; place > 0 && entry < entries[place - 1]; --place)
          entries[place] = entries[place - 1];
        entries[place] = entry;
        worst = static_cast<Bits>(key_of(entries[there - 1]));
      }
    }
    return there;
  }

  /// Whether a key is less than `bound`. The loop has no branches, so that it is compiled to vector code.
  bool is_any_below(const Bits *row, int64_t begin, int64_t end, Bits bound) const {
    unsigned found = 0;
    for (int64_t i = begin; i < end; ++i)
      found |= static_cast<unsigned>(key_at(row, i) < bound);
    return found != 0;
  }

  /// The first `count` entries of the elements [begin, end) of a row whose keys are not above `limit`, in any
  /// order. There is room for held(shape) entries. Returns how many there are. Of equal keys the first places
  /// come first, so once there are enough entries, only keys below the largest of theirs are looked at.
  int64_t select(const Bits *row, int64_t begin, int64_t end, Bits limit, Entry *entries) const {
    const int64_t count = shape_.count, room = held(shape_);
    if (count == 0)
      return 0;
    if (count <= fewSelected)
      return select_few(row, begin, end, entries);
    int64_t there = 0;
    bool is_full = false; // whether `bound` is the key of an entry, and not the limit
    Bits bound = limit;
    for (int64_t at = begin; at < end; at += scanned) {
      const int64_t to = std::min(at + scanned, end);
      // No key is above the largest one, which is no limit.
      const bool is_open = !is_full && bound == Bits(~Bits(0));
      const Bits below = is_full ? bound : Bits(bound + 1);
      if (!is_open && !is_any_below(row, at, to, below))
        continue;
      for (int64_t i = at; i < to; ++i)
        if (const Bits key = key_at(row, i); is_open || key < below)
          make(entries[there++], key, static_cast<uint64_t>(i));
      if (there > room - scanned) {
        there = keep(entries, there, count);
        bound = static_cast<Bits>(key_of(*std::max_element(entries, entries + there)));
        is_full = true;
      }
    }
    return keep(entries, there, count);
  }

  void select_row(int64_t row, std::byte *memory) const {
    auto *entries = reinterpret_cast<Entry *>(memory);
    const Bits *source = source_ + row * shape_.extent;
    const Bits limit = guess(source, memory + align_line(static_cast<size_t>(held(shape_)) * sizeof(Entry)));
    int64_t there = select(source, 0, shape_.extent, limit, entries);
    if (there < shape_.count) // the guess was wrong
      there = select(source, 0, shape_.extent, Bits(~Bits(0)), entries);
    std::sort(entries, entries + there);
    write(row, entries, 0, there);
  }

  /// The best of each piece are found in parallel, and the best of these are sorted.
  void share_selection(int64_t row) {
    const int64_t pieces = pieces_of(shape_), share = std::min(shape_.count, pieceElements);
    const Bits *source = source_ + row * shape_.extent;
    auto *all = reinterpret_cast<Entry *>(scratch_);
    std::byte *own = scratch_ + selection_bytes(shape_);
    auto *counts = reinterpret_cast<int64_t *>(
        scratch_ + align_line(static_cast<size_t>(candidates(shape_)) * sizeof(Entry)));
    int64_t there = 0;
    for (Bits limit = guess(source, own);; limit = Bits(~Bits(0))) {
      for_each(pieces, 1, [&](int64_t piece, int worker) {
        auto *entries = reinterpret_cast<Entry *>(own + static_cast<size_t>(worker) * row_bytes(shape_));
        counts[piece] = select(source, piece * pieceElements,
                               std::min((piece + 1) * pieceElements, shape_.extent), limit, entries);
        std::copy_n(entries, counts[piece], all + piece * share);
      });
      there = 0;
      for (int64_t piece = 0; piece < pieces; ++piece)
        for (int64_t i = 0; i < counts[piece]; ++i)
          all[there++] = all[piece * share + i];
      if (there >= shape_.count)
        break; // else the guess was wrong
    }
    there = keep(all, there, shape_.count);
    std::sort(all, all + there);
    write(row, all, 0, there);
  }

public:
  /// Bytes of what a shared search keeps of all pieces.
  static size_t selection_bytes(const SortShape &shape) {
    return align_line(static_cast<size_t>(candidates(shape)) * sizeof(Entry)) +
           align_line(static_cast<size_t>(pieces_of(shape)) * sizeof(int64_t));
  }

private:
  const SortShape &shape_;
  const Bits *source_;
  Bits *values_;
  int64_t *indices_;
  Bits flipped_; ///< bits of a key that are inverted for the descending order
  std::byte *scratch_;
  bool serial_;
};

template <DType dtype>
void run_sort(const SortShape &shape, const Sort::Parts &parts, std::byte *scratch, bool serial) {
  if constexpr (sizeof(typename Keys<dtype>::Bits) <= 4)
    if (is_narrow(shape))
      return Sorter<dtype, NarrowEntry>(shape, parts, scratch, serial).run();
  Sorter<dtype, WideEntry>(shape, parts, scratch, serial).run();
}

} // namespace

size_t Sort::scratch_bytes(int width) const {
  if (shape_.rows == 0 || shape_.extent == 0)
    return 0;
  const size_t threads = static_cast<size_t>(std::max(width, 1)) * row_bytes(shape_);
  if (!is_shared(shape_))
    return threads;
  if (!is_selection(shape_))
    return shared_bytes(shape_);
  const size_t all = is_narrow(shape_) ? Sorter<DType::f32, NarrowEntry>::selection_bytes(shape_)
                                       : Sorter<DType::f64, WideEntry>::selection_bytes(shape_);
  return all + threads;
}

void Sort::run(const Parts &parts, void *scratch, bool serial) const {
  if (shape_.rows == 0 || shape_.extent == 0 || shape_.count == 0)
    return;
  auto *memory = static_cast<std::byte *>(scratch);
  switch (shape_.dtype) {
  case DType::i1:
    return run_sort<DType::i1>(shape_, parts, memory, serial);
  case DType::i8:
    return run_sort<DType::i8>(shape_, parts, memory, serial);
  case DType::ui8:
    return run_sort<DType::ui8>(shape_, parts, memory, serial);
  case DType::i16:
    return run_sort<DType::i16>(shape_, parts, memory, serial);
  case DType::i32:
    return run_sort<DType::i32>(shape_, parts, memory, serial);
  case DType::i64:
    return run_sort<DType::i64>(shape_, parts, memory, serial);
  case DType::f16:
    return run_sort<DType::f16>(shape_, parts, memory, serial);
  case DType::bf16:
    return run_sort<DType::bf16>(shape_, parts, memory, serial);
  case DType::f32:
    return run_sort<DType::f32>(shape_, parts, memory, serial);
  case DType::f64:
    return run_sort<DType::f64>(shape_, parts, memory, serial);
  }
}

} // namespace weft::runtime
