//===- ProfilerTest.cpp - Rows, table, trace -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/queue/Profiler.h"

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

// JSON allows no control character in a string, and a name may have any.
TEST(Profiler, ATraceEscapesControlCharacters) {
  Profiler &profiler = Profiler::get();
  profiler.clear();
  profiler.start();
  profiler.record("a\nb\x01\x1f\\", "tab\t.cpp:1:2", 0, 1000, 0, 0);
  profiler.stop();
  const std::string trace = profiler.chrome_trace();
  EXPECT_NE(trace.find(R"("name": "a\u000ab\u0001\u001f\\")"), std::string::npos) << trace;
  EXPECT_NE(trace.find(R"("location": "tab\u0009.cpp:1:2")"), std::string::npos) << trace;
  profiler.clear();
}

// Times are those of the profiler's clock, so that they lie between start and stop.
TEST(Profiler, SaysWhereTheWallClockWent) {
  Profiler &profiler = Profiler::get();
  profiler.clear();
  profiler.start();
  const int64_t begin = Profiler::now();
  const auto at = [&](int64_t us) { return begin + us * 1000; };
  // Two launches that overlap on two threads are counted once; a wait during them is not counted as idle
  // time.
  profiler.record("add", "a.cpp:1:2", at(100), at(300), 0, 0);
  profiler.record("mul", "a.cpp:2:2", at(200), at(400), 0, 0);
  profiler.record(Profiler::Span::compile, "compile 'step'", "the first \"call\"", at(500), at(600));
  profiler.record(Profiler::Span::call, "step", "call 1", at(90), at(410));
  profiler.record(Profiler::Span::wait, "wait for a call", "", at(90), at(420));
  while (Profiler::now() < at(1000))
    ;
  profiler.stop();
  const Profiler::Totals totals = profiler.totals();
  EXPECT_GE(totals.wall_ms, 1.0);
  EXPECT_NEAR(totals.launch_ms, 0.3, 1e-9);
  EXPECT_NEAR(totals.compile_ms, 0.1, 1e-9);
  EXPECT_NEAR(totals.idle_ms, totals.wall_ms - 0.4, 1e-6);
  EXPECT_NEAR(totals.wait_ms, 0.33, 1e-9);
  EXPECT_EQ(totals.calls, 1u);
  EXPECT_EQ(totals.compilations, 1u);
  EXPECT_EQ(totals.waits, 1u);
  EXPECT_EQ(profiler.rows().size(), 2u) << "rows are launches";
  const std::string table = profiler.table();
  EXPECT_NE(table.find("launches run in 0.300 ms of it, compilations in 0.100 ms, idle "), std::string::npos)
      << table;
  EXPECT_NE(table.find("calls: 1, compilations: 1, waits: 1, together 0.330 ms"), std::string::npos) << table;
  const std::string trace = profiler.chrome_trace();
  for (const char *part :
       {"\"cat\": \"launch\"", "\"name\": \"step\", \"cat\": \"call\"",
        "\"name\": \"compile 'step'\", \"cat\": \"compile\"", "\"detail\": \"the first \\\"call\\\"\"",
        "\"name\": \"wait for a call\", \"cat\": \"wait\""})
    EXPECT_NE(trace.find(part), std::string::npos) << part << "\n" << trace;
  // An event that begins before or ends after the profile is counted for the time within it.
  profiler.clear();
  profiler.start();
  const int64_t again = Profiler::now();
  profiler.record("long", "", again - 1'000'000'000, again + 60'000'000'000, 0, 0);
  profiler.stop();
  const Profiler::Totals all = profiler.totals();
  EXPECT_NEAR(all.launch_ms, all.wall_ms, 1e-9);
  EXPECT_NEAR(all.idle_ms, 0, 1e-9);
  profiler.clear();
  EXPECT_EQ(profiler.totals().wall_ms, 0);
}

} // namespace
