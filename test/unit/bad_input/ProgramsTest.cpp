//===- ProgramsTest.cpp - Shapes, devices, sizes and options that cannot be ===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BadInput.h"

namespace weft::bad_input {
namespace {

constexpr int64_t huge = int64_t(1) << 62, terabytes = int64_t(1) << 42;
constexpr const char *here = "ProgramsTest.cpp:"; // the user's line

Tensor x23() { return ones({2, 3}); }
Tensor whole() { return Tensor::from(std::vector<int64_t>{7, -7}, {2}); }
void read(const Tensor &tensor) { tensor.to_bytes(); }

std::vector<Row> shapes() {
  return {
      {"AddOfOtherShape", [] { x23() + ones({4}); }, {"size of tensor a (3) must match", "b (4)", here}},
      {"MatmulOfOtherShape",
       [] { matmul(x23(), ones({4, 2})); },
       {"cannot be multiplied", "2x3", "4x2", here}},
      {"MatmulOfAScalar", [] { matmul(scalar(1), x23()); }, {"at least 1D", here}},
      {"ViewOfOtherSize", [] { x23().view({4, 2}); }, {"[4, 2]", "invalid for input of size 6", here}},
      {"ViewWithTwoUnknown", [] { x23().view({-1, -1}); }, {"only one dimension can be inferred", here}},
      {"ViewOfNothingWithUnknown", [] { ones({0, 3}).view({-1, 0}); }, {"cannot reshape", here}},
      {"ViewWithNegative", [] { x23().view({-6}); }, {"-6", here}},
      {"ViewOverflows", [] { x23().view({huge, 4}); }, {here}},
      {"RankOfZeros", [] { zeros(Shape(65, 1)); }, {"65 dimensions", "at most 64", here}},
      {"RankOfAView", [] { ones({1}).view(Shape(200'000, 1)); }, {"200000 dimensions", "at most 64", here}},
      {"RankOfExpand", [] { ones({1}).expand(Shape(65, 1)); }, {"65 dimensions", "at most 64", here}},
      {"RankOfUnsqueeze", [] { ones(Shape(64, 1)).unsqueeze(0); }, {"65 dimensions", "at most 64", here}},
      {"RankOfData",
       [] { Tensor::from(std::vector<float>(1), Shape(65, 1)); },
       {"65 dimensions", "at most 64", here}},
      {"RankOfAStack", [] { stack({ones(Shape(64, 1))}); }, {"65 dimensions", "at most 64", here}},
      {"ExpandOfOtherSize", [] { x23().expand({2, 4}); }, {"(4)", "(3)", here}},
      {"ExpandNegative", [] { x23().expand({-5, 2, 3}); }, {"-5", here}},
      {"IndexOfTheSecondDimension",
       [] { x23().index({0, 5}); },
       {"index 5", "dimension 1 with size 3", here}},
      {"InterpolateWithTooManySizes",
       [] { interpolate(ones({1, 1, 4, 4}), {.size = {2, 3, 4}}); },
       {"size", "a list of 2", "[2, 3, 4]", here}},
      {"UnfoldWithTooManySizes",
       [] { nn::functional::unfold(ones({1, 1, 4, 4}), {2, 2, 2}); },
       {"unfold()", "kernel_size", "a list of 2", here}},
      {"UnpoolWithTooManySizes",
       [] { max_unpool2d(ones({1, 1, 2, 2}), zeros({1, 1, 2, 2}, i64), {2, 2, 2}); },
       {"max_unpool2d()", "kernel_size", "a list of 2", here}},
      {"WriteToWindowsThatOverlap",
       [] { x23().unfold(1, 2, 1).fill_(7); },
       {"unfold()", "a copy here", "clone()", here}},
      {"MultinomialOfZeros", [] { multinomial(zeros({3}), 1); }, {"invalid multinomial distribution", here}},
      {"MultinomialOfNegativeWeights",
       [] { multinomial(ones({3}).neg(), 1, true); },
       {"invalid multinomial distribution", here}},
      {"PermuteTwice", [] { x23().permute({0, 0}); }, {"duplicate dims", here}},
      {"PermuteOfOtherRank", [] { x23().permute({0}); }, {"permute", here}},
      {"TransposeOutOfRange", [] { x23().transpose(0, 5); }, {"Dimension out of range", "got 5", here}},
      {"DimAtTheEdgeOfIntegers", [] { x23().sum({INT64_MIN}); }, {"Dimension out of range", here}},
      {"SumTwice", [] { x23().sum({0, 0}); }, {"dim 0 appears multiple times", here}},
      {"SoftmaxOutOfRange", [] { softmax(x23(), 2); }, {"Dimension out of range", here}},
      {"SelectOutOfRange", [] { x23().select(1, 3); }, {"index 3 out of range", here}},
      {"SliceWithoutAStep", [] { x23().slice(0, 0, 2, 0); }, {"step must be", here}},
      {"SliceBackwards", [] { x23().slice(0, 0, 2, -1); }, {"step must be", here}},
      {"NarrowOutOfRange", [] { x23().narrow(0, 1, 5); }, {"start (1) + length (5)", here}},
      {"NarrowOverflows", [] { x23().narrow(0, 1, INT64_MAX); }, {"start (1)", here}},
      {"CatOfNothing", [] { cat({}); }, {"non-empty list", here}},
      {"CatOfOtherShapes", [] { cat({x23(), ones({2, 4})}, 0); }, {"Sizes of tensors must match", here}},
      {"StackOfOtherShapes", [] { stack({x23(), ones({2, 4})}); }, {"equal size", here}},
      {"SplitByNothing", [] { split(x23(), 0); }, {"split", here}},
      {"RepeatNegative", [] { x23().repeat({-1, 2}); }, {"-1", here}},
      {"PadMoreThanThereIs", [] { pad(x23(), {-5, 0}); }, {"negative", here}},
      {"GatherOfFloats", [] { gather(x23(), 0, x23()); }, {"int64", here}},
      {"ItemOfMany", [] { x23().item<float>(); }, {"6 elements", here}},
      {"ItemOfNothing", [] { ones({0}).item<float>(); }, {"0 elements", here}},
      {"DataOfOtherSize", [] { Tensor::from(std::vector<float>(5), {2, 3}); }, {"5", "6", here}},
      {"BytesOfOtherSize",
       [] {
         const float data[2] = {};
         Tensor::from_bytes(data, 7, DType::f32, {2});
       },
       {"1 elements", "needs 2", here}},
      {"UndefinedTensor", [] { Tensor() + 1; }, {"undefined", here}},
      {"BackwardOfMany", [] { x23().requires_grad_().sum({0}).backward(); }, {"scalar outputs", here}},
      {"BackwardWithoutGradients", [] { x23().sum().backward(); }, {"does not require grad", here}},
      {"GradientsOfIntegers", [] { whole().requires_grad_(); }, {"floating point"}},
      {"LayerNormOfOtherShape", [] { layer_norm(x23(), {4}); }, {"normalized_shape", here}},
      {"EmbeddingOfFloats", [] { embedding(x23(), ones({4, 2})); }, {"Long, Int", here}},
      {"LossOfOtherShape",
       [] { nn::cross_entropy(x23(), Tensor::from(std::vector<int64_t>{0, 1, 2}, {3})); },
       {"target of shape [2]", "found [3]", here}},
      {"OneHotTooSmall", [] { read(one_hot(whole(), 3)); }, {"one_hot"}},
      {"LinspaceOfNegative", [] { linspace(0, 1, -1); }, {"non-negative", here}},
      {"ArangeBackwards", [] { arange(0, 10, -1); }, {"bounds inconsistent with step sign", here}},
      {"ArangeWithoutAStep", [] { arange(0, 10, 0); }, {"step must be nonzero", here}},
      {"ArangeNegative", [] { arange(-1); }, {here}},
      {"EyeNegative", [] { eye(-1); }, {"-1", here}},
  };
}

std::vector<Row> sizes() {
  return {
      {"NegativeSize", [] { zeros({2, -1}); }, {"negative dimension", "-1", here}},
      {"SmallestSize", [] { zeros({INT64_MIN}); }, {"negative dimension", here}},
      {"ElementsOverflow", [] { zeros({huge, 4}); }, {"overflow", here}},
      {"BytesOverflow", [] { zeros({huge}, {.dtype = DType::f64}); }, {"overflow", here}},
      {"ZeroHidesOverflow", [] { read(zeros({0, huge, 4})); }, {"overflow", here}},
      {"ArangeOverflows", [] { arange(INT64_MAX, {.dtype = DType::f64}); }, {"overflow", here}},
      {"ArangeOfInfinity", [] { arange(0.0, INFINITY); }, {here}},
      {"RepeatOverflows", [] { x23().repeat({huge, huge}); }, {"overflow", here}},
      {"TileOverflows", [] { x23().tile({huge, 2}); }, {"overflow", here}},
      {"PadOverflows", [] { pad(x23(), {INT64_MAX, INT64_MAX}); }, {here}},
      {"RepeatInterleaveOverflows", [] { repeat_interleave(x23(), huge); }, {"overflow", here}},
      {"OneHotOverflows", [] { one_hot(whole(), huge); }, {"overflow", here}},
      {"OuterProductOverflows",
       [] { ones({1}).expand({huge}).unsqueeze(0) + ones({8, 1}); },
       {"more than 2^63 bytes", here}},
      {"MoreThanThereIs", [] { read(zeros({terabytes})); }, {"out of memory", "16.00 TiB"}, "WEFT-M001"},
      {"ExpandMoreThanThereIs",
       [] { read(ones({1}).expand({terabytes}) + 1); },
       {"out of memory"},
       "WEFT-M001"},
      {"RandMoreThanThereIs", [] { read(rand({terabytes})); }, {"out of memory"}, "WEFT-M001"},
      {"LimitOfMemory",
       [] {
         const uint64_t limit = memory_limit();
         synchronize();
         set_memory_limit(memory_allocated() + (1 << 20));
         struct Restore {
           uint64_t limit;
           ~Restore() { set_memory_limit(limit); }
         } restore{limit};
         read(ones({int64_t(64) << 20}));
       },
       {"out of memory", "The limit is"},
       "WEFT-M001"},
      {"LinearNegative", [] { nn::Linear(-1, 2); }, {"negative dimension"}},
      {"LinearOverflows", [] { nn::Linear(huge, huge); }, {"overflow"}},
      {"EmbeddingNegative", [] { nn::Embedding(4, -2); }, {"negative dimension"}},
  };
}

std::vector<Row> devices() {
  return {
      {"NoSuchDevice", [] { Device("tpu:0"); }, {"Expected one of cpu, cuda", "tpu"}, "WEFT-E004"},
      {"NegativeDevice", [] { Device("cuda:-1"); }, {"cuda:-1"}, "WEFT-E004"},
      {"DeviceBeyondIntegers", [] { Device("cuda:99999999999999999999"); }, {"cuda:9999"}, "WEFT-E004"},
      {"EmptyDevice", [] { Device(""); }, {"must not be empty"}, "WEFT-E004"},
      {"NoCuda", [] { read(x23().to("cuda:97")); }, {"'cuda:97' is not there"}, "WEFT-E001"},
      {"TwoDevices",
       [] {
         auto f = compile([](Tensor a, Tensor b) { return a + b; },
                          {spec({4}), spec({4}, DType::f32, Device("cuda:0"))});
         f.mlir();
       },
       {"Expected all tensors to be on the same device", "cpu", "cuda:0", here},
       "WEFT-P001"},
  };
}

std::vector<Row> numbers() {
  return {
      {"FloorDivisionByZero", [] { floor_divide(whole(), 0); }, {"integer division by zero", here}},
      {"RemainderByZero", [] { whole() % 0; }, {"integer division by zero", here}},
      {"FmodByZero", [] { fmod(whole(), 0); }, {"integer division by zero", here}},
      {"TruncatingDivisionByZero", [] { whole().div(0, "trunc"); }, {"integer division by zero", here}},
      {"DivisionInPlaceByZero",
       [] {
         Tensor y = whole();
         y.remainder_(0);
       },
       {"integer division by zero", here}},
      {"NegativePowerOfIntegers", [] { pow(whole(), -1); }, {"negative integer powers", here}},
      {"RoundingModeUnknown", [] { whole().div(2, "ceil"); }, {"'ceil'", here}},
      {"GeluUnknown", [] { gelu(x23(), "exact"); }, {"exact", "tanh", here}},
      {"DropoutOfTwo", [] { dropout(x23(), 2); }, {"between 0 and 1", here}},
      {"DropoutOfNaN", [] { dropout(x23(), NAN); }, {"between 0 and 1", here}},
      {"NegativeLearningRate", [] { optim::SGD({x23()}, {.lr = -1}); }, {"Invalid learning rate: -1"}},
      {"LearningRateNaN",
       [] {
         optim::SGD sgd({x23().requires_grad_()}, {.lr = 1});
         sgd.set_lr(NAN);
       },
       {"learning rate"}},
      {"BetaOfOne", [] { optim::Adam({x23()}, {.betas = {1, 0.999}}); }, {"Invalid beta parameter"}},
      {"OptimizerOfNothing", [] { optim::Adam({}, {}); }, {"empty parameter list"}},
      {"RandintBackwards", [] { randint(5, 5, {2}); }, {"from", here}},
      {"RandpermNegative", [] { randperm(-1); }, {"-1", here}},
      {"GeneratorStateOfOtherShape", [] { Generator().set_state(x23()); }, {"state"}},
      {"BatchOfNothing",
       [] { data::DataLoader(data::TensorDataset(ones({4, 1}), whole()), {.batch_size = 0}); },
       {"4", "2"}},
      {"LoaderWithoutBatches",
       [] { data::DataLoader(data::TensorDataset(ones({2, 1}), whole()), {.batch_size = 0}); },
       {"batch_size"}},
      {"LoaderWithNegativeWorkers",
       [] {
         data::DataLoader(data::TensorDataset(ones({2, 1}), whole()), {.batch_size = 1, .num_workers = -1});
       },
       {"num_workers"}},
      {"SubsetOutOfRange", [] { data::Subset(data::TensorDataset(ones({2, 1}), whole()), {2}); }, {"2"}},
      {"SplitThatDoesNotSum",
       [] { data::random_split(data::TensorDataset(ones({2, 1}), whole()), {1, 2}); },
       {"Sum of input lengths does not equal", "expected 2"}},
      {"ClipToNegative",
       [] {
         Tensor w = x23().requires_grad_();
         w.sum().backward();
         nn::utils::clip_grad_value_({w}, -1);
       },
       {"clip"}},
  };
}

std::vector<Row> functions() {
  return {
      {"FunctionWithoutAName", [] { compile([](Tensor a) { return a; }, {.name = ""}); }, {"name"}},
      {"DimBackwards", [] { Dim("n", 5, 4); }, {"'n'", "5", "4"}},
      {"DimWithoutAName", [] { Dim("", 1, 4); }, {"letter"}},
      {"DimNegative", [] { Dim("n", -1, 4); }, {"-1"}},
      {"DimOutOfRange",
       [] {
         auto f = compile([](Tensor a) { return a * 2; }, {spec({Dim("n", 1, 4)})});
         f(ones({5}));
       },
       {"'n'", "5", "1 to 4"},
       "WEFT-S001"},
      {"DimThatOverflows",
       [] {
         auto f = compile([](Tensor a) { return a * 2; }, {spec({Dim("n", 1, INT64_MAX), 8})});
         f(ones({5, 8}));
       },
       {"n"}},
      {"OutsideOfItsSpec",
       [] {
         auto f = compile([](Tensor a) { return a * 2; }, {spec({4})});
         f(ones({5}));
       },
       {"tensor<5xf32, cpu>", "dimension 0 has size 5, expected 4"}},
      {"SaveBeforeTheFirstCall",
       [] { compile([](Tensor a) { return a; }).save("/tmp/never.weft"); },
       {"has not run yet"}},
      {"SaveForNoTarget",
       [] {
         auto f = compile([](Tensor a) { return a * 3; });
         f(ones({2}));
         f.save("/tmp/never.weft", {.targets = {"toaster"}});
       },
       {"toaster", "no target"},
       "WEFT-L013"},
      {"SaveIntoNoFolder",
       [] {
         auto f = compile([](Tensor a) { return a * 3; });
         f(ones({2}));
         f.save("/nonexistent/never.weft");
       },
       {"/nonexistent/never.weft", "No such file"},
       "WEFT-L001"},
      {"AnExceptionInTheFunction",
       [] {
         auto f = compile([](Tensor a) -> Tensor { return a + ones({2, 5}); });
         f(ones({3, 4}));
       },
       {"size of tensor a (4)", here}},
      {"ACallWithinItself",
       [] {
         std::function<Tensor(Tensor)> self;
         auto f = compile([&](Tensor a) { return self(a); });
         self = [&](Tensor a) { return f(a); };
         f(ones({2}));
       },
       {"main"}},
      {"ALeakedValue",
       [] {
         Tensor leaked;
         auto f = compile([&](Tensor a) {
           leaked = a + 1;
           return a * 2;
         });
         f(ones({2}));
         read(leaked);
       },
       {here}},
  };
}

} // namespace

TEST_P(Table, IsRefusedAndLeavesEverythingUsable) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Shapes, Table, ::testing::ValuesIn(shapes()), nameOf);
INSTANTIATE_TEST_SUITE_P(Sizes, Table, ::testing::ValuesIn(sizes()), nameOf);
INSTANTIATE_TEST_SUITE_P(Devices, Table, ::testing::ValuesIn(devices()), nameOf);
INSTANTIATE_TEST_SUITE_P(Numbers, Table, ::testing::ValuesIn(numbers()), nameOf);
INSTANTIATE_TEST_SUITE_P(Functions, Table, ::testing::ValuesIn(functions()), nameOf);

} // namespace weft::bad_input
