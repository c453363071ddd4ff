#include <ATen/core/grad_mode.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/product_workspace.h>
#include <medley/model/forward_sizes.h>
#include <medley/step/step_executor.h>
#include <medley/testing/caught.h>
#include <medley/testing/checks.h>
#include <medley/testing/gradients.h>
#include <medley/testing/training_context.h>

namespace medley::check {
namespace {

constexpr double kMostOfATask = 1.1;  // times what is counted: of a few rows a model's odds and ends are more

// Hands each forward on to a model, and keeps what it was asked.
class Listener final : public Model {
 public:
  struct Asked {
    ModelInputs inputs;
    std::vector<std::string> outputs;
  };

  explicit Listener(const Model& model) : Model(model.spec()), model_(model) {}

  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const override {
    Asked& now = asked_.emplace_back(Asked{inputs, {wanted.begin(), wanted.end()}});
    for (ModelInput& input : now.inputs) input.tensor = input.tensor.detach();
    return model_.Forward(inputs, wanted, context);
  }
  const std::vector<Parameter>& parameters() const override { return model_.parameters(); }
  std::int64_t vocabulary() const override { return model_.vocabulary(); }
  void To(at::Device, at::ScalarType) override {}

  const std::vector<Asked>& asked() const { return asked_; }

 private:
  const Model& model_;
  mutable std::vector<Asked> asked_;
};

bool HasFootprint(const Model& model, const ForwardShape& shape) try {
  model.Footprint(shape);
  return true;
} catch (const InputError&) {
  return false;
}

}  // namespace

std::int64_t PeakBytes(const std::function<void()>& fn) {
  InstallCpuAllocator();
  const std::int64_t before = ReadCpuMemory().now;
  ResetCpuPeak();
  fn();
  return ReadCpuMemory().peak - before;
}

ForwardBytes MeasuredBytes(const Model& model, const ModelInputs& inputs, const WantedOutputs& wanted,
                           const ForwardShape& shape) {
  InstallCpuAllocator();
  TrainingContext context(0, shape.rows);
  const at::AutoGradMode graph(shape.with_graph);
  model.Forward(inputs, wanted, context);  // whatever is made once is there
  const std::int64_t before = ReadCpuMemory().now;
  ModelOutputs outputs;
  const std::int64_t peak = PeakBytes([&] { outputs = model.Forward(inputs, wanted, context); });
  return {.held = ReadCpuMemory().now - before, .peak = peak};
}

ForwardBytes FootprintBytes(const Model& model, const ForwardShape& shape) {
  InstallCpuAllocator();
  const ProductWorkspace products = WorkspaceOf(model.parameters());
  ForwardBytes bytes;
  for (ForwardPart& part : model.Footprint(shape)) {
    products.AddTo(part);
    bytes.held += part.kept;
    bytes.peak = std::max(bytes.peak, bytes.held + part.forward);
  }
  return bytes;
}

Findings Footprint(const Model& model, const ModelInputs& inputs, const WantedOutputs& wanted,
                   const ForwardShape& shape, double most) {
  const ForwardBytes measured = MeasuredBytes(model, inputs, wanted, shape);
  const ForwardBytes said = FootprintBytes(model, shape);
  const auto words = [](const char* what, std::int64_t of_model, std::int64_t counted) {
    return std::string("the footprint of a forward ") + what + " " + std::to_string(of_model) +
           " bytes, counted were " + std::to_string(counted);
  };
  Findings findings;
  if (said.peak < measured.peak) findings.push_back(words("peaks at", said.peak, measured.peak));
  const bool held_fits =
      !shape.with_graph || (said.held >= measured.held &&
                            static_cast<double>(said.held) <= most * static_cast<double>(measured.held));
  if (!held_fits) findings.push_back(words("holds", said.held, measured.held));
  return findings;
}

namespace {

Findings FootprintOfPasses(LoadedTask& task, const Model& model) {
  Listener listener(model);
  StepExecutor executor(listener, at::kCPU);
  const Batch rows = task.Sample({.seed = 1, .begin = 100, .count = 4, .longest = true});
  const Execution plan{.way = {DefaultMode(task.variant()), 0}};
  executor.Run({{.task = &task, .batch = &rows, .execution = &plan}});
  TakeGradient(listener);
  Findings findings;
  for (const Listener::Asked& asked : listener.asked()) {
    // A model computes no more than the longest row, which may be shorter than what it was handed.
    const SeenSizes seen = LongestSizesOf(model.spec(), asked.inputs);
    const ForwardShape shape{
        .rows = seen.rows, .sizes = seen.sizes, .outputs = {asked.outputs.begin(), asked.outputs.end()}};
    if (!HasFootprint(model, shape)) return {};
    for (std::string found :
         Footprint(model, asked.inputs, {asked.outputs.begin(), asked.outputs.end()}, shape, kMostOfATask)) {
      found = "task '" + task.info().name + "': " + found;
      if (std::ranges::find(findings, found) == findings.end()) findings.push_back(found);
    }
  }
  return findings;
}

}  // namespace

Findings Footprint(LoadedTask& task, const Model& model) {
  return Caught([&](Findings& findings) { findings = FootprintOfPasses(task, model); });
}

}  // namespace medley::check
