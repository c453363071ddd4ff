#include <medley/plan/plan_in_force.h>

#include <algorithm>

#include <medley/base/json_count.h>
#include <medley/plan/peak_prediction.h>
#include <medley/step/accumulation.h>

namespace medley {
namespace {

constexpr std::int64_t kFirstPatience = 32;
constexpr std::int64_t kMostPatience = 4096;
constexpr std::int64_t kMostRows = 1 << 20;  // of a draw, as a plan's

}  // namespace

void PlanInForce::Adopt(const Plan& plan, const Profile& profile, const PlanSetting& setting) {
  source_ = {plan, profile, setting};
  Guard::Expectation& expected = expected_.emplace();
  expected.floor = plan.floor_bytes();
  for (const PlannedTask& planned : plan.entries) {
    const std::int64_t others = RoomForOthersTables(planned.task).value_or(0);
    expected.peaks[planned.task] = planned.predicted_peak + others;
    expected.floor += planned.tables;
    expected.margins[planned.task] = planned.ledger.margin;
    Execution& execution = executions_.at(planned.task);
    const std::int64_t micro_rows = planned.micro_rows < planned.rows ? planned.micro_rows : 0;
    const auto cut = cuts_.find(planned.task);
    const bool stays_cut =
        cut != cuts_.end() && cut->second.planned == micro_rows && execution.way == planned.way;
    execution.way = planned.way;
    execution.micro_rows = stays_cut ? cut->second.micro_rows : micro_rows;
    if (!stays_cut) cuts_.erase(planned.task);
  }
}

std::optional<std::int64_t> PlanInForce::RoomForOthersTables(const std::string& task) const {
  if (!source_ || !source_->plan.drops_tables) return std::nullopt;
  const PlannedTask* planned = source_->plan.Find(task);
  if (planned == nullptr) return 0;
  return source_->plan.budget - source_->plan.data_bytes - planned->predicted_peak - planned->ledger.margin;
}

PeakPrediction PlanInForce::Predict(const std::string& task, std::int64_t micro_rows) const {
  if (!source_) return {};
  if (!IsCut(task)) {
    const PlannedTask* planned = source_->plan.Find(task);
    return planned == nullptr ? PeakPrediction{}
                              : PeakPrediction{planned->predicted_peak, planned->ledger.margin};
  }
  return PredictPeak(source_->plan, source_->profile, source_->setting, task, micro_rows)
      .value_or(PeakPrediction{});
}

std::optional<PlanInForce::Change> PlanInForce::Cut(const std::string& task, std::int64_t draw_rows) {
  Execution& execution = executions_.at(task);
  const std::int64_t from = RowsAtOnce(execution.micro_rows, draw_rows);
  if (from <= 1) return std::nullopt;
  const auto [found, is_first] = cuts_.try_emplace(task);
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
    const auto found = cuts_.find(draw.task);
    if (found == cuts_.end()) continue;
    TaskCut& cut = found->second;
    const std::int64_t planned = RowsAtOnce(cut.planned, draw.rows);
    if (cut.micro_rows == cut.planned || ++cut.fitted < cut.patience) continue;
    const std::int64_t from = cut.micro_rows, to = std::min(2 * from, planned);
    cut.micro_rows = to == planned ? cut.planned : to;
    cut.fitted = 0;
    cut.grew = true;
    executions_.at(draw.task).micro_rows = cut.micro_rows;
    changes.push_back({draw.task, from, to});
  }
  return changes;
}

bool PlanInForce::IsCut(const std::string& task) const {
  const auto found = cuts_.find(task);
  return found != cuts_.end() && found->second.micro_rows != found->second.planned;
}

nlohmann::json PlanInForce::Save() const {
  nlohmann::json state = nlohmann::json::object();
  for (const auto& [task, cut] : cuts_) {
    state[task] = {{"planned", cut.planned},
                   {"micro_rows", cut.micro_rows},
                   {"fitted", cut.fitted},
                   {"patience", cut.patience},
                   {"grew", cut.grew}};
  }
  return state;
}

void PlanInForce::Load(const nlohmann::json& state) {
  cuts_.clear();
  for (const auto& [task, saved] : state.items()) {
    const auto execution = executions_.find(task);
    const std::int64_t planned = CountOf(saved, "planned", 0, kMostRows);
    // A task that is gone, or that has another plan now, starts anew.
    if (execution == executions_.end() || execution->second.micro_rows != planned) continue;
    cuts_[task] = {.planned = planned,
                   .micro_rows = CountOf(saved, "micro_rows", 0, kMostRows),
                   .fitted = CountOf(saved, "fitted", 0, kMostPatience),
                   .patience = CountOf(saved, "patience", 1, kMostPatience),
                   .grew = saved.at("grew").get<bool>()};
    execution->second.micro_rows = cuts_[task].micro_rows;
  }
}

}  // namespace medley
