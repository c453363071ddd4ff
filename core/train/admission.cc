#include <medley/train/admission.h>

#include <algorithm>
#include <vector>

#include <medley/base/durable_file.h>
#include <medley/base/files.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/report/screen.h>
#include <medley/run/validate.h>

namespace medley {

std::filesystem::path KeptPlanOf(const std::filesystem::path& config) {
  const std::string name = config.filename().string();
  return config.parent_path() / ("plan" + name.substr(name.find('.')));
}

void KeepPlan(const std::filesystem::path& directory, const std::string& next) {
  const std::filesystem::path plan = directory / kPlanFile;
  if (TypeOf(plan) != std::filesystem::file_type::regular) return;
  const std::string before = ReadFile(plan);
  if (next != before) ReplaceFile(KeptPlanOf(NewestConfig(directory)), before);
}

Admission::Admission(Run& run, PlanInForce& plan, Console& console)
    : run_(run), plan_(plan), console_(console) {
  for (const Form& form : run.NamedForms()) admitted_.insert(form.id);
}

void Admission::PlanNamed(const std::filesystem::path& profile, const EarlierPlan& earlier) {
  if (!run_.config.plan) return;
  planner_ = std::make_unique<RunPlanner>(run_, RunPlanner::SettingOf(run_), console_);
  if (!profile.empty()) planner_->UseProfile(profile);
  if (!earlier.directory.empty()) planner_->TakeUp(earlier.directory, earlier.plan);
  planner_->PlanRun(run_.NamedForms());
  planner_->Apply(plan_, *run_.mixer);
}

void Admission::SaveIn(const std::filesystem::path& directory) {
  if (!planner_) return;
  directory_ = directory;
  console_.Say(Wrapped(planner_->Words(), ScreenColumns()));
  planner_->Save(directory_);
}

bool Admission::Learn(const Curriculum& curriculum) {
  run_.forms.Add(curriculum);
  const std::vector<Form> named = run_.forms.Named(curriculum);
  return std::any_of(named.begin(), named.end(),
                     [&](const Form& form) { return admitted_.count(form.id) == 0; });
}

void Admission::Admit(const Curriculum& curriculum) {
  std::vector<Form> added = run_.forms.Named(curriculum);
  std::erase_if(added, [&](const Form& form) { return admitted_.count(form.id) > 0; });
  for (const Form& form : added) {
    plan_.Add(form.id, run_.Configured(form));
    if (planner_) {
      planner_->PlanForm(form);
    } else {
      run_.host->Get(form);
    }
  }
  for (const std::string& task : curriculum.Named()) {
    const Form& form = plan_.FormOf(task);
    const auto is_same = [&](const Form& other) { return other.id == form.id; };
    if (std::none_of(added.begin(), added.end(), is_same)) continue;
    run_.mixer->SetSize(task, SizeOf(run_.host->Variant(form), form.settings.rows));
  }
  if (planner_) {
    planner_->Apply(plan_, *run_.mixer);
    if (!directory_.empty()) planner_->Save(directory_);
  }
  for (const Form& form : added) admitted_.insert(form.id);
}

}  // namespace medley
