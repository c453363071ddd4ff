#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <medley/base/clock.h>
#include <medley/base/printable.h>
#include <medley/eval/score_report.h>
#include <medley/report/screen.h>
#include <medley/report/table.h>
#include <medley/runs/run_list.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kTasksThatStay = 3, kLongestValue = 24, kMostReasons = 20;

// "2026-03-01T12:34:56Z" as this machine's clock had it: "03-01 12:34", with the year where that is another.
std::string LocalTime(const std::string& stamp) {
  std::tm utc{};
  if (::strptime(stamp.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc) == nullptr) return "-";
  const std::time_t time = ::timegm(&utc), now = std::time(nullptr);
  std::tm local{}, today{};
  ::localtime_r(&time, &local);
  ::localtime_r(&now, &today);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), local.tm_year == today.tm_year ? "%m-%d %H:%M" : "%Y-%m-%d",
                &local);
  return text.data();
}

std::string StepWords(const RunFacts& facts) {
  return std::to_string(facts.step) + (facts.ends ? "/" + std::to_string(*facts.ends) : "");
}

// The best, and the last where that is worse.
std::string ScoreWords(const RunFacts& facts, const std::string& task) {
  const auto found = facts.scores.find(task);
  if (found == facts.scores.end() || std::isnan(found->second.best)) return "-";
  const std::string best = FormatScore(found->second.best), last = FormatScore(found->second.last);
  return last == best ? best : best + kNoBreak + "(" + last + ")";
}

// Of JSON a text without its quotes; of a path its last part, where that tells it from the others.
class ValueWords {
 public:
  ValueWords(const std::vector<ListedRun>& runs, std::string key, const ConfigValues& defaults)
      : key_(std::move(key)), defaults_(defaults) {
    std::set<std::string> values, names;
    for (const ListedRun& one : runs) {
      const std::string value = Whole(one);
      values.insert(value);
      names.insert(LastPart(value));
    }
    by_last_part_ = names.size() == values.size();
  }

  // As a sweep's do: "learning_rate=1e-3/seed-1".
  bool StandsInNames(const std::vector<ListedRun>& runs) const {
    const std::string last = key_.substr(key_.rfind('.') + 1);
    return std::ranges::all_of(runs, [&](const ListedRun& one) {
      return one.name.find(last + "=") != std::string::npos || one.name.find(last + "-") != std::string::npos;
    });
  }

  std::string Of(const ListedRun& one) const {
    std::string value = Whole(one);
    if (by_last_part_) value = LastPart(value);
    value = Printable(value);
    return TextWidth(value) > kLongestValue && !IsWide() ? CutText(value, kLongestValue - 2) + ".." : value;
  }

 private:
  std::string Whole(const ListedRun& one) const {
    if (one.run.facts.config.empty()) return "-";
    return PlainText(ValueOf(one.run.facts.config, key_, defaults_));
  }
  static std::string LastPart(const std::string& value) {
    return value.starts_with('/') ? fs::path(value).filename().string() : value;
  }

  std::string key_;
  const ConfigValues& defaults_;
  bool by_last_part_ = false;
};

// What each is called above its column: its last part, where that is no other's.
std::map<std::string, std::string> HeadersOf(const RunList& list, const std::vector<std::string>& keys) {
  std::map<std::string, int> count;
  const auto last = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
  for (const std::string& key : keys) ++count[last(key)];
  for (const std::string& task : list.tasks) ++count[task];
  for (const char* own : {"run", "state", "step", "when", "took"}) ++count[own];
  std::map<std::string, std::string> headers;
  for (const std::string& key : keys) headers[key] = count[last(key)] == 1 ? last(key) : key;
  return headers;
}

// A column for a key of the configs.
struct KeyColumn {
  std::string key, header;
  ValueWords values;
};

// That of the very least use first: tasks behind the first ones, times, what names tell, these tasks, what
// differs, the step; and what the user named goes last.
std::vector<std::string> SparesOf(const RunList& list, const std::vector<KeyColumn>& columns) {
  std::vector<std::string> spares;
  const auto spare = [&](const auto& begin, const auto& end) { spares.insert(spares.end(), begin, end); };
  const auto behind =
      list.tasks.begin() + static_cast<std::ptrdiff_t>(std::min(list.tasks.size(), kTasksThatStay));
  spare(list.tasks.rbegin(), std::make_reverse_iterator(behind));
  spares.insert(spares.end(), {"took", "when"});
  std::vector<std::string> told, others;
  for (auto column = columns.rbegin(); column != columns.rend(); ++column)
    (column->values.StandsInNames(list.runs) ? told : others).push_back(column->header);
  spare(told.begin(), told.end());
  spare(std::make_reverse_iterator(behind), list.tasks.rend());
  spare(others.begin(), others.end());
  spares.emplace_back("step");
  for (const std::string& asked : list.asked) {
    const auto column = std::ranges::find(columns, asked, &KeyColumn::key);
    const auto at = std::ranges::find(spares, column == columns.end() ? asked : column->header);
    if (at != spares.end()) std::rotate(at, at + 1, spares.end());
  }
  return spares;
}

// Of those that did not just end, a line each.
std::string Reasons(const RunList& list) {
  std::string text;
  std::size_t told = 0, more = 0;
  for (const ListedRun& one : list.runs) {
    const RunState& state = one.run.state;
    const bool is_plain = one.run.facts.damage.empty() &&
                          (state.status == RunStatus::kEnded || state.status == RunStatus::kStopped);
    if (is_plain || (told == kMostReasons && !IsWide())) {
      more += is_plain ? 0 : 1;
      continue;
    }
    ++told;
    text += Printable(one.name) + ": " + state.Words() + "\n";
  }
  if (more > 0) text += "and " + std::to_string(more) + " more: --wide\n";
  return text.empty() ? text : "\n" + Prose(text);
}

ordered_json Number(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(); }

ordered_json OrNull(const std::string& text) { return text.empty() ? ordered_json() : ordered_json(text); }

ordered_json RunJson(const ListedRun& one, const RunList& list, const ConfigValues& defaults) {
  const RunFacts& facts = one.run.facts;
  ordered_json json = {{"name", one.name},
                       {"path", one.run.path.string()},
                       {"state", EnumName(one.run.state.status)},
                       {"host", OrNull(one.run.state.host)},
                       {"since", OrNull(one.run.state.since)},
                       {"why", OrNull(one.run.state.why)},
                       {"began", OrNull(facts.began)},
                       {"step", facts.step},
                       {"ends", facts.ends ? ordered_json(*facts.ends) : ordered_json()},
                       {"seconds", facts.seconds},
                       {"scores", ordered_json::object()},
                       {"config", ordered_json::object()}};
  for (const auto& [task, score] : facts.scores)
    json["scores"][task] = {{"metric", score.metric},     {"better", DirectionName(score.higher_is_better)},
                            {"best", Number(score.best)}, {"best_step", score.best_step},
                            {"last", Number(score.last)}, {"last_step", score.last_step}};
  for (const std::string& key : list.differs) {
    if (facts.config.empty()) continue;
    const std::string value = ValueOf(facts.config, key, defaults);
    json["config"][key] = ordered_json::accept(value) ? ordered_json::parse(value) : ordered_json();
  }
  return json;
}

ConfigValues DefaultsOf(const RunList& list) {
  std::vector<ConfigValues> configs;
  for (const ListedRun& one : list.runs) configs.push_back(one.run.facts.config);
  return DefaultValues(configs);
}

}  // namespace

std::string RunsText(const RunList& list) {
  std::vector<std::string> keys = list.differs;
  std::erase(keys, "steps");  // which stand behind the step
  const std::map<std::string, std::string> headers = HeadersOf(list, keys);
  const ConfigValues defaults = DefaultsOf(list);
  std::vector<std::string> header = {"run", "state", "step", "when", "took"};
  std::vector<KeyColumn> columns;
  for (const std::string& key : keys) {
    header.push_back(headers.at(key));
    columns.push_back({key, header.back(), ValueWords(list.runs, key, defaults)});
  }
  header.insert(header.end(), list.tasks.begin(), list.tasks.end());
  Table table(header, 2);
  table.Spares(SparesOf(list, columns));
  for (const ListedRun& one : list.runs) {
    const RunFacts& facts = one.run.facts;
    std::vector<std::string> row = {Printable(one.name), EnumName(one.run.state.status), StepWords(facts),
                                    LocalTime(facts.began), FormatSeconds(facts.seconds)};
    for (const KeyColumn& column : columns) row.push_back(column.values.Of(one));
    for (const std::string& task : list.tasks) row.push_back(ScoreWords(facts, task));
    table.Add(std::move(row));
  }
  return table.ToText() + Reasons(list);
}

ordered_json RunsJson(const RunList& list) {
  const ConfigValues defaults = DefaultsOf(list);
  ordered_json json = {{"runs", ordered_json::array()}, {"differs", list.differs}};
  for (const ListedRun& one : list.runs) json["runs"].push_back(RunJson(one, list, defaults));
  return json;
}

}  // namespace medley
