//===- Save.cpp ----------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiled/Save.h"

#include "runtime/package/Package.h"
#include "runtime/support/DeviceName.h"

#include <unordered_set>

namespace weft::frontend {

void nameState(Region &region) {
  std::unordered_set<std::string> names;
  size_t number = 0;
  for (RegionArgument &argument : region.arguments) {
    if (argument.role == ir::ArgumentRole::argument)
      continue;
    const std::string name = argument.name.empty() ? "state" + std::to_string(number) : argument.name;
    ++number;
    argument.name = name;
    for (int copy = 2; !names.insert(argument.name).second; ++copy)
      argument.name = name + "." + std::to_string(copy);
  }
  for (RegionResult &result : region.results)
    if (result.tiedTo >= 0)
      result.name = region.arguments[static_cast<size_t>(result.tiedTo)].name;
}

static void checkTargets(const std::vector<std::string> &targets, Loc loc) {
  if (targets.empty())
    fail("a package needs a target to be saved for: pass {.targets = {\"cpu\"}}", loc, {}, "WEFT-L013");
  for (const std::string &target : targets) {
    if (isTargetOfPackages(target))
      continue;
    const Expected<runtime::DeviceName> device = runtime::parse_device_name(target);
    const bool isDevice = device && device->cuda;
    fail("the package cannot be saved for '" + target + "', which is " +
             (isDevice ? "a device and no target" : "no target") +
             ": expected \"cpu\", \"x86-64-v3\", \"x86-64-v4\", one of these with a number of cores, as "
             "\"cpu:16\", or the kind of a GPU, as \"cuda:sm_90\"",
         loc, {}, "WEFT-L013");
  }
}

void savePackage(const std::string &path, const Program &program, std::span<const runtime::StateValue> state,
                 const SaveOptions &options, Loc loc) {
  checkTargets(options.targets, loc);
  auto failWith = [&](const Status &status) {
    if (!status)
      fail(status, loc);
  };
  auto bytes = compileForShipping(program, options.targets);
  failWith(bytes.status());
  auto package = runtime::Package::from_memory(std::move(*bytes));
  failWith(package.status());
  runtime::PackageWriter writer;
  for (const std::string &name : (*package)->names()) {
    auto section = (*package)->section(name);
    failWith(section.status());
    writer.add(name, *section);
  }
  failWith(runtime::add_state(writer, program.executable->signature().function, state));
  failWith(writer.write_file(path));
}

} // namespace weft::frontend
