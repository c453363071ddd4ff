
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randperm.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>

#include <medley/contract/contract_check.h>
#include <medley/eval/evaluator.h>
#include <medley/eval/score_report.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/model_info.h>
#include <medley/run/run.h>
#include <medley/testing/caught.h>

namespace medley::check {
namespace {

constexpr std::uint64_t kRunSeed = 3;
constexpr int kStarts = 5;  // by one model's accidents all rows can be judged alike

std::string Words(const Interval& interval) {
  return std::to_string(interval.value) + " (" + FormatInterval(interval) + ")";
}

// Better than chance by twice the 95 % interval's half.
bool IsFarFromChance(const TaskScore& score) {
  const double sign = score.higher_is_better ? 1 : -1;
  const double half =
      score.higher_is_better ? score.score.value - score.score.low : score.score.high - score.score.value;
  return sign * (score.score.value - *score.chance) > 2 * half;
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

LoadedTask& Bench::Task(std::string_view name) const {
  const Run& run = *parts_->run;
  return run.host->Get(run.forms.Own(std::string(name)));
}

Model& Bench::model() const { return *parts_->run->model; }

ModelConfig ConfigOf(const ModelSpec& spec, const std::vector<std::pair<std::string, OptionValue>>& values) {
  InstallCpuAllocator();
  ModelConfig config(InfoOf(spec));
  for (const auto& [field, value] : values) config.Set(field, value);
  return config;
}

Batch Sample(const LoadedTask& task, const RowRange& rows) { return task.Sample(rows); }

Findings Contract(LoadedTask& task, const Model& model, std::vector<std::string>* not_judged) {
  return Caught([&](Findings&) {
    ContractCheck check(model, at::kCPU);
    check.Check(task, {.seed = TaskSeed(kRunSeed, task.info().name), .begin = 100, .count = 1},
                /*thorough=*/true);
    const std::set<std::string> missed = check.TakeNotJudged()[task.info().name];
    if (not_judged != nullptr) not_judged->assign(missed.begin(), missed.end());
  });
}

// Puts the parameters back as it found them.
class OtherStarts {
 public:
  explicit OtherStarts(const Model& model) {
    for (const Parameter& parameter : model.parameters())
      values_.emplace_back(parameter.tensor, parameter.tensor.detach().clone());
  }
  ~OtherStarts() {
    for (auto& [parameter, value] : values_) parameter.detach().copy_(value);
  }
  OtherStarts(const OtherStarts&) = delete;
  OtherStarts& operator=(const OtherStarts&) = delete;

  // The values of each parameter, in another order.
  void Shuffle() {
    for (auto& [parameter, value] : values_)
      parameter.detach().copy_(
          value.flatten().index_select(0, at::randperm(value.numel(), generator_, at::kLong)).view_as(value));
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> values_;
  at::Generator generator_ = at::detail::createCPUGenerator(kRunSeed);
};

Findings Score(LoadedTask& task, const Model& model, std::int64_t rows) {
  const auto measured = [&] { return ScoreTask(task, {}, {model, at::kCPU, kRunSeed, rows}); };
  return Caught([&](Findings& findings) {
    const TaskScore score = measured();
    const std::string of_task = "task '" + task.info().name + "': ";
    if (std::isnan(score.score.value)) findings.push_back(NoScoreWords(task.info().name, score));
    if (!std::isfinite(score.loss))
      findings.push_back(of_task + "the held-out loss is " + std::to_string(score.loss));
    if (!score.chance || !IsFarFromChance(score)) return;
    OtherStarts starts(model);
    for (int start = 1; start < kStarts; ++start) {
      starts.Shuffle();
      if (!IsFarFromChance(measured())) return;
    }
    findings.push_back(of_task + "models that have learned nothing score clearly above chance, the first " +
                       Words(score.score) + ", and chance is said to be " + std::to_string(*score.chance) +
                       "; is the chance of the spec wrong, or what Evaluate calls right?");
  });
}

Findings All(LoadedTask& task, Model& model, std::vector<std::string>* not_judged) {
  Findings findings = Contract(task, model, not_judged);
  const auto add = [&](const Findings& more) {
    for (const std::string& one : more) {
      if (std::ranges::find(findings, one) == findings.end()) findings.push_back(one);
    }
  };
  if (findings.empty())
    add(Gradients(task, model, {.not_judged = not_judged}));  // which would only say it again
  add(Footprint(task, model));
  add(Score(task, model));
  return findings;
}

int Report(const Findings& findings) {
  for (const std::string& finding : findings) std::cerr << finding << '\n';
  return findings.empty() ? 0 : 1;
}

}  // namespace medley::check
