#include <medley/curriculum/curriculum_changes.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

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

std::string Percent(const Weights& weights, const std::string& task, const std::set<std::string>& dropped) {
  double sum = 0;
  for (const auto& [name, weight] : weights) sum += dropped.count(name) > 0 ? 0 : weight;
  const double share = dropped.count(task) > 0 || sum <= 0 ? 0 : WeightOf(weights, task) / sum;
  return std::to_string(std::lround(100 * share)) + " %";
}

std::string InSixDigits(double weight) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", weight);
  return text.data();
}

std::string EndOf(const Stage& stage) { return stage.until ? InWords(*stage.until) : "the run's end"; }

void AddChanges(const Stage& before, const Stage& now, const std::set<std::string>& dropped,
                std::vector<std::string>& words) {
  std::vector<std::string> tasks = ActiveOf(now.weights);
  for (const std::string& task : ActiveOf(before.weights)) {
    if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) tasks.push_back(task);
  }
  for (const std::string& task : tasks) {
    const double was = WeightOf(before.weights, task), is = WeightOf(now.weights, task);
    if (was == is) continue;
    words.push_back(task + " " + InSixDigits(was) + " -> " + InSixDigits(is) + " (" +
                    Percent(before.weights, task, dropped) + " -> " + Percent(now.weights, task, dropped) +
                    ")");
    if (dropped.count(task) > 0) words.back() += ", and it stays dropped";
  }
  if (EndOf(before) != EndOf(now)) words.push_back("until " + EndOf(before) + " -> " + EndOf(now));
  const auto other = [&](const char* key, double was, double is) {
    if (was != is) words.push_back(std::string(key) + " " + InSixDigits(was) + " -> " + InSixDigits(is));
  };
  other("cooldown", static_cast<double>(before.cooldown_steps), static_cast<double>(now.cooldown_steps));
  other("cooldown_to", before.cooldown_to, now.cooldown_to);
  other("eval_every", static_cast<double>(before.eval_every), static_cast<double>(now.eval_every));
  if (before.keep != now.keep) words.emplace_back(now.keep ? "it is kept" : "it is not kept");
  if (before.ramp.draws == now.ramp.draws && before.ramp.shape == now.ramp.shape) return;
  words.push_back(now.ramp.draws > 0 ? "a ramp of " + std::to_string(now.ramp.draws) + " draws begins"
                                     : "the ramp ends");
}

}  // namespace

std::string ChangesInWords(const Curriculum& before, const Curriculum& now, std::size_t present,
                           const std::set<std::string>& dropped) {
  std::vector<std::string> words;
  if (present < before.stages.size() && present < now.stages.size())
    AddChanges(before.stages[present], now.stages[present], dropped, words);
  for (std::size_t i = 0; i < std::max(before.stages.size(), now.stages.size()); ++i) {
    const bool was = i < before.stages.size(), is = i < now.stages.size();
    if (was && is && (i == present || ToJson(before.stages[i]) == ToJson(now.stages[i]))) continue;
    words.push_back("stage " + (is ? now.stages[i].name + (was ? " is another" : " is new")
                                   : before.stages[i].name + " is gone"));
  }
  return words.empty() ? "no weight changed" : JoinNames(words);
}

}  // namespace medley
