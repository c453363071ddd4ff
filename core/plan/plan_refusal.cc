#include <medley/plan/plan_refusal.h>

#include <optional>

#include <medley/base/bytes.h>

namespace medley {
namespace {

// An override of the run config that makes the task fit; each is tried on the model before it is named.
class Change {
 public:
  Change(const Refused& refused, std::int64_t room)
      : request_(refused.request), planner_(refused.planner), room_(room) {}

  // Fewer rows in a forward change the least; then another mode; "" where the config pins nothing that helps.
  std::string Smallest() const {
    const std::string key = request_.form.KeyPrefix();
    if (request_.micro_rows > 0) {
      TaskRequest other = request_;
      other.micro_rows = planner_.LargestMicroRows(room_);
      if (other.micro_rows > 0 && Fits(other)) return key + "micro_rows=" + std::to_string(other.micro_rows);
    }
    if (request_.mode) {
      TaskRequest other = request_;
      other.mode.reset();
      if (const auto choice = planner_.For(other).Choose(room_))
        return key + "mode=" + std::string(ModeName(choice->mode->way.mode));
    }
    if (request_.recomputed && *request_.recomputed != RecomputedLayers(1)) {
      TaskRequest other = request_;
      other.recomputed = 1;
      if (Fits(other)) return key + RecomputeAll(request_.form.settings);
    }
    return "";
  }

 private:
  bool Fits(const TaskRequest& request) const { return planner_.For(request).Choose(room_).has_value(); }

  const TaskRequest& request_;
  const TaskPlanner& planner_;
  std::int64_t room_;
};

bool MachineHas(const Remedies& remedies) {
  return remedies.budget > 0 && (remedies.machine == 0 || remedies.budget <= remedies.machine);
}

// For everything, where less would not do. More memory changes no loss.
std::string LastResort(const Remedies& remedies) {
  if (MachineHas(remedies)) return "budget=" + std::to_string(remedies.budget);
  return remedies.fewer_draws.empty() ? remedies.fewer_rows : remedies.fewer_draws;
}

// All that would do, each in a line.
std::string RemedyWords(const Remedies& remedies) {
  std::string words;
  const auto add = [&](const std::string& change, const std::string& why) {
    if (!change.empty()) words += "\n  Everything fits with " + change + " (" + why + ")";
  };
  add(remedies.fewer_waiting, "fewer rows wait; no loss changes");
  if (MachineHas(remedies)) add("budget=" + std::to_string(remedies.budget), FormatBytes(remedies.budget));
  add(remedies.fewer_draws, "a step learns from fewer draws");
  add(remedies.fewer_rows, "a draw has fewer rows");
  if (remedies.budget > 0 && !MachineHas(remedies)) {
    words += "\n  As it is it needs a budget of " + FormatBytes(remedies.budget) + ", this machine has " +
             FormatBytes(remedies.machine);
  }
  return words;
}

std::string Pins(const TaskRequest& request) {
  std::string text;
  const auto add = [&](const std::string& pin) { text += (text.empty() ? "" : ", ") + pin; };
  if (request.mode) add("mode \"" + std::string(ModeName(*request.mode)) + "\"");
  if (request.recomputed) {
    const std::optional<int> every = request.recomputed->every();
    add(every ? "recompute_every " + std::to_string(*every)
              : "recompute_layers \"" + request.recomputed->Fraction() + "\"");
  }
  if (request.micro_rows > 0) add("micro_rows " + std::to_string(request.micro_rows));
  return text.empty() ? "" : " with " + text;
}

// What changes the least: rows that wait cost no computing; then fewer rows in a forward, another mode; and
// more memory.
Refusal Words(const Refused& refused, std::int64_t room, const Remedies& remedies) {
  const TaskRequest& request = refused.request;
  Refusal refusal{
      .form = request.form.id, .missing = 0, .change = {}, .words = "task " + request.form.id.text()};
  const std::optional<std::int64_t> needed = refused.planner.SmallestRoom();
  if (!needed) {
    refusal.words += ": not one row of it could be measured" + Pins(request) +
                     ", this machine's memory overflowed; plan it on a larger one, and give that profile "
                     "with --profile";
    return refusal;
  }
  refusal.missing = *needed - room;
  refusal.words += " needs " + FormatBytes(*needed) + " above that" + Pins(request) +
                   (request.micro_rows > 0 ? "" : " for a single row") + ": " + FormatBytes(refusal.missing) +
                   " (" + std::to_string(refusal.missing) + " bytes) are missing";
  refusal.change = remedies.fewer_waiting;
  if (refusal.change.empty()) refusal.change = Change(refused, room).Smallest();
  if (!refusal.change.empty()) {
    refusal.words += "; it fits with " + refusal.change;
  } else {
    refusal.change = LastResort(remedies);
  }
  return refusal;
}

Refusal FloorWords(const Plan& plan, const Remedies& remedies) {
  const std::int64_t missing = plan.floor_bytes() + plan.data_bytes - plan.budget;
  return {.form = std::nullopt,
          .missing = missing,
          .change = remedies.fewer_waiting.empty() ? LastResort(remedies) : remedies.fewer_waiting,
          .words = "that alone is " + FormatBytes(missing) + " (" + std::to_string(missing) +
                   " bytes) more than the budget; not one row of task "};
}

}  // namespace

DoesNotFit MakeRefusal(const std::vector<Refused>& refused, const Plan& plan, const Remedies& remedies) {
  const std::int64_t room = plan.budget - plan.floor_bytes() - plan.data_bytes;
  std::string message = "the run does not fit its budget of " + FormatBytes(plan.budget) +
                        ". Between steps " + FormatBytes(plan.floor_bytes()) + " live (parameters " +
                        FormatBytes(plan.floor.weights) + ", optimizer " + FormatBytes(plan.floor.optimizer) +
                        ", tables of model and tasks " +
                        FormatBytes(plan.floor.workspace + plan.floor.constants) + ")";
  if (plan.waiting_bytes() > 0) message += ", and " + FormatBytes(plan.waiting_bytes()) + " of rows wait";
  if (plan.cache_bytes > 0)
    message +=
        ", and caches of tasks, which options of theirs limit, come to " + FormatBytes(plan.cache_bytes);
  message += ".";
  std::vector<Refusal> refusals;
  if (room < 0) {
    refusals.push_back(FloorWords(plan, remedies));
    refusals.back().words += refused.front().request.form.id.text() + " fits beside it";
  } else {
    for (const Refused& one : refused) refusals.push_back(Words(one, room - one.tables, remedies));
  }
  for (const Refusal& refusal : refusals) message += "\n  " + refusal.words;
  return {message + RemedyWords(remedies), std::move(refusals)};
}

nlohmann::ordered_json RefusalsJson(const Error& refused) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  const auto* listed = dynamic_cast<const DoesNotFit*>(&refused);
  if (listed == nullptr) json.push_back({{"words", refused.what()}});
  for (const Refusal& refusal : listed == nullptr ? std::vector<Refusal>() : listed->refusals()) {
    json.push_back(
        {{"words", refusal.words}, {"missing", refusal.missing}, {"of_evaluation", refusal.of_evaluation}});
    if (refusal.form) json.back()["task"] = refusal.form->text();
    if (!refusal.change.empty()) json.back()["change"] = refusal.change;
  }
  return json;
}

}  // namespace medley
