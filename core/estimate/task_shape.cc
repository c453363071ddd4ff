#include <medley/estimate/task_shape.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <medley/memory/cpu_allocator.h>
#include <medley/memory/meter.h>
#include <medley/model/asked_losses.h>
#include <medley/model/forward_sizes.h>
#include <medley/task/pass_context.h>
#include <medley/task/pass_images.h>

namespace medley {
namespace {

// Runs a task's passes without a model: what its spec says comes back, all halves, with a graph behind it.
class PassWithoutModel : public PassContext {
 public:
  PassWithoutModel(LoadedTask& task, const Batch& rows, const Model& model, const ModelConfig& config)
      : task_(task), batch_(rows), images_(rows, at::kFloat), model_(model), config_(config) {
    for (const auto& [name, column] : rows.columns()) {  // made here, they are no part of a pass
      if (IsPicture(column)) images_.Pixels(name);
    }
  }

  static bool IsPicture(const at::Tensor& column) {
    return column.dim() == 4 && column.scalar_type() == at::kByte;
  }

  const Batch& batch() const override { return batch_; }
  at::Tensor Constant(std::string_view name) override { return task_.Constant(name, at::kCPU); }
  at::Tensor Pixels(std::string_view column) override {
    std::vector<std::string>& used = pass_->pictures;
    if (std::ranges::find(used, column) == used.end()) used.emplace_back(column);
    return images_.Pixels(column);
  }
  ModelInput Image(std::string_view name) override {
    if (!images_.Carried(name).defined()) Pixels(name);
    return images_.Image(name);
  }
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted) override;
  void Carry(std::string_view name, at::Tensor value) override { images_.Carry(name, std::move(value)); }
  at::Tensor Carried(std::string_view name) override { return images_.carries().at(std::string(name)); }

  // Bytes of the outputs of the pass, which the model's footprint has.
  std::int64_t outputs() const { return outputs_; }
  // Of the carries that it made.
  std::int64_t CarriedBytes() const {
    std::int64_t bytes = 0;
    for (const std::string& name : pass_->carries)
      bytes += static_cast<std::int64_t>(images_.carries().at(name).nbytes());
    return bytes;
  }

  // Forgets the pass before; what it handed on stays.
  void Begin(PassShape& pass) {
    pass_ = &pass;
    outputs_ = 0;
    for (const auto& [name, carry] : images_.carries()) images_.Carry(name, carry.detach());
  }

 private:
  // Values that come from somewhere: the graph holds nothing of them.
  at::Tensor Made(at::IntArrayRef shape) const {
    const at::Tensor source = at::full({1}, 0.5, at::kFloat).set_requires_grad(true);
    return source.expand(shape).clone();
  }

  LoadedTask& task_;
  const Batch& batch_;
  PassImages images_;
  const Model& model_;
  const ModelConfig& config_;
  std::int64_t outputs_ = 0;
  PassShape* pass_ = nullptr;
};

// A ragged size of one row.
ForwardSizes OfOneRow(const ModelSpec& spec, SeenSizes seen) {
  const std::int64_t rows = std::max<std::int64_t>(seen.rows, 1);
  for (const ModelSize& size : spec.sizes) {
    std::int64_t& items = seen.sizes[std::string(size.name)];
    if (size.ragged) items = (items + rows - 1) / rows;
  }
  return std::move(seen.sizes);
}

ModelOutputs PassWithoutModel::Forward(const ModelInputs& inputs, const WantedOutputs& wanted) {
  const ModelSpec& spec = model_.spec();
  const SeenSizes seen = SizesOf(spec, inputs);
  pass_->sizes = OfOneRow(spec, seen);
  pass_->longest = OfOneRow(spec, LongestSizesOf(spec, inputs));
  const AskedLosses asked(spec, wanted);
  pass_->outputs.insert(asked.wanted().begin(), asked.wanted().end());
  ModelOutputs outputs;
  for (const TensorSpec& output : spec.outputs) {
    const std::string name(output.name);
    const auto dimensions = [&] { return DimensionsOf(output, seen, config_, model_.vocabulary()); };
    if (output.dtype != "float") {  // comes for nothing, wanted or not
      outputs[name] = at::zeros(dimensions(), TypeOf(output, at::kFloat));
    } else if (pass_->outputs.count(name) > 0) {
      outputs[name] = Made(dimensions());
      outputs_ += static_cast<std::int64_t>(outputs[name].nbytes());
    }
  }
  asked.AddTo(outputs, inputs);
  return outputs;
}

void Backward(const Sums& sums) {
  std::vector<at::Tensor> roots, seeds;
  for (const auto& [term, sum] : sums) {
    if (!sum.requires_grad()) continue;
    roots.push_back(sum);
    seeds.push_back(at::ones_like(sum));
  }
  if (!roots.empty()) torch::autograd::backward(roots, seeds);
}

// Carries are counted by who knows when they end.
LossBytes Measure(LoadedTask& task, PassWithoutModel& context, const PassShape& pass) {
  LossBytes loss;
  const std::int64_t before = ReadCpuMemory().now;
  ResetCpuPeak();
  const at::AutoGradMode graph(pass.has_gradient);
  const Sums sums = task.Run(pass.name, context);
  const CpuMemory made = ReadCpuMemory();
  loss.forward = made.peak - before - context.outputs();
  loss.kept = made.now - before - context.outputs() - context.CarriedBytes();
  ResetCpuPeak();
  Backward(sums);
  loss.backward = ReadCpuMemory().peak - made.now;
  return loss;
}

}  // namespace

TaskShape ShapeOf(LoadedTask& task, const Batch& rows, const Model& model, const ModelConfig& config) {
  const at::AutoGradMode with_graph(true);
  const std::int64_t count = rows.size();
  const auto a_row = [&](std::int64_t bytes) {
    return bytes >= 0 ? (bytes + count - 1) / count : bytes / count;
  };
  TaskShape shape{.passes = {}, .row_bytes = a_row(BytesOf(rows)), .picture_bytes = 0, .constants = 0};
  const auto see = [&](std::int64_t bytes) {
    shape.picture_bytes = std::max(shape.picture_bytes, a_row(bytes));
  };
  for (const auto& [name, column] : rows.columns()) {
    if (PassWithoutModel::IsPicture(column)) see(column.numel() * std::int64_t{sizeof(float)});
  }
  for (const ConstantInfo& constant : task.info().constants) {
    shape.constants += std::int64_t{constant.rows} * constant.width * (constant.dtype == "int64" ? 8 : 4);
    task.Constant(constant.name, at::kCPU);  // made here, it is no part of a pass
  }
  shape.shared = task.SharedTableBytes();
  const Batch moved = rows.To(at::kCPU);
  PassWithoutModel context(task, moved, model, config);
  for (const PassInfo& info : task.variant().passes) {
    PassShape& pass = shape.passes.emplace_back(PassShape{.name = info.name,
                                                          .images = info.images,
                                                          .carries = info.carries,
                                                          .has_gradient = info.HasGradient(),
                                                          .pictures = {}});
    context.Begin(pass);
    const LossBytes all = Measure(task, context, pass);
    for (const std::string& kept : info.keeps)
      pass.kept += a_row(static_cast<std::int64_t>(context.Carried(kept).nbytes()));
    for (const std::string& carry : pass.carries)
      see(static_cast<std::int64_t>(context.Carried(carry).nbytes()));
    pass.loss = {.kept = a_row(all.kept), .forward = a_row(all.forward), .backward = a_row(all.backward)};
  }
  return shape;
}

TaskShape Widest(TaskShape a, const TaskShape& b) {
  const auto take = [](std::int64_t& mine, std::int64_t other) { mine = std::max(mine, other); };
  take(a.row_bytes, b.row_bytes);
  take(a.picture_bytes, b.picture_bytes);
  take(a.constants, b.constants);
  for (std::size_t i = 0; i < a.passes.size() && i < b.passes.size(); ++i) {
    PassShape& mine = a.passes[i];
    const PassShape& other = b.passes[i];
    for (const auto& [name, size] : other.sizes) take(mine.sizes[name], size);
    for (const auto& [name, size] : other.longest) take(mine.longest[name], size);
    take(mine.kept, other.kept);
    take(mine.loss.kept, other.loss.kept);
    take(mine.loss.forward, other.loss.forward);
    take(mine.loss.backward, other.loss.backward);
  }
  return a;
}

}  // namespace medley
