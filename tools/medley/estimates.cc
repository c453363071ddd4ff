#include "tools/medley/estimates.h"

#include <utility>

#include <medley/estimate/gpu_fit.h>

namespace medley {

Estimates::Estimates(const EstimateArguments& arguments, RunInputs inputs)
    : arguments_(arguments),
      work_(kRowsPart + kEvaluationPart + kStepsPart + kGpusPart +
            (arguments.everything() ? kEvaluationPart + kStepsPart + kFiguresPart : 0) +
            (arguments.check ? kCheckPart : 0)),
      subject_(std::move(inputs), work_.Next(kRowsPart)) {
  if (!arguments.memory.empty()) subject_.AssumeAnyCpu();  // which names another machine
}

NamesOfForms Estimates::names() const { return FormNames(subject_.run().forms, subject_.run().curriculum); }

const Estimate& Estimates::On(bool gpu) {
  std::optional<Estimate>& whole = whole_[gpu ? 1 : 0];
  if (!whole) whole.emplace(Make(gpu, /*evaluated=*/true));
  return *whole;
}

const Estimate& Estimates::OfStepsOn(bool gpu) {
  if (const std::optional<Estimate>& whole = whole_[gpu ? 1 : 0]) return *whole;
  std::optional<Estimate>& steps = steps_[gpu ? 1 : 0];
  if (!steps) steps.emplace(Make(gpu, /*evaluated=*/false));
  return *steps;
}

Estimate Estimates::Make(bool gpu, bool evaluated) {
  std::vector<EstimatedTask> tasks = subject_.Tasks(gpu);
  if (evaluated) subject_.AddEvaluation(tasks, gpu, work_.Next(kEvaluationPart));
  if (!arguments_.profile.empty()) subject_.UseProfile(arguments_.profile, tasks);
  return subject_.Of(std::move(tasks), gpu, arguments_.ranks, work_.Next(kStepsPart));
}

}  // namespace medley
