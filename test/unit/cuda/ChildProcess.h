//===- ChildProcess.h - Tests with a driver of their own --------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The software driver reads its settings when it begins, so a test with other settings is a process.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDA_CHILDPROCESS_H
#define WEFT_TEST_CUDA_CHILDPROCESS_H

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

namespace weft::testing {

/// What a child process wrote, and how it ended.
struct Child {
  std::string output;
  int code = 0;
};

/// Runs this program with an option, for which see Main.cpp, and settings before it.
inline Child runChild(const std::string &option, const std::string &environment) {
  std::array<char, 4096> path = {};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  EXPECT_GT(length, 0);
  const std::string command = environment + " '" + path.data() + "' " + option + " 2>&1";
  Child child;
  std::FILE *const pipe = ::popen(command.c_str(), "r");
  if (!pipe)
    return {"no child", -1};
  std::array<char, 4096> part;
  while (const size_t read = std::fread(part.data(), 1, part.size(), pipe))
    child.output.append(part.data(), read);
  child.code = ::pclose(pipe);
  return child;
}

/// How often each function was called, by the driver's log.
inline std::map<std::string, int> callsIn(const std::filesystem::path &log) {
  std::map<std::string, int> calls;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);)
    if (const size_t begin = line.find("cu"); begin != std::string::npos)
      ++calls[line.substr(
          begin,
          line.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", begin) -
              begin)];
  return calls;
}

/// The functions that were called, in order, but those that look at contexts or at the thread, by the
/// driver's log.
inline std::vector<std::string> namesIn(const std::filesystem::path &log) {
  std::vector<std::string> names;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("cu") && !line.starts_with("cuCtx") && !line.starts_with("cuThread"))
      names.push_back(line.substr(0, line.find('(')));
  return names;
}

/// Whether the child's calls that the driver's log has end with these.
inline void expectLastCalls(const std::filesystem::path &log, const std::vector<std::string> &expected) {
  std::vector<std::string> calls = namesIn(log);
  std::erase(calls, "cuLibraryUnload"); // at the end of the program
  ASSERT_GT(calls.size(), expected.size());
  EXPECT_EQ(std::vector<std::string>(calls.end() - static_cast<ptrdiff_t>(expected.size()), calls.end()),
            expected);
}

/// How many nodes each node of graphs that a program adds comes after, by the driver's log.
inline std::vector<int> edgesIn(const std::filesystem::path &log) {
  std::vector<int> edges;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);)
    if (line.find("cuGraphAdd") != std::string::npos) { // (-> node, graph, nodes, how many, ...
      size_t at = line.find('(');
      const int commas = line.starts_with("cuGraphAddNode(") ? 4 : 3; // which has data of edges, too
      for (int comma = 0; comma < commas; ++comma)
        at = line.find(", ", at) + 2;
      edges.push_back(std::stoi(line.substr(at)));
    }
  return edges;
}

// What children do; each returns the exit code.
int trainForFaults();          // CudaFaultsTest.cpp, --train
int multiplyForCounts();       // CudaProductsTest.cpp, --multiply
int multiplyInLoopForCounts(); // CudaProductsTest.cpp, --multiply-in-loop
int multiplyNestedForCounts(); // CudaProductsTest.cpp, --multiply-nested
int useCandidates();           // CudaProductsTest.cpp, --candidates
int runPlannedStep();          // CudaPlanMutantsTest.cpp, --planned
int runAhead();                // CudaPlanMutantsTest.cpp, --ahead
int askThenFork();             // CudaRowsTest.cpp, --ask
int countVisible();            // CudaRowsTest.cpp, --visible
int uploadModel();             // CudaRowsTest.cpp, --upload
int loadAhead();               // CudaRowsTest.cpp, --load
int passBetweenDevices();      // CudaMutantsTest.cpp, --pass
int useDriverPools();          // CudaMemoryTest.cpp, --pools
int nameRanges();              // NvtxTest.cpp, --nvtx
int orderStreams();            // CudaStreamsTest.cpp, --streams
int useStreamsOfPriorities();  // CudaStreamsTest.cpp, --priorities
int branchForEdges();          // CudaGraphsTest.cpp, --branch
int scaleForCalls();           // CudaGraphsTest.cpp, --scale
int changeNumbers();           // CudaGraphsTest.cpp, --numbers
int drawOnDevice();            // CudaRandomTest.cpp, --draw
int multiplyBesideEachOther(); // CudaGraphsTest.cpp, --beside
int addToTwo();                // CudaFaultsTest.cpp, --add-to-two
int repeatForFaults();         // CudaWhileTest.cpp, --repeat
int decideOnTrips();           // CudaGraphLoopsTest.cpp, --decide
int runManyLoops();            // CudaGraphLoopsTest.cpp, --many
int chooseForFaults();         // CudaBranchTest.cpp, --choose
int failOnce();                // CudaMutantsTest.cpp, --fail

} // namespace weft::testing

#endif // WEFT_TEST_CUDA_CHILDPROCESS_H
