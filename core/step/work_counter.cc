#include <medley/step/work_counter.h>

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace medley {
namespace {

using OperatorInputs = c10::ArrayRef<const c10::IValue>;
using CountOperations = std::int64_t (*)(OperatorInputs);

// Sizes of an operand; none where it is no dense tensor, and then the operator counts as 0.
at::IntArrayRef SizesAt(OperatorInputs inputs, std::size_t index) {
  if (index >= inputs.size() || !inputs[index].isTensor()) return {};
  const at::Tensor& tensor = inputs[index].toTensor();
  return tensor.defined() && !tensor.is_nested() ? tensor.sizes() : at::IntArrayRef();
}

std::int64_t ProductOf(at::IntArrayRef sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

// [.., rows, inner] by [.., inner, columns]; a vector is a matrix of one column.
template <std::size_t kLeft>
std::int64_t OfProduct(OperatorInputs inputs) {
  const at::IntArrayRef left = SizesAt(inputs, kLeft), right = SizesAt(inputs, kLeft + 1);
  if (left.empty() || right.empty()) return 0;
  const std::int64_t columns = right.size() < 2 ? 1 : right.back();
  return 2 * ProductOf(left) * columns;
}

// Every element of the side with the fewer channels' sums meets a filter: of a convolution the output, of a
// transposed one the input.
std::int64_t OfConvolution(at::IntArrayRef summed, at::IntArrayRef filters) {
  if (summed.empty() || filters.empty()) return 0;
  return 2 * ProductOf(summed) * ProductOf(filters.slice(1));
}

struct ConvolutionSetting {
  std::vector<std::int64_t> stride, padding, dilation;
  bool transposed = false;
};

ConvolutionSetting ConvolutionSettingAt(OperatorInputs inputs, std::size_t index) {
  return {.stride = inputs[index].toIntVector(),
          .padding = inputs[index + 1].toIntVector(),
          .dilation = inputs[index + 2].toIntVector(),
          .transposed = inputs[index + 3].toBool()};
}

// (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
std::int64_t OfConvolutionForward(OperatorInputs inputs) {
  const at::IntArrayRef input = SizesAt(inputs, 0), filters = SizesAt(inputs, 1);
  if (input.empty() || filters.empty()) return 0;
  const ConvolutionSetting setting = ConvolutionSettingAt(inputs, 3);
  if (setting.transposed) return OfConvolution(input, filters);
  std::vector<std::int64_t> output{input[0], filters[0]};
  for (std::size_t i = 2; i < input.size(); ++i) {
    // One number may stand for all axes.
    const auto of_axis = [&](const std::vector<std::int64_t>& list) {
      return list[std::min(i - 2, list.size() - 1)];
    };
    const std::int64_t reach = of_axis(setting.dilation) * (filters[i] - 1) + 1;
    output.push_back((input[i] + 2 * of_axis(setting.padding) - reach) / of_axis(setting.stride) + 1);
  }
  return OfConvolution(output, filters);
}

// (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
// output_mask): the gradients of input and weight take a forward each.
std::int64_t OfConvolutionBackward(OperatorInputs inputs) {
  const at::IntArrayRef output = SizesAt(inputs, 0), input = SizesAt(inputs, 1);
  const bool transposed = inputs[7].toBool();
  const auto wanted = inputs[10].toBoolList();
  const std::int64_t gradients = (wanted[0] ? 1 : 0) + (wanted[1] ? 1 : 0);
  return gradients * OfConvolution(transposed ? input : output, SizesAt(inputs, 2));
}

// Queries by keys and weights by values: [rows, heads, queries, width], [rows, heads, keys, width], [rows,
// heads, keys, width of a value]. `widths`, `value_widths`: how many products of each kind there are.
std::int64_t OfAttention(OperatorInputs inputs, std::size_t query, std::int64_t widths,
                         std::int64_t value_widths) {
  const at::IntArrayRef queries = SizesAt(inputs, query), keys = SizesAt(inputs, query + 1),
                        values = SizesAt(inputs, query + 2);
  if (queries.size() < 2 || keys.size() < 2 || values.empty()) return 0;
  const std::int64_t pairs = ProductOf(queries.slice(0, queries.size() - 1)) * keys[keys.size() - 2];
  return 2 * pairs * (widths * queries.back() + value_widths * values.back());
}

std::int64_t OfAttentionForward(OperatorInputs inputs) { return OfAttention(inputs, 0, 1, 1); }

// The weights are made again from queries and keys; then the gradients of weights, values, queries, keys.
std::int64_t OfAttentionBackward(OperatorInputs inputs) { return OfAttention(inputs, 1, 3, 2); }

// What others are made of: linear, matmul and einsum end in these.
const std::unordered_map<std::string_view, CountOperations>& CountedOperators() {
  static const std::unordered_map<std::string_view, CountOperations> counted = [] {
    std::unordered_map<std::string_view, CountOperations> table = {
        {"aten::mm", OfProduct<0>},
        {"aten::bmm", OfProduct<0>},
        {"aten::mv", OfProduct<0>},
        {"aten::dot", OfProduct<0>},
        {"aten::vdot", OfProduct<0>},
        {"aten::addmm", OfProduct<1>},
        {"aten::addmm_", OfProduct<1>},
        {"aten::_addmm_activation", OfProduct<1>},
        {"aten::baddbmm", OfProduct<1>},
        {"aten::baddbmm_", OfProduct<1>},
        {"aten::addmv", OfProduct<1>},
        {"aten::addmv_", OfProduct<1>},
        {"aten::convolution", OfConvolutionForward},
        {"aten::convolution_backward", OfConvolutionBackward},
    };
    for (const char* forward :
         {"aten::_scaled_dot_product_flash_attention_for_cpu", "aten::_scaled_dot_product_flash_attention",
          "aten::_scaled_dot_product_efficient_attention", "aten::_scaled_dot_product_cudnn_attention"})
      table[forward] = OfAttentionForward;
    for (const char* backward : {"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                                 "aten::_scaled_dot_product_flash_attention_backward",
                                 "aten::_scaled_dot_product_efficient_attention_backward",
                                 "aten::_scaled_dot_product_cudnn_attention_backward"})
      table[backward] = OfAttentionBackward;
    return table;
  }();
  return counted;
}

// Callbacks are functions without a place for data.
std::atomic<WorkCounter*> listening = nullptr;

// Of operators that count: what one calls is its own work.
thread_local int counted_around = 0;

struct CountedOperator : at::ObserverContext {};

}  // namespace

struct WorkListener {
  static std::unique_ptr<at::ObserverContext> Start(const at::RecordFunction& function) {
    WorkCounter* const counter = listening;
    if (counter == nullptr) return nullptr;
    const auto found = CountedOperators().find(function.name());
    if (found == CountedOperators().end()) return nullptr;
    if (counted_around == 0) counter->operations_ += found->second(function.inputs());
    ++counted_around;
    return std::make_unique<CountedOperator>();
  }
  static void End(const at::RecordFunction&, at::ObserverContext* context) {
    if (context != nullptr) --counted_around;
  }
};

WorkCounter::WorkCounter() {
  WorkCounter* nobody = nullptr;
  const bool is_alone = listening.compare_exchange_strong(nobody, this);
  TORCH_INTERNAL_ASSERT(is_alone, "two work counters at once");
  callback_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&WorkListener::Start, &WorkListener::End)
                                             .needsInputs(true)
                                             .scopes({at::RecordScope::FUNCTION}));
}

WorkCounter::~WorkCounter() {
  at::removeCallback(callback_);
  listening = nullptr;
}

}  // namespace medley
