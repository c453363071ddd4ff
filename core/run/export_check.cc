#include "export_check.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/random.h>
#include <medley/eval/eval_pass.h>

namespace medley {
namespace {

constexpr std::int64_t kCheckedWidth = 8;

// In files, on the CPU. Of an input that is given several times "in.NAME.0" and so on.
std::vector<Parameter> NamedRows(const ModelInputs& inputs, const ModelOutputs& outputs) {
  std::vector<Parameter> tensors;
  std::map<std::string, std::int64_t> times;
  for (const ModelInput& input : inputs) ++times[input.name];
  std::map<std::string, std::int64_t> seen;
  for (const ModelInput& input : inputs) {
    std::string name = "in." + input.name;
    if (times[input.name] > 1 || input.name == "images") name += "." + std::to_string(seen[input.name]++);
    tensors.push_back({name, input.tensor.detach().cpu().contiguous()});
  }
  for (const auto& [name, output] : outputs)
    tensors.push_back({"out." + name, output.detach().cpu().contiguous()});
  return tensors;
}

// Keeps the first forward.
class Watched final : public Model {
 public:
  explicit Watched(const Model& model) : Model(model.spec()), model_(model) {}

  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const override {
    ModelOutputs outputs = model_.Forward(inputs, wanted, context);
    if (rows_.empty()) rows_ = NamedRows(inputs, outputs);
    return outputs;
  }
  Generated Generate(const ModelInputs& prompt, const GenerateOptions& options,
                     ForwardContext& context) const override {
    return model_.Generate(prompt, options, context);
  }
  const std::vector<Parameter>& parameters() const override { return model_.parameters(); }
  std::int64_t vocabulary() const override { return model_.vocabulary(); }
  void To(at::Device, at::ScalarType) override { throw Error("a watched model stays where it is"); }

  const std::vector<Parameter>& rows() const { return rows_; }

 private:
  const Model& model_;
  mutable std::vector<Parameter> rows_;
};

}  // namespace

std::vector<Parameter> AgentRows(const Model& model, const ModelConfig& config) {
  const at::NoGradGuard no_grad;
  const std::int64_t size = config.Integer("image.size"), words = model.vocabulary();
  RowRandom random(HashName("check"));
  ModelInputs inputs;
  for (int image = 0; image < 2; ++image) {
    const at::Tensor picture = at::empty({kCheckedRows, 3, size, size}, at::kFloat);
    float* pixels = picture.mutable_data_ptr<float>();
    std::generate_n(pixels, picture.numel(), [&] { return static_cast<float>(random.Uniform()); });
    inputs.push_back({"images", picture, ""});
  }
  const at::Tensor tokens = at::zeros({kCheckedRows, kCheckedWidth}, at::kLong);
  std::vector<std::int64_t> lengths, supervised;
  for (std::int64_t row = 0; row < kCheckedRows; ++row) {
    lengths.push_back(kCheckedWidth - row);
    for (std::int64_t i = 0; i < lengths.back(); ++i) {
      tokens[row][i] = random.Below(words);
      if (i > 0) supervised.push_back(row * kCheckedWidth + i);
    }
  }
  inputs.push_back({"tokens", tokens, ""});
  inputs.push_back({"lengths", at::tensor(lengths, at::kLong), ""});
  inputs.push_back({"supervised", at::tensor(supervised, at::kLong), ""});
  ForwardContext context;
  return NamedRows(inputs, model.Forward(inputs, {"logits", "image"}, context));
}

std::vector<Parameter> TaskRows(const Run& run) {
  const at::NoGradGuard no_grad;
  for (const std::string& name : run.NamedTasks()) {
    LoadedTask& task = run.host->Get(run.forms.Own(name));
    const Watched watched(*run.model);
    const RowRange rows{.seed = EvalSeed(static_cast<std::uint64_t>(run.config.seed), name),
                        .count = kCheckedRows};
    PiecewiseEval context({task, watched, nullptr, run.device, kCheckedRows}, rows, [](const Batch&) {});
    task.Evaluate(context, rows);
    if (!watched.rows().empty()) return watched.rows();
  }
  throw InputError(
      "none of the run's tasks hands rows to its model, so there is nothing to check an export by");
}

}  // namespace medley
