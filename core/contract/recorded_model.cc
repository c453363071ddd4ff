#include <medley/contract/recorded_model.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include <medley/base/error.h>
#include <medley/base/random.h>
#include <medley/model/asked_losses.h>

namespace medley {
namespace {

// Numbers that look random and depend on the names alone, in [-1, 1).
at::Tensor Made(std::uint64_t stream, const std::string& name, const at::Tensor& like) {
  at::Generator generator = at::detail::createCPUGenerator(CombineSeeds(HashName(name), stream));
  return at::empty(like.sizes(), at::kDouble).uniform_(-1, 1, generator).to(like.options());
}

std::string NameOf(std::size_t row, std::size_t pass, std::string_view output) {
  return std::to_string(row) + "/" + std::to_string(pass) + "/" + std::string(output);
}

// How large its numbers are; of a masked logit, which is minus infinity, nothing.
double SizeOf(const at::Tensor& values) {
  return values.numel() == 0 ? 0 : at::nan_to_num(values, 0, 0, 0).square().mean().sqrt().item<double>();
}

// Such as a pixel or a probability.
bool IsShare(const at::Tensor& values) { return values.ge(0).logical_and(values.le(1)).all().item<bool>(); }

// What is a share stays one, and what is never below 0 (a deviation, a rate) stays there.
at::Tensor Varied(const at::Tensor& recorded, const std::string& name, at::ScalarType type) {
  const at::Tensor values = recorded.detach().to(type);
  if (values.numel() == 0) return values;
  const at::Tensor made = Made(0, name, values);
  if (IsShare(values)) return values.mul(0.5).add_(made.mul_(0.3).add_(0.5).mul_(0.5));
  if (values.ge(0).all().item<bool>()) return values.mul(made.mul_(0.5).add_(1));
  return values.add(made.mul_(std::max(0.5, SizeOf(values))));
}

at::Tensor Widened(at::Tensor one, const std::vector<std::int64_t>& sizes, bool with_zeros) {
  for (std::int64_t d = 1; d < one.dim(); ++d) {
    const std::int64_t missing = sizes[static_cast<std::size_t>(d)] - one.size(d);
    if (missing == 0) continue;
    std::vector<std::int64_t> shape = one.sizes().vec();
    shape[static_cast<std::size_t>(d)] = missing;
    const bool repeats = !with_zeros && one.size(d) > 0;
    one = at::cat(
        {one, repeats ? one.narrow(d, one.size(d) - 1, 1).expand(shape) : at::zeros(shape, one.options())},
        d);
  }
  return one;
}

// Each row's number at each of its items, to be added to what JoinRows makes of them.
at::Tensor OfItems(const at::Tensor& of_rows, const std::vector<at::Tensor>& items) {
  std::vector<at::Tensor> parts;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(items.front().dim()), 1);
  for (std::size_t i = 0; i < items.size(); ++i) {
    shape[0] = items[i].size(0);
    parts.push_back(of_rows.select(0, static_cast<std::int64_t>(i)).expand(shape));
  }
  return at::cat(parts);
}

}  // namespace

std::int64_t NumbersOf(const RowOutputs& outputs) {
  std::int64_t numbers = 0;
  for (const ModelOutputs& of_pass : outputs) {
    for (const auto& [name, output] : of_pass) numbers += output.numel();
  }
  return numbers;
}

at::Tensor JoinRows(const std::vector<at::Tensor>& of_rows, bool with_zeros) {
  std::vector<std::int64_t> sizes = of_rows.front().sizes().vec();
  for (const at::Tensor& one : of_rows) {
    if (one.dim() != of_rows.front().dim()) throw Error("an output has other dimensions in other rows");
    for (std::size_t d = 0; d < sizes.size(); ++d)
      sizes[d] = std::max(sizes[d], one.size(static_cast<std::int64_t>(d)));
  }
  std::vector<at::Tensor> wide;
  for (const at::Tensor& one : of_rows) wide.push_back(Widened(one, sizes, with_zeros));
  return at::cat(wide, 0);
}

at::Tensor InOrder(const at::Tensor& joined, const at::Tensor& order) {
  return order.defined() ? joined.index_select(0, order) : joined;
}

RecordedModel::RecordedModel(const Model& model, const std::vector<RowOutputs>& rows, bool row_by_row,
                             at::ScalarType type)
    : Model(model.spec()),
      model_(model),
      type_(type),
      parameters_({{.name = "none", .tensor = at::empty({0}, type)}}),
      rows_(rows),
      row_by_row_(row_by_row),
      alone_(rows.size(), std::vector<ModelInputs>(rows.front().size())) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (std::size_t pass = 0; pass < rows_[row].size(); ++pass) {
      for (auto& [name, output] : rows_[row][pass]) {
        if (!output.is_floating_point()) continue;
        if (!IsShare(output)) unbounded_.insert(name);
        output = Varied(output, NameOf(row, pass, name), type_);
      }
    }
  }
  handed_.resize(rows_.front().size());
}

void RecordedModel::Begin(std::int64_t first, std::int64_t count) {
  first_ = static_cast<std::size_t>(first);
  count_ = static_cast<std::size_t>(count);
  for (Handed& handed : handed_) handed = {};
}

std::vector<at::Tensor> RecordedModel::Of(std::size_t pass, std::string_view output) const {
  std::vector<at::Tensor> of_rows;
  for (std::size_t row = first_; row < first_ + count_; ++row) {
    const auto found = rows_[row][pass].find(output);
    if (found == rows_[row][pass].end()) throw Error("no row alone asked for '" + std::string(output) + "'");
    of_rows.push_back(found->second);
  }
  return of_rows;
}

std::vector<at::Tensor> RecordedModel::Directions(std::size_t pass, std::string_view output) const {
  std::vector<at::Tensor> of_rows = Of(pass, output);
  for (std::size_t i = 0; i < of_rows.size(); ++i) {
    at::Tensor& known = directions_[NameOf(first_ + i, pass, output)];
    if (!known.defined()) {
      const at::Tensor& value = of_rows[i];
      known = Made(1, NameOf(first_ + i, pass, output), value).mul_(std::max(0.1, SizeOf(value)));
    }
    of_rows[i] = known;
  }
  return of_rows;
}

at::Tensor RecordedModel::Direction(std::size_t pass, const std::string& output) const {
  return JoinRows(Directions(pass, output), /*with_zeros=*/true);
}

// [rows]: a small number of each row's inputs that carry gradient. Undefined where none does.
at::Tensor RecordedModel::Answer(const ModelInputs& inputs) const {
  at::Tensor answer;
  for (const ModelInput& input : inputs) {
    const at::Tensor& tensor = input.tensor;
    const bool counts = tensor.requires_grad() && tensor.is_floating_point() && tensor.dim() > 0 &&
                        tensor.numel() > 0 && tensor.size(0) == static_cast<std::int64_t>(count_);
    if (!counts) continue;
    const at::Tensor flat = tensor.reshape({tensor.size(0), -1}).to(type_);
    const at::Tensor weights = at::arange(flat.size(1), flat.options().requires_grad(false)).mul_(0.7).cos_();
    const at::Tensor part = flat.mul(weights).sum(1).mul(0.1 / std::sqrt(static_cast<double>(flat.size(1))));
    answer = answer.defined() ? answer.add(part) : part;
  }
  return answer;
}

// The places in JoinRows of what an input numbers: an item at place p of row i is i * width + p there, and p
// where the row is alone. Undefined where the numbers are no such ones.
at::Tensor RecordedModel::OrderBy(std::size_t input, std::int64_t width, const ModelInputs& inputs) const {
  std::vector<at::Tensor> of_rows;
  for (std::size_t i = 0; i < count_; ++i) {
    const ModelInputs& alone = alone_[first_ + i][pass_];
    if (input >= alone.size() || alone[input].tensor.dim() != 1) return {};
    of_rows.push_back(alone[input].tensor.add(static_cast<std::int64_t>(i) * width));
  }
  const at::Tensor joined = at::cat(of_rows), together = inputs[input].tensor;
  const auto [joined_sorted, joined_places] = joined.sort();
  const auto [sorted, places] = together.sort();
  if (joined_sorted.sizes() != sorted.sizes() || !joined_sorted.equal(sorted)) return {};
  return at::empty_like(places).scatter_(0, places, joined_places);
}

at::Tensor RecordedModel::OrderOf(std::string_view output, const std::vector<at::Tensor>& of_rows,
                                  const ModelInputs& inputs) const {
  const auto declared = std::ranges::find(spec().outputs, output, &TensorSpec::name);
  if (count_ == 1 || declared == spec().outputs.end() || declared->dimensions.size() == 0) return {};
  if (declared->dimensions[0] == "rows") return {};
  std::int64_t items = 0;
  for (const at::Tensor& one : of_rows) items += one.size(0);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor& numbers = inputs[i].tensor;
    if (numbers.dim() != 1 || numbers.size(0) != items || numbers.scalar_type() != at::kLong) continue;
    for (const ModelInput& text : inputs) {
      if (text.tensor.dim() < 2) continue;
      if (const at::Tensor order = OrderBy(i, text.tensor.size(1), inputs); order.defined()) return order;
    }
  }
  if (!row_by_row_) throw Error("nothing says whose the items of '" + std::string(output) + "' are");
  return {};
}

ModelOutputs RecordedModel::Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                                    ForwardContext&) const {
  Handed& handed = handed_[pass_];
  handed.inputs = inputs;
  for (ModelInput& input : handed.inputs) input.tensor = input.tensor.detach();
  if (count_ == 1) alone_[first_][pass_] = handed.inputs;
  const at::Tensor answer = level_ ? at::Tensor() : Answer(inputs);
  ModelOutputs outputs;
  const AskedLosses asked(spec(), wanted, /*of_logits=*/true);
  for (const std::string_view name : asked.wanted()) {
    const std::vector<at::Tensor> of_rows = Of(pass_, name);
    const at::Tensor order = OrderOf(name, of_rows, handed.inputs);
    if (order.defined()) handed.orders[std::string(name)] = order;
    at::Tensor output = JoinRows(of_rows);
    if (output.is_floating_point()) {
      if (level_ && unbounded_.count(name) > 0) output = at::full_like(output, *level_);
      if (step_ != 0) output = output.add(JoinRows(Directions(pass_, name), true), step_);
      output = output.detach().set_requires_grad(true);
      handed.leaves[std::string(name)] = output;
      if (answer.defined()) output = output.add(OfItems(answer, of_rows));
    }
    outputs[std::string(name)] = InOrder(output, order);
  }
  asked.AddTo(outputs, inputs);
  return outputs;
}

}  // namespace medley
