#include <medley/testing/checks.h>

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include <medley/base/error.h>
#include <medley/eval/evaluator.h>
#include <medley/eval/score_report.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/run/run.h>
#include <medley/step/contract/contract_check.h>
#include <medley/testing/training_context.h>

namespace medley::check {
namespace {

constexpr std::uint64_t kRunSeed = 3;

std::string Words(const Interval& interval) {
  return std::to_string(interval.value) + " (" + FormatInterval(interval) + ")";
}

// By how much the score is better than chance, in halves of its 95 % interval.
double AboveChance(const TaskScore& score) {
  const double sign = score.higher_is_better ? 1 : -1;
  const double half =
      score.higher_is_better ? score.score.value - score.score.low : score.score.high - score.score.value;
  return sign * (score.score.value - *score.chance) / half;
}

}  // namespace

struct Bench::Parts {
  std::unique_ptr<Run> run;
};

Bench::Bench(const std::filesystem::path& run_config, const std::vector<std::filesystem::path>& plugins,
             const std::vector<std::string>& overrides)
    : parts_(std::make_unique<Parts>()) {
  std::vector<std::string> on_cpu = overrides;
  on_cpu.emplace_back("device=cpu");
  parts_->run =
      BuildRun(CheckInputs(run_config, on_cpu, {.paths = plugins, .remember = false}), Purpose::kUse);
}

Bench::~Bench() = default;

LoadedTask& Bench::Task(std::string_view name) const { return parts_->run->host->Get(name); }

Model& Bench::model() const { return *parts_->run->model; }

Findings Contract(LoadedTask& task, const Model& model) {
  try {
    ContractCheck(model, at::kCPU)
        .Check(task, {.seed = TaskSeed(kRunSeed, task.info().name), .begin = 100, .count = 1});
  } catch (const Error& error) {
    return {error.what()};
  }
  return {};
}

Findings Score(LoadedTask& task, const Model& model, std::int64_t rows) {
  const TaskScore score = ScoreTask(task, {}, {model, at::kCPU, kRunSeed, rows});
  const std::string of_task = "task '" + task.info().name + "': ";
  Findings findings;
  if (std::isnan(score.score.value)) findings.push_back(NoScoreWords(task.info().name, score));
  if (!std::isfinite(score.loss))
    findings.push_back(of_task + "the held-out loss is " + std::to_string(score.loss));
  constexpr double kClearly = 2;
  if (score.chance && AboveChance(score) > kClearly) {
    findings.push_back(of_task + "a model that has learned nothing scores " + Words(score.score) +
                       ", and chance is said to be " + std::to_string(*score.chance) +
                       "; is the answer among the inputs, or is the chance of the spec wrong?");
  }
  return findings;
}

Findings All(LoadedTask& task, Model& model) {
  Findings findings = Contract(task, model);
  if (!findings.empty()) return findings;  // what follows would only say it again
  for (Findings& more : std::vector<Findings>{Gradients(task, model), Score(task, model)})
    findings.insert(findings.end(), more.begin(), more.end());
  return findings;
}

ForwardBytes MeasuredBytes(const Model& model, const ModelInputs& inputs, const WantedOutputs& wanted,
                           const ForwardShape& shape) {
  InstallCpuAllocator();
  TrainingContext context(0, shape.rows);
  const at::AutoGradMode graph(shape.with_graph);
  model.Forward(inputs, wanted, context);  // whatever is made once is there
  const std::int64_t before = ReadCpuMemory().now;
  ResetCpuPeak();
  const ModelOutputs outputs = model.Forward(inputs, wanted, context);
  return {.held = ReadCpuMemory().now - before, .peak = ReadCpuMemory().peak - before};
}

ForwardBytes FootprintBytes(const Model& model, const ForwardShape& shape) {
  ForwardBytes bytes;
  for (const ForwardPart& part : model.Footprint(shape)) {
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

int Report(const Findings& findings) {
  for (const std::string& finding : findings) std::cerr << finding << '\n';
  return findings.empty() ? 0 : 1;
}

}  // namespace medley::check
