//===- ToolsTest.cpp - Programs in text, and the machine around them ------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each tool runs in a separate process. None may be killed by a signal, run for long, or exit with a code
// other than 0 and 1. Each of them parses text. The folder of compiled kernels is full, read-only, or shared
// with another process.
//
//===----------------------------------------------------------------------===//
#include "BadInput.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <map>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::bad_input {
namespace {

struct Outcome {
  int code = -1; ///< exit code, or minus the signal
  std::string output;
};

/// Runs a tool of the build; `prepare` runs in the process before it becomes the tool.
pid_t start(const std::vector<std::string> &words, const std::string &log,
            const std::function<void()> &prepare) {
  const pid_t pid = ::fork();
  if (pid != 0)
    return pid;
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0)
    ::_exit(127);
  ::dup2(file, 1);
  ::dup2(file, 2);
  const rlimit seconds = {60, 60}, noCore = {0, 0};
  ::setrlimit(RLIMIT_CPU, &seconds);
  ::setrlimit(RLIMIT_CORE, &noCore);
  if (prepare)
    prepare();
  std::vector<char *> arguments;
  const std::string path = std::string(WEFT_TOOLS) + "/" + words[0];
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(path.c_str(), arguments.data());
  ::_exit(127);
}

Outcome finish(pid_t pid, const std::string &log) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return {WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status), test::contentOf(log)};
}

Outcome run(const std::vector<std::string> &words, const std::function<void()> &prepare = {}) {
  const Folder folder;
  return finish(start(words, folder / "log", prepare), folder / "log");
}

void expectWords(const Outcome &outcome, const std::vector<std::string> &words) {
  for (const std::string &word : words)
    EXPECT_NE(outcome.output.find(word), std::string::npos)
        << "no '" << word << "' in: " << outcome.output.substr(0, 2000);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

struct Text {
  std::string name, text;
  std::vector<std::string> words;
};

std::string times(size_t count, const std::string &part) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += part;
  return text;
}

std::string chain(const std::string &first, const std::string &pattern, size_t count) {
  std::string text = first;
  for (size_t i = 1; i < count; ++i) {
    std::string line = pattern;
    for (size_t at; (at = line.find('N')) != std::string::npos;)
      line.replace(at, 1, std::to_string(i));
    for (size_t at; (at = line.find('P')) != std::string::npos;)
      line.replace(at, 1, std::to_string(i - 1));
    text += line;
  }
  return text + "module {}\n";
}

/// A function whose body is this.
std::string body(const std::string &ops) {
  return "#cpu = #weft.device<cpu>\nweft.func @f(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {\n" + ops +
         "\n  weft.return %x : tensor<4xf32, #cpu>\n}\n";
}

std::vector<Text> texts() {
  const size_t deep = 200000, many = 100000;
  const std::vector<std::string> nested = {"nested 129 deep", "at most 128 levels are read"};
  return {
      {"RoundBrackets", "module {\n" + times(deep, "("), nested},
      {"SquareBrackets", "module {\n" + times(deep, "["), nested},
      {"CurlyBrackets", "module {\n" + times(deep, "{"), nested},
      {"AngleBrackets", "module {\n" + times(deep, "<"), nested},
      {"MixedBrackets", times(deep / 4, "([{<"), nested},
      {"ClosedBrackets", times(deep, "[") + times(deep, "]"), nested},
      {"Modules", times(many, "module {\n") + times(many, "}\n"), nested},
      {"Regions", times(many, "\"a.b\"() ({\n") + times(many, "}) : () -> ()\n"), nested},
      {"FusedLocations", "module {} loc(" + times(many, "fused["), nested},
      {"CallsiteLocations", "module {} loc(" + times(many, "callsite("), nested},
      {"NamedLocations", "module {} loc(" + times(many, "\"a\"("), nested},
      {"ArrayAttributes", "module attributes {a = " + times(many, "[") + times(many, "]") + "} {}", nested},
      {"DictionaryAttributes", "module attributes " + times(many, "{a = ") + times(many, "}") + " {}",
       nested},
      {"DenseAttributes", "module attributes {a = dense<" + times(many, "["), nested},
      {"TupleTypes", "module attributes {a = " + times(many, "tuple<"), nested},
      {"TensorTypes", "module attributes {a = " + times(many, "tensor<4x"), nested},
      {"FunctionTypes", "module attributes {a = " + times(many, "("), nested},
      {"DialectTypes", "module attributes {a = " + times(many, "!a.b<"), nested},
      {"Resources", "module {}\n{-# dialect_resources: " + times(many, "{a: "), nested},
      {"AffineBrackets", "#m = affine_map<(d0) -> (" + times(many, "(") + "d0", nested},
      {"AffineSigns", "#m = affine_map<(d0) -> (" + times(many, "-") + "d0)>", {"more than 1024 tokens"}},
      {"AffineSums", "#m = affine_map<(d0) -> (" + times(many, "d0 + ") + "d0)>", {"more than 1024 tokens"}},
      {"AffineProducts",
       "#m = affine_map<(d0) -> (" + times(many, "2 * ") + "d0)>",
       {"more than 1024 tokens"}},
      {"SymbolPath", "module attributes {a = @a" + times(many, "::@a") + "} {}", {"more than 1024 tokens"}},
      {"AliasChain", chain("#a0 = []\n", "#aN = [#aP]\n", deep), {"nested 129 deep", "inside the alias"}},
      {"TypeAliasChain", chain("!t0 = tuple<>\n", "!tN = tuple<!tP>\n", deep), {"nested 129 deep"}},
      {"AliasesThatDouble", chain("#a0 = 1\n", "#aN = [#aP, #aP]\n", 100), {"stands for more than"}},
      {"AliasOfItself", "#a = [#a]\nmodule {}\n", {"error:"}},
      {"AliasUndefined", "module attributes {a = #b} {}", {"undefined symbol alias id 'b'"}},
      {"StringWithoutEnd", "module attributes {a = \"b} {}", {"error:"}},
      {"RegionWithoutEnd", "module {", {"error:"}},
      {"NoText",
       std::string("\x7f"
                   "ELF\0\0\0",
                   7),
       {"error:"}},
      {"NoUtf8", "module { \xff\xfe }", {"error:"}},
      {"NumberWithAMillionDigits",
       "module attributes {a = " + times(1000000, "9") + " : i64} {}",
       {"error:"}},
      {"IntegerTypeTooWide", "module attributes {a = 1 : i99999999999} {}", {"error:"}},
      {"UnknownOp", body("  %0 = weft.frobnicate %x : tensor<4xf32, #cpu>"), {"weft.frobnicate"}},
      {"OtherDialect", body("  %0 = arith.constant 1.0 : f32"), {"arith"}},
      {"UndefinedValue",
       body("  %0 = weft.exp %y : tensor<4xf32, #cpu>"),
       {"use of undeclared SSA value name"}},
      {"ValueTwice", body("  %x = weft.exp %x : tensor<4xf32, #cpu>"), {"redefinition"}},
      {"ValueBeforeItsDefinition",
       body("  %0 = weft.exp %1 : tensor<4xf32, #cpu>\n  %1 = weft.exp %x : tensor<4xf32, #cpu>"),
       {"dominate"}},
      {"NoDevice",
       "weft.func @f(%x: tensor<4xf32>) { weft.return }",
       {"takes and returns tensors with a device, found 'tensor<4xf32>'"}},
      {"TwoDevices",
       "weft.func @f(%x: tensor<4xf32, #weft.device<cpu>>, %y: tensor<4xf32, #weft.device<cuda:0>>) {\n"
       "  %0 = weft.add %x, %y : tensor<4xf32, #weft.device<cpu>>, tensor<4xf32, #weft.device<cuda:0>>\n"
       "  weft.return\n}",
       {"error:"}},
      {"TypeThatOverflows",
       "weft.func @f(%x: tensor<9223372036854775807x8xf32, #weft.device<cpu>>) { weft.return }",
       {"error:"}},
      {"NegativeDimension",
       "weft.func @f(%x: tensor<-4xf32, #weft.device<cpu>>) { weft.return }",
       {"error:"}},
      {"DimensionBeyond64Bits",
       "weft.func @f(%x: tensor<99999999999999999999xf32, #weft.device<cpu>>) { weft.return }",
       {"error:"}},
      {"ConstantOfOtherSize",
       body("  %0 = weft.constant dense<[1.0, 2.0]> : tensor<4xf32, #cpu>"),
       {"error:"}},
      {"ConstantWithHalfItsBytes",
       body("  %0 = weft.constant dense<\"0x0000803F0000803F\"> : tensor<4xf32, #cpu>"),
       {"error:"}},
      {"ElidedConstant",
       body("  %0 = weft.constant dense_resource<__elided__> : tensor<4xf32, #cpu>"),
       {"no data"}},
      {"FunctionTwice",
       "weft.func @f() { weft.return }\nweft.func @f() { weft.return }",
       {"redefinition of symbol"}},
      {"SparseConstant",
       body("  %0 = weft.constant sparse<0, 1> : tensor<4xf32, #cpu>"),
       {"sparse<..> is not read"}},
      {"CallOfNothing", "weft.func @f() {\n  weft.call @g() : () -> ()\n  weft.return\n}", {"g"}},
      {"BytecodeThatIsNone", std::string("ML\xefR\x06MLIR19\0\1\2\3", 15) + times(100, "\xff"), {"error"}},
  };
}

class TextTable : public ::testing::TestWithParam<Text> {};

TEST_P(TextTable, IsRefusedByEveryTool) {
  const Folder folder;
  const std::string path = folder.file("bad.mlir", GetParam().text), out = folder / "out";
  const std::vector<std::vector<std::string>> tools = {
      {"weft-opt", path, "-o", out}, {"weft", "run", path},   {"weft", "compile", path, "-o", out},
      {"weft", "explain", path},     {"weft", "bench", path}, {"weft", "kernels", path}};
  // Each text takes two ways; all of them read text in one place.
  static size_t turn = 0;
  for (const size_t tool : {size_t(0), 1 + turn++ % 5}) {
    const Outcome outcome = run(tools[tool]);
    EXPECT_EQ(outcome.code, 1) << tools[tool][1] << ": " << outcome.output.substr(0, 2000);
    // Some tools refuse a file that is not text before they parse it.
    if (tool && GetParam().text.find('\0') != std::string::npos)
      expectWords(outcome, {"bad.mlir' is no program", "found a zero byte"});
    else
      expectWords(outcome, GetParam().words);
    EXPECT_FALSE(std::filesystem::exists(out)) << "half a result was left";
  }
}

INSTANTIATE_TEST_SUITE_P(Texts, TextTable, ::testing::ValuesIn(texts()),
                         [](const auto &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// Files and options
//===----------------------------------------------------------------------===//

const char *const good = "#cpu = #weft.device<cpu>\n"
                         "weft.func @f(%x: tensor<8xf32, #cpu>) -> tensor<8xf32, #cpu> {\n"
                         "  %0 = weft.exp %x : tensor<8xf32, #cpu>\n"
                         "  %1 = weft.tanh %0 : tensor<8xf32, #cpu>\n"
                         "  weft.return %1 : tensor<8xf32, #cpu>\n"
                         "}\n";

TEST(Tools, SayWhatIsNoProgram) {
  const Folder folder;
  const std::string program = folder.file("good.mlir", good);
  const std::string array = folder.file("array.npy", std::string("\x93NUMPY\x01\0v\0", 10));
  ASSERT_EQ(run({"weft", "compile", program, "-o", folder / "good.weft"}).code, 0);
  // A package under another name is known by how it begins.
  std::filesystem::copy_file(folder / "good.weft", folder / "renamed.bin");
  EXPECT_EQ(run({"weft", "run", folder / "renamed.bin", "--input", "8xf32=0"}).code, 0);
  std::filesystem::copy_file(program, folder / "text.weft");
  const auto refuse = [&](const std::vector<std::string> &words, const std::vector<std::string> &expected) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 1) << outcome.output;
    expectWords(outcome, expected);
  };
  for (const char *command : {"run", "bench"}) {
    refuse({"weft", command, "/dev/null"}, {"'/dev/null' has no function: it is empty"});
    refuse({"weft", command, array}, {"is no program", "zero byte"});
    refuse({"weft", command, folder / "."}, {"it is a directory"});
    refuse({"weft", command, folder / "missing.mlir"}, {"missing.mlir", "No such file"});
    refuse({"weft", command, folder / "text.weft"}, {"text.weft", "not a Weft package"});
    refuse({"weft", command, program, "--input", "7xf32=0"}, {"is 8xf32, and the input is 7xf32"});
    refuse({"weft", command, program, "--input", "8xf32=0", "--input", "8xf32=0"},
           {"takes 1 arguments", "2 inputs"});
    refuse({"weft", command, program, "--input", "99999999999999999999xf32=0"},
           {"argument 0", "has a size that is no number"});
    refuse({"weft", command, program, "--input", "9223372036854775807x8xf32=0"}, {"overflow"});
    refuse({"weft", command, program, "--input", "-1xf32=0"}, {"no number"});
    refuse({"weft", command, program, "--input", array}, {"array.npy"});
    refuse({"weft", command, program, "--function", "g"}, {"has no function 'g'; it has 'f'"});
    refuse({"weft", command, program, "--iterations", "0"}, {"at least 1"});
    refuse({"weft", command, program, "--iterations", "x"}, {"at least 1"});
    refuse({"weft", command, program, "--target", "toaster"}, {"'toaster'"});
    refuse({"weft", command, folder / "good.weft", "--target", "cpu"}, {"--target is for programs"});
  }
  refuse({"weft", "run", program, "--output", folder / "no/such.npy"}, {"no/such.npy"});
  refuse({"weft", "run", program, "--output", folder / "a.npy", "--output", folder / "b.npy"}, {"1 results"});
  refuse({"weft", "run", folder / "good.weft", "--against=interp"}, {"needs the program"});
  refuse({"weft", "compile", program, "-o", folder / "no/such.weft"}, {"no/such.weft"});
  // Text that verifies and cannot be compiled.
  const std::string recursive = folder.file("recursive.mlir", "weft.func @f() {\n"
                                                              "  weft.call @f() : () -> ()\n"
                                                              "  weft.return\n}\n");
  refuse({"weft", "run", recursive}, {"recursive.mlir:2:3", "'weft.call' op calls 'f'", "calls itself"});
  EXPECT_EQ(run({"weft", "run"}).code, 2);
  EXPECT_EQ(run({"weft"}).code, 2);
}

// The tool continues a step that step.save() wrote, with the bits that the program would have computed.
TEST(Tools, RunASavedStepOn) {
  const Folder folder;
  manual_seed(5);
  nn::Linear net(4, 3);
  optim::Adam adam(net.parameters(), {.lr = 0.1});
  auto step = smallStep(net, adam);
  const Tensor x = ones({2, 4});
  step(x);
  step.save(folder / "step.weft");
  for (int i = 0; i < 3; ++i)
    step(x);
  const Outcome outcome = run({"weft", "run", folder / "step.weft", "--input", "2x4xf32=1", "--iterations=3",
                               "--save-state", folder / "after.safetensors"});
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  expectWords(outcome, {"result 0: f32 = ", "state 'weight': 3x4xf32 = ", "state: "});
  std::map<std::string, Tensor> after;
  for (const auto &[name, tensor] : load_safetensors(folder / "after.safetensors"))
    after[name] = tensor;
  for (const auto &[name, tensor] : net.state_dict()) {
    ASSERT_TRUE(after.contains(name)) << name;
    EXPECT_EQ(after[name].to_bytes(), tensor.to_bytes()) << name;
  }
}

//===----------------------------------------------------------------------===//
// The folder of compiled kernels
//===----------------------------------------------------------------------===//

struct Cache : ::testing::Test {
  const Folder folder;
  const std::string program = folder.file("good.mlir", good), directory = folder / "cache";
  void use() const {
    ::setenv("WEFT_CACHE_DIR", directory.c_str(), 1);
    ::unsetenv("WEFT_CACHE");
  }
  Outcome tryIt(const std::function<void()> &prepare = {}) const {
    return run({"weft", "run", program, "--input", "8xf32=0"}, [&] {
      use();
      if (prepare)
        prepare();
    });
  }
  size_t files() const {
    std::error_code error;
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory, error), {}));
  }
  void expectResult(const Outcome &outcome) const {
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    expectWords(outcome, {"result 0: 8xf32 = 0.761594"});
  }
};

TEST_F(Cache, IsFull) {
  // A limit on the size of files stops a write half way, as a full disk does.
  const Outcome limited = tryIt([] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small = {100, 100};
    ::setrlimit(RLIMIT_FSIZE, &small);
  });
  // The log is a file too, and short enough.
  EXPECT_EQ(limited.code, 0) << limited.output;
  EXPECT_EQ(files(), 0u) << "half an entry was left";
  expectResult(tryIt());
  EXPECT_GT(files(), 0u);
}

TEST_F(Cache, IsOnAFullDisk) {
  // A disk without room for a file, where this user may make one.
  std::filesystem::create_directory(directory);
  const auto mountSmall = [&] {
    return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", directory.c_str(), "tmpfs", 0, "size=4096,nr_inodes=1") == 0;
  };
  const Outcome outcome = tryIt([&] {
    if (!mountSmall())
      ::_exit(77);
  });
  if (outcome.code == 77)
    GTEST_SKIP() << "this user may not mount";
  expectResult(outcome);
  expectWords(outcome, {"the kernel cache is not written", directory, "No space left on device",
                        "Set WEFT_CACHE_DIR to a writable directory, or WEFT_CACHE=0"});
}

TEST_F(Cache, IsReadOnly) {
  expectResult(tryIt());
  const size_t before = files();
  const auto readOnly = [&] {
    if (::geteuid() != 0)
      return ::chmod(directory.c_str(), 0500) == 0;
    return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount(directory.c_str(), directory.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
           ::mount("none", directory.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0;
  };
  // Kernels in the folder are used; others are compiled, with one note.
  const std::string other = folder.file("other.mlir", [] {
    std::string text = good;
    text.replace(text.find("weft.tanh"), 9, "weft.sqrt");
    return text;
  }());
  for (const std::string &file : {program, other}) {
    const Outcome outcome = run({"weft", "run", file, "--input", "8xf32=0"}, [&] {
      use();
      if (!readOnly())
        ::_exit(77);
    });
    if (outcome.code == 77)
      GTEST_SKIP() << "this user may not mount";
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    const bool says = outcome.output.find("the kernel cache is not written") != std::string::npos;
    EXPECT_EQ(says, file == other) << outcome.output;
  }
  ::chmod(directory.c_str(), 0700);
  EXPECT_EQ(files(), before);
}

TEST_F(Cache, IsNoDirectory) {
  std::ofstream(directory) << "in the way";
  const Outcome outcome = tryIt();
  expectResult(outcome);
  expectWords(outcome, {"the kernel cache is not written", "Set WEFT_CACHE_DIR"});
  const Outcome doctor = run({"weft", "doctor"}, [&] { use(); });
  EXPECT_EQ(doctor.code, 1) << doctor.output;
  expectWords(doctor, {"PROBLEM  cache", "to fix: set WEFT_CACHE_DIR"});
}

TEST_F(Cache, IsDamaged) {
  expectResult(tryIt());
  for (const char *damage : {"", "something else", "WEFTKOBJ and no more"}) {
    for (const auto &entry : std::filesystem::directory_iterator(directory))
      std::ofstream(entry.path(), std::ios::trunc) << damage;
    expectResult(tryIt());
  }
}

TEST_F(Cache, IsShared) {
  for (int round = 0; round < 3; ++round) {
    std::filesystem::remove_all(directory);
    const pid_t first =
        start({"weft", "run", program, "--input", "8xf32=0"}, folder / "log1", [&] { use(); });
    const pid_t second =
        start({"weft", "run", program, "--input", "8xf32=0"}, folder / "log2", [&] { use(); });
    expectResult(finish(first, folder / "log1"));
    expectResult(finish(second, folder / "log2"));
    for (const auto &entry : std::filesystem::directory_iterator(directory))
      EXPECT_EQ(entry.path().extension(), ".wko") << "a temporary file is left";
  }
}

TEST(Tools, WriteAllOrNothingOntoAFullDisk) {
  const Folder folder;
  const std::string program = folder.file("good.mlir", good),
                    package = folder.file("old.weft", "what was there");
  const Outcome outcome = run({"weft", "compile", program, "-o", package}, [] {
    ::setenv("WEFT_CACHE", "0", 1);
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small = {1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &small);
  });
  EXPECT_EQ(outcome.code, 1);
  expectWords(outcome, {"old.weft", "cannot be written"});
  EXPECT_EQ(test::contentOf(package), "what was there");
}

} // namespace
} // namespace weft::bad_input
