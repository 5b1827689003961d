//===- DynamicPlan.cpp ----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/DynamicPlan.h"

#include "runtime/plan/PlanFields.h"
#include "runtime/plan/StepTable.h"
#include "runtime/support/TensorText.h"
#include "weft/dtype.hpp"
#include "weft/limits.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace weft::runtime {
namespace {

std::string prefix(const fb::Plan &plan) {
  return "plan of '" + text(plan.function()) + "' for " + text(plan.target()) + ": ";
}

/// Evaluates sizes. `failed` is set if a number overflows or an expression does not exist. The value of each
/// expression is kept, because many sizes of a plan may have the same expression.
class Evaluator {
public:
  using Expressions = flatbuffers::Vector<flatbuffers::Offset<fb::SizeExpression>>;
  Evaluator(const Expressions *sizes, std::span<const int64_t> values)
      : sizes_(sizes), values_(values), known_(length(sizes)) {}

  int64_t operator()(int64_t size) {
    if (!is_expression(size))
      return size;
    const auto index = static_cast<uint64_t>(size - firstExpression);
    if (index >= known_.size()) {
      failed = true;
      return 0;
    }
    if (!known_[index])
      known_[index] = evaluate(*sizes_->Get(static_cast<uint32_t>(index)));
    return *known_[index];
  }
  uint64_t operator()(uint64_t size) { return static_cast<uint64_t>((*this)(static_cast<int64_t>(size))); }

  bool failed = false;

private:
  int64_t evaluate(const fb::SizeExpression &expression) {
    return value_of_expression(expression, values_, failed);
  }

  const Expressions *sizes_;
  std::span<const int64_t> values_;
  std::vector<std::optional<int64_t>> known_; ///< by index of the expression
};

/// The stride of a dimension of size 1 has no effect on addresses. It is set as the compiler sets it for
/// static sizes, so that both find the same library primitive.
void complete_strides(int64_t rows, int64_t columns, int64_t &row_stride, int64_t &column_stride) {
  if (columns == 1)
    column_stride = rows != 1 && row_stride == 1 ? rows : 1;
  if (rows == 1)
    row_stride = column_stride == 1 ? columns : 1;
}

/// What is wrong with a type of a plan with symbols; empty if callers may be told of it.
std::string type_problem(const fb::Plan &plan, const fb::TensorType *type) {
  if (!type || !aligned(type->shape()))
    return "has no type, or a misaligned shape";
  if (type->dtype() > static_cast<uint8_t>(DType::f64))
    return "has unknown element type " + number(type->dtype());
  if (length(type->shape()) > maxRank)
    return "has " + number(length(type->shape())) + " dimensions, and at most " + number(maxRank) +
           " are possible";
  for (uint32_t d = 0; d < length(type->shape()); ++d)
    if (is_expression(type->shape()->Get(d)) &&
        static_cast<uint64_t>(type->shape()->Get(d) - firstExpression) >= length(plan.sizes()))
      return "has a size that the plan does not have";
  return "";
}

bool aligned_groups(const flatbuffers::Vector<flatbuffers::Offset<fb::StepGroup>> *groups) {
  for (uint32_t i = 0; i < length(groups); ++i)
    if (!aligned(groups->Get(i)->number_bytes()))
      return false;
  return true;
}

/// The numbers of a contraction.
void evaluate_product(fb::ContractionLaunchT &product, Evaluator &evaluate) {
  for (int64_t *extent : {&product.batch, &product.m, &product.n, &product.k})
    *extent = evaluate(*extent);
  for (auto *strides : {&product.a_strides, &product.b_strides, &product.c_strides})
    for (int64_t &size : *strides)
      size = evaluate(size);
  if (product.a_strides.size() == 3 && product.b_strides.size() == 3) {
    complete_strides(product.m, product.k, product.a_strides[1], product.a_strides[2]);
    complete_strides(product.k, product.n, product.b_strides[1], product.b_strides[2]);
    if (product.batch == 1) {
      product.a_strides[0] = product.m * product.k;
      product.b_strides[0] = product.k * product.n;
    }
  }
}

void evaluate_launch(fb::LaunchT &launch, Evaluator &evaluate) {
  const auto all = [&](std::vector<int64_t> &sizes) {
    for (int64_t &size : sizes)
      size = evaluate(size);
  };
  launch.bytes_read = evaluate(launch.bytes_read);
  launch.bytes_written = evaluate(launch.bytes_written);
  launch.flops = evaluate(launch.flops);
  if (fb::KernelLaunchT *kernel = launch.op.AsKernelLaunch()) {
    all(kernel->sizes);
    kernel->tasks = evaluate(kernel->tasks);
    // The number of tasks is a sum of quotients, which is not an expression of plans, so the plan has an
    // upper bound.
    if (kernel->chunk)
      kernel->tasks = step_tasks(kernel->sizes, kernel->chunk).value_or(kernel->tasks);
    // The grain was chosen for the largest size. If there are few tasks, it must not give all to one
    // thread.
    kernel->grain = std::min(kernel->grain, std::max<int64_t>(kernel->tasks / 16, 1));
  } else if (fb::ContractionLaunchT *product = launch.op.AsContractionLaunch()) {
    evaluate_product(*product, evaluate);
  } else if (fb::ConvolutionLaunchT *convolution = launch.op.AsConvolutionLaunch()) {
    for (int64_t *extent : {&convolution->batch, &convolution->channels})
      *extent = evaluate(*extent);
  } else if (fb::SortLaunchT *sort = launch.op.AsSortLaunch()) {
    for (int64_t *extent : {&sort->rows, &sort->extent, &sort->count})
      *extent = evaluate(*extent);
  } else if (fb::MatrixLaunchT *matrices = launch.op.AsMatrixLaunch()) {
    matrices->batch = evaluate(matrices->batch);
  } else if (fb::FourierLaunchT *fourier = launch.op.AsFourierLaunch()) {
    for (int64_t *extent : {&fourier->outer, &fourier->inner})
      *extent = evaluate(*extent);
  } else if (fb::RawLaunchT *raw = launch.op.AsRawLaunch()) {
    all(raw->grid);
    for (auto &argument : raw->arguments) {
      argument->bytes = evaluate(argument->bytes);
      argument->size = evaluate(argument->size);
    }
  } else if (fb::HostLaunchT *host = launch.op.AsHostLaunch()) {
    all(host->shape);
  }
}

/// Whether all numbers of a launch may be read through pointers, as unpacking the plan reads them.
bool aligned_numbers(const fb::Launch &launch) {
  if (const auto *kernel = launch.op_as_KernelLaunch())
    return aligned(kernel->sizes()) && aligned_groups(kernel->groups());
  if (const auto *product = launch.op_as_ContractionLaunch())
    return aligned(product->a_strides()) && aligned(product->b_strides()) && aligned(product->c_strides());
  if (const auto *attention = launch.op_as_AttentionLaunch()) {
    for (uint32_t i = 0; i < length(attention->places()); ++i)
      if (!aligned(attention->places()->Get(i)->strides()))
        return false;
    return aligned(attention->batch());
  }
  if (const auto *raw = launch.op_as_RawLaunch())
    return aligned(raw->grid());
  if (const auto *convolution = launch.op_as_ConvolutionLaunch()) {
    bool all = true;
    for (const auto *numbers :
         {convolution->extents(), convolution->window(), convolution->places(), convolution->stride(),
          convolution->low(), convolution->base_dilation(), convolution->window_dilation()})
      all = all && aligned(numbers);
    for (const fb::MatrixPlace *place : {convolution->a(), convolution->w(), convolution->y()})
      all = all && (!place || aligned(place->strides()));
    return all;
  }
  const auto *host = launch.op_as_HostLaunch();
  return !host || aligned(host->shape());
}

} // namespace

int64_t value_of_expression(const fb::SizeExpression &expression, std::span<const int64_t> values,
                            bool &failed) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < length(expression.terms()); ++i) {
    const fb::SizeTerm *term = expression.terms()->Get(i);
    int64_t product = term->coefficient();
    for (uint32_t j = 0; j < length(term->symbols()); ++j)
      failed |= __builtin_mul_overflow(product, values[term->symbols()->Get(j)], &product);
    failed |= __builtin_add_overflow(sum, product, &sum);
  }
  failed |= sum < 0;
  return sum / expression.divisor() + (sum % expression.divisor() > 0);
}

Status verify_symbols(const fb::Plan &plan) {
  const auto fail = [&](const std::string &message) {
    return Status::error(prefix(plan) + message, "WEFT-L008");
  };
  const uint32_t symbols = length(plan.symbols());
  for (uint32_t i = 0; i < symbols; ++i) {
    const fb::Symbol *symbol = plan.symbols()->Get(i);
    if (text(symbol->name()).empty() || symbol->min() < 0 || symbol->max() < symbol->min())
      return fail("symbol " + std::to_string(i) + " '" + text(symbol->name()) +
                  "' has no name or no range: [" + std::to_string(symbol->min()) + ", " +
                  std::to_string(symbol->max()) + "]");
  }
  for (uint32_t i = 0; i < length(plan.sizes()); ++i) {
    const fb::SizeExpression *expression = plan.sizes()->Get(i);
    if (expression->divisor() < 1)
      return fail("size " + std::to_string(i) + " is divided by " + std::to_string(expression->divisor()));
    for (uint32_t j = 0; j < length(expression->terms()); ++j) {
      const fb::SizeTerm *term = expression->terms()->Get(j);
      for (uint32_t k = 0; k < length(term->symbols()); ++k)
        if (term->symbols()->Get(k) >= symbols)
          return fail("size " + std::to_string(i) + " uses symbol " +
                      std::to_string(term->symbols()->Get(k)) + " of " + std::to_string(symbols));
    }
  }
  for (uint32_t i = 0; i < length(plan.arguments()); ++i) {
    const fb::Argument &argument = *plan.arguments()->Get(i);
    const std::string what = "argument " + std::to_string(i) + " ";
    if (const std::string problem = type_problem(plan, argument.type()); !problem.empty())
      return fail(what + problem);
    if (!aligned(argument.strides()))
      return fail(what + "has misaligned strides");
    if (static_cast<uint8_t>(argument.role()) > static_cast<uint8_t>(fb::Role::random))
      return fail(what + "has unknown role " + number(static_cast<int>(argument.role())));
  }
  for (uint32_t i = 0; i < length(plan.results()); ++i)
    if (const std::string problem = type_problem(plan, plan.results()->Get(i)->type()); !problem.empty())
      return fail("result " + std::to_string(i) + " " + problem);
  for (uint32_t i = 0; i < length(plan.launches()); ++i)
    if (const fb::Launch &launch = *plan.launches()->Get(i); !aligned_numbers(launch))
      return fail("launch " + std::to_string(i) + " '" + text(launch.name()) + "' has misaligned numbers");
  return {};
}

std::string expression_text(const fb::Plan &plan, int64_t size) {
  if (!is_expression(size))
    return std::to_string(size);
  std::string sum;
  const fb::SizeExpression *expression = plan.sizes()->Get(static_cast<uint32_t>(size - firstExpression));
  for (uint32_t i = 0; i < length(expression->terms()); ++i) {
    const fb::SizeTerm *term = expression->terms()->Get(i);
    std::string product;
    if (term->coefficient() != 1 || length(term->symbols()) == 0)
      product = std::to_string(term->coefficient());
    for (uint32_t j = 0; j < length(term->symbols()); ++j)
      product += (product.empty() ? "" : " * ") + text(plan.symbols()->Get(term->symbols()->Get(j))->name());
    sum += (sum.empty() ? "" : " + ") + product;
  }
  return expression->divisor() == 1 ? sum : "(" + sum + ") / " + std::to_string(expression->divisor());
}

Expected<std::vector<int64_t>> bind_symbols(const fb::Plan &plan,
                                            std::span<const std::vector<int64_t>> shapes) {
  const std::string function = "'" + text(plan.function()) + "': ";
  if (shapes.size() != length(plan.arguments()))
    return Status::error(function + "takes " + std::to_string(length(plan.arguments())) +
                         " arguments, found the shapes of " + std::to_string(shapes.size()));
  std::vector<std::optional<int64_t>> bound(length(plan.symbols()));
  std::vector<int64_t> values(bound.size(), 0);
  const auto complain = [&](uint32_t argument, const std::string &problem, const char *code = "") {
    return Status::error(function +
                             value_name("argument", argument, text(plan.arguments()->Get(argument)->name())) +
                             " " + problem,
                         code);
  };
  std::optional<Evaluator> evaluate;
  // First, dimensions that are only a symbol give it its value. Then all other dimensions are compared.
  for (const bool binding : {true, false})
    for (uint32_t i = 0; i < shapes.size(); ++i) {
      const auto *sizes = plan.arguments()->Get(i)->type()->shape();
      if (shapes[i].size() != length(sizes))
        return complain(i, "has " + std::to_string(shapes[i].size()) + " dimensions, expected " +
                               std::to_string(length(sizes)));
      for (uint32_t d = 0; d < length(sizes); ++d) {
        const int64_t size = sizes->Get(d), found = shapes[i][d];
        const std::string where = "has size " + std::to_string(found) + " in dimension " + std::to_string(d);
        if (binding) {
          if (!is_expression(size))
            continue;
          const auto *terms = plan.sizes()->Get(static_cast<uint32_t>(size - firstExpression))->terms();
          if (length(terms) != 1 || terms->Get(0)->coefficient() != 1 ||
              length(terms->Get(0)->symbols()) != 1)
            continue;
          const uint32_t number = terms->Get(0)->symbols()->Get(0);
          const fb::Symbol *symbol = plan.symbols()->Get(number);
          if (found < symbol->min() || found > symbol->max())
            return complain(i,
                            where + ", where '" + text(symbol->name()) + "' goes from " +
                                std::to_string(symbol->min()) + " to " + std::to_string(symbol->max()),
                            "WEFT-S001");
          if (bound[number] && *bound[number] != found)
            return complain(i, where + ", where '" + text(symbol->name()) + "' is " +
                                   std::to_string(*bound[number]) + " by an argument before it");
          bound[number] = values[number] = found;
          continue;
        }
        if (!evaluate)
          evaluate.emplace(plan.sizes(), values);
        const int64_t expected = (*evaluate)(size);
        if (evaluate->failed || expected != found)
          return complain(i, where + ", expected " + expression_text(plan, size) +
                                 (is_expression(size) ? " = " + std::to_string(expected) : ""));
      }
    }
  for (uint32_t i = 0; i < bound.size(); ++i)
    if (!bound[i])
      return Status::error(function + "no argument has a dimension that is '" +
                           text(plan.symbols()->Get(i)->name()) + "'");
  return values;
}

Expected<std::vector<uint64_t>> plan_of_numbers(const fb::Plan &plan, std::span<const int64_t> values) {
  if (values.size() != length(plan.symbols()))
    return Status::error(prefix(plan) + "has " + std::to_string(length(plan.symbols())) +
                         " symbols, found values for " + std::to_string(values.size()));
  for (uint32_t i = 0; i < values.size(); ++i) {
    const fb::Symbol *symbol = plan.symbols()->Get(i);
    if (values[i] < symbol->min() || values[i] > symbol->max())
      return Status::error(prefix(plan) + "'" + text(symbol->name()) + "' is " + std::to_string(values[i]) +
                               ", and goes from " + std::to_string(symbol->min()) + " to " +
                               std::to_string(symbol->max()),
                           "WEFT-S001");
  }
  Evaluator evaluate(plan.sizes(), values);
  fb::PlanT made;
  plan.UnPackTo(&made);
  const auto all = [&](std::vector<int64_t> &sizes) {
    for (int64_t &size : sizes)
      size = evaluate(size);
  };
  for (auto &argument : made.arguments)
    if (argument && argument->type)
      all(argument->type->shape);
  for (auto &result : made.results)
    if (result && result->type)
      all(result->type->shape);
  for (auto &buffer : made.buffers) {
    buffer->offset = evaluate(buffer->offset);
    buffer->bytes = evaluate(buffer->bytes);
  }
  for (auto &launch : made.launches)
    evaluate_launch(*launch, evaluate);
  for (auto &check : made.checks)
    check->size = evaluate(check->size);
  for (auto &device : made.devices) {
    device->arena_begin = evaluate(device->arena_begin);
    device->arena_bytes = evaluate(device->arena_bytes);
  }
  made.arena_bytes = evaluate(made.arena_bytes);
  made.arena_lower_bound_bytes = evaluate(made.arena_lower_bound_bytes);
  made.symbols.clear();
  made.sizes.clear();
  if (evaluate.failed)
    return Status::error(prefix(plan) + "a size overflows, is negative, or is not there, for the values that "
                                        "the call gives its symbols",
                         "WEFT-L008");
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &made), fb::PlanIdentifier());
  std::vector<uint64_t> bytes((builder.GetSize() + 7) / 8);
  std::memcpy(bytes.data(), builder.GetBufferPointer(), builder.GetSize());
  return bytes;
}

} // namespace weft::runtime
