#include "tools/medley/check_task.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/base/random.h>
#include <medley/eval/evaluator.h>
#include <medley/eval/score_report.h>
#include <medley/plan/prober.h>
#include <medley/plugin/plugin_host.h>
#include <medley/step/sample_rows.h>
#include <medley/testing/checks.h>
#include <medley/update/optimizer.h>

namespace medley {
namespace {

constexpr std::int64_t kEvaluated = 16, kEvaluatedAgain = 4;  // rows

// One way to make the task: a variant of its spec, and settings of the config or of one of its stages.
struct CheckedForm {
  const VariantInfo* variant = nullptr;
  TaskConfig settings;
  std::string name;  // the variant's, and a number where settings differ; "": there is no other form

  std::string Words() const { return name.empty() ? "" : " (" + name + ")"; }
};

// Those of the run's stages; and each variant that none of them has, with the config's options.
std::vector<CheckedForm> FormsToCheck(const Run& run, const TaskInfo& task) {
  std::vector<CheckedForm> forms;
  const auto add = [&](const TaskConfig& settings, const VariantInfo& variant) {
    const auto same = [&](const CheckedForm& form) {
      return form.variant == &variant && form.settings.options == settings.options &&
             form.settings.terms == settings.terms;
    };
    if (std::any_of(forms.begin(), forms.end(), same)) return;  // another mode, or other rows
    const auto of_variant = [&](const CheckedForm& form) { return form.variant == &variant; };
    const auto before = std::count_if(forms.begin(), forms.end(), of_variant);
    forms.push_back(
        {&variant, settings, variant.name + (before > 0 ? ", settings " + std::to_string(before + 1) : "")});
    forms.back().settings.variant = variant.name;
  };
  for (const Form& form : run.NamedForms()) {
    if (form.task == task.name) add(form.settings, task.RequireVariant(form.settings.variant));
  }
  TaskConfig own = run.forms.Own(task.name).settings;
  own.terms.clear();  // of the config's variant
  for (const VariantInfo& variant : task.variants) {
    const auto has = [&](const CheckedForm& form) { return form.variant == &variant; };
    if (!std::any_of(forms.begin(), forms.end(), has)) add(own, variant);
  }
  if (forms.size() == 1) forms.front().name.clear();
  return forms;
}

// A step of one row for every legal mode; and once with layers that run again.
void MeasureWays(Prober& prober, LoadedTask& loaded, const CheckedForm& form, const CheckReport& report) {
  std::vector<Way> ways;
  for (const Mode mode : LegalModes(*form.variant)) ways.push_back({mode, 0});
  ways.push_back({ways.back().mode, 1});
  for (const Way& way : ways) {
    report.Phase("a step, " + way.Words() + form.Words());
    const auto bytes = prober.MeasureRow(loaded, {.way = way, .term_weights = form.settings.terms});
    if (!bytes) throw Error("one row of it does not fit into this machine's memory");
    report.Measured(form.name, way.Words(), *bytes);
  }
}

// An Error where a loss or a gradient is not finite.
void TrainAStep(const Run& run, LoadedTask& loaded, const Execution& execution, StepExecutor& executor) {
  constexpr std::int64_t kRows = 2;
  const std::uint64_t seed = TaskSeed(static_cast<std::uint64_t>(run.config.seed), loaded.info().name);
  const Batch rows = SampleRows(loaded, {.seed = seed, .begin = 0, .count = kRows}, run.device);
  Optimizer optimizer(*run.model, run.config.optimizer);
  executor.Run({{.task = &loaded, .batch = &rows, .execution = &execution}});
  optimizer.Step(run.config.optimizer.learning_rate);
}

// Of more rows where these have no score: a task may score some of its rows alone.
void Evaluate(LoadedTask& loaded, const Execution& execution, EvalSetting setting) {
  TaskScore score = ScoreTask(loaded, execution, setting);
  if (std::isnan(score.score.value) && setting.rows < kEvaluated) {
    setting.rows = kEvaluated;
    score = ScoreTask(loaded, execution, setting);
  }
  if (std::isnan(score.score.value)) throw Error(NoScoreWords(loaded.info().name, score));
  if (!std::isfinite(score.loss)) throw Error("the held-out loss is " + std::to_string(score.loss));
}

// `is_first`: of the task's forms, which score the same rows.
void CheckForm(const Run& run, const TaskInfo& task, const CheckedForm& form, bool is_first,
               const CheckReport& report) {
  constexpr std::int64_t kPlenty = std::int64_t{1} << 40;
  std::vector<std::string> not_judged;
  // In float64 alone, where nothing but a mistake differs, and the other mode row by row against joint over
  // all, so that what is wrong with modes shows, and with pieces: the test of a plugin has time for more.
  const check::GradientSetting few{.rows = 2,
                                   .modes = {LegalModes(*form.variant).back()},
                                   .micro_rows = {1},
                                   .recomputed = {},
                                   .in_float = false,
                                   .not_judged = &not_judged};
  PluginHost host({.registry = *run.registry,
                   .model = *run.model_file,
                   .tokenizer = run.tokenizer.get(),
                   .control_text = run.control_text});
  report.Phase("making the task" + form.Words());
  LoadedTask& loaded = host.Get(OwnForm(task.name, form.settings));
  StepExecutor executor(*run.model, run.device);
  const auto seed = static_cast<std::uint64_t>(run.config.seed);
  Prober prober(*run.model, executor, run.device, seed, kPlenty);
  report.Phase("contract" + form.Words());
  RefuseFindings(check::Contract(loaded, *run.model, &not_judged));
  for (const std::string& what : not_judged) report.NotJudged(what + form.Words());
  MeasureWays(prober, loaded, form, report);
  report.Phase("gradients" + form.Words());
  not_judged.clear();
  RefuseFindings(check::Gradients(loaded, *run.model, few));
  for (const std::string& what : not_judged) report.NotJudged(what + form.Words());
  const Execution execution{.way = {DefaultMode(*form.variant), 0}, .term_weights = form.settings.terms};
  report.Phase("a training step" + form.Words());
  TrainAStep(run, loaded, execution, executor);
  report.Phase("evaluation" + form.Words());
  Evaluate(loaded, execution, {*run.model, run.device, seed, is_first ? kEvaluated : kEvaluatedAgain});
}

}  // namespace

void CheckReport::Send(const nlohmann::ordered_json& json) const {
  const std::string line = JsonText(json) + "\n";
  WriteAll(fd_, line.data(), line.size(), "the report of a check");
}

void RefuseFindings(const check::Findings& findings) {
  std::string words;
  for (const std::string& finding : findings) words += (words.empty() ? "" : "\n") + finding;
  if (!words.empty()) throw Error(words);
}

void CheckForms(const Run& run, const TaskInfo& task, const CheckReport& report) {
  bool is_first = true;
  for (const CheckedForm& form : FormsToCheck(run, task)) {
    CheckForm(run, task, form, is_first, report);
    is_first = false;
  }
}

}  // namespace medley
