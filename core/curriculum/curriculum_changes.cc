#include <medley/curriculum/curriculum_changes.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <medley/base/suggest.h>
#include <medley/curriculum/condition.h>

namespace medley {
namespace {

double WeightOf(const Weights& weights, const std::string& task) {
  for (const auto& [name, weight] : weights) {
    if (name == task) return weight;
  }
  return 0;
}

double ShareOf(const Weights& weights, const std::string& task, const std::set<std::string>& dropped) {
  double sum = 0;
  for (const auto& [name, weight] : weights) sum += dropped.count(name) > 0 ? 0 : weight;
  return dropped.count(task) > 0 || sum <= 0 ? 0 : WeightOf(weights, task) / sum;
}

std::string Percent(double share, int decimals) {
  if (decimals == 0) return std::to_string(std::lround(100 * share)) + " %";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f %%", decimals, 100 * share);
  return text.data();
}

// What a sum of others rounds away is no move.
bool Moves(const ShareChange& share) { return std::abs(share.after - share.before) > 1e-9; }

// As many as the two need to differ.
int DecimalsToTell(const ShareChange& share) {
  constexpr int kMostDecimals = 6;
  int decimals = 0;
  while (Moves(share) && decimals < kMostDecimals &&
         Percent(share.before, decimals) == Percent(share.after, decimals))
    ++decimals;
  return decimals;
}

// The tasks that have a weight in one of them.
std::vector<std::string> TasksOfBoth(const Stage& before, const Stage& now) {
  std::vector<std::string> tasks = now.Active();
  for (const std::string& task : before.Active()) {
    if (std::ranges::find(tasks, task) == tasks.end()) tasks.push_back(task);
  }
  return tasks;
}

ShareChange ChangeOfShare(const Stage& before, const Stage& now, const std::string& task,
                          const std::set<std::string>& dropped) {
  return {.task = task,
          .before = ShareOf(before.weights, task, dropped),
          .after = ShareOf(now.weights, task, dropped)};
}

std::vector<ShareChange> MovesOf(const Stage& before, const Stage& now,
                                 const std::set<std::string>& dropped) {
  std::vector<ShareChange> moves;
  for (const std::string& task : TasksOfBoth(before, now)) {
    const ShareChange share = ChangeOfShare(before, now, task, dropped);
    if (Moves(share)) moves.push_back(share);
  }
  return moves;
}

std::string MovesInWords(const std::vector<ShareChange>& moves) {
  std::vector<std::string> words;
  for (const ShareChange& share : moves) words.push_back(share.task + " " + InWords(share));
  return JoinNames(words);
}

std::string InSixDigits(double weight) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", weight);
  return text.data();
}

using nlohmann::ordered_json;
using Changes = std::vector<CurriculumChange>;

ordered_json EndOf(const Stage& stage) {
  return stage.until ? ordered_json(InWords(*stage.until)) : ordered_json();
}

std::string EndInWords(const Stage& stage) { return stage.until ? InWords(*stage.until) : "the run's end"; }

void AddWeight(const Stage& before, const Stage& now, const std::string& task,
               const std::set<std::string>& dropped, Changes& changes) {
  const double was = WeightOf(before.weights, task), is = WeightOf(now.weights, task);
  if (was == is) return;
  changes.push_back({"weights." + task, was, is,
                     task + " " + InSixDigits(was) + " -> " + InSixDigits(is) + " (" +
                         InWords(ChangeOfShare(before, now, task, dropped)) + ")"});
  if (dropped.count(task) > 0) changes.back().words += ", and it stays dropped";
}

template <typename Number>
void AddNumber(const char* key, Number was, Number is, Changes& changes) {
  if (was == is) return;
  changes.push_back({key, was, is,
                     std::string(key) + " " + InSixDigits(static_cast<double>(was)) + " -> " +
                         InSixDigits(static_cast<double>(is))});
}

void AddChanges(const Stage& before, const Stage& now, const std::set<std::string>& dropped,
                Changes& changes) {
  for (const std::string& task : TasksOfBoth(before, now)) AddWeight(before, now, task, dropped, changes);
  if (EndInWords(before) != EndInWords(now))
    changes.push_back(
        {"until", EndOf(before), EndOf(now), "until " + EndInWords(before) + " -> " + EndInWords(now)});
  AddNumber("cooldown", before.cooldown_steps, now.cooldown_steps, changes);
  AddNumber("cooldown_to", before.cooldown_to, now.cooldown_to, changes);
  AddNumber("eval_every", before.eval_every, now.eval_every, changes);
  if (before.keep != now.keep)
    changes.push_back({"keep", before.keep, now.keep, now.keep ? "it is kept" : "it is not kept"});
  if (before.ramp.draws == now.ramp.draws && before.ramp.shape == now.ramp.shape) return;
  changes.push_back({"ramp", before.ramp.draws, now.ramp.draws,
                     now.ramp.draws > 0 ? "a ramp of " + std::to_string(now.ramp.draws) + " draws begins"
                                        : "the ramp ends"});
}

}  // namespace

std::string InWords(const ShareChange& share) {
  const int decimals = DecimalsToTell(share);
  return Percent(share.before, decimals) + " -> " + Percent(share.after, decimals);
}

std::string ShareInWords(double share) {
  return Percent(share, DecimalsToTell({.task = "", .after = share}));
}

Changes ChangesOf(const Curriculum& before, const Curriculum& now, std::size_t present,
                  const std::set<std::string>& dropped) {
  Changes changes;
  if (present < before.stages.size() && present < now.stages.size())
    AddChanges(before.stages[present], now.stages[present], dropped, changes);
  for (std::size_t i = 0; i < std::max(before.stages.size(), now.stages.size()); ++i) {
    const ordered_json was = i < before.stages.size() ? ToJson(before.stages[i]) : ordered_json();
    const ordered_json is = i < now.stages.size() ? ToJson(now.stages[i]) : ordered_json();
    if ((i == present && !was.is_null() && !is.is_null()) || was == is) continue;
    const std::string& name = is.is_null() ? before.stages[i].name : now.stages[i].name;
    changes.push_back({"stages." + name, was, is,
                       "stage " + name +
                           (is.is_null()    ? " is gone"
                            : was.is_null() ? " is new"
                                            : " is another")});
  }
  return changes;
}

std::string InWords(const Changes& changes) {
  std::vector<std::string> words;
  for (const CurriculumChange& change : changes) words.push_back(change.words);
  return words.empty() ? "no weight changed" : JoinNames(words);
}

std::vector<ShareChange> SharesMovedBy(const Curriculum& before, const Curriculum& now, std::size_t present,
                                       const std::set<std::string>& dropped) {
  if (present >= std::min(before.stages.size(), now.stages.size())) return {};
  return MovesOf(before.stages[present], now.stages[present], dropped);
}

std::string EditInWords(const Curriculum& before, const Curriculum& now, std::size_t present,
                        const std::set<std::string>& dropped) {
  std::string words = InWords(ChangesOf(before, now, present, dropped));
  std::vector<ShareChange> others = SharesMovedBy(before, now, present, dropped);
  std::erase_if(others, [&](const ShareChange& share) {  // which were named with their numbers
    return WeightOf(before.stages[present].weights, share.task) !=
           WeightOf(now.stages[present].weights, share.task);
  });
  if (!others.empty()) words += "; so " + MovesInWords(others);
  for (std::size_t i = 0; i < std::min(before.stages.size(), now.stages.size()); ++i) {
    const std::vector<ShareChange> moves = MovesOf(before.stages[i], now.stages[i], dropped);
    if (i != present && !moves.empty())
      words += "; in stage " + now.stages[i].name + " " + MovesInWords(moves);
  }
  return words;
}

ordered_json ToJson(const std::vector<ShareChange>& shares) {
  ordered_json json = ordered_json::object();
  for (const ShareChange& share : shares)
    json[share.task] = {{"before", share.before}, {"after", share.after}};
  return json;
}

ordered_json ToJson(const Changes& changes) {
  ordered_json json = ordered_json::array();
  for (const CurriculumChange& change : changes)
    json.push_back(
        {{"key", change.key}, {"before", change.before}, {"after", change.after}, {"words", change.words}});
  return json;
}

}  // namespace medley
