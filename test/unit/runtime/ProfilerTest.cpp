//===- ProfilerTest.cpp - Rows, table, trace -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Profiler.h"

#include <gtest/gtest.h>

using namespace weft::runtime;

namespace {

TEST(Profiler, SumsByNameAndLocation) {
  Profiler &profiler = Profiler::get();
  profiler.clear();
  EXPECT_FALSE(Profiler::enabled());
  profiler.start();
  EXPECT_TRUE(Profiler::enabled());
  profiler.record("add", "a.cpp:1:2", 0, 1'000'000, 4'000'000, 10);
  profiler.record("add", "a.cpp:1:2", 0, 3'000'000, 4'000'000, 10);
  profiler.record("mul \"x\"", "b.cpp:3:4", 0, 500'000, 0, 0);
  profiler.stop();
  const auto rows = profiler.rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "add");
  EXPECT_EQ(rows[0].count, 2u);
  EXPECT_DOUBLE_EQ(rows[0].total_ms, 4);
  EXPECT_DOUBLE_EQ(rows[0].min_ms, 1);
  EXPECT_DOUBLE_EQ(rows[0].gigabytes_per_second(), 2);
  const std::string table = profiler.table();
  EXPECT_LT(table.find("add"), table.find("mul"));
  EXPECT_NE(table.find("88.9%"), std::string::npos) << table;
  EXPECT_NE(table.find("a.cpp:1:2"), std::string::npos);
  const std::string trace = profiler.chrome_trace();
  EXPECT_NE(trace.find("\"name\": \"mul \\\"x\\\"\""), std::string::npos) << trace;
  EXPECT_NE(trace.find("\"dur\": 3000.000"), std::string::npos) << trace;
  EXPECT_NE(trace.find("\"GB/s\": 4.000"), std::string::npos) << "4 MB in 1 ms: " << trace;
  EXPECT_NE(trace.find("\"location\": \"b.cpp:3:4\""), std::string::npos) << trace;
  EXPECT_NE(trace.find("\"thread_name\""), std::string::npos) << trace;
  profiler.clear();
  EXPECT_TRUE(profiler.rows().empty());
}

} // namespace
