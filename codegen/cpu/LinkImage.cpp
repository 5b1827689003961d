//===- LinkImage.cpp - Links kernels to an image --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JITLink links one graph at a time and asks a memory manager for each graph's addresses. Our memory manager
// suspends every graph until the sizes of all are known, lays out the image as a whole, and resumes them.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/LinkImage.h"

#include "codegen/cpu/LowerKernel.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ExecutionEngine/JITLink/ELF_x86_64.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/ExecutionEngine/JITLink/x86_64.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <map>
#include <set>

namespace weft::codegen {

namespace {

namespace jitlink = llvm::jitlink;

enum Part { textPart, rodataPart, dataPart, partCount };

/// A graph that is suspended until its addresses are known.
struct Pending {
  std::unique_ptr<jitlink::BasicLayout> layout;
  jitlink::JITLinkMemoryManager::OnAllocatedFunction resume;
};

/// Shared by all graphs of one link.
struct LinkState {
  uint64_t base = 0;
  std::vector<Pending> pending;
  std::map<const std::vector<char> *, uint64_t> kernels; ///< object to offset of its kernel
  std::string error;                                     ///< the first one

  void fail(const std::string &message) {
    if (error.empty())
      error = message;
  }
};

class HeldAllocation final : public jitlink::JITLinkMemoryManager::InFlightAlloc {
public:
  void abandon(OnAbandonedFunction done) override { done(llvm::Error::success()); }
  void finalize(OnFinalizedFunction done) override {
    done(jitlink::JITLinkMemoryManager::FinalizedAlloc(llvm::orc::ExecutorAddr(1)));
  }
};

class HoldingMemoryManager final : public jitlink::JITLinkMemoryManager {
public:
  explicit HoldingMemoryManager(LinkState &state) : state(state) {}

  void allocate(const jitlink::JITLinkDylib *, jitlink::LinkGraph &graph,
                OnAllocatedFunction resume) override {
    auto layout = std::make_unique<jitlink::BasicLayout>(graph);
    state.pending.push_back({std::move(layout), std::move(resume)});
  }
  void deallocate(std::vector<FinalizedAlloc> allocations, OnDeallocatedFunction done) override {
    for (FinalizedAlloc &allocation : allocations)
      allocation.release();
    done(llvm::Error::success());
  }

private:
  LinkState &state;
};

class ImageContext final : public jitlink::JITLinkContext {
public:
  ImageContext(LinkState &state, jitlink::JITLinkMemoryManager &memory, const std::vector<char> *object,
               std::string name)
      : JITLinkContext(nullptr), state(state), memory(memory), object(object), name(std::move(name)) {}

  jitlink::JITLinkMemoryManager &getMemoryManager() override { return memory; }

  void notifyFailed(llvm::Error error) override {
    state.fail("kernel '" + name + "': " + llvm::toString(std::move(error)));
  }

  void lookup(const LookupMap &symbols,
              std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> resume) override {
    if (symbols.empty())
      return resume->run(jitlink::AsyncLookupResult());
    std::string names;
    for (const auto &symbol : symbols)
      names += (names.empty() ? "'" : ", '") + symbol.first.str() + "'";
    resume->run(llvm::createStringError("refers to " + names + ", which is outside of the image"));
  }

  llvm::Error notifyResolved(jitlink::LinkGraph &graph) override {
    for (jitlink::Symbol *symbol : graph.defined_symbols())
      if (symbol->hasName() && symbol->getName() == canonicalSymbol) {
        state.kernels[object] = symbol->getAddress().getValue() - state.base;
        return llvm::Error::success();
      }
    return llvm::createStringError("its object has no symbol '" + canonicalSymbol.str() + "'");
  }

  void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc allocation) override {
    allocation.release();
  }

  /// No GOT and PLT builders: code that needs one is refused below.
  bool shouldAddDefaultTargetPasses(const llvm::Triple &) const override { return false; }

  llvm::Error modifyPassConfig(jitlink::LinkGraph &, jitlink::PassConfiguration &config) override {
    config.PrePrunePasses.push_back([](jitlink::LinkGraph &graph) {
      if (jitlink::Section *frames = graph.findSectionByName(".eh_frame"))
        graph.removeSection(*frames);
      for (jitlink::Symbol *symbol : graph.defined_symbols())
        symbol->setLive(symbol->hasName() && symbol->getName() == canonicalSymbol);
      return llvm::Error::success();
    });
    config.PostPrunePasses.push_back(checkEdges);
    return llvm::Error::success();
  }

private:
  /// Allows only PC-relative references to symbols in the image.
  static llvm::Error checkEdges(jitlink::LinkGraph &graph) {
    namespace x86 = jitlink::x86_64;
    for (jitlink::Block *block : graph.blocks())
      for (const jitlink::Edge &edge : block->edges()) {
        if (!edge.isRelocation())
          continue;
        const jitlink::Symbol &to = edge.getTarget();
        std::string target = to.hasName() ? "'" + to.getName().str() + "'" : "an unnamed symbol";
        if (!to.isDefined())
          return llvm::createStringError("refers to " + target + ", which is outside of the image");
        switch (edge.getKind()) {
        case x86::Delta32:
        case x86::Delta64:
        case x86::PCRel32:
        case x86::BranchPCRel32:
          break;
        default:
          return llvm::createStringError("has a reference of kind " +
                                         llvm::StringRef(x86::getEdgeKindName(edge.getKind())) + " to " +
                                         target + "; an image may hold relative references only");
        }
      }
    return llvm::Error::success();
  }

  LinkState &state;
  jitlink::JITLinkMemoryManager &memory;
  const std::vector<char> *object;
  std::string name;
};

Part partOf(const llvm::orc::AllocGroup &group) {
  auto has = [&](llvm::orc::MemProt bit) {
    return (static_cast<unsigned>(group.getMemProt()) & static_cast<unsigned>(bit)) != 0;
  };
  if (has(llvm::orc::MemProt::Exec))
    return textPart;
  if (has(llvm::orc::MemProt::Write))
    return dataPart;
  return rodataPart;
}

/// Gives every segment of every graph its place in the image.
Status layOut(LinkState &state, LinkedImage &image) {
  using Segment = jitlink::BasicLayout::Segment;
  struct Placed {
    Segment *segment;
    uint64_t offset;
  };
  std::vector<Placed> placed[partCount];
  uint64_t sizes[partCount] = {LinkedImage::padding, 0, 0};
  for (Pending &pending : state.pending)
    for (auto &entry : pending.layout->segments()) {
      Part part = partOf(entry.first);
      Segment &segment = entry.second;
      if (segment.Alignment.value() > LinkedImage::pageSize)
        return Status::error("a section of a kernel needs an alignment of " +
                             std::to_string(segment.Alignment.value()) + " bytes; images have " +
                             std::to_string(LinkedImage::pageSize));
      uint64_t offset = llvm::alignTo(sizes[part], segment.Alignment);
      placed[part].push_back({&segment, offset});
      sizes[part] = offset + segment.ContentSize + segment.ZeroFillSize;
    }
  std::vector<char> *bytes[partCount] = {&image.text, &image.rodata, &image.data};
  uint64_t *offsets[partCount] = {&image.textOffset, &image.rodataOffset, &image.dataOffset};
  uint64_t at = 0;
  for (int part = 0; part < partCount; ++part) {
    *offsets[part] = at;
    // Breakpoints between functions, zeros elsewhere.
    bytes[part]->assign(sizes[part], part == textPart ? '\xcc' : '\0');
    for (Placed &place : placed[part]) {
      place.segment->Addr = llvm::orc::ExecutorAddr(state.base + at + place.offset);
      place.segment->WorkingMem = bytes[part]->data() + place.offset;
      std::memset(place.segment->WorkingMem, 0, place.segment->ContentSize + place.segment->ZeroFillSize);
    }
    at = llvm::alignTo(at + sizes[part], LinkedImage::pageSize);
  }
  image.size = at;
  // PC-relative references reach 2 GiB.
  if (image.size > (uint64_t(1) << 30))
    return Status::error("the image would have " + std::to_string(image.size) + " bytes, more than 1 GiB");
  for (Pending &pending : state.pending)
    if (llvm::Error error = pending.layout->apply())
      return Status::error("placing a kernel failed: " + llvm::toString(std::move(error)));
  return {};
}

Expected<LinkedImage> linkAt(const std::vector<LinkInput> &inputs, uint64_t base) {
  LinkState state;
  state.base = base;
  HoldingMemoryManager memory(state);
  std::map<std::vector<char>, const std::vector<char> *> distinct;
  std::vector<const std::vector<char> *> objects;
  for (const LinkInput &input : inputs) {
    if (!input.object)
      return Status::error("kernel '" + input.symbol + "' has no object to link");
    auto [entry, fresh] = distinct.try_emplace(*input.object, input.object.get());
    objects.push_back(entry->second);
    if (!fresh)
      continue;
    llvm::MemoryBufferRef buffer(llvm::StringRef(input.object->data(), input.object->size()), input.symbol);
    auto graph = jitlink::createLinkGraphFromELFObject_x86_64(buffer);
    if (!graph) {
      state.fail("kernel '" + input.symbol +
                 "': its object cannot be read: " + llvm::toString(graph.takeError()));
      break;
    }
    jitlink::link_ELF_x86_64(std::move(*graph),
                             std::make_unique<ImageContext>(state, memory, input.object.get(), input.symbol));
    if (!state.error.empty())
      break;
  }
  LinkedImage image;
  if (state.error.empty())
    if (Status status = layOut(state, image); !status)
      state.fail(status.message());
  // Resume every graph, with its memory or with an error; a graph that is not resumed leaks.
  for (Pending &pending : state.pending) {
    if (state.error.empty())
      pending.resume(std::make_unique<HeldAllocation>());
    else
      pending.resume(llvm::createStringError("linking was given up"));
  }
  if (!state.error.empty())
    return Status::error(state.error);
  for (size_t i = 0; i < inputs.size(); ++i)
    image.symbols.emplace_back(inputs[i].symbol, state.kernels.at(objects[i]));
  return image;
}

} // namespace

Expected<LinkedImage> linkImage(const std::vector<LinkInput> &inputs) {
  std::set<std::string> names;
  for (const LinkInput &input : inputs)
    if (!names.insert(input.symbol).second)
      return Status::error("two kernels of an image are named '" + input.symbol + "'");
  Expected<LinkedImage> image = linkAt(inputs, uint64_t(1) << 33);
  if (!image)
    return image;
  // If the bytes differ when linked at another address, they contain an absolute address.
  Expected<LinkedImage> again = linkAt(inputs, (uint64_t(5) << 40) + (uint64_t(3) << 31) + 0x7000);
  if (!again)
    return again;
  if (image->text != again->text || image->rodata != again->rodata || image->data != again->data ||
      image->symbols != again->symbols)
    return Status::error("the image depends on its address: an absolute reference was not recognised");
  return image;
}

} // namespace weft::codegen
