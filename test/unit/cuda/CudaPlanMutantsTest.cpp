//===- CudaPlanMutantsTest.cpp - Steps whose plan or waits are wrong -------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The training steps of an MLP and of a transformer, with one thing wrong at a time. In the plan of a
// package, two places of the arena are exchanged, or a bound is shifted: the plan's verifier refuses the
// mutant, or its bits differ from those of the step, or the driver reports it. Some mutants are equivalent:
// each launch reads what the same launches have written as before. That is shown by following the bytes of
// the plan, and these mutants have the bits of the step.
//
// Of the waits of the host, those that a ring of pinned memory, or its end, depends on are left out.
//
//===----------------------------------------------------------------------===//
#include "runtime/execution/StatefulExecutable.h"
#include "runtime/package/Package.h"
#include "runtime/plan/Image.h"
#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanVerifier.h"
#include "runtime/plan/plan_generated.h"
#include "test/unit/TemporaryFolder.h"
#include "test/unit/TestLevel.h"
#include "test/unit/cuda/ChildProcess.h"
#include "test/unit/cuda/SmallGpt.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace weft;

namespace {
using runtime::Buffer, runtime::Package, runtime::StatefulExecutable;
using weft::test::TemporaryFolder;
using weft::testing::Child;
using weft::testing::runChild;
using weft::testing::testLevel;
using weft::testing::withMutantStep;

constexpr const char *sections = ".step.cuda:sm_90";
constexpr const char *models[] = {"", "WEFT_TEST_GPT=1 "};

bool isGpt() { return std::getenv("WEFT_TEST_GPT") != nullptr; }

void save(bool gpt, const std::string &path) {
  withMutantStep(gpt, [&](auto &trained) {
    auto step = compile([&](Tensor x, Tensor classes) { return trained(x, classes); }, {.name = "step"});
    step(trained.x, trained.classes).template item<float>();
    step.save(path, {.targets = {"cuda:sm_90"}});
  });
}

template <typename T>
std::shared_ptr<Buffer> bufferOf(runtime::Device &device, const std::vector<T> &values) {
  auto buffer = Buffer::allocate(values.size() * sizeof(T), 0, device).value_or_throw();
  buffer->write(0, std::as_bytes(std::span(values))).throw_if_failed();
  return buffer;
}

void printBits(const char *name, std::span<const std::byte> bytes) {
  std::printf("%s %llx\n", name, static_cast<unsigned long long>(runtime::checksum64(bytes)));
}

} // namespace

/// Four calls of the package's step. Writes their losses, and the bits of the state.
int weft::testing::runPlannedStep() {
  try {
    auto step = StatefulExecutable::load(Package::open(std::getenv("WEFT_TEST_PACKAGE")).value_or_throw(),
                                         "step", "cuda:0")
                    .value_or_throw();
    const auto device = [&](size_t input) -> runtime::Device & {
      return step->executable().argument_device(step->inputs()[input]);
    };
    const weft::testing::MutantData data(isGpt());
    const std::shared_ptr<Buffer> inputs[] = {isGpt() ? bufferOf(device(0), data.x.to_vector<int64_t>())
                                                      : bufferOf(device(0), data.x.to_vector<float>()),
                                              bufferOf(device(1), data.classes.to_vector<int64_t>())};
    std::vector<std::shared_ptr<Buffer>> losses;
    for (int i = 0; i < 4; ++i) {
      std::vector<std::shared_ptr<Buffer>> results(step->outputs().size());
      step->run(inputs, {}, results).throw_if_failed();
      losses.push_back(results[0]);
    }
    for (const auto &loss : losses) {
      loss->wait().throw_if_failed();
      float value = 0;
      loss->read(0, std::as_writable_bytes(std::span(&value, 1))).throw_if_failed();
      std::printf("loss %a\n", value);
    }
    for (const auto &[name, entry] : step->state()) {
      std::vector<std::byte> bytes(step->signature().arguments[entry.argument].type.bytes);
      step->get_state(name, bytes).throw_if_failed();
      printBits(name.c_str(), bytes);
    }
  } catch (const Error &error) {
    std::printf("error %s: %s\n", error.code().c_str(), error.what());
  }
  return 0;
}

namespace {

/// What the launches of a plan read, in order.
struct Reads {
  /// Of each byte of each operand: the launch that wrote it, or -1.
  std::vector<std::vector<int64_t>> writers;
  std::vector<int64_t> overlaps; ///< of each pair of operands of a launch: how they lie over each other
  static constexpr int64_t apart = INT64_MIN;
};

Reads readsOf(const fb::Plan &plan) {
  std::map<std::pair<fb::Storage, uint32_t>, std::vector<int64_t>> writers;
  Reads reads;
  const auto inArena = [](const fb::Buffer &buffer) { return buffer.storage() == fb::Storage::arena; };
  const auto indexOf = [&](const fb::Buffer &buffer) { return inArena(buffer) ? 0 : buffer.index(); };
  const auto bytesOf = [&](const fb::Buffer &buffer) {
    auto &storage = writers[{buffer.storage(), indexOf(buffer)}];
    storage.resize(std::max<size_t>(storage.size(), buffer.offset() + buffer.bytes()), -1);
    return std::span(storage).subspan(buffer.offset(), buffer.bytes());
  };
  for (uint32_t i = 0; i < plan.launches()->size(); ++i) {
    const auto accesses = runtime::accesses_of(*plan.launches()->Get(i));
    for (const auto &[number, written] : accesses) {
      const fb::Buffer &buffer = *plan.buffers()->Get(number);
      if (const auto bytes = bytesOf(buffer); !written)
        reads.writers.emplace_back(bytes.begin(), bytes.end());
      for (const auto &[other_number, other_written] : accesses) {
        const fb::Buffer &other = *plan.buffers()->Get(other_number);
        const bool overlap = buffer.storage() == other.storage() && indexOf(buffer) == indexOf(other) &&
                             buffer.offset() < other.offset() + other.bytes() &&
                             other.offset() < buffer.offset() + buffer.bytes();
        reads.overlaps.push_back(overlap && (written || other_written)
                                     ? static_cast<int64_t>(buffer.offset()) -
                                           static_cast<int64_t>(other.offset())
                                     : Reads::apart);
      }
    }
    for (const auto &[number, written] : accesses)
      if (written)
        std::ranges::fill(bytesOf(*plan.buffers()->Get(number)), i);
  }
  return reads;
}

enum class Fate : uint8_t {
  refused,    ///< by the verifier of plans
  equivalent, ///< each launch reads what the same launches have written
  overlaps,   ///< so it does, but a launch writes over an operand that it did not write over before
  changed,    ///< a launch reads something else
};

Fate fateOf(const Reads &plan, const Reads &mutant) {
  // A product's buffer may be longer than what it reads.
  const bool same = std::ranges::equal(plan.writers, mutant.writers, [](const auto &before, const auto &now) {
    return now.size() >= before.size() && std::equal(before.begin(), before.end(), now.begin());
  });
  if (!same)
    return Fate::changed;
  const bool apart = std::ranges::equal(plan.overlaps, mutant.overlaps, [](int64_t before, int64_t now) {
    return now == before || now == Reads::apart;
  });
  return apart ? Fate::equivalent : Fate::overlaps;
}

struct Mutant {
  std::string name, kind;
  std::function<void(fb::PlanT &)> change;
};

std::vector<std::byte> bytesOf(const fb::PlanT &plan) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &plan), fb::PlanIdentifier());
  const auto written = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return {written.begin(), written.end()};
}

std::vector<Mutant> mutantsOf(const fb::PlanT &plan) {
  std::vector<Mutant> mutants;
  const auto inArena = [&](size_t i) { return plan.buffers[i]->storage == fb::Storage::arena; };
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    for (size_t j = i + 1; j < plan.buffers.size(); ++j)
      if (inArena(i) && inArena(j) && plan.buffers[i]->offset != plan.buffers[j]->offset)
        mutants.push_back(
            {"offsets of buffers " + std::to_string(i) + " and " + std::to_string(j) + " swapped", "offsets",
             [i, j](fb::PlanT &made) { std::swap(made.buffers[i]->offset, made.buffers[j]->offset); }});
    for (const int64_t shift : {-64, 64})
      if (inArena(i))
        mutants.push_back(
            {"buffer " + std::to_string(i) + " shifted by " + std::to_string(shift), "places",
             [i, shift](fb::PlanT &made) { made.buffers[i]->offset += static_cast<uint64_t>(shift); }});
    for (const int64_t shift : {-4, 4})
      mutants.push_back(
          {"bytes of buffer " + std::to_string(i) + " changed by " + std::to_string(shift), "ranges",
           [i, shift](fb::PlanT &made) { made.buffers[i]->bytes += static_cast<uint64_t>(shift); }});
  }
  for (size_t i = 0; i < plan.launches.size(); ++i)
    for (const int64_t shift : {-1, 1}) {
      const std::string name = "launch " + std::to_string(i) + ": ";
      if (plan.launches[i]->op.AsKernelLaunch())
        mutants.push_back(
            {name + "tasks changed by " + std::to_string(shift), "bounds",
             [i, shift](fb::PlanT &made) { made.launches[i]->op.AsKernelLaunch()->tasks += shift; }});
      if (plan.launches[i]->op.AsContractionLaunch())
        for (int64_t fb::ContractionLaunchT::*extent :
             {&fb::ContractionLaunchT::m, &fb::ContractionLaunchT::n, &fb::ContractionLaunchT::k})
          mutants.push_back({name + "extent changed by " + std::to_string(shift), "bounds",
                             [i, shift, extent](fb::PlanT &made) {
                               made.launches[i]->op.AsContractionLaunch()->*extent += shift;
                             }});
    }
  return mutants;
}

/// Mutants whose kernels of our own are given other operands, or operands at addresses that they are not made
/// for. The second list has what each is refused for.
std::vector<std::pair<Mutant, std::string>> wrongOperandsOf(const fb::PlanT &plan) {
  std::vector<std::pair<Mutant, std::string>> mutants;
  for (size_t i = 0; i < plan.launches.size(); ++i)
    for (size_t k = 0; k < plan.launches[i]->own.size(); ++k) {
      const std::vector<uint32_t> &operands = plan.launches[i]->own[k]->operands;
      for (size_t a = 0; a < operands.size(); ++a)
        for (size_t b = a + 1; b < operands.size(); ++b)
          if (operands[a] != operands[b])
            mutants.push_back({{"launch " + std::to_string(i) + ": operands " + std::to_string(a) + " and " +
                                    std::to_string(b) + " of its kernel swapped",
                                "operands",
                                [=](fb::PlanT &made) {
                                  std::vector<uint32_t> &own = made.launches[i]->own[k]->operands;
                                  std::swap(own[a], own[b]);
                                }},
                               "other operands than"});
    }
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i]->storage == fb::Storage::arena && plan.buffers[i]->bytes >= 16)
      mutants.push_back({{"buffer " + std::to_string(i) + " shifted by 4 bytes", "alignments",
                          [i](fb::PlanT &made) {
                            made.buffers[i]->offset += 4;
                            made.buffers[i]->bytes -= 4;
                          }},
                         ""});
  for (size_t i = 0; i < plan.arguments.size(); ++i)
    if (plan.arguments[i]->alignment == 16)
      mutants.push_back({{"argument " + std::to_string(i) + " of the alignment 4", "alignments",
                          [i](fb::PlanT &made) { made.arguments[i]->alignment = 4; }},
                         "needs one of"});
  return mutants;
}

/// The package of a step, and what becomes of its mutants.
class PlannedStep {
public:
  PlannedStep(const TemporaryFolder &folder, const char *model) : folder_(folder), model_(model) {
    save(*model != 0, folder / "step.weft");
    package_ = Package::open(folder / "step.weft").value_or_throw();
    image_ = runtime::Image::load(*package_, "image.cuda:sm_90").value_or_throw();
    const std::span<const std::byte> bytes =
        package_->section("plan" + std::string(sections)).value_or_throw();
    plan_ = std::vector<std::byte>(bytes.begin(), bytes.end());
    flatbuffers::GetRoot<fb::Plan>(plan_.data())->UnPackTo(&unpacked);
    reads_ = readsOf(*flatbuffers::GetRoot<fb::Plan>(plan_.data()));
    whole = run("step.weft").output;
  }

  Fate fateOf(const Mutant &mutant, std::vector<std::byte> &bytes) const {
    if (!verify(mutant, bytes))
      return Fate::refused;
    return ::fateOf(reads_, readsOf(*runtime::read_plan(bytes).value_or_throw()));
  }

  /// What the verifier of plans says of a mutant, whose bytes are written.
  Status verify(const Mutant &mutant, std::vector<std::byte> &bytes) const {
    fb::PlanT made;
    flatbuffers::GetRoot<fb::Plan>(plan_.data())->UnPackTo(&made);
    mutant.change(made);
    bytes = bytesOf(made);
    const auto read = runtime::read_plan(bytes);
    if (!read)
      return read.status();
    const std::string constants = "constants" + std::string(sections);
    const size_t constant_bytes =
        package_->contains(constants) ? package_->section(constants).value_or_throw().size() : 0;
    return runtime::verify_plan(**read, constant_bytes, image_.get());
  }

  void write(const std::vector<std::byte> &plan) const {
    runtime::PackageWriter writer;
    const uint64_t seal = runtime::plan_seal(plan, image_->binding());
    for (const std::string &name : package_->names())
      if (name == "plan" + std::string(sections))
        writer.add(name, plan);
      else if (name == "seal" + std::string(sections))
        writer.add(name, std::as_bytes(std::span(&seal, 1)));
      else
        writer.add(name, package_->section(name).value_or_throw());
    writer.write_file(folder_ / "mutant.weft").throw_if_failed();
  }
  Child run(const char *file, const char *order = "forward", const std::string &more = "") const {
    return runChild("--planned", more + "CUSIM_RACE=1 CUSIM_ORDER=" + std::string(order) +
                                     " WEFT_TEST_PACKAGE=" + (folder_ / file) + " " + model_);
  }
  /// Whether the mutant that was written has the step's bits. Of one in which a launch writes over an
  /// operand, in each order: in race mode, what another thread has written without a barrier between reads as
  /// NaN.
  bool isSame(Fate fate) const {
    bool same = run("mutant.weft").output == whole;
    if (fate == Fate::overlaps)
      for (const char *order : {"reverse", "5"})
        same = same && run("mutant.weft", order).output == whole;
    return same;
  }

  fb::PlanT unpacked;
  std::string whole; ///< what the step writes

private:
  const TemporaryFolder &folder_;
  const char *const model_;
  std::shared_ptr<const Package> package_;
  std::shared_ptr<runtime::Image> image_;
  std::vector<std::byte> plan_;
  Reads reads_;
};

/// Whether the tests run in another order of what nothing orders.
bool hasOrder() { return std::getenv("CUSIM_ORDER") != nullptr; }

/// How many of the mutants that nothing refuses are run, of each kind and fate.
size_t most() { return testLevel() == "full" ? SIZE_MAX : testLevel() == "quick" ? 1 : 3; }

} // namespace

// Nothing of them runs: a kernel that writes another operand, or reads at an address that it is not made for,
// is found when the plan is loaded.
TEST(CudaPlanMutants, KernelsHaveTheirOwnOperandsWhereTheyNeedThem) {
  if (hasOrder())
    GTEST_SKIP() << "nothing runs";
  for (const char *model : models) {
    SCOPED_TRACE(model);
    TemporaryFolder folder;
    const PlannedStep step(folder, model);
    std::map<std::string, std::array<size_t, 2>> fates;
    for (const auto &[mutant, reason] : wrongOperandsOf(step.unpacked)) {
      std::vector<std::byte> plan;
      const Status status = step.verify(mutant, plan);
      ++fates[mutant.kind][status.ok()];
      if (mutant.kind == "operands") {
        EXPECT_FALSE(status.ok()) << mutant.name;
      }
      if (!status.ok()) {
        EXPECT_TRUE(mentions(status.message(), reason)) << mutant.name << ": " << status.message();
      }
    }
    for (const auto &[kind, count] : fates) {
      std::printf("%s%s: %zu refused, %zu not\n", model, kind.c_str(), count[0], count[1]);
      EXPECT_GT(count[0], 0U) << kind;
    }
  }
}

TEST(CudaPlanMutants, ArenasAndBoundsOfStepsAreNeeded) {
  if (hasOrder())
    GTEST_SKIP() << "the children have orders of their own";
  for (const char *model : models) {
    SCOPED_TRACE(model);
    TemporaryFolder folder;
    PlannedStep step(folder, model);
    ASSERT_TRUE(mentions(step.whole, "loss 0x")) << step.whole;
    ASSERT_FALSE(mentions(step.whole, "nan") || mentions(step.whole, "error")) << step.whole;
    std::vector<Mutant> mutants = mutantsOf(step.unpacked);
    std::shuffle(mutants.begin(), mutants.end(), std::mt19937(17)); // which of them are run
    std::map<std::string, std::array<size_t, 4>> fates;
    std::map<std::string, size_t> found;
    size_t unfound = 0;
    for (const Mutant &mutant : mutants) {
      std::vector<std::byte> plan;
      const Fate fate = step.fateOf(mutant, plan);
      if (++fates[mutant.kind][static_cast<size_t>(fate)] > most() || fate == Fate::refused)
        continue;
      step.write(plan);
      const bool same = step.isSame(fate);
      found[mutant.kind] += !same;
      // A range that is longer than what a launch accesses changes nothing.
      if (fate == Fate::equivalent || mutant.kind == "ranges") {
        EXPECT_TRUE(same) << mutant.name;
      } else if (fate == Fate::changed && same) {
        std::printf("%s%s: nothing has changed\n", model, mutant.name.c_str());
        ++unfound;
      }
    }
    for (const auto &[kind, count] : fates)
      std::printf(
          "%s%s: %zu refused, %zu equivalent, %zu that overlap, %zu changed; %zu of those that ran found\n",
          model, kind.c_str(), count[0], count[1], count[2], count[3], found[kind]);
    // Of the table of an embedding, most rows have the gradient 0: a launch may read some in place of others.
    EXPECT_LE(unfound, testLevel() == "full" ? 5U : 0U);
    EXPECT_EQ(fates["bounds"][0], std::ranges::count(mutants, "bounds", &Mutant::kind));
    EXPECT_GT(fates["bounds"][0], 20U);
  }
}

// The negative control: what the other tests compare notices a bit that one launch wrote otherwise.
TEST(CudaPlanMutants, ABitOfOneLaunchIsNoticed) {
  if (hasOrder())
    GTEST_SKIP() << "the children have orders of their own";
  for (const char *model : models) {
    SCOPED_TRACE(model);
    TemporaryFolder folder;
    const PlannedStep step(folder, model);
    size_t spoilt = 0, unnoticed = 0;
    // The first call is launched kernel by kernel; each kernel of the step is in it.
    const auto kernels =
        static_cast<size_t>(std::ranges::count_if(step.unpacked.launches, [](const auto &launch) {
          return launch->op.AsKernelLaunch() || launch->op.AsAttentionLaunch();
        }));
    for (int launch = 1; spoilt < kernels && spoilt / 3 < most(); ++launch) {
      const std::string number = std::to_string(launch);
      const Child child = step.run("step.weft", "forward", "CUSIM_SPOIL=" + number + " ");
      if (!mentions(child.output, "CUSIM_SPOIL: launch " + number))
        break;
      // The others keep the record of a call.
      if (!mentions(child.output, "CUSIM_SPOIL: launch " + number + ", of 'weft_kernel'"))
        continue;
      ++spoilt;
      const size_t begin = child.output.find("loss ");
      unnoticed += child.output.substr(begin == std::string::npos ? 0 : begin) == step.whole;
    }
    std::printf("%s%zu launches wrote another bit, %zu of them unnoticed\n", model, spoilt, unnoticed);
    EXPECT_GT(spoilt, unnoticed);
    // Another bit of a zero makes a number of 1e-38, which a sum loses. Zeros that are filled in have no
    // line; an element of another launch may be one.
    const auto filled = static_cast<size_t>(std::ranges::count_if(
        step.unpacked.launches, [](const auto &launch) { return launch->location.empty(); }));
    EXPECT_LE(unnoticed, filled + 1);
  }
}

/// Steps that are issued ahead of the device, each with another learning rate. Writes the losses and the bits
/// of the parameters.
int weft::testing::runAhead() {
  try {
    withMutantStep(isGpt(), [](auto &trained) {
      auto step = compile([&](Tensor x, Tensor classes) { return trained(x, classes); });
      std::vector<Tensor> losses;
      for (int i = 0; i < 8; ++i) {
        trained.adam->set_lr(0.01 / (1 + i));
        losses.push_back(step(trained.x, trained.classes));
      }
      for (const Tensor &loss : losses)
        std::printf("loss %a\n", loss.item<float>());
      for (const Tensor &parameter : trained.model.parameters()) {
        const Floats values = floats(parameter.cpu());
        printBits("parameter", std::as_bytes(std::span(values)));
      }
    });
  } catch (const Error &error) {
    std::printf("error %s: %s\n", error.code().c_str(), error.what());
  }
  return 0;
}

namespace {

/// A wait of the host for the device, as CUSIM_FAIL names it.
struct Wait {
  std::string call;
  bool needed = false; ///< no earlier wait has seen the same work end
};

/// Follows the driver's log: what is issued to each stream, and what of it has ended for certain.
class WaitReader {
public:
  /// The waits of steps for events: those for the ends of calls, behind which the pinned memory of a call's
  /// scalars and record is used again. A question that is answered with yes is no wait.
  std::vector<Wait> read(const std::filesystem::path &path) {
    std::ifstream log(path);
    for (std::string line; std::getline(log, line);)
      take(line);
    return waits_;
  }

private:
  void take(const std::string &line) {
    const size_t open = line.find('('), close = line.find(')');
    if (open == std::string::npos || close == std::string::npos)
      return;
    const std::string function = line.substr(0, open), arguments = line.substr(open + 1, close - open - 1);
    const size_t at = arguments.find("stream "), end = arguments.find(", ", at);
    const std::string stream = at == std::string::npos ? "" : arguments.substr(at, end - at);
    steps_ |= function == "cuGraphLaunch";
    if (function == "cuEventRecord") {
      events_[arguments.substr(0, arguments.find(", "))] = {stream, issued_[stream]};
    } else if (function == "cuEventQuery" || function == "cuEventSynchronize") {
      takeWait(function, arguments, line.ends_with("= 600"));
    } else if (function == "cuMemFree") { // waits for everything
      for (const auto &[each, number] : issued_)
        passed_[each] = number;
    } else if (!stream.empty()) {
      ++issued_[stream];
      // A copy to memory that is not pinned returns at its end.
      if (function == "cuStreamSynchronize" ||
          (function == "cuMemcpyDtoHAsync" && arguments.starts_with("host")))
        passed_[stream] = issued_[stream];
    }
  }

  void takeWait(const std::string &function, const std::string &event, bool no) {
    const auto &[stream, number] = events_[event];
    const std::string call = function + ":" + std::to_string(++calls_[function]);
    if (steps_ && (no || function == "cuEventSynchronize"))
      waits_.push_back({call, number > passed_[stream]});
    if (!no)
      passed_[stream] = std::max(passed_[stream], number);
  }

  std::map<std::string, int> calls_, issued_, passed_; ///< the latter two by stream
  std::map<std::string, std::pair<std::string, int>> events_;
  std::vector<Wait> waits_;
  bool steps_ = false;
};

} // namespace

TEST(CudaPlanMutants, EveryWaitForPinnedMemoryIsNeeded) {
  if (hasOrder())
    GTEST_SKIP() << "the children have orders of their own";
  for (const char *model : models) {
    SCOPED_TRACE(model);
    TemporaryFolder folder;
    const std::string common = std::string(model) + "CUSIM_RACE=1 ";
    const Child whole = runChild("--ahead", common + "CUSIM_LOG=" + (folder / "log"));
    ASSERT_FALSE(mentions(whole.output, "error") || mentions(whole.output, "race")) << whole.output;
    std::vector<Wait> waits = WaitReader().read(folder / "log");
    ASSERT_GE(waits.size(), 4U);
    const size_t all = waits.size();
    std::shuffle(waits.begin(), waits.end(), std::mt19937(17));
    if (testLevel() != "full")
      waits.resize(std::min<size_t>(all, testLevel() == "quick" ? 2 : 8));
    size_t found = 0;
    for (const Wait &wait : waits) {
      const Child child = runChild("--ahead", common + "CUSIM_FAIL=" + wait.call + ":0");
      const bool same = child.output == whole.output;
      found += !same;
      EXPECT_NE(same, wait.needed) << wait.call << ": " << child.output;
    }
    std::printf("%s%zu of %zu waits, of %zu, are found\n", model, found, waits.size(), all);
    EXPECT_GT(found, 0U);
  }
}
