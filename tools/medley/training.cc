#include "tools/medley/training.h"

#include <algorithm>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/files.h>
#include <medley/plan/plan_stages.h>
#include <medley/run/run_record.h>

namespace medley {

RunPlanner::Subject PlannerSubject(const Run& run) {
  return {.config = run.config,
          .device = run.device,
          .host = *run.host,
          .model = *run.model,
          .optimizer = *run.optimizer,
          .executor = *run.executor,
          .model_build = run.ModelBuild(),
          .tokenizer = run.tokenizer.get()};
}

Training::Training(Run& run) : run_(run), in_force_(run.Configured()) {
  const std::vector<std::string> forms = run.NamedForms();
  admitted_.insert(forms.begin(), forms.end());
}

void Training::Plan(const std::filesystem::path& profile, const EarlierPlan& earlier, Console& console) {
  if (!run_.config.plan) return;
  planner_.emplace(PlannerSubject(run_), RunPlanner::SettingOf(run_.config, run_.budget, run_.device),
                   console);
  if (!profile.empty()) planner_->UseProfile(profile);
  if (!earlier.directory.empty()) planner_->TakeUp(earlier.directory, earlier.plan);
  planner_->PlanRun(run_.NamedForms());
  planner_->Apply(in_force_, *run_.mixer);
}

std::filesystem::path PlanOf(const std::filesystem::path& config) {
  const std::string name = config.filename().string();
  return config.parent_path() / ("plan" + name.substr(name.find('.')));
}

void KeepPlan(const RunDirectory& directory, const std::string& next) {
  const std::filesystem::path plan = directory.path() / kPlanFile;
  if (TypeOf(plan) != std::filesystem::file_type::regular) return;
  const std::string before = ReadFile(plan);
  if (next != before) ReplaceFile(PlanOf(NewestConfig(directory.path())), before);
}

void Training::KeepEarlierPlan(const RunDirectory& directory) const {
  if (planner_) KeepPlan(directory, planner_->PlanText());
}

void Training::SavePlan(const RunDirectory& directory, Console& console) const {
  if (!planner_) return;
  console.Say(StagesOfPlan(run_.config, run_.curriculum, planner_->plan()) + planner_->Words());
  planner_->Save(directory.path());
}

void Training::Record(const RunDirectory& directory, std::int64_t step, bool unevaluated) const {
  nlohmann::ordered_json record = RunRecord(run_);
  record["step"] = step;
  record["unevaluated"] = unevaluated;
  record["config"] = directory.WriteConfig(ToJson(run_.config)).filename().string();
  directory.WriteRecord(std::move(record));
}

void Training::BeginWeights(const RunDirectory& directory, Console& console) {
  const std::filesystem::path own = directory.path() / kRunWeights;
  const std::filesystem::path log = directory.path() / kWeightLog;
  if (TypeOf(log) != std::filesystem::file_type::not_found)
    console.Warn(log.string() + " is not of this run; it is now " +
                 RenameAside(log, kWeightLog).filename().string());
  const std::string text = WithAbsoluteSchema(run_.weights_text, run_.config.weights.parent_path());
  ReplaceFile(own, text);
  console.Say("its weights are a copy, " + own.string() + ": edit that one, also while the run goes on");
  log_.emplace(directory.path(), WeightLines());
  live_.emplace(LiveWeights{.registry = *run_.registry,
                            .model = run_.model_file->info,
                            .log = *log_,
                            .admission = *this,
                            .text = text,
                            .text_of_file = text});
}

void Training::GoOnWithWeights(const RunDirectory& directory, ResumedWeights weights, Console& console) {
  ReplaceDamagedLog(directory.path(), weights, console);
  log_.emplace(std::move(weights.log));
  live_.emplace(LiveWeights{.registry = *run_.registry,
                            .model = run_.model_file->info,
                            .log = *log_,
                            .admission = *this,
                            .text = run_.weights_text,
                            .text_of_file = std::move(weights.text_of_file),
                            .edited = weights.edited});
}

bool Training::HasNew(const Curriculum& curriculum) const {
  const std::vector<std::string> forms = NamedForms(run_.config, curriculum);
  return std::any_of(forms.begin(), forms.end(),
                     [&](const std::string& form) { return admitted_.count(form) == 0; });
}

void Training::Admit(const Curriculum& curriculum) {
  AddForms(run_.config, curriculum);
  std::vector<std::string> added = NamedForms(run_.config, curriculum);
  std::erase_if(added, [&](const std::string& form) { return admitted_.count(form) > 0; });
  for (const std::string& form : added) {
    in_force_.Add(form, run_.Configured(form));
    if (planner_) {
      planner_->PlanTask(form);
    } else {
      run_.host->Get(form);
    }
  }
  for (const std::string& task : curriculum.Named()) {
    const std::string& form = in_force_.FormOf(task);
    if (added.end() == std::find(added.begin(), added.end(), form)) continue;
    run_.mixer->SetSize(task, SizeOf(run_.host->Variant(form), ConfigOf(run_.config, form).rows));
  }
  if (planner_) {
    planner_->Apply(in_force_, *run_.mixer);
    if (!directory_.empty()) planner_->Save(directory_);  // else who starts it does
  }
  admitted_.insert(added.begin(), added.end());
}

std::unique_ptr<Trainer> Training::MakeTrainer(const RunDirectory& directory, Console& console,
                                               const std::optional<FoundCheckpoint>& from,
                                               const std::optional<RunScript>& script) {
  directory_ = directory.path();
  return std::make_unique<Trainer>(Trainer::Setting{.config = run_.config,
                                                    .device = run_.device,
                                                    .budget = run_.budget,
                                                    .directory = directory.path(),
                                                    .host = *run_.host,
                                                    .model = *run_.model,
                                                    .curriculum = run_.curriculum,
                                                    .mixer = *run_.mixer,
                                                    .executor = *run_.executor,
                                                    .optimizer = *run_.optimizer,
                                                    .plan = in_force_,
                                                    .console = console,
                                                    .script = script,
                                                    .live = live_ ? &*live_ : nullptr,
                                                    .adapters = run_.Adapted()},
                                   from);
}

}  // namespace medley
