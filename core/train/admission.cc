#include <medley/train/admission.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include <medley/base/durable_file.h>
#include <medley/base/files.h>
#include <medley/base/interrupt.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/report/screen.h>
#include <medley/run/run_references.h>
#include <medley/run/validate.h>
#include <medley/train/failure.h>
#include <medley/train/rounds.h>

namespace medley {
namespace {

// What a process says of its planning.
struct Said {
  bool stops = false;
  std::optional<Failure> failure{};
  PlannedDraws draws{};

  auto Fields() { return std::tie(stops, failure, draws); }
};

void RequireThatAllGoOn(const std::vector<Said>& all) {
  if (std::ranges::any_of(all, &Said::stops)) throw Interrupted();
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (const auto& failure = all[rank].failure)
      throw Error("rank " + std::to_string(rank) + ": " + failure->reason, failure->code);
  }
}

// Of the forms that each of them has planned: the fewest rows of any, and what the first counted of one.
PlannedDraws Agreed(const std::vector<Said>& all, PlannedDraws draws, Console& console) {
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (auto draw = draws.begin(); draw != draws.end();) {
      const auto there = all[rank].draws.find(draw->first);
      if (there == all[rank].draws.end()) {
        console.Warn("the task " + draw->first.text() + " has no plan, as rank " + std::to_string(rank) +
                     " has none");
        draw = draws.erase(draw);
        continue;
      }
      draw->second.rows = std::min(draw->second.rows, there->second.rows);
      if (rank == 0) draw->second.operations = there->second.operations;
      ++draw;
    }
  }
  return draws;
}

}  // namespace

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

Admission::Admission(const Run& run, FormTable& forms, Mixer& mixer, PlanInForce& plan, Console& console)
    : run_(run), forms_(forms), mixer_(mixer), plan_(plan), console_(console) {
  for (const Form& form : run.NamedForms()) admitted_.insert(form.id);
}

void Admission::PlanNamed(const std::filesystem::path& profile, const EarlierPlan& earlier) {
  if (!run_.config.plan) return;
  planner_ = std::make_unique<RunPlanner>(FormMeasurer::PartsOf(run_), run_.curriculum,
                                          RunPlanner::SettingOf(run_), console_);
  PlanTogether([&] {
    if (!profile.empty()) planner_->UseProfile(profile);
    if (!earlier.directory.empty()) planner_->TakeUp(earlier.directory, earlier.plan);
    planner_->PlanRun(run_.NamedForms());
  });
  planner_->Apply(plan_, mixer_);
}

void Admission::PlanTogether(const std::function<void()>& plan) {
  Cluster& cluster = *run_.cluster;
  if (cluster.alone()) return plan();
  RunPlanner::Planned before = planner_->planned();
  Said own;
  std::exception_ptr thrown;
  try {
    plan();
    own.draws = DrawsOf(planner_->plan());
  } catch (const std::exception& error) {
    thrown = std::current_exception();
    own.failure = Failure::Of(error);
  }
  own.stops = InterruptRequested();
  std::vector<Said> all;
  Exchanging([&] { all = Gather(cluster.group(), own); });
  try {
    if (thrown) std::rethrow_exception(thrown);
    RequireThatAllGoOn(all);
  } catch (...) {
    planner_->GoBackTo(std::move(before));
    throw;
  }
  planner_->TakeDraws(Agreed(all, DrawsOf(planner_->plan()), console_));
}

void Admission::SaveIn(const std::filesystem::path& directory) {
  if (!planner_) {
    console_.Say("plan: none (\"plan\" is false): rows and modes are the config's");
    return;
  }
  directory_ = directory;
  planner_->Save(directory_);
  console_.Say(Prose(planner_->Line() + "; the tables: " + DisplayPath(directory / kPlanTables) +
                     (IsWide() ? "" : ", or here with --wide")));
  console_.Detail(planner_->Tables(std::numeric_limits<std::size_t>::max()) + planner_->Cost());
}

bool Admission::Learn(const Curriculum& curriculum) {
  forms_.Add(curriculum);
  const std::vector<Form> named = forms_.Named(curriculum);
  return std::ranges::any_of(named, [&](const Form& form) { return admitted_.count(form.id) == 0; });
}

void Admission::Admit(const Curriculum& curriculum) {
  std::vector<Form> added = forms_.Named(curriculum);
  std::erase_if(added, [&](const Form& form) { return admitted_.count(form.id) > 0; });
  for (const Form& form : added) RequireReferences(run_, form);
  const auto take_all = [&] {
    for (const Form& form : added) {
      plan_.Add(form.id, run_.Configured(form));
      if (planner_) {
        planner_->PlanForm(form);
      } else {
        run_.host->Get(form);
      }
    }
  };
  if (planner_) {
    PlanTogether(take_all);
  } else {
    take_all();
  }
  for (const std::string& task : curriculum.Named()) {
    const Form& form = plan_.FormOf(task);
    const auto is_same = [&](const Form& other) { return other.id == form.id; };
    if (std::ranges::none_of(added, is_same)) continue;
    mixer_.SetSize(task, SizeOf(run_.host->Variant(form), form.settings.rows));
  }
  if (planner_) {
    planner_->Apply(plan_, mixer_);
    if (!directory_.empty()) planner_->Save(directory_);
  }
  for (const Form& form : added) admitted_.insert(form.id);
}

}  // namespace medley
