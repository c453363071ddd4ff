#include <medley/runs/run_list.h>

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kOwnKeys = {"name", "state", "step", "when", "took"};

// What stands in a run under a key.
struct Value {
  std::string text;
  std::optional<double> number{};
};

std::optional<double> NumberIn(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || std::isnan(number)) return std::nullopt;
  return number;
}

Value ValueOfText(const std::string& text) { return {.text = text, .number = NumberIn(text)}; }

Value NumberValue(double number) { return {.text = std::to_string(number), .number = number}; }

// The keys that these runs have, and what each has under them.
class Keys {
 public:
  explicit Keys(const std::vector<ListedRun>& runs) {
    std::vector<ConfigValues> configs;
    for (const ListedRun& one : runs) {
      configs.push_back(one.run.facts.config);
      for (const auto& [key, value] : one.run.facts.config) config_.insert(key);
      for (const auto& [task, score] : one.run.facts.scores) tasks_.insert(task);
    }
    defaults_ = DefaultValues(configs);
    for (const auto& [key, value] : defaults_) config_.insert(key);
  }

  // The whole key. An InputError where there is none.
  std::string Find(const std::string& key) const {
    if (std::ranges::find(kOwnKeys, key) != kOwnKeys.end() || tasks_.contains(key) || config_.contains(key))
      return key;
    std::vector<std::string> ends;
    for (const std::string& whole : config_) {
      if (whole.ends_with("." + key)) ends.push_back(whole);
    }
    if (ends.size() == 1) return ends.front();
    std::vector<std::string> all = kOwnKeys;
    all.insert(all.end(), tasks_.begin(), tasks_.end());
    all.insert(all.end(), config_.begin(), config_.end());
    throw InputError("'" + Printable(key) + "': " +
                     (ends.empty() ? "none of these runs has such a key" + DidYouMean(NearPaths(key, all))
                                   : "several keys end so: " + JoinFew(ends)) +
                     " (expected: " + JoinNames(kOwnKeys) + ", a task, or a key of the config)");
  }

  Value In(const ListedRun& one, const std::string& key) const {
    const RunFacts& facts = one.run.facts;
    if (key == "name") return {.text = one.name};
    if (key == "state") return {.text = EnumName(one.run.state.status)};
    if (key == "when") return {.text = facts.began};
    if (key == "step") return NumberValue(static_cast<double>(facts.step));
    if (key == "took") return NumberValue(facts.seconds);
    if (tasks_.contains(key)) {
      const auto score = facts.scores.find(key);
      if (score == facts.scores.end() || std::isnan(score->second.best)) return {};
      return NumberValue(score->second.best);
    }
    return ValueOfText(PlainText(ValueOf(facts.config, key, defaults_)));
  }
  bool IsTask(const std::string& key) const { return tasks_.contains(key); }

 private:
  std::set<std::string> config_, tasks_;
  ConfigValues defaults_;
};

struct Condition {
  std::string key;
  char how = '=';
  std::string value;
};

Condition ReadCondition(const std::string& text, const Keys& keys) {
  const std::size_t at = text.find_first_of("=<>");
  const bool is_whole = at != std::string::npos && at > 0 && at + 1 < text.size() && text[at + 1] != '=';
  if (!is_whole)
    throw InputError(
        "--where '" + Printable(text) +
        "': expected KEY=VALUE, KEY<VALUE or KEY>VALUE, as in 'step>100' (in quotes: < and > are "
        "the shell's)");
  return {.key = keys.Find(text.substr(0, at)), .how = text[at], .value = text.substr(at + 1)};
}

// Numbers where both are, else texts: a time by its letters.
std::partial_ordering Compare(const Value& a, const Value& b) {
  if (a.number && b.number) return *a.number <=> *b.number;
  return a.text <=> b.text;
}

bool Holds(const Condition& condition, const Value& found) {
  if (found.text.empty()) return false;
  const Value wanted{.text = condition.value, .number = NumberIn(condition.value)};
  const std::partial_ordering order = Compare(found, wanted);
  if (condition.how == '<') return order < 0;
  if (condition.how == '>') return order > 0;
  return order == 0 || ::fnmatch(condition.value.c_str(), found.text.c_str(), 0) == 0;
}

std::string NameOf(const fs::path& run, const std::vector<fs::path>& directories) {
  if (directories.size() != 1) return DisplayPath(run);
  const fs::path name = run.lexically_relative(NormalPath(fs::absolute(directories.front())));
  return name.empty() || name == "." ? run.filename().string() : name.string();
}

bool BeganBefore(const ListedRun& a, const ListedRun& b) { return a.run.facts.began < b.run.facts.began; }

// Those without a value last.
void SortBy(const std::string& key, const Keys& keys, std::vector<ListedRun>& runs) {
  const auto rank = [&](const ListedRun& one) {
    const auto score = one.run.facts.scores.find(key);
    return score == one.run.facts.scores.end() ? ScoreCourse().Rank() : score->second.Rank();
  };
  std::ranges::stable_sort(runs, [&](const ListedRun& a, const ListedRun& b) {
    if (keys.IsTask(key)) return rank(a) < rank(b);
    return Compare(keys.In(a, key), keys.In(b, key)) < 0;
  });
}

}  // namespace

RunList ListRuns(std::vector<RunSummary> runs, const RunsRequest& request) {
  RunList list;
  for (RunSummary& run : runs)
    list.runs.push_back({.name = NameOf(run.path, request.directories), .run = std::move(run)});
  const Keys keys(list.runs);
  for (const std::string& text : request.where) {
    const Condition condition = ReadCondition(text, keys);
    list.asked.push_back(condition.key);
    std::erase_if(list.runs,
                  [&](const ListedRun& one) { return !Holds(condition, keys.In(one, condition.key)); });
  }
  std::ranges::stable_sort(list.runs, BeganBefore);
  if (request.last > 0 && request.last < list.runs.size())
    list.runs.erase(list.runs.begin(), list.runs.end() - static_cast<std::ptrdiff_t>(request.last));
  if (!request.sort.empty()) {
    list.asked.push_back(keys.Find(request.sort));
    SortBy(list.asked.back(), keys, list.runs);
  }
  if (request.reverse) std::ranges::reverse(list.runs);
  std::vector<ConfigValues> configs;
  std::set<std::string> tasks;
  for (const ListedRun& one : list.runs) {
    if (!one.run.facts.config.empty()) configs.push_back(one.run.facts.config);
    for (const auto& [task, score] : one.run.facts.scores) tasks.insert(task);
  }
  list.differs = DifferingKeys(configs);
  list.tasks.assign(tasks.begin(), tasks.end());
  return list;
}

}  // namespace medley
