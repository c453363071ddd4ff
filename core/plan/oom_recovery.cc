#include <medley/plan/oom_recovery.h>

#include <algorithm>

#include <medley/step/accumulation.h>

namespace medley {
namespace {

constexpr std::int64_t kFirstPatience = 32;
constexpr std::int64_t kMostPatience = 4096;

}  // namespace

std::optional<OomRecovery::Change> OomRecovery::Shrink(const std::string& task, std::int64_t draw_rows) {
  ExecutionPlan& plan = plans_.at(task);
  const std::int64_t from = RowsAtOnce(plan.micro_rows, draw_rows);
  if (from <= 1) return std::nullopt;
  const auto [found, is_first] = cuts_.try_emplace(task);
  Cut& cut = found->second;
  if (is_first) {
    cut.planned = plan.micro_rows;
    cut.patience = kFirstPatience;
  } else if (cut.grew) {
    cut.patience = std::min(2 * cut.patience, kMostPatience);
  }
  cut.micro_rows = (from + 1) / 2;
  cut.fitted = 0;
  cut.grew = false;
  plan.micro_rows = cut.micro_rows;
  return Change{task, from, cut.micro_rows};
}

std::vector<OomRecovery::Change> OomRecovery::Fitted(const std::vector<Draw>& draws) {
  std::vector<Change> changes;
  for (const Draw& draw : draws) {
    const auto found = cuts_.find(draw.task);
    if (found == cuts_.end()) continue;
    Cut& cut = found->second;
    const std::int64_t planned = RowsAtOnce(cut.planned, draw.rows);
    if (cut.micro_rows == cut.planned || ++cut.fitted < cut.patience) continue;
    const std::int64_t from = cut.micro_rows, to = std::min(2 * from, planned);
    cut.micro_rows = to == planned ? cut.planned : to;
    cut.fitted = 0;
    cut.grew = true;
    plans_.at(draw.task).micro_rows = cut.micro_rows;
    changes.push_back({draw.task, from, to});
  }
  return changes;
}

bool OomRecovery::IsCut(const std::string& task) const {
  const auto found = cuts_.find(task);
  return found != cuts_.end() && found->second.micro_rows != found->second.planned;
}

nlohmann::json OomRecovery::Save() const {
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

void OomRecovery::Load(const nlohmann::json& state) {
  cuts_.clear();
  for (const auto& [task, saved] : state.items()) {
    const auto plan = plans_.find(task);
    const auto planned = saved.at("planned").get<std::int64_t>();
    // A task that is gone, or that has another plan now, starts anew.
    if (plan == plans_.end() || plan->second.micro_rows != planned) continue;
    cuts_[task] = {.planned = planned,
                   .micro_rows = saved.at("micro_rows").get<std::int64_t>(),
                   .fitted = saved.at("fitted").get<std::int64_t>(),
                   .patience = saved.at("patience").get<std::int64_t>(),
                   .grew = saved.at("grew").get<bool>()};
    plan->second.micro_rows = cuts_[task].micro_rows;
  }
}

}  // namespace medley
