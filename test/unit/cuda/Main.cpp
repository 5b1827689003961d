//===- Main.cpp - Tests of CUDA devices -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weft opens the driver by its bare name, for which the loader takes a library that is already in the
// process. So the software driver is opened first, and its cuBLASLt after it, unless WEFT_TEST_CUBLASLT=0. It
// runs no CUBIN of NVRTC, so kernels come to it as PTX.
// WEFT_TEST_CUDA=real leaves that out, for a machine with a GPU.
//
//===----------------------------------------------------------------------===//
#include "test/unit/cuda/ChildProcess.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>

int main(int count, char **arguments) {
  const std::string option = count == 2 ? arguments[1] : "";
  testing::InitGoogleTest(&count, arguments);
  const char *const wanted = std::getenv("WEFT_TEST_CUDA");
  if (wanted && !std::strcmp(wanted, "real")) {
    // The others plan what a driver does, or use two devices.
    if (testing::GTEST_FLAG(filter) == "*")
      testing::GTEST_FLAG(filter) =
          "CudaPrograms.*:CudaRawKernels.*-*OtherDevices*:*.ValuesMoveBetweenDevices:"
          "*.GradientsFlowBetweenDevices:*TwoGpus*";
    return RUN_ALL_TESTS();
  }
  ::setenv("CUSIM_DEVICES", "2", /*overwrite=*/0);
  const char *const library = std::getenv("WEFT_TEST_CUBLASLT");
  const bool without_library = library && !std::strcmp(library, "0");
  if (!::dlopen(WEFT_CUDASIM_LIBRARIES "/libcuda.so.1", RTLD_NOW | RTLD_LOCAL) ||
      (!without_library && !::dlopen(WEFT_CUDASIM_LIBRARIES "/libcublasLt.so.13", RTLD_NOW | RTLD_LOCAL))) {
    std::fprintf(stderr, "weft-cuda-tests: %s\n", ::dlerror());
    return 1;
  }
  if (option == "--train")
    return weft::testing::trainForFaults();
  if (option == "--pass")
    return weft::testing::passBetweenDevices();
  if (option == "--streams")
    return weft::testing::orderStreams();
  if (option == "--nvtx")
    return weft::testing::nameRanges();
  if (option == "--pools")
    return weft::testing::useDriverPools();
  if (option == "--priorities")
    return weft::testing::useStreamsOfPriorities();
  if (option == "--branch")
    return weft::testing::branchForEdges();
  if (option == "--add-to-two")
    return weft::testing::addToTwo();
  if (option == "--candidates")
    return weft::testing::useCandidates();
  if (option == "--planned")
    return weft::testing::runPlannedStep();
  if (option == "--ahead")
    return weft::testing::runAhead();
  if (option == "--ask")
    return weft::testing::askThenFork();
  if (option == "--visible")
    return weft::testing::countVisible();
  if (option == "--upload")
    return weft::testing::uploadModel();
  if (option == "--load")
    return weft::testing::loadAhead();
  if (option == "--beside")
    return weft::testing::multiplyBesideEachOther();
  if (option == "--draw")
    return weft::testing::drawOnDevice();
  if (option == "--numbers")
    return weft::testing::changeNumbers();
  if (option == "--scale")
    return weft::testing::scaleForCalls();
  if (option == "--repeat")
    return weft::testing::repeatForFaults();
  if (option == "--decide")
    return weft::testing::decideOnTrips();
  if (option == "--many")
    return weft::testing::runManyLoops();
  if (option == "--choose")
    return weft::testing::chooseForFaults();
  if (option == "--fail")
    return weft::testing::failOnce();
  if (option == "--multiply-nested")
    return weft::testing::multiplyNestedForCounts();
  if (option == "--multiply-in-loop")
    return weft::testing::multiplyInLoopForCounts();
  return option == "--multiply" ? weft::testing::multiplyForCounts() : RUN_ALL_TESTS();
}
