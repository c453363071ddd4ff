#include <medley/estimate/estimated_evaluation.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <medley/eval/eval_pass.h>
#include <medley/eval/evaluator.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/device.h>
#include <medley/step/passes/pass_runner.h>

namespace medley {
namespace {

std::vector<const ModelInput*> All(const ModelInputs& inputs, std::string_view name) {
  std::vector<const ModelInput*> found;
  for (const ModelInput& input : inputs) {
    if (input.name == name) found.push_back(&input);
  }
  return found;
}

bool Wants(const WantedOutputs& wanted, std::string_view name) {
  return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

class HollowModel : public Model {
 public:
  HollowModel(const Model& model, std::int64_t image_size, bool on_gpu)
      : model_(model), image_size_(image_size), on_gpu_(on_gpu) {
    for (const ForwardPart& part : model_.Footprint({.rows = 1, .text_width = 2, .supervised = 1}))
      logit_bytes_ += part.logits;
  }

  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const override;
  Generated Generate(const ModelInputs& prompt, const GenerateOptions& options,
                     ForwardContext& context) const override;

  const std::vector<Parameter>& parameters() const override { return model_.parameters(); }
  std::vector<std::string_view> input_names() const override { return model_.input_names(); }
  std::vector<std::string_view> output_names() const override { return model_.output_names(); }
  void To(at::Device, at::ScalarType) override {}

 private:
  ForwardShape ShapeOf(const ModelInputs& inputs, bool decodes_image) const;
  void Run(const ForwardShape& shape, const ModelInputs& inputs, ForwardContext& context) const;
  at::Tensor Picture(std::int64_t rows) const {
    return at::full({rows, 3, image_size_, image_size_}, 0.5, FloatTypeOf(model_));
  }

  const Model& model_;
  std::int64_t image_size_, logit_bytes_ = 0;
  bool on_gpu_;
};

ForwardShape HollowModel::ShapeOf(const ModelInputs& inputs, bool decodes_image) const {
  const at::Tensor& tokens = All(inputs, "tokens").at(0)->tensor;
  const at::Tensor& lengths = All(inputs, "lengths").at(0)->tensor;
  return {.rows = tokens.size(0),
          .images = static_cast<std::int64_t>(All(inputs, "images").size()),
          .text_width = on_gpu_ ? tokens.size(1) : lengths.max().item<std::int64_t>(),
          .decodes_image = decodes_image,
          .with_graph = false,
          .on_gpu = on_gpu_};
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
  const std::vector<ForwardPart> parts = model_.Footprint(shape);
  std::vector<at::Tensor> encodings;
  for (const ModelInput* image : All(inputs, "images")) {
    const auto encode = [&, index = static_cast<int>(encodings.size())] {
      return at::empty({Touch(parts, index)}, at::kByte);
    };
    encodings.push_back(image->key.empty() ? encode() : context.Shared(image->key, encode));
  }
  Touch(parts, -1);
}

ModelOutputs HollowModel::Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                                  ForwardContext& context) const {
  ForwardShape shape = ShapeOf(inputs, Wants(wanted, "image"));
  ModelOutputs outputs;
  if (const auto supervised = All(inputs, "supervised"); !supervised.empty() && Wants(wanted, "logits"))
    shape.supervised = supervised[0]->tensor.numel();
  Run(shape, inputs, context);
  if (shape.decodes_image) outputs["image"] = Picture(shape.rows);
  if (!Wants(wanted, "logits")) return outputs;
  outputs["targets"] = at::zeros({shape.supervised}, at::kLong);
  outputs["logits"] = at::zeros({shape.supervised, logit_bytes_ / std::int64_t{sizeof(float)}}, at::kFloat);
  return outputs;
}

Generated HollowModel::Generate(const ModelInputs& prompt, const GenerateOptions& options,
                                ForwardContext& context) const {
  ForwardShape shape = ShapeOf(prompt, /*decodes_image=*/false);
  shape.supervised = shape.rows;  // the last token of each
  shape.cached = All(prompt, "tokens")[0]->tensor.size(1) + options.max_new_tokens;
  Run(shape, prompt, context);
  Generated generated{.tokens = std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(shape.rows)),
                      .image = {}};
  if (!options.decode_image) return generated;
  shape.text_width = shape.cached;  // the whole text, beside the keys and values
  shape.supervised = 0;
  shape.decodes_image = true;
  Run(shape, prompt, context);
  generated.image = Picture(shape.rows);
  return generated;
}

// All rows in one piece, and behind the task's own look at it the losses of its passes.
class OnePiece : public EvalContext {
 public:
  OnePiece(LoadedTask& task, const Model& model) : task_(task), model_(model) {}

  void ForEachPiece(const RowRange& rows, const std::function<void(EvalPass&)>& fn) override {
    const Batch batch = task_.Sample(rows);
    {
      EvalPiece piece(task_, model_, at::kCPU, batch);
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

std::unique_ptr<Model> MakeHollow(const Model& model, std::int64_t image_size, bool on_gpu) {
  return std::make_unique<HollowModel>(model, image_size, on_gpu);
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
