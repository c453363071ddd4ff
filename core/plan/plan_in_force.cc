#include <medley/plan/plan_in_force.h>

#include <algorithm>
#include <limits>

#include <medley/base/json_count.h>
#include <medley/plan/task_plan.h>
#include <medley/step/accumulation.h>

namespace medley {
namespace {

constexpr std::int64_t kFirstPatience = 32;
constexpr std::int64_t kMostPatience = 4096;

// What a form's draws take in the mode of the plan and as many rows, but in other micro-batches. Nothing
// where the plan has no such form, or the profile no lines of that mode.
std::optional<PeakPrediction> PredictPeak(const Plan& plan, const Profile& profile,
                                          const PlanSetting& setting, const FormId& form,
                                          std::int64_t micro_rows) {
  const PlannedTask* entry = plan.Find(form);
  const auto measured = profile.tasks.find(form);
  if (entry == nullptr || measured == profile.tasks.end()) return std::nullopt;
  const ModeProfile* mode = measured->second.Find(entry->way);
  if (mode == nullptr) return std::nullopt;
  TaskProfile only =
      measured->second;  // with one mode and micro-rows that are given nothing is left to choose
  only.modes = {*mode};
  const TaskRequest request{.passes = entry->passes,
                            .rows = entry->rows,
                            .micro_rows = micro_rows,
                            .recomputed = entry->way.recomputed};
  const std::int64_t others = std::max<std::int64_t>(0, profile.gradients - only.gradients);
  const auto choice =
      TaskPlanner(only, request, setting, others).Choose(std::numeric_limits<std::int64_t>::max() / 2);
  if (!choice) return std::nullopt;
  return PeakPrediction{.peak = plan.floor_bytes() + entry->tables + choice->bytes, .margin = choice->margin};
}

}  // namespace

FormId PlanInForce::IdOf(const std::string& task) const {
  const auto form = changed_.find(task);
  return form == changed_.end() ? FormId(task) : form->second;
}

bool PlanInForce::TakeForms(const Stage& stage) {
  std::map<std::string, FormId> changed;
  for (const auto& [task, change] : stage.set.tasks) {
    if (const Form& form = forms_.Of(stage, task); !form.IsOwn()) changed[task] = form.id;
  }
  if (changed == changed_) return false;
  changed_ = std::move(changed);
  if (source_) Expect();
  return true;
}

void PlanInForce::Adopt(const Plan& plan, const Profile& profile, const PlanSetting& setting) {
  source_ = {plan, profile, setting};
  for (const PlannedTask& planned : plan.entries) {
    if (!Knows(planned.form)) continue;
    Execution& execution = executions_.at(planned.form);
    const std::int64_t micro_rows = planned.micro_rows < planned.rows ? planned.micro_rows : 0;
    const auto cut = cuts_.find(planned.form);
    const bool stays_cut =
        cut != cuts_.end() && cut->second.planned == micro_rows && execution.way == planned.way;
    execution.way = planned.way;
    execution.micro_rows = stays_cut ? cut->second.micro_rows : micro_rows;
    if (!stays_cut) cuts_.erase(planned.form);
  }
  Expect();
}

// The guard knows tasks, and each in one form at a time. The tables of all forms may be there.
void PlanInForce::Expect() {
  Guard::Expectation& expected = expected_.emplace(Guard::Expectation{});
  expected.floor = source_->plan.floor_bytes();
  for (const PlannedTask& planned : source_->plan.entries) {
    if (!Knows(planned.form)) continue;
    expected.floor += planned.tables;
    const std::string& task = forms_.At(planned.form).task;
    if (IdOf(task) != planned.form) continue;
    expected.peaks[task] = planned.predicted_peak + (source_->plan.drops_tables ? RoomBeside(planned) : 0);
    expected.margins[task] = planned.ledger.margin;
  }
}

const PlannedTask* PlanInForce::Planned(const std::string& task) const {
  return source_ ? source_->plan.Find(IdOf(task)) : nullptr;
}

std::optional<std::int64_t> PlanInForce::RowsOf(const std::string& task) const {
  const PlannedTask* planned = Planned(task);
  return planned == nullptr ? std::nullopt : std::optional(planned->rows);
}

std::optional<std::int64_t> PlanInForce::OperationsOf(const std::string& task) const {
  const PlannedTask* planned = Planned(task);
  return planned == nullptr ? std::nullopt : OperationsOfARow(*planned);
}

std::int64_t PlanInForce::RoomBeside(const PlannedTask& planned) const {
  return source_->plan.budget - source_->plan.data_bytes - planned.predicted_peak - planned.ledger.margin;
}

std::optional<std::int64_t> PlanInForce::RoomForOthersTables(const std::string& task) const {
  if (!source_ || !source_->plan.drops_tables) return std::nullopt;
  const PlannedTask* planned = Planned(task);
  return planned == nullptr ? 0 : RoomBeside(*planned);
}

PeakPrediction PlanInForce::Predict(const std::string& task, std::int64_t micro_rows) const {
  if (!source_) return {};
  if (!IsCut(task)) {
    const PlannedTask* planned = Planned(task);
    return planned == nullptr ? PeakPrediction{}
                              : PeakPrediction{planned->predicted_peak, planned->ledger.margin};
  }
  return PredictPeak(source_->plan, source_->profile, source_->setting, IdOf(task), micro_rows)
      .value_or(PeakPrediction{});
}

std::optional<PlanInForce::Change> PlanInForce::Cut(const std::string& task, std::int64_t draw_rows) {
  const FormId form = IdOf(task);
  Execution& execution = executions_.at(form);
  const std::int64_t from = RowsAtOnce(execution.micro_rows, draw_rows);
  if (from <= 1) return std::nullopt;
  const auto [found, is_first] = cuts_.try_emplace(form);
  TaskCut& cut = found->second;
  if (is_first) {
    cut.planned = execution.micro_rows;
    cut.patience = kFirstPatience;
  } else if (cut.grew) {
    cut.patience = std::min(2 * cut.patience, kMostPatience);
  }
  cut.micro_rows = (from + 1) / 2;
  cut.fitted = 0;
  cut.grew = false;
  execution.micro_rows = cut.micro_rows;
  return Change{task, from, cut.micro_rows};
}

std::vector<PlanInForce::Change> PlanInForce::Fitted(const std::vector<Draw>& draws) {
  std::vector<Change> changes;
  for (const Draw& draw : draws) {
    const FormId form = IdOf(draw.task);
    const auto found = cuts_.find(form);
    if (found == cuts_.end()) continue;
    TaskCut& cut = found->second;
    const std::int64_t planned = RowsAtOnce(cut.planned, draw.rows);
    if (cut.micro_rows == cut.planned || ++cut.fitted < cut.patience) continue;
    const std::int64_t from = cut.micro_rows, to = std::min(2 * from, planned);
    cut.micro_rows = to == planned ? cut.planned : to;
    cut.fitted = 0;
    cut.grew = true;
    executions_.at(form).micro_rows = cut.micro_rows;
    changes.push_back({draw.task, from, to});
  }
  return changes;
}

bool PlanInForce::IsCut(const std::string& task) const {
  const auto found = cuts_.find(IdOf(task));
  return found != cuts_.end() && found->second.micro_rows != found->second.planned;
}

nlohmann::json PlanInForce::Save() const {
  nlohmann::json state = nlohmann::json::object();
  for (const auto& [form, cut] : cuts_) {
    state[form.text()] = {{"planned", cut.planned},
                          {"micro_rows", cut.micro_rows},
                          {"fitted", cut.fitted},
                          {"patience", cut.patience},
                          {"grew", cut.grew}};
  }
  return state;
}

void PlanInForce::Load(const nlohmann::json& state) {
  cuts_.clear();
  for (const auto& [name, saved] : state.items()) {
    const FormId form(name);
    const auto execution = executions_.find(form);
    const std::int64_t planned = CountOf(saved, "planned", 0, kMostDrawRows);
    // A form that is gone, or that has another plan now, starts anew.
    if (execution == executions_.end() || execution->second.micro_rows != planned) continue;
    cuts_[form] = {.planned = planned,
                   .micro_rows = CountOf(saved, "micro_rows", 0, kMostDrawRows),
                   .fitted = CountOf(saved, "fitted", 0, kMostPatience),
                   .patience = CountOf(saved, "patience", 1, kMostPatience),
                   .grew = saved.at("grew").get<bool>()};
    execution->second.micro_rows = cuts_[form].micro_rows;
  }
}

}  // namespace medley
