//===- Plans.cpp - weft-mutate-plans --------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Changes one field of the plan of a compiled program. The package must be refused, because its seal does not
// fit the changed plan. With a recomputed seal, it must be refused with a message or run; its results may be
// different, but nothing may crash or hang. Packages run in child processes, so that crashes and hangs are
// found.
//
//===----------------------------------------------------------------------===//
#include "codegen/Compile.h"
#include "ir/Dialect.h"
#include "ir/Parse.h"
#include "runtime/execution/Executable.h"
#include "runtime/execution/StatefulExecutable.h"
#include "runtime/memory/CachingAllocator.h"
#include "runtime/package/Package.h"
#include "runtime/plan/Image.h"
#include "runtime/plan/plan_generated.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringRef.h"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft;
namespace fb = weft::fb;

namespace {

using Random = std::mt19937_64;

/// A field of a plan: its name, and a function that changes it.
struct Field {
  std::string name;
  std::function<void(Random &)> change;
};

/// All fields of a plan, with those of its parts.
class Fields {
public:
  explicit Fields(fb::PlanT &plan) : plan(plan) {
    number("arena_bytes", plan.arena_bytes);
    number("arena_lower_bound_bytes", plan.arena_lower_bound_bytes);
    number("kernel_abi", plan.kernel_abi);
    string("function", plan.function);
    string("target", plan.target);
    string("image", plan.image);
    for (auto &argument : plan.arguments) {
      string("argument.name", argument->name);
      type("argument.type", *argument->type);
      enumeration("argument.role", argument->role);
      boolean("argument.donated", argument->donated);
      list("argument.strides", argument->strides);
      number("argument.alignment", argument->alignment);
    }
    for (auto &result : plan.results) {
      string("result.name", result->name);
      type("result.type", *result->type);
      number("result.tied_to", result->tied_to);
      number("result.alias_argument", result->alias_argument);
      number("result.alias_result", result->alias_result);
    }
    for (auto &buffer : plan.buffers) {
      enumeration("buffer.storage", buffer->storage);
      number("buffer.index", buffer->index);
      number("buffer.offset", buffer->offset);
      number("buffer.bytes", buffer->bytes);
      number("buffer.device", buffer->device);
    }
    for (auto &device : plan.devices) {
      string("device.name", device->name);
      number("device.arena_begin", device->arena_begin);
      number("device.arena_bytes", device->arena_bytes);
    }
    for (auto &launch : plan.launches)
      addLaunch(*launch);
    if (plan.failure_key) {
      number("failure_key.position_bits", plan.failure_key->position_bits);
      number("failure_key.check_bits", plan.failure_key->check_bits);
    }
    fields.push_back({"failure_key", [&plan](Random &) {
                        plan.failure_key = plan.failure_key ? nullptr : std::make_unique<fb::FailureKeyT>();
                      }});
    for (auto &check : plan.checks) {
      enumeration("check.kind", check->kind);
      string("check.subject", check->subject);
      number("check.dimension", check->dimension);
      number("check.size", check->size);
      number("check.recorded", check->recorded);
    }
    for (auto &scalar : plan.scalars) {
      number("scalar.argument", scalar->argument);
      number("scalar.dtype", scalar->dtype);
      number("scalar.offset", scalar->offset);
    }
    for (auto &segment : plan.segments) {
      number("segment.device", segment->device);
      number("segment.launches", segment->launches);
      list("segment.waits", segment->waits);
    }
    fields.push_back({"segments", [&plan](Random &) {
                        plan.segments.push_back(std::make_unique<fb::SegmentT>());
                        plan.segments.back()->launches = 1;
                      }});
    number("scalar_bytes", plan.scalar_bytes);
    whole("scalars", plan.scalars);
    for (auto &symbol : plan.symbols) {
      string("symbol.name", symbol->name);
      number("symbol.min", symbol->min);
      number("symbol.max", symbol->max);
    }
    for (auto &size : plan.sizes) {
      number("size.divisor", size->divisor);
      for (auto &term : size->terms) {
        number("term.coefficient", term->coefficient);
        list("term.symbols", term->symbols);
      }
    }
    whole("arguments", plan.arguments);
    whole("results", plan.results);
    whole("buffers", plan.buffers);
    whole("launches", plan.launches);
    whole("checks", plan.checks);
    whole("symbols", plan.symbols);
    whole("sizes", plan.sizes);
    whole("devices", plan.devices);
  }

  /// Changes a random field and returns its name.
  std::string change(Random &random) {
    Field &field = fields[random() % fields.size()];
    field.change(random);
    return field.name;
  }

private:
  void addLaunch(fb::LaunchT &launch) {
    string("launch.name", launch.name);
    number("launch.bytes_read", launch.bytes_read);
    number("launch.flops", launch.flops);
    boolean("launch.may_fail", launch.may_fail);
    number("launch.region", launch.region);
    fields.push_back({"launch.own", [&launch](Random &) {
                        if (launch.own.empty())
                          launch.own.push_back(std::make_unique<fb::OwnKernelT>());
                        else
                          launch.own.clear();
                      }});
    for (auto &own : launch.own) {
      string("own.symbol", own->symbol);
      list("own.operands", own->operands);
    }
    enumeration("launch.predicate", launch.predicate);
    number("launch.check_count", launch.check_count);
    number("launch.recorded", launch.recorded);
    number("launch.device", launch.device);
    if (auto *kernel = launch.op.AsKernelLaunch()) {
      string("kernel.symbol", kernel->symbol);
      list("kernel.buffers", kernel->buffers);
      number("kernel.first_result", kernel->first_result);
      list("kernel.sizes", kernel->sizes);
      number("kernel.tasks", kernel->tasks);
      number("kernel.grain", kernel->grain);
      number("kernel.scratch_bytes", kernel->scratch_bytes);
      number("kernel.signature", kernel->signature);
      number("kernel.chunk", kernel->chunk);
      for (auto &group : kernel->groups) {
        number("group.steps", group->steps);
        list("group.number_bytes", group->number_bytes);
        for (uint32_t *field : {&group->reads, &group->writes, &group->item})
          number("group.tensors or item", *field);
      }
      whole("kernel.groups", kernel->groups);
      // Another kernel of the same program, with all its fields except the buffers.
      fields.push_back({"kernel", [this, kernel](Random &random) {
                          const auto &other = plan.launches[random() % plan.launches.size()];
                          if (const auto *of = other->op.AsKernelLaunch()) {
                            kernel->symbol = of->symbol;
                            kernel->signature = of->signature;
                          }
                        }});
    } else if (auto *product = launch.op.AsContractionLaunch()) {
      number("contraction.dtype", product->dtype);
      for (int64_t *extent : {&product->batch, &product->m, &product->n, &product->k})
        number("contraction.extent", *extent);
      for (uint32_t *operand : {&product->a, &product->b, &product->c})
        number("contraction.operand", *operand);
      for (uint32_t &operand : product->more)
        number("contraction.further operand", operand);
      fields.push_back({"contraction.further operands", [product](Random &random) {
                          product->more.push_back(random() % 2 ? product->a : product->c);
                        }});
      for (int32_t *operand : {&product->bias, &product->residual})
        number("contraction.bias or residual", *operand);
      for (auto *strides : {&product->a_strides, &product->b_strides, &product->c_strides})
        list("contraction.strides", *strides);
      boolean("contraction.relu", product->relu);
      number("contraction.library_flops", product->library_flops);
      number("contraction.workspace_bytes", product->workspace_bytes);
      string("contraction.library", product->library);
      number("contraction.library_release", product->library_release);
      number("contraction.library_device", product->library_device);
      whole("contraction.candidates", product->candidates);
      fields.push_back({"contraction.candidate", [product](Random &random) {
                          auto algorithm = std::make_unique<fb::ProductAlgorithmT>();
                          algorithm->words.assign(random() % 10, random());
                          product->candidates.push_back(std::move(algorithm));
                        }});
    } else if (auto *attention = launch.op.AsAttentionLaunch()) {
      number("attention.dtype", attention->dtype);
      number("attention.mask_dtype", attention->mask_dtype);
      list("attention.batch", attention->batch);
      for (int64_t *extent : {&attention->rows, &attention->keys, &attention->features, &attention->values})
        number("attention.extent", *extent);
      for (bool *flag : {&attention->backward, &attention->masked, &attention->causal})
        boolean("attention.flag", *flag);
      for (auto &place : attention->places) {
        number("attention.buffer", place->buffer);
        number("attention.offset", place->offset);
        list("attention.strides", place->strides);
      }
      whole("attention.places", attention->places);
    } else if (auto *convolution = launch.op.AsConvolutionLaunch()) {
      number("convolution.dtype", convolution->dtype);
      for (int64_t *extent :
           {&convolution->batch, &convolution->groups, &convolution->channels, &convolution->outputs})
        number("convolution.extent", *extent);
      for (auto *numbers :
           {&convolution->extents, &convolution->window, &convolution->places, &convolution->stride,
            &convolution->low, &convolution->base_dilation, &convolution->window_dilation})
        list("convolution.numbers", *numbers);
      for (auto *place : {&convolution->a, &convolution->w, &convolution->y}) {
        number("convolution.buffer", (*place)->buffer);
        number("convolution.offset", (*place)->offset);
        list("convolution.strides", (*place)->strides);
      }
      for (uint8_t &step : convolution->steps)
        number("convolution.step", step);
      for (uint32_t &buffer : convolution->beside)
        number("convolution.beside", buffer);
      whole("convolution.steps", convolution->steps);
      whole("convolution.besides", convolution->beside);
      boolean("convolution.winograd", convolution->winograd);
    } else if (auto *loop = launch.op.AsLoopLaunch()) {
      string("loop.body", loop->body);
      list("loop.buffers", loop->buffers);
      // Without stacks a loop of any number of trips is right, and would take as long.
      if (loop->xs)
        number("loop.trips", loop->trips);
      boolean("loop.reverse", loop->reverse);
      for (uint32_t *field : {&loop->first_result, &loop->carries, &loop->xs})
        number("loop.operands", *field);
    } else if (auto *branch = launch.op.AsBranchLaunch()) {
      string("branch.then_body", branch->then_body);
      string("branch.else_body", branch->else_body);
      list("branch.buffers", branch->buffers);
      number("branch.operands", branch->first_result);
    } else if (auto *copy = launch.op.AsCopyLaunch()) {
      number("copy.source", copy->source);
      number("copy.destination", copy->destination);
    } else if (auto *host = launch.op.AsHostLaunch()) {
      enumeration("host.action", host->action);
      number("host.buffer", host->buffer);
      number("host.dtype", host->dtype);
      list("host.shape", host->shape);
    }
  }

  void type(const std::string &name, fb::TensorTypeT &type) {
    number(name + ".dtype", type.dtype);
    list(name + ".shape", type.shape);
    string(name + ".device", type.device);
  }

  template <typename T> static T other(T value, Random &random) {
    const uint64_t numbers[] = {0,
                                1,
                                2,
                                3,
                                4,
                                7,
                                8,
                                16,
                                64,
                                4096,
                                uint64_t(1) << 31,
                                uint64_t(1) << 32,
                                uint64_t(1) << 47,
                                uint64_t(1) << 62,
                                uint64_t(1) << 63,
                                UINT64_MAX};
    const auto bits = static_cast<uint64_t>(value);
    switch (random() % 6) {
    case 0:
      return static_cast<T>(bits + 1 + random() % 4);
    case 1:
      return static_cast<T>(bits - 1 - random() % 4);
    case 2:
      return static_cast<T>(bits * 2);
    case 3:
      return static_cast<T>(bits / 2);
    case 4:
      return static_cast<T>(bits ^ (uint64_t(1) << random() % 64));
    default:
      return static_cast<T>(numbers[random() % std::size(numbers)]);
    }
  }
  template <typename T> void number(std::string name, T &field) {
    fields.push_back({std::move(name), [&field](Random &random) { field = other(field, random); }});
  }
  template <typename T> void enumeration(std::string name, T &field) {
    fields.push_back({std::move(name), [&field](Random &random) { field = static_cast<T>(random() % 6); }});
  }
  void boolean(std::string name, bool &field) {
    fields.push_back({std::move(name), [&field](Random &) { field = !field; }});
  }
  void string(std::string name, std::string &field) {
    fields.push_back({std::move(name), [&field](Random &random) {
                        random() % 3 == 0 ? field.clear()
                                          : void(field.insert(random() % (field.size() + 1), 1, 'x'));
                      }});
  }
  template <typename T> void list(std::string name, std::vector<T> &field) {
    fields.push_back({std::move(name), [&field](Random &random) {
                        const size_t at = field.empty() ? 0 : random() % field.size();
                        const auto place = field.begin() + static_cast<std::ptrdiff_t>(at);
                        if (field.empty() || random() % 8 == 0)
                          field.insert(place, static_cast<T>(random() % 9));
                        else if (random() % 8 == 0)
                          field.erase(place);
                        else if (random() % 4 == 0)
                          std::swap(field[at], field[random() % field.size()]);
                        else
                          field[at] = other(field[at], random);
                      }});
  }
  /// Adds a change of a list, which removes or exchanges elements.
  template <typename T> void whole(std::string name, std::vector<T> &field) {
    fields.push_back({std::move(name), [&field](Random &random) {
                        if (field.empty())
                          return;
                        const size_t at = random() % field.size();
                        if (random() % 2)
                          std::swap(field[at], field[random() % field.size()]);
                        else
                          field.erase(field.begin() + static_cast<std::ptrdiff_t>(at));
                      }});
  }

  fb::PlanT &plan;
  std::vector<Field> fields;
};

using Bytes = std::vector<std::byte>;

struct Program {
  std::string name, function;
  std::string plan; ///< the section that is changed: of the function, or of the body of a loop in it
  std::shared_ptr<const runtime::Package> package;
  uint64_t binding = 0;
};

/// Whether a function needs a section of its package, as that of the body of a loop in it.
bool needs(const runtime::Package &package, const std::string &function, const std::string &section) {
  runtime::PackageWriter writer;
  for (const std::string &name : package.names())
    if (name != section)
      writer.add(name, *package.section(name));
  const auto rest = runtime::Package::from_memory(writer.finish().value_or_throw()).value_or_throw();
  return !runtime::Executable::load(rest, function);
}

/// The functions of all programs in a folder that compile.
std::vector<Program> programsIn(const std::string &folder) {
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".mlir")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Program> programs;
  for (const std::string &path : paths) {
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (text.find("weft.while") != std::string::npos) // a loop over other values may have no end
      continue;
    mlir::DialectRegistry registry;
    ir::registerDialect(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.getDiagEngine().registerHandler([](mlir::Diagnostic &) { return mlir::success(); });
    auto module = ir::parseModule(context, text, path);
    if (!module)
      continue;
    ir::CompilerOptions options;
    options.threads = 1;
    auto compiled = codegen::compileModule(**module, options);
    if (!compiled)
      continue;
    auto package = runtime::Package::from_memory(std::move(compiled->package)).value_or_throw();
    uint64_t binding = 0;
    if (auto image = runtime::Image::load(*package, "image.cpu"))
      binding = (*image)->binding();
    for (const std::string &function : runtime::package_functions(*package))
      if (runtime::Executable::load(package, function))
        for (const std::string &section : package->names())
          if (section == "plan." + function + ".cpu" ||
              (section.starts_with("body.") && needs(*package, function, section)))
            programs.push_back({path, function, section, package, binding});
  }
  return programs;
}

/// The package with another plan for the function, and with the old seal, or a new one if `sealed`.
Expected<std::shared_ptr<const runtime::Package>> withPlan(const Program &program,
                                                           std::span<const std::byte> plan, bool sealed) {
  runtime::PackageWriter writer;
  const std::string seals = "seal" + program.plan.substr(program.plan.find('.'));
  for (const std::string &name : program.package->names()) {
    const uint64_t seal = runtime::plan_seal(plan, program.binding);
    if (name == program.plan)
      writer.add(name, plan);
    else if (sealed && name == seals)
      writer.add(name, std::as_bytes(std::span(&seal, 1)));
    else
      writer.add(name, *program.package->section(name));
  }
  auto bytes = writer.finish();
  if (!bytes)
    return bytes.status();
  return runtime::Package::from_memory(*std::move(bytes));
}

/// Runs a function on small numbers. Returns the bytes of its results, or the error.
Expected<std::vector<Bytes>> run(const std::shared_ptr<const runtime::Package> &package,
                                 const std::string &function) {
  auto executable = runtime::Executable::load(package, function);
  if (!executable)
    return executable.status();
  std::vector<int64_t> sizes;
  for (const runtime::SymbolInfo &symbol : (*executable)->signature().symbols)
    sizes.push_back(std::min<int64_t>(symbol.max, std::max<int64_t>(symbol.min, 3)));
  executable = (*executable)->at(sizes);
  if (!executable)
    return executable.status();
  const runtime::Signature &signature = (*executable)->signature();
  std::vector<std::shared_ptr<runtime::Buffer>> arguments, results(signature.results.size());
  Random random(7);
  for (const runtime::ArgumentInfo &argument : signature.arguments) {
    auto buffer = runtime::Buffer::allocate(argument.type.bytes);
    if (!buffer)
      return buffer.status();
    auto *bytes = static_cast<unsigned char *>((*buffer)->data());
    for (size_t i = 0; i < argument.type.bytes; ++i)
      bytes[i] =
          argument.type.dtype == DType::i1 || i % itemsize(argument.type.dtype) == 0 ? random() % 2 : 0;
    arguments.push_back(*std::move(buffer));
  }
  if (Status status = (*executable)->run(arguments, results); !status)
    return status;
  std::vector<Bytes> values;
  for (const auto &result : results) {
    if (Status status = result->wait(); !status)
      return status;
    const auto *first = static_cast<const std::byte *>(result->data());
    values.emplace_back(first, first + result->bytes());
  }
  return values;
}

struct Shared {
  uint64_t seed = 0, refused = 0, same = 0, other = 0;
  bool wrong = false;
  char message[2000] = {};
};

/// The fault of Weft that this seed shows; empty if there is none.
std::string check(const std::vector<Program> &programs, uint64_t seed, Shared &shared) {
  Random random(seed);
  const Program &program = programs[random() % programs.size()];
  const auto good = run(program.package, program.function);
  const auto section = program.package->section(program.plan);
  fb::PlanT plan;
  fb::GetPlan(section->data())->UnPackTo(&plan);
  const std::string field = Fields(plan).change(random);
  std::snprintf(shared.message, sizeof shared.message, "%s, function '%s', field %s", program.name.c_str(),
                program.function.c_str(), field.c_str());
  const std::string where = std::string(shared.message) + ": ";
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &plan), fb::PlanIdentifier());
  const auto *data = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
  const Bytes bytes(data, data + builder.GetSize());
  // The change may leave the packed plan as it was.
  const bool changed =
      bytes.size() != section->size() || std::memcmp(bytes.data(), section->data(), bytes.size()) != 0;
  for (const bool sealed : {false, true}) {
    auto package = withPlan(program, bytes, sealed);
    if (!package)
      return where + "no package can be made of it: " + package.status().message();
    const auto found = run(*package, program.function);
    if (!found) {
      if (found.status().message().empty() ||
          found.status().message().find("error of Weft") != std::string::npos)
        return where + "refused without a good message: '" + found.status().message() + "'";
      ++shared.refused;
      continue;
    }
    if (!sealed && changed)
      return where + "a plan that was changed is not refused";
    ++(good && *found == *good ? shared.same : shared.other);
  }
  (void)runtime::Queue::get_default().synchronize();
  return {};
}

[[noreturn]] void work(const std::vector<Program> &programs, Shared &shared, uint64_t from, uint64_t end) {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0)
    ::dup2(nowhere, 1); // what mutants print
  const rlimit noCore = {0, 0};
  ::setrlimit(RLIMIT_CORE, &noCore);
  runtime::CachingAllocator::get().set_limit(uint64_t(256) << 20);
  for (uint64_t seed = from; seed < end; ++seed) {
    shared.seed = seed;
    shared.message[0] = 0;
    itimerval limit = {};
    limit.it_value.tv_sec = 20;
    ::setitimer(ITIMER_PROF, &limit, nullptr);
    std::string problem;
    try {
      problem = check(programs, seed, shared);
    } catch (const std::exception &error) {
      problem = std::string(shared.message) + ": threw: " + error.what();
    }
    if (!problem.empty()) {
      std::snprintf(shared.message, sizeof shared.message, "%s", problem.c_str());
      shared.wrong = true;
      ::_exit(0);
    }
  }
  shared.seed = end;
  ::_exit(0);
}

} // namespace

int main(int argc, char **argv) {
  std::string corpus;
  uint64_t count = 1000, first = 1;
  for (int i = 1; i < argc; ++i) {
    auto [name, value] = llvm::StringRef(argv[i]).split('=');
    if (name == "--corpus")
      corpus = value.str();
    else if (!(name == "--count" && !value.getAsInteger(10, count)) &&
             !(name == "--seed" && !value.getAsInteger(10, first)))
      corpus.clear();
  }
  if (corpus.empty()) {
    std::cerr << "usage: weft-mutate-plans --corpus=DIR [--count=N] [--seed=N]\n\n"
                 "Changes one field of the plans of the programs in DIR. What crashes, hangs, throws, is "
                 "refused without "
                 "a\nmessage, or runs under the seal of the plan before, has failed.\n";
    return 2;
  }
  ::setenv("WEFT_CACHE", "0", 1);
  // Calls run on the calling thread, because a forked child has no other threads.
  ::setenv("WEFT_CPU_QUEUE", "inline", 1);
  ::setenv("WEFT_NUM_THREADS", "1", 1);
  try {
    auto *shared = static_cast<Shared *>(
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (shared == MAP_FAILED)
      return 2;
    new (shared) Shared;
    const std::vector<Program> programs = programsIn(corpus);
    if (programs.empty())
      throw std::runtime_error("no program in " + corpus + " can be compiled");
    uint64_t failed = 0;
    for (uint64_t from = first; from < first + count;) {
      shared->seed = from;
      const pid_t child = ::fork();
      if (child == 0)
        work(programs, *shared, from, first + count);
      int status = 0;
      if (child < 0 || ::waitpid(child, &status, 0) != child)
        return 2;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && shared->seed == first + count && !shared->wrong)
        break;
      ++failed;
      std::cout << "seed " << shared->seed << ": " << shared->message
                << (shared->wrong         ? ""
                    : WIFSIGNALED(status) ? std::string(" died of ") + ::strsignal(WTERMSIG(status))
                                          : " ended with exit code " + std::to_string(WEXITSTATUS(status)))
                << "\n"
                << std::flush;
      from = shared->seed + 1;
      shared->wrong = false;
    }
    std::cout << programs.size() << " functions; refused: " << shared->refused
              << "; sealed again, they ran with the same bits: " << shared->same
              << ", with others: " << shared->other << "\n"
              << count - failed << " passed, " << failed << " failed\n";
    return failed ? 1 : 0;
  } catch (const std::exception &error) {
    std::cerr << "weft-mutate-plans: " << error.what() << "\n";
    return 2;
  }
}
