//===- Main.cpp - The weft tool ---------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tool.h"

#include <cstdio>
#include <cstring>
#include <exception>

static const char *help = R"(usage: weft COMMAND ...

  run       run a program or a package; compare with the reference interpreter
  compile   compile a program to a package
  explain   what a program becomes: launches, memory, fusions, refusals; what a package has; reason codes
  bench     time, bytes a second and share of copy bandwidth, per kernel
  kernels   the code of a program's kernels
  devices   what programs can run on here
  doctor    whether everything that Weft needs is there, and what to do where it is not

weft COMMAND --help says more, with an example. weft --version has the versions of Weft and of what it loads.
)";

int main(int argc, char **argv) {
  struct Command {
    const char *name;
    int (*run)(int, char **);
  };
  const Command commands[] = {
      {"run", weft::tool::runCommand},         {"compile", weft::tool::compileCommand},
      {"explain", weft::tool::explainCommand}, {"bench", weft::tool::benchCommand},
      {"kernels", weft::tool::kernelsCommand}, {"devices", weft::tool::devicesCommand},
      {"doctor", weft::tool::doctorCommand}};
  if (argc < 2 || !std::strcmp(argv[1], "--help") || !std::strcmp(argv[1], "help")) {
    std::fputs(help, argc < 2 ? stderr : stdout);
    return argc < 2 ? 2 : 0;
  }
  if (!std::strcmp(argv[1], "--version"))
    return weft::tool::versionCommand();
  for (const Command &command : commands)
    if (!std::strcmp(argv[1], command.name)) {
      try {
        return command.run(argc - 2, argv + 2);
      } catch (const std::exception &error) {
        // Exceptions that no command expects, above all out of memory.
        std::fprintf(stderr, "weft %s: error: %s\n", command.name, error.what());
        return 1;
      }
    }
  std::fprintf(stderr, "weft: unknown command '%s'\n%s", argv[1], help);
  return 2;
}
