//===- DriverLoopTest.cpp - Conditional nodes of the software driver --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs with loops and branches, made of the kernels that the runtime has for them: one counts a trip and
// writes whether there is another one, one sets the condition by what it has written, and one those of two
// branches.
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/CallKernels.h"
#include "test/unit/cudasim/driver/SoftwareDriver.h"

#include <gtest/gtest.h>

using namespace weft::cusim;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

using Nodes = std::vector<CUgraphNode>;

/// A counter, the predicate of its loop, and a record that says of no failure.
struct Counted {
  CUdeviceptr count, predicate, record;
};

/// Graphs with loops of a driver.
struct Loops {
  explicit Loops(SoftwareDriver &driver) : driver(driver) {
    namespace texts = weft::runtime::call_kernels;
    driver.start();
    stream = driver.stream();
    EXPECT_EQ(driver.cuCtxGetCurrent(&context), CUDA_SUCCESS);
    const std::string text = std::string(texts::headText) + texts::setConditionalText +
                             texts::setConditionText + texts::chooseBranchText + texts::countTripText;
    CUmodule module = nullptr;
    EXPECT_EQ(driver.cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuModuleGetFunction(&setter, module, "weft_set_condition"), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuModuleGetFunction(&chooser, module, "weft_choose_branch"), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuModuleGetFunction(&counter, module, "weft_count_trip"), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  }

  /// Counters of 0 with predicates of these values.
  Counted counted(uint32_t goesOn = 1) {
    const CUdeviceptr memory = driver.allocate(16);
    driver.cuMemsetD32Async(memory, 0, 1, stream);
    driver.cuMemsetD32Async(memory + 4, goesOn, 1, stream);
    driver.cuMemsetD32Async(memory + 8, UINT32_MAX, 2, stream);
    return {memory, memory + 4, memory + 8};
  }
  CUgraphConditionalHandle handle(CUgraph of, unsigned value = 0, unsigned flags = 0) {
    CUgraphConditionalHandle made = 0;
    EXPECT_EQ(driver.cuGraphConditionalHandleCreate(&made, of, context, value, flags), CUDA_SUCCESS);
    return made;
  }
  CUgraphNode kernel(CUgraph to, CUfunction function, std::vector<void *> parameters, const Nodes &before,
                     unsigned threads = 1) {
    const CUDA_KERNEL_NODE_PARAMS node = described(function, parameters, threads);
    CUgraphNode made = nullptr;
    EXPECT_EQ(driver.cuGraphAddKernelNode(&made, to, before.data(), before.size(), &node), CUDA_SUCCESS);
    return made;
  }
  static CUDA_KERNEL_NODE_PARAMS described(CUfunction function, std::vector<void *> &parameters,
                                           unsigned threads = 1) {
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = function;
    node.gridDimX = node.gridDimY = node.gridDimZ = node.blockDimY = node.blockDimZ = 1;
    node.blockDimX = threads;
    node.kernelParams = parameters.data();
    return node;
  }
  CUgraphNode set(CUgraph to, CUgraphConditionalHandle condition, Counted by, const Nodes &before = {},
                  unsigned threads = 1) {
    return kernel(to, setter, {&condition, &by.predicate, &by.record}, before, threads);
  }
  CUgraphNode count(CUgraph to, Counted in, uint32_t modulus, const Nodes &before = {}) {
    return kernel(to, counter, {&in.count, &in.predicate, &modulus, &in.record}, before);
  }
  static CUgraphNodeParams loopOf(CUgraphConditionalHandle condition, CUcontext context) {
    CUgraphNodeParams node{};
    node.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    node.conditional.handle = condition;
    node.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    node.conditional.size = 1;
    node.conditional.ctx = context;
    return node;
  }
  CUgraphNode choose(CUgraph to, CUgraphConditionalHandle ifTrue, CUgraphConditionalHandle ifFalse,
                     Counted by, const Nodes &before = {}) {
    return kernel(to, chooser, {&ifTrue, &ifFalse, &by.predicate, &by.record}, before);
  }
  /// Adds a loop, or a branch; gives its node and its body.
  std::pair<CUgraphNode, CUgraph> loop(CUgraph to, CUgraphConditionalHandle condition,
                                       const Nodes &before = {},
                                       CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_WHILE) {
    CUgraphNodeParams node = loopOf(condition, context);
    node.conditional.type = type;
    CUgraphNode made = nullptr;
    EXPECT_EQ(driver.cuGraphAddNode(&made, to, before.data(), nullptr, before.size(), &node), CUDA_SUCCESS);
    return {made, node.conditional.phGraph_out[0]};
  }
  std::pair<CUgraphNode, CUgraph> branch(CUgraph to, CUgraphConditionalHandle condition,
                                         const Nodes &before = {}) {
    return loop(to, condition, before, CU_GRAPH_COND_TYPE_IF);
  }
  CUresult instantiate(CUgraphExec *made) { return driver.cuGraphInstantiate(made, graph, 0); }
  /// Launches the graph, and waits.
  CUresult launch() {
    CUgraphExec made = nullptr;
    EXPECT_EQ(instantiate(&made), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(made, stream), CUDA_SUCCESS);
    return driver.cuStreamSynchronize(stream);
  }

  SoftwareDriver &driver;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUfunction setter = nullptr, chooser = nullptr, counter = nullptr;
  CUgraph graph = nullptr;
};

const Environment raced = {{"CUSIM_RACE", "1"}};

} // namespace

TEST(DriverLoops, RunAsLongAsTheirConditionSays) {
  for (const char *order : {"forward", "reverse"})
    run({{"CUSIM_RACE", "1"}, {"CUSIM_ORDER", order}}, [](SoftwareDriver &driver) {
      Loops loops(driver);
      Counted counted = loops.counted();
      const CUgraphConditionalHandle condition = loops.handle(loops.graph);
      const CUgraphNode set = loops.set(loops.graph, condition, counted);
      const auto [node, body] = loops.loop(loops.graph, condition, {set});
      const CUgraphNode count = loops.count(body, counted, 3);
      loops.set(body, condition, counted, {count});
      CUgraphExec executable = nullptr;
      ASSERT_EQ(loops.instantiate(&executable), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuGraphLaunch(executable, loops.stream), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuStreamSynchronize(loops.stream), CUDA_SUCCESS);
      EXPECT_EQ(driver.read(counted.count), 3U);
      // The predicate is 0 now: no trip. Then it is not, and the node of the body has other parameters.
      EXPECT_EQ(driver.cuGraphLaunch(executable, loops.stream), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuStreamSynchronize(loops.stream), CUDA_SUCCESS);
      EXPECT_EQ(driver.read(counted.count), 3U);
      Counted other = loops.counted();
      uint32_t modulus = 5;
      std::vector<void *> parameters = {&other.count, &counted.predicate, &modulus, &counted.record};
      const CUDA_KERNEL_NODE_PARAMS changed = Loops::described(loops.counter, parameters);
      EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams(executable, count, &changed), CUDA_SUCCESS);
      driver.cuMemsetD32Async(counted.predicate, 1, 1, loops.stream);
      EXPECT_EQ(driver.cuGraphLaunch(executable, loops.stream), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuStreamSynchronize(loops.stream), CUDA_SUCCESS);
      EXPECT_EQ(driver.read(other.count), 5U);
      CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
      EXPECT_EQ(driver.cuGraphNodeGetType(node, &type), CUDA_SUCCESS);
      EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    });
}

TEST(DriverLoops, MayBeInEachOther) {
  run(raced, [](SoftwareDriver &driver) {
    Loops loops(driver);
    const Counted outer = loops.counted(), inner = loops.counted();
    const CUdeviceptr copied = driver.allocate(4);
    const CUgraphConditionalHandle first = loops.handle(loops.graph);
    const CUgraphNode begin = loops.set(loops.graph, first, outer);
    const auto [node, body] = loops.loop(loops.graph, first, {begin});
    const CUgraphConditionalHandle second = loops.handle(body);
    const CUgraphNode count = loops.count(body, outer, 4);
    CUDA_MEMSET_NODE_PARAMS one{};
    one.dst = inner.predicate;
    one.value = one.elementSize = 1;
    one.width = one.height = 1;
    CUgraphNode fill = nullptr;
    ASSERT_EQ(driver.cuGraphAddMemsetNode(&fill, body, &count, 1, &one, nullptr), CUDA_SUCCESS);
    const CUgraphNode set = loops.set(body, second, inner, {fill});
    const auto [innerNode, innerBody] = loops.loop(body, second, {set});
    loops.set(innerBody, second, inner, {loops.count(innerBody, inner, 2)});
    // A captured graph is a part of the body.
    CUgraph captured = nullptr;
    CUgraphNode child = nullptr;
    ASSERT_EQ(driver.cuStreamBeginCapture(loops.stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    driver.cuMemcpyDtoDAsync(copied, inner.count, 4, loops.stream);
    ASSERT_EQ(driver.cuStreamEndCapture(loops.stream, &captured), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuGraphAddChildGraphNode(&child, body, &innerNode, 1, captured), CUDA_SUCCESS);
    loops.set(body, first, outer, {child});
    EXPECT_EQ(loops.launch(), CUDA_SUCCESS);
    EXPECT_EQ(driver.read(outer.count), 4U);
    EXPECT_EQ(driver.read(inner.count), 8U);
    EXPECT_EQ(driver.read(copied), 8U);
  });
}

TEST(DriverLoops, BeginWithTheValueOfTheLaunch) {
  run(raced, [](SoftwareDriver &driver) {
    Loops loops(driver);
    const Counted counted = loops.counted(0);
    const CUgraphConditionalHandle condition = loops.handle(loops.graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    const auto [node, body] = loops.loop(loops.graph, condition);
    loops.set(body, condition, counted, {loops.count(body, counted, 3)});
    CUgraphExec executable = nullptr;
    ASSERT_EQ(loops.instantiate(&executable), CUDA_SUCCESS);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(driver.cuGraphLaunch(executable, loops.stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(loops.stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.read(counted.count), 6U);
  });
}

TEST(DriverLoops, OneOfTwoBranchesRunsOnce) {
  for (const char *order : {"forward", "reverse"})
    run({{"CUSIM_RACE", "1"}, {"CUSIM_ORDER", order}}, [](SoftwareDriver &driver) {
      Loops loops(driver);
      const Counted chosen = loops.counted(), first = loops.counted(), second = loops.counted();
      const CUgraphConditionalHandle ifTrue = loops.handle(loops.graph), ifFalse = loops.handle(loops.graph);
      const CUgraphNode choose = loops.choose(loops.graph, ifTrue, ifFalse, chosen);
      const auto [node, body] = loops.branch(loops.graph, ifTrue, {choose});
      loops.count(body, first, 3);
      const auto [other, otherBody] = loops.branch(loops.graph, ifFalse, {choose});
      loops.count(otherBody, second, 3);
      CUgraphExec executable = nullptr;
      ASSERT_EQ(loops.instantiate(&executable), CUDA_SUCCESS);
      const auto launched = [&](uint32_t predicate, uint32_t record) {
        driver.cuMemsetD32Async(chosen.predicate, predicate, 1, loops.stream);
        driver.cuMemsetD32Async(chosen.record, record, 2, loops.stream);
        EXPECT_EQ(driver.cuGraphLaunch(executable, loops.stream), CUDA_SUCCESS);
        EXPECT_EQ(driver.cuStreamSynchronize(loops.stream), CUDA_SUCCESS);
        return std::pair(driver.read(first.count), driver.read(second.count));
      };
      EXPECT_EQ(launched(1, UINT32_MAX), std::pair(1U, 0U));
      EXPECT_EQ(launched(255, UINT32_MAX), std::pair(2U, 0U));
      EXPECT_EQ(launched(0, UINT32_MAX), std::pair(2U, 1U));
      // Behind a failure neither does.
      EXPECT_EQ(launched(0, 0), std::pair(2U, 1U));
      EXPECT_EQ(launched(1, 7), std::pair(2U, 1U));
      CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
      EXPECT_EQ(driver.cuGraphNodeGetType(node, &type), CUDA_SUCCESS);
      EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    });
}

TEST(DriverLoops, BranchesMayBeInLoopsAndHaveThem) {
  run(raced, [](SoftwareDriver &driver) {
    Loops loops(driver);
    const Counted outer = loops.counted(), inner = loops.counted(), other = loops.counted();
    const CUgraphConditionalHandle trips = loops.handle(loops.graph);
    const auto [node, body] = loops.loop(loops.graph, trips, {loops.set(loops.graph, trips, outer)});
    const CUgraphNode count = loops.count(body, outer, 4);
    // While there is another trip, a loop of two; in the last one, a count.
    const CUgraphConditionalHandle ifTrue = loops.handle(body), ifFalse = loops.handle(body);
    const CUgraphNode choose = loops.choose(body, ifTrue, ifFalse, outer, {count});
    const auto [first, firstBody] = loops.branch(body, ifTrue, {choose});
    const CUgraphConditionalHandle again = loops.handle(firstBody);
    CUDA_MEMSET_NODE_PARAMS one{};
    one.dst = inner.predicate;
    one.value = one.elementSize = 1;
    one.width = one.height = 1;
    CUgraphNode fill = nullptr;
    ASSERT_EQ(driver.cuGraphAddMemsetNode(&fill, firstBody, nullptr, 0, &one, nullptr), CUDA_SUCCESS);
    const auto [innerNode, innerBody] =
        loops.loop(firstBody, again, {loops.set(firstBody, again, inner, {fill})});
    loops.set(innerBody, again, inner, {loops.count(innerBody, inner, 2)});
    const auto [second, secondBody] = loops.branch(body, ifFalse, {choose});
    loops.count(secondBody, other, 2);
    loops.set(body, trips, outer, {first, second});
    EXPECT_EQ(loops.launch(), CUDA_SUCCESS);
    EXPECT_EQ(driver.read(outer.count), 4U);
    EXPECT_EQ(driver.read(inner.count), 6U);
    EXPECT_EQ(driver.read(other.count), 1U);
  });
}

TEST(DriverLoops, BranchesHaveTheFaultsOfLoops) {
  const std::string unset = run({}, [](SoftwareDriver &driver) {
    Loops loops(driver);
    loops.branch(loops.graph, loops.handle(loops.graph));
    EXPECT_EQ(loops.launch(), CUDA_ERROR_LAUNCH_FAILED);
  });
  EXPECT_TRUE(contains(unset, "the condition of the branch of node 1 has no value")) << unset;
  const std::string same = run({}, [](SoftwareDriver &driver) {
    Loops loops(driver);
    const CUgraphConditionalHandle condition = loops.handle(loops.graph);
    loops.branch(loops.graph, condition, {loops.choose(loops.graph, condition, condition, loops.counted())});
    EXPECT_EQ(loops.launch(), CUDA_ERROR_ILLEGAL_INSTRUCTION);
  });
  EXPECT_TRUE(contains(same, "that this launch has set before")) << same;
  const std::string foreign = run({}, [](SoftwareDriver &driver) {
    Loops loops(driver);
    CUgraph second = nullptr;
    ASSERT_EQ(driver.cuGraphCreate(&second, 0), CUDA_SUCCESS);
    const CUgraphConditionalHandle condition = loops.handle(loops.graph);
    loops.branch(loops.graph, condition,
                 {loops.choose(loops.graph, condition, loops.handle(second), loops.counted())});
    EXPECT_EQ(loops.launch(), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
  EXPECT_TRUE(contains(foreign, "none of its graph")) << foreign;
  // Of two edges: before the first branch, and between two branches that write the same.
  const auto found = [](bool before, bool between) {
    return run(raced, [=](SoftwareDriver &driver) {
      Loops loops(driver);
      const Counted chosen = loops.counted(), counted = loops.counted();
      const CUgraphConditionalHandle ifTrue = loops.handle(loops.graph), again = loops.handle(loops.graph);
      const CUgraphNode choose = loops.set(loops.graph, ifTrue, chosen);
      const CUgraphNode second = loops.set(loops.graph, again, chosen, {choose});
      const auto [node, body] = loops.branch(loops.graph, ifTrue, before ? Nodes{choose} : Nodes{});
      loops.count(body, counted, 3);
      const auto [other, otherBody] =
          loops.branch(loops.graph, again, between ? Nodes{node, second} : Nodes{second});
      loops.count(otherBody, counted, 3);
      EXPECT_EQ(loops.launch(), before && between ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED);
    });
  };
  EXPECT_EQ(found(true, true), "");
  const std::string early = found(false, true), beside = found(true, false);
  EXPECT_TRUE(contains(early, "race: the branch of node 3 in cuGraphLaunch")) << early;
  EXPECT_TRUE(contains(beside, "race: the branch of node")) << beside;
}

TEST(DriverLoops, WhatDoesNotFitIsRefused) {
  const std::string output = run({{"CUSIM_DEVICES", "2"}}, [](SoftwareDriver &driver) {
    Loops loops(driver);
    CUgraph other = nullptr;
    CUgraphNode node = nullptr;
    CUgraphConditionalHandle made = 0;
    ASSERT_EQ(driver.cuGraphCreate(&other, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphConditionalHandleCreate(&made, other, nullptr, 0, 0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(driver.cuGraphConditionalHandleCreate(&made, other, loops.context, 0, 2),
              CUDA_ERROR_INVALID_VALUE);
    const CUgraphConditionalHandle condition = loops.handle(loops.graph);
    const auto add = [&](CUgraph to, CUgraphNodeParams parameters) {
      return driver.cuGraphAddNode(&node, to, nullptr, nullptr, 0, &parameters);
    };
    CUgraphNodeParams loop = Loops::loopOf(condition, loops.context);
    EXPECT_EQ(add(other, loop), CUDA_ERROR_INVALID_VALUE) << "a condition of another graph";
    loop.conditional.type = CU_GRAPH_COND_TYPE_SWITCH;
    EXPECT_EQ(add(loops.graph, loop), CUDA_ERROR_NOT_SUPPORTED);
    for (const auto type : {CU_GRAPH_COND_TYPE_WHILE, CU_GRAPH_COND_TYPE_IF})
      for (const unsigned size : {0U, 2U}) {
        loop = Loops::loopOf(condition, loops.context);
        loop.conditional.type = type;
        loop.conditional.size = size;
        EXPECT_EQ(add(loops.graph, loop), CUDA_ERROR_INVALID_VALUE) << "an else of CUDA 12.8";
      }
    loop = Loops::loopOf(condition, nullptr);
    EXPECT_EQ(add(loops.graph, loop), CUDA_ERROR_INVALID_VALUE);
    loop = Loops::loopOf(condition + 8, loops.context);
    EXPECT_EQ(add(loops.graph, loop), CUDA_ERROR_INVALID_VALUE);
    loop = Loops::loopOf(condition, loops.context);
    loop.type = CU_GRAPH_NODE_TYPE_EMPTY;
    EXPECT_EQ(add(loops.graph, loop), CUDA_ERROR_NOT_SUPPORTED);
    CUgraphExec executable = nullptr, second = nullptr;
    EXPECT_EQ(loops.instantiate(&executable), CUDA_ERROR_INVALID_VALUE) << "a condition without a node";
    const auto [made_node, body] = loops.loop(loops.graph, condition);
    EXPECT_EQ(add(loops.graph, Loops::loopOf(condition, loops.context)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuGraphDestroy(body), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuGraphInstantiate(&executable, body, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuGraphAddChildGraphNode(&node, other, nullptr, 0, loops.graph),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(loops.instantiate(&executable), CUDA_SUCCESS);
    EXPECT_EQ(loops.instantiate(&second), CUDA_ERROR_INVALID_VALUE) << "there is one";
    EXPECT_EQ(driver.cuGraphExecDestroy(executable), CUDA_SUCCESS);
    EXPECT_EQ(loops.instantiate(&second), CUDA_SUCCESS);
  });
  EXPECT_TRUE(contains(output, "condition 1 has no node")) << output;
  EXPECT_TRUE(contains(output, "condition 1 has a node already")) << output;
}

TEST(DriverLoops, BodiesHaveNoWorkOfTheHost) {
  const auto refused = [](const std::function<void(SoftwareDriver &, CUstream)> &work) {
    return run({}, [&](SoftwareDriver &driver) {
      Loops loops(driver);
      const auto [node, body] = loops.loop(loops.graph, loops.handle(loops.graph));
      CUgraph captured = nullptr;
      CUgraphNode child = nullptr;
      CUgraphExec executable = nullptr;
      ASSERT_EQ(driver.cuStreamBeginCapture(loops.stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
      work(driver, loops.stream);
      ASSERT_EQ(driver.cuStreamEndCapture(loops.stream, &captured), CUDA_SUCCESS);
      ASSERT_EQ(driver.cuGraphAddChildGraphNode(&child, body, nullptr, 0, captured), CUDA_SUCCESS);
      EXPECT_EQ(loops.instantiate(&executable), CUDA_ERROR_INVALID_VALUE);
    });
  };
  const std::string called = refused([](SoftwareDriver &driver, CUstream stream) {
    driver.cuLaunchHostFunc(stream, [](void *) {}, nullptr);
  });
  EXPECT_TRUE(contains(called, "the call is in the body of a node")) << called;
  const std::string copied = refused([](SoftwareDriver &driver, CUstream stream) {
    static uint32_t pageable = 0;
    driver.cuMemcpyDtoHAsync(&pageable, driver.allocate(4), 4, stream);
  });
  EXPECT_TRUE(contains(copied, "memory of the host that is not pinned")) << copied;
}

TEST(DriverLoops, AConditionThatNothingHasSetIsAFault) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    Loops loops(driver);
    loops.loop(loops.graph, loops.handle(loops.graph));
    EXPECT_EQ(loops.launch(), CUDA_ERROR_LAUNCH_FAILED);
  });
  EXPECT_TRUE(contains(output, "has no value")) << output;
}

TEST(DriverLoops, OneThatNeverEndsIsAFault) {
  const std::string output = run({}, [](SoftwareDriver &driver) {
    Loops loops(driver);
    loops.loop(loops.graph, loops.handle(loops.graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    EXPECT_EQ(loops.launch(), CUDA_ERROR_LAUNCH_TIMEOUT);
  });
  EXPECT_TRUE(contains(output, "trips, and goes on")) << output;
}

TEST(DriverLoops, OneThreadOfAGraphSetsACondition) {
  const std::string twice = run({}, [](SoftwareDriver &driver) {
    Loops loops(driver);
    const CUgraphConditionalHandle condition = loops.handle(loops.graph);
    loops.loop(loops.graph, condition, {loops.set(loops.graph, condition, loops.counted(), {}, 2)});
    EXPECT_EQ(loops.launch(), CUDA_ERROR_ILLEGAL_INSTRUCTION);
  });
  EXPECT_TRUE(contains(twice, "that this launch has set before")) << twice;
  const std::string outside = run({}, [](SoftwareDriver &driver) {
    Loops loops(driver);
    Counted counted = loops.counted();
    CUgraphConditionalHandle condition = loops.handle(loops.graph);
    void *parameters[] = {&condition, &counted.predicate, &counted.record};
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = loops.stream;
    EXPECT_EQ(driver.cuLaunchKernelEx(&config, loops.setter, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(loops.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
  EXPECT_TRUE(contains(outside, "and is in no graph")) << outside;
  const std::string other = run({}, [](SoftwareDriver &driver) {
    Loops loops(driver);
    CUgraph second = nullptr;
    ASSERT_EQ(driver.cuGraphCreate(&second, 0), CUDA_SUCCESS);
    loops.set(loops.graph, loops.handle(second), loops.counted());
    EXPECT_EQ(loops.launch(), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
  EXPECT_TRUE(contains(other, "none of its graph")) << other;
}

TEST(DriverLoops, MissingEdgesAreFound) {
  const auto found = [](bool before, bool within) {
    return run(raced, [=](SoftwareDriver &driver) {
      Loops loops(driver);
      const Counted counted = loops.counted();
      const CUgraphConditionalHandle condition = loops.handle(loops.graph);
      const CUgraphNode set = loops.set(loops.graph, condition, counted);
      const auto [node, body] = loops.loop(loops.graph, condition, before ? Nodes{set} : Nodes{});
      const CUgraphNode count = loops.count(body, counted, 3);
      loops.set(body, condition, counted, within ? Nodes{count} : Nodes{});
      EXPECT_EQ(loops.launch(), before && within ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED);
    });
  };
  EXPECT_EQ(found(true, true), "");
  const std::string outside = found(false, true), inside = found(true, false);
  EXPECT_TRUE(contains(outside, "race: the loop of node 2 in cuGraphLaunch")) << outside;
  EXPECT_TRUE(contains(inside, "race: kernel 'weft_set_condition' of node 4")) << inside;
}
