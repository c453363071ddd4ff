#include <medley/estimate/estimated_evaluation.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>
#include <vector>

#include <medley/eval/eval_pass.h>
#include <medley/eval/evaluator.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/product_workspace.h>
#include <medley/model/device.h>
#include <medley/model/float_type.h>
#include <medley/model/forward_sizes.h>
#include <medley/step/passes/pass_runner.h>

namespace medley {
namespace {

// An input that comes several times is encoded by itself, and shared by its key.
bool IsEncoded(const ModelSpec& spec, const ModelInput& input) {
  return std::ranges::any_of(spec.inputs, [&](const TensorSpec& declared) {
    return declared.name == input.name && !declared.times.empty();
  });
}

class HollowModel : public Model {
 public:
  HollowModel(const Model& model, const ModelConfig& config, bool on_gpu, bool any_cpu)
      : Model(model.spec()), model_(model), config_(config), on_gpu_(on_gpu) {
    model.Footprint({});  // which is an error where it has none
    if (!on_gpu)
      products_ = any_cpu ? LargestWorkspaceOf(model.parameters()) : WorkspaceOf(model.parameters());
  }

  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const override;
  Generated Generate(const ModelInputs& prompt, const GenerateOptions& options,
                     ForwardContext& context) const override;

  const std::vector<Parameter>& parameters() const override { return model_.parameters(); }
  std::int64_t vocabulary() const override { return model_.vocabulary(); }
  void To(at::Device, at::ScalarType) override {}

 private:
  ForwardShape ShapeOf(const ModelInputs& inputs) const;
  void Run(const ForwardShape& shape, const ModelInputs& inputs, ForwardContext& context) const;
  at::Tensor Made(const TensorSpec& output, const SeenSizes& seen) const {
    const auto dimensions = DimensionsOf(output, seen, config_, vocabulary());
    return output.dtype == "float" ? at::full(dimensions, 0.5, AtLeastFloat(FloatTypeOf(model_)))
                                   : at::zeros(dimensions, TypeOf(output, at::kFloat));
  }

  const Model& model_;
  const ModelConfig& config_;
  bool on_gpu_;
  std::optional<ProductWorkspace> products_;  // on the CPU
};

ForwardShape HollowModel::ShapeOf(const ModelInputs& inputs) const {
  const SeenSizes seen = on_gpu_ ? SizesOf(spec(), inputs) : LongestSizesOf(spec(), inputs);
  return {.rows = seen.rows, .sizes = seen.sizes, .with_graph = false, .on_gpu = on_gpu_};
}

// Allocates the widest moment of the parts that belong to the image; -1: of those that belong to none.
// Returns the bytes that are left of the last one.
std::int64_t Touch(const std::vector<ForwardPart>& parts, int image) {
  std::int64_t kept = 0, peak = 0, last = 0;
  for (const ForwardPart& part : parts) {
    if (part.image != image) continue;
    kept += part.kept;
    peak = std::max(peak, kept + part.forward);
    last = part.kept;
  }
  at::empty({peak}, at::kByte);
  return last;
}

// The memory is never written to: pages that nobody touches are not there.
void HollowModel::Run(const ForwardShape& shape, const ModelInputs& inputs, ForwardContext& context) const {
  std::vector<ForwardPart> parts = model_.Footprint(shape);
  for (ForwardPart& part : parts) {
    if (products_) products_->AddTo(part);
  }
  std::vector<at::Tensor> encodings;
  for (const ModelInput& input : inputs) {
    if (!IsEncoded(spec(), input)) continue;
    const auto encode = [&, index = static_cast<int>(encodings.size())] {
      return at::empty({Touch(parts, index)}, at::kByte);
    };
    encodings.push_back(input.key.empty() ? encode() : context.Shared(input.key, encode));
  }
  Touch(parts, -1);
}

ModelOutputs HollowModel::Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                                  ForwardContext& context) const {
  ForwardShape shape = ShapeOf(inputs);
  shape.outputs = {wanted.begin(), wanted.end()};
  Run(shape, inputs, context);
  const SeenSizes seen = SizesOf(spec(), inputs);
  ModelOutputs outputs;
  for (const TensorSpec& output : spec().outputs) {
    const std::string name(output.name);
    if (output.dtype != "float" || shape.outputs.count(name) > 0) outputs[name] = Made(output, seen);
  }
  return outputs;
}

Generated HollowModel::Generate(const ModelInputs& prompt, const GenerateOptions& options,
                                ForwardContext& context) const {
  ForwardShape shape = ShapeOf(prompt);
  SeenSizes seen = SizesOf(spec(), prompt);
  for (const ModelSize& size : spec().sizes) {
    const std::string name(size.name);
    if (size.ragged) shape.sizes[name] = shape.rows;  // the last token of each
    if (!size.lengths.empty()) shape.cached = seen.sizes[name] + options.max_new_tokens;
  }
  Run(shape, prompt, context);
  Generated generated{.tokens = std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(shape.rows)),
                      .image = {}};
  if (!options.decode_image) return generated;
  for (const ModelSize& size : spec().sizes) {
    const std::string name(size.name);
    if (size.ragged) shape.sizes[name] = 0;
    if (!size.lengths.empty()) shape.sizes[name] = shape.cached;  // all of it, beside what is kept
  }
  shape.outputs = {"image"};
  Run(shape, prompt, context);
  for (const TensorSpec& output : spec().outputs) {
    if (output.name == "image") generated.image = Made(output, seen);
  }
  return generated;
}

// All rows in one piece, and behind the task's own look at it the losses of its passes.
class OnePiece : public EvalContext {
 public:
  OnePiece(LoadedTask& task, const Model& model) : task_(task), model_(model) {}

  void ForEachPiece(const RowRange& rows, const std::function<void(EvalPass&)>& fn) override {
    const Batch batch = task_.Sample(rows);
    {
      EvalPiece piece(task_, model_, /*references=*/nullptr, at::kCPU, batch);
      fn(piece);
    }
    MicroBatch micro({.task = task_, .model = model_, .device = at::kCPU}, batch);
    for (const PassInfo& pass : task_.variant().passes) {
      micro.RunPass(pass);
      micro.PassDone(pass);
    }
  }

 private:
  LoadedTask& task_;
  const Model& model_;
};

}  // namespace

std::unique_ptr<Model> MakeHollow(const Model& model, const ModelConfig& config, bool on_gpu, bool any_cpu) {
  return std::make_unique<HollowModel>(model, config, on_gpu, any_cpu);
}

std::int64_t EvaluationPeak(LoadedTask& task, const Model& model, std::uint64_t task_seed,
                            std::int64_t rows) {
  const at::NoGradGuard no_grad;
  for (const ConstantInfo& constant : task.info().constants) task.Constant(constant.name, at::kCPU);
  OnePiece context(task, model);
  const std::int64_t before = ReadCpuMemory().now;
  ResetCpuPeak();
  const KeepGenerators keep(at::kCPU);
  task.Evaluate(context, {.seed = task_seed, .count = rows, .longest = true, .split = Split::kHeldOut});
  return ReadCpuMemory().peak - before;
}

PeakLines EvaluationLines(LoadedTask& task, const Model& hollow, std::uint64_t task_seed) {
  // Rows of a task may be of several kinds that take turns: so much may lie in another place.
  constexpr std::int64_t kSlack = 4096, kMostBytes = std::int64_t{1} << 30;
  std::vector<Probe> probes;
  const auto measure = [&](std::int64_t rows) {
    probes.push_back({rows, EvaluationPeak(task, hollow, task_seed, rows) + kSlack});
  };
  measure(1);
  // What is a copy for several rows may be a view for one. Eight rows are kept to be looked at: what is kept
  // grows up to there and no further, and just beyond another moment may become the widest. Where the model
  // is so large that this weighs nothing, a few rows do.
  const bool is_large = probes[0].bytes > kMostBytes / kEvalRows;
  for (const std::int64_t rows :
       is_large ? std::vector<std::int64_t>{2, 4} : std::vector<std::int64_t>{2, 8, 10, kEvalRows})
    measure(rows);
  return PeakLines(probes);
}

}  // namespace medley
