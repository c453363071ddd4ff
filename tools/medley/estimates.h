#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/work_progress.h>
#include <medley/estimate/advice.h>
#include <medley/estimate/estimate.h>
#include <medley/estimate/estimated_run.h>
#include <medley/run/run.h>

#include "tools/medley/arguments.h"

namespace medley {

// What the command line says.
struct EstimateArguments {
  std::string config, gpu, memory, budget, profile;
  std::vector<std::string> gpus, overrides;
  NamedPlugins plugins;
  std::int64_t ranks = 1;
  bool check = false, as_json = false, all = false;

  bool everything() const { return all || as_json; }  // rather than the answer alone
};

// What the parts of an estimate take, about: of all tasks, and of all GPUs.
inline constexpr double kRowsPart = 1, kEvaluationPart = 6, kStepsPart = 2, kGpusPart = 1, kFiguresPart = 1,
                        kCheckPart = 60;

// A run's estimates, on the CPU and on a GPU, each made when it is first asked for. Tells on stderr how far
// that is.
class Estimates {
 public:
  // Keeps the arguments' reference. Throws what EstimatedRun throws.
  Estimates(const EstimateArguments& arguments, RunInputs inputs);

  const EstimatedRun& subject() const { return subject_; }
  NamesOfForms names() const;

  // With what an evaluation takes.
  const Estimate& On(bool gpu);
  // Of steps, and of evaluations only where those are known already, as they take the most time.
  const Estimate& OfStepsOn(bool gpu);

  // Of another part of the work, which takes so much.
  Telling Tell(double part) { return work_.Next(part); }
  void HideProgress() { work_.Hide(); }

 private:
  Estimate Make(bool gpu, bool evaluated);

  const EstimateArguments& arguments_;
  WorkInParts work_;
  EstimatedRun subject_;
  std::optional<Estimate> whole_[2], steps_[2];  // on the CPU, on a GPU
};

}  // namespace medley
