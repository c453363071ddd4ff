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

#include <medley/memory/batch_bytes.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/task/pass_context.h>
#include <medley/task/pass_images.h>

namespace medley {
namespace {

// Bytes of the logits of one item.
std::int64_t LogitBytes(const Model& model) {
  std::int64_t bytes = 0;
  for (const ForwardPart& part : model.Footprint({.rows = 1, .text_width = 2, .supervised = 1}))
    bytes += part.logits;
  return bytes;
}

// Runs a task's passes without a model: grey pictures and empty logits come back, with a graph behind them.
class PassWithoutModel : public PassContext {
 public:
  PassWithoutModel(LoadedTask& task, const Batch& rows, std::int64_t image_size, std::int64_t vocabulary)
      : task_(task),
        batch_(rows),
        images_(rows, at::kFloat),
        image_size_(image_size),
        vocabulary_(vocabulary) {
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
    if (std::find(used.begin(), used.end(), column) == used.end()) used.emplace_back(column);
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

  // Forgets the pass before; its carries stay as pictures.
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
  std::int64_t image_size_, vocabulary_, outputs_ = 0;
  PassShape* pass_ = nullptr;
};

ModelOutputs PassWithoutModel::Forward(const ModelInputs& inputs, const WantedOutputs& wanted) {
  const std::int64_t rows = batch_.size();
  ModelOutputs outputs;
  for (const ModelInput& input : inputs) {
    if (input.name == "tokens") pass_->text_width = input.tensor.size(1);
    if (input.name == "lengths") pass_->longest = input.tensor.max().item<std::int64_t>();
    if (input.name == "supervised") pass_->items = (input.tensor.numel() + rows - 1) / rows;
    if (input.name == "supervised") outputs["targets"] = at::zeros({input.tensor.numel()}, at::kLong);
  }
  for (const std::string_view output : wanted) {
    if (output == "image") outputs["image"] = Made({rows, 3, image_size_, image_size_});
    if (output == "logits") outputs["logits"] = Made({outputs.at("targets").numel(), vocabulary_});
    if (output != "targets") outputs_ += static_cast<std::int64_t>(outputs.at(std::string(output)).nbytes());
  }
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

// Carries, `carried` bytes, are counted by who knows when they end.
LossBytes Measure(LoadedTask& task, PassWithoutModel& context, const PassShape& pass, std::int64_t carried) {
  LossBytes loss;
  const std::int64_t before = ReadCpuMemory().now;
  ResetCpuPeak();
  const Sums sums = task.Run(pass.name, context);
  const CpuMemory made = ReadCpuMemory();
  loss.forward = made.peak - before - context.outputs();
  loss.kept = made.now - before - context.outputs() - carried;
  ResetCpuPeak();
  Backward(sums);
  loss.backward = ReadCpuMemory().peak - made.now;
  return loss;
}

}  // namespace

TaskShape ShapeOf(LoadedTask& task, const Batch& rows, std::int64_t image_size, const Model& model) {
  const at::AutoGradMode with_graph(true);
  const std::int64_t count = rows.size(), pixels = 3 * image_size * image_size * std::int64_t{sizeof(float)};
  const auto a_row = [&](std::int64_t bytes) {
    return bytes >= 0 ? (bytes + count - 1) / count : bytes / count;
  };
  TaskShape shape{.passes = {}, .row_bytes = a_row(BytesOf(rows)), .picture_bytes = pixels, .constants = 0};
  for (const ConstantInfo& constant : task.info().constants) {
    shape.constants += std::int64_t{constant.rows} * constant.width * (constant.dtype == "int64" ? 8 : 4);
    task.Constant(constant.name, at::kCPU);  // made here, it is no part of a pass
  }
  PassWithoutModel context(task, rows, image_size, LogitBytes(model) / std::int64_t{sizeof(float)});
  for (const PassInfo& info : task.variant().passes) {
    PassShape& pass = shape.passes.emplace_back(PassShape{.name = info.name,
                                                          .images = info.images,
                                                          .carries = info.carries,
                                                          .pictures = {},
                                                          .decodes_image = info.decodes_image});
    context.Begin(pass);
    const LossBytes all =
        Measure(task, context, pass, static_cast<std::int64_t>(info.carries.size()) * count * pixels);
    pass.loss = {.kept = a_row(all.kept), .forward = a_row(all.forward), .backward = a_row(all.backward)};
  }
  return shape;
}

TaskShape Widest(TaskShape a, const TaskShape& b) {
  const auto take = [](std::int64_t& mine, std::int64_t other) { mine = std::max(mine, other); };
  take(a.row_bytes, b.row_bytes);
  take(a.constants, b.constants);
  for (std::size_t i = 0; i < a.passes.size() && i < b.passes.size(); ++i) {
    PassShape& mine = a.passes[i];
    const PassShape& other = b.passes[i];
    take(mine.text_width, other.text_width);
    take(mine.longest, other.longest);
    take(mine.items, other.items);
    take(mine.loss.kept, other.loss.kept);
    take(mine.loss.forward, other.loss.forward);
    take(mine.loss.backward, other.loss.backward);
  }
  return a;
}

}  // namespace medley
