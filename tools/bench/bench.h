#pragma once

// What all benches share.

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/memory/meter.h>
#include <medley/model/model.h>
#include <medley/plan/plan_in_force.h>
#include <medley/run/run.h>

namespace medley::bench {

// As long as nothing was planned.
inline PlanInForce ConfiguredPlan(const Run& run) { return {run.forms, run.Configured()}; }

// Another model's forward in other clothes; all else is that model's.
class ModelView : public Model {
 public:
  explicit ModelView(const Model& model) : Model(model.spec()), model_(model) {}

  Generated Generate(const ModelInputs& prompt, const GenerateOptions& options,
                     ForwardContext& context) const override {
    return model_.Generate(prompt, options, context);
  }
  const std::vector<Parameter>& parameters() const override { return model_.parameters(); }
  void To(at::Device, at::ScalarType) override { throw Error("a view of a model cannot move it"); }

 protected:
  const Model& model() const { return model_; }

 private:
  const Model& model_;
};

struct Cost {
  double milliseconds = 0;
  std::int64_t peak = 0;  // bytes above what was there before
};

// The forward and backward of a task's passes. The last step's gradients go before, as an optimizer's update
// would leave none.
inline Cost Step(at::Device device, const Model& model, StepExecutor& executor,
                 const StepExecutor::Piece& draw) {
  ClearGradients(model);
  const std::int64_t before = ReadMemory(device).now;
  ResetPeak(device);
  const auto start = std::chrono::steady_clock::now();
  executor.Run({draw});
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  return {spent.count(), ReadMemory(device).peak - before};
}

// Of an even number the upper one of the two in the middle. Needs a value.
inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace medley::bench
