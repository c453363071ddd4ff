#include <medley/plan/plan.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <medley/base/json_count.h>
#include <medley/plan/plan_refusal.h>
#include <medley/plan/task_plan.h>

namespace medley {
namespace {

constexpr std::int64_t kMostWaiting = std::int64_t{1} << 45;  // bytes of one draw's rows

// The smallest budget above this one that fits; 0 where none does.
template <typename Fits>
std::int64_t SmallestBudget(const PlanSetting& setting, const Fits& fits) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  const auto suffices = [&](std::int64_t budget) {
    PlanSetting other = setting;
    other.budget = budget;
    return fits(other);
  };
  std::int64_t enough = std::max<std::int64_t>(setting.budget, 1 << 20);
  while (!suffices(enough)) {
    if (enough > kMost) return 0;
    enough *= 2;
  }
  return 1 +
         LargestThat(enough, [&](std::int64_t other) { return other <= setting.budget || !suffices(other); });
}

// An override with which fewer rows wait, and everything fits: as many draws ahead as possible, or no data
// threads; "" where that does not help.
template <typename Fits>
std::string FewerWaiting(const PlanSetting& setting, const Fits& fits) {
  const auto suffices = [&](std::int64_t draws_ahead) {
    PlanSetting other = setting;
    other.waiting_draws -= setting.draws_ahead - draws_ahead;
    return fits(other);
  };
  if (setting.draws_ahead == 0) return "";
  const std::int64_t most = LargestThat(setting.draws_ahead - 1, suffices);
  if (most > 0) return "data.ahead=" + std::to_string(most);
  return suffices(0) ? "data.threads=0" : "";
}

// An override with which a step has fewer draws, and everything fits; "" where that does not help.
template <typename Fits>
std::string FewerDraws(const PlanSetting& setting, const Fits& fits) {
  const auto suffices = [&](std::int64_t draws) {
    PlanSetting other = setting;
    other.draws_per_step = draws;
    if (setting.waiting_draws > 0) other.waiting_draws -= setting.draws_per_step - draws;
    return fits(other);
  };
  const std::int64_t most = LargestThat(setting.draws_per_step - 1, suffices);
  return most > 0 ? "draws_per_step=" + std::to_string(most) : "";
}

// The requests where no draw's rows take more than so many bytes while they wait.
std::vector<TaskRequest> Capped(const Profile& profile, std::vector<TaskRequest> requests,
                                std::int64_t bytes) {
  for (TaskRequest& request : requests) {
    const std::int64_t row = std::max<std::int64_t>(1, profile.tasks.at(request.form.id).batch_per_row);
    if (request.rows > 0) request.rows = std::min(request.rows, std::max<std::int64_t>(1, bytes / row));
  }
  return requests;
}

// Overrides with which the largest draws have fewer rows, and everything fits; "" where that does not help.
template <typename Fits>
std::string FewerRows(const Profile& profile, const std::vector<TaskRequest>& requests, const Fits& fits) {
  if (!fits(Capped(profile, requests, 0))) return "";
  std::int64_t most = 0;
  for (const TaskRequest& request : requests)
    most = std::max(most, request.rows * profile.tasks.at(request.form.id).batch_per_row);
  const std::int64_t enough =
      LargestThat(most, [&](std::int64_t bytes) { return fits(Capped(profile, requests, bytes)); });
  const std::vector<TaskRequest> capped = Capped(profile, requests, enough);
  std::string overrides;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (capped[i].rows == requests[i].rows) continue;
    overrides += (overrides.empty() ? "" : " ") + requests[i].form.KeyPrefix() +
                 "rows=" + std::to_string(capped[i].parts * capped[i].rows);
  }
  return overrides;
}

// The choices for all tasks where so many bytes are kept for rows that wait.
class Planning {
 public:
  Planning(const Profile& profile, const std::vector<TaskRequest>& requests, const PlanSetting& setting)
      : profile_(profile), requests_(requests), setting_(setting) {
    TablesTogether tables;
    for (const TaskRequest& request : requests) {
      const auto found = profile.tasks.find(request.form.id);
      if (found == profile.tasks.end())
        throw Error("task " + request.form.id.text() + " has no profile to plan from");
      constants_ += found->second.held + (setting.drops_tables ? 0 : tables.Add(found->second));
      caches_ += found->second.cache;
      planners_.emplace_back(found->second, request, setting,
                             std::max<std::int64_t>(0, profile.gradients - found->second.gradients));
    }
  }

  std::int64_t Room(std::int64_t data) const {
    return setting_.budget - profile_.floor.total() - constants_ - data;
  }

  // Of the room, what the task's own tables leave.
  std::int64_t RoomFor(std::size_t task, std::int64_t data) const { return Room(data) - OwnTables(task); }

  std::int64_t OwnTables(std::size_t task) const {
    return setting_.drops_tables ? profile_.tasks.at(requests_[task].form.id).constants : 0;
  }

  // Bytes of the rows that wait and of caches where the tasks get what fits beside `data` such bytes.
  std::int64_t DataBytes(std::int64_t data) const {
    const Choices choices = ChoicesFor(data);
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const auto& choice = choices.of[i].choice;
      const std::int64_t rows =
          requests_[i].rows > 0 ? requests_[i].rows : requests_[i].whole * (choice ? choice->rows : 1);
      largest = std::max(largest, rows * profile_.tasks.at(requests_[i].form.id).batch_per_row);
    }
    return setting_.cache_bytes + caches_ + setting_.waiting_draws * std::min(largest, kMostWaiting);
  }

  // The refused ones are left out of the plan.
  Plan Make(std::vector<Refused>& refused) const {
    // More bytes for rows that wait leave fewer rows to wait: the smallest number that suffices.
    const std::int64_t own = LargestThat(
        DataBytes(0), [&](std::int64_t bytes) { return bytes == 0 || DataBytes(bytes - 1) > bytes - 1; });
    const std::int64_t data = std::max(own, setting_.data_bytes + caches_);
    const Choices choices = ChoicesFor(data);
    Plan plan{.budget = setting_.budget,
              .floor = profile_.floor,
              .drops_tables = setting_.drops_tables,
              .data_bytes = data,
              .cache_bytes = setting_.cache_bytes + caches_,
              .usual_rows = choices.usual_rows,
              .entries = {}};
    plan.floor.constants += constants_;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const Chosen& chosen = choices.of[i];
      if (chosen.choice) {
        plan.entries.push_back(Entry(i, chosen, plan));
      } else {
        refused.push_back({requests_[i], planners_[i], OwnTables(i)});
      }
    }
    return plan;
  }

 private:
  struct Chosen {
    std::optional<Choice> choice, own;  // the latter where the usual rows took its place
  };
  struct Choices {
    std::int64_t usual_rows = 0;
    std::vector<Chosen> of;  // by task
  };
  Choices ChoicesFor(std::int64_t data) const {
    Choices choices;
    for (std::size_t i = 0; i < requests_.size(); ++i)
      choices.of.push_back({.choice = planners_[i].Choose(RoomFor(i, data)), .own = {}});
    choices.usual_rows = UsualRows(choices.of);
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      Chosen& chosen = choices.of[i];
      const bool is_below = chosen.choice && requests_[i].rows == 0 &&
                            static_cast<double>(chosen.choice->rows) <
                                setting_.balance * static_cast<double>(choices.usual_rows);
      if (!is_below) continue;
      if (const auto reached = planners_[i].Reach(choices.usual_rows, RoomFor(i, data)))
        chosen = {.choice = reached, .own = chosen.choice};
    }
    return choices;
  }

  // Of the open rows, each task's fewest; of an even number the smaller one in the middle.
  std::int64_t UsualRows(const std::vector<Chosen>& cheapest) const {
    if (setting_.balance == 0 || setting_.usual_rows > 0)
      return setting_.balance > 0 ? setting_.usual_rows : 0;
    std::map<std::string, std::int64_t> fewest;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i].rows > 0 || !cheapest[i].choice) continue;
      const std::int64_t rows = cheapest[i].choice->rows;
      const auto [task, is_first] = fewest.emplace(requests_[i].form.task, rows);
      if (!is_first) task->second = std::min(task->second, rows);
    }
    std::vector<std::int64_t> open;
    for (const auto& [task, rows] : fewest) open.push_back(rows);
    std::ranges::sort(open);
    return open.empty() ? 0 : open[(open.size() - 1) / 2];
  }

  PlannedTask Entry(std::size_t task, const Chosen& chosen, const Plan& plan) const {
    const Choice& choice = *chosen.choice;
    const TaskPlanner& planner = planners_[task];
    const TaskRequest& request = requests_[task];
    const std::int64_t peak = plan.floor_bytes() + OwnTables(task) + choice.bytes;
    return {.form = request.form.id,
            .variant = request.variant,
            .passes = request.passes,
            .way = choice.mode->way,
            .rows = choice.rows,
            .micro_rows = choice.micro_rows,
            .predicted_peak = peak,
            .tables = OwnTables(task),
            .ms_per_step = choice.Milliseconds(),
            .operations = std::llround(std::min<double>(choice.Operations(), kMostOperations)),
            .why = chosen.own ? planner.WhyReached(choice, *chosen.own)
                              : planner.Why(choice, RoomFor(task, plan.data_bytes)),
            .own_rows = chosen.own ? chosen.own->rows : 0,
            .finer = chosen.own ? planner.Finer(choice, RoomFor(task, plan.data_bytes)) : std::vector<Way>{},
            .confirmed = Confirmed(choice),
            .ledger = planner.Ledger(choice),
            .saved_by_pass = choice.mode->saved_by_pass};
  }

  // Was a step of exactly so many rows measured?
  static bool Confirmed(const Choice& choice) {
    const std::vector<Probe>& probes =
        choice.micro_rows < choice.rows ? choice.mode->pieces : choice.mode->whole;
    return std::ranges::any_of(probes, [&](const Probe& probe) { return probe.rows == choice.micro_rows; });
  }

  const Profile& profile_;
  const std::vector<TaskRequest>& requests_;
  const PlanSetting& setting_;
  std::int64_t constants_ = 0, caches_ = 0;
  std::vector<TaskPlanner> planners_;
};

// All tables are there, or where they may be dropped and that does not fit, a draw's own. A single task is
// beside others, whose tables then go.
std::vector<PlanSetting> TreatmentsOfTables(const std::vector<TaskRequest>& requests,
                                            const PlanSetting& setting) {
  std::vector<PlanSetting> treatments{setting};
  if (!setting.drops_tables || requests.size() < 2) return treatments;
  treatments.front().drops_tables = false;
  treatments.push_back(setting);
  return treatments;
}

bool AllFit(const Profile& profile, const std::vector<TaskRequest>& requests, const PlanSetting& setting) {
  const std::vector<PlanSetting> treatments = TreatmentsOfTables(requests, setting);
  return std::ranges::any_of(treatments, [&](const PlanSetting& treatment) {
    std::vector<Refused> refused;
    const Planning planning(profile, requests, treatment);
    planning.Make(refused);
    return refused.empty();
  });
}

Remedies RemediesOf(const Profile& profile, const std::vector<TaskRequest>& requests,
                    const PlanSetting& setting) {
  const auto fits = [&](const PlanSetting& other) { return AllFit(profile, requests, other); };
  const auto fit_here = [&](const std::vector<TaskRequest>& asked) {
    return AllFit(profile, asked, setting);
  };
  return {.fewer_waiting = FewerWaiting(setting, fits),
          .budget = SmallestBudget(setting, fits),
          .machine = setting.machine,
          .fewer_draws = FewerDraws(setting, fits),
          .fewer_rows = FewerRows(profile, requests, fit_here)};
}

std::int64_t Missing(const DoesNotFit& refusal) {
  std::int64_t most = 0;
  for (const Refusal& one : refusal.refusals()) most = std::max(most, one.missing);
  return most;
}

}  // namespace

const PlannedTask* Plan::Find(const FormId& form) const {
  const auto found = std::ranges::find(entries, form, &PlannedTask::form);
  return found == entries.end() ? nullptr : &*found;
}

double Plan::ShareOfBudget(const PlannedTask& entry) const {
  return static_cast<double>(Taken(entry)) / static_cast<double>(std::max<std::int64_t>(1, budget));
}

std::optional<std::int64_t> OperationsOfARow(const PlannedTask& planned) {
  if (planned.operations == 0) return std::nullopt;
  return std::max<std::int64_t>(1, planned.operations / planned.rows);
}

DoesNotFit::DoesNotFit(const std::string& message, std::vector<Refusal> refusals)
    : Error(message, ExitCode::kDoesNotFit), refusals_(std::move(refusals)) {}

DoesNotFit::~DoesNotFit() = default;

Plan MakePlan(const Profile& profile, const std::vector<TaskRequest>& requests, const PlanSetting& setting) {
  const std::vector<PlanSetting> treatments = TreatmentsOfTables(requests, setting);
  std::optional<DoesNotFit> nearest;
  for (const PlanSetting& treatment : treatments) {
    std::vector<Refused> refused;
    const Planning planning(profile, requests, treatment);
    Plan plan = planning.Make(refused);
    if (refused.empty()) return plan;
    DoesNotFit refusal = MakeRefusal(refused, plan, RemediesOf(profile, requests, setting));
    if (!nearest || Missing(refusal) < Missing(*nearest)) nearest.emplace(std::move(refusal));
  }
  throw DoesNotFit(*nearest);
}

}  // namespace medley
