#include "tools/medley/sweep_items.h"

#include <algorithm>
#include <cmath>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/page/last_scores.h>
#include <medley/report/log_lines.h>
#include <medley/report/statistics.h>
#include <medley/runs/run_state.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

// Of a run that is over.
bool HasScoresOfItsEnd(const fs::path& run, const json& record) try {
  const json& end = At(NewestEnd(record), "step");
  if (!end.is_number_integer()) return true;
  const auto step = end.get<std::int64_t>();
  // Where no task has a score this says that they were looked for.
  const json evaluation = LastEvaluation(run);
  const json& evaluated = At(evaluation, "step");
  if (evaluated.is_number_integer() && evaluated.get<std::int64_t>() >= step) return true;
  return NewestStep(LastScoresOf(run)) >= step;
} catch (const Error&) {
  return false;  // medley eval says what is wrong with its files
}

std::int64_t StepsLeft(const SweepItem& item) {
  const bool is_over = item.state >= ItemState::kTrained && item.state != ItemState::kStopped;
  return is_over ? 0 : std::max<std::int64_t>(0, item.facts.steps - item.pace.step);
}

void AddPlugins(const SweepRequest& request, std::vector<std::string>& command) {
  for (const fs::path& path : request.plugins.paths)
    command.insert(command.end(), {"--plugin-path", path.string()});
}

}  // namespace

ItemState StateOnDisk(const fs::path& run) try {
  const json record = ReadRunRecord(run);
  const RunState state = StateOf(run, NewestEnd(record));
  if (state.status == RunStatus::kTraining) return ItemState::kHeld;
  if (TypeOf(run / "config.resolved.json") == fs::file_type::not_found) return ItemState::kNew;
  if (state.status != RunStatus::kEnded) return ItemState::kBegun;
  return HasScoresOfItsEnd(run, record) ? ItemState::kDone : ItemState::kTrained;
} catch (const Error&) {
  return ItemState::kBegun;  // a resume says what is wrong with its files
}

std::vector<SweepItem> ItemsOf(const CheckedSweep& sweep, const fs::path& directory) {
  std::vector<SweepItem> items;
  for (SweepRun& run : RunsOf(sweep.record)) {
    SweepItem item{.run = std::move(run)};
    item.path = directory / item.run.name;
    item.facts = sweep.groups[item.run.group];
    item.state = StateOnDisk(item.path);
    item.pace = PaceOf(item.path);
    items.push_back(std::move(item));
  }
  return items;
}

std::vector<std::string> CommandOf(const SweepItem& item, const SweepRequest& request,
                                   const SweepRecord& record, const fs::path& profile) {
  std::vector<std::string> command = {"medley"};
  if (item.state == ItemState::kTrained || item.state == ItemState::kScoring) {
    command.insert(command.end(), {"eval", item.path.string()});
    AddPlugins(request, command);
    return command;
  }
  if (item.state != ItemState::kNew) {
    command.insert(command.end(), {"resume", item.path.string()});
    AddPlugins(request, command);
    return command;
  }
  command.insert(command.end(), {"train", request.config.string(), "--out", item.path.string()});
  AddPlugins(request, command);
  // The user's word is for this config, and remembered: what lies in a run's folder may be another's.
  if (request.plugins.allow_config) command.emplace_back("--allow-config-plugins");
  if (request.allow_on_event) command.emplace_back("--allow-on-event");
  if (!profile.empty()) command.insert(command.end(), {"--profile", profile.string()});
  command.insert(command.end(), record.share.begin(), record.share.end());
  std::vector<std::string> fixed = record.fixed;  // whose budget and threads are divided by now
  std::erase_if(fixed, [&](const std::string& one) {
    return std::any_of(record.share.begin(), record.share.end(), [&](const std::string& share) {
      return one.starts_with(share.substr(0, share.find('=') + 1));
    });
  });
  command.insert(command.end(), fixed.begin(), fixed.end());
  for (const std::string& one : OverridesOf(record.groups[item.run.group], record.keys))
    command.push_back(one);
  command.push_back("seed=" + std::to_string(item.run.seed));
  return command;
}

double SecondsLeft(const std::vector<SweepItem>& items, std::int64_t jobs) {
  std::vector<double> known;
  for (const SweepItem& item : items)
    if (std::isfinite(item.pace.seconds)) known.push_back(item.pace.seconds);
  const double usual = MedianOf(std::move(known));
  double all = 0, longest = 0;
  for (const SweepItem& item : items) {
    const double step = std::isfinite(item.pace.seconds) ? item.pace.seconds : usual;
    const auto steps = static_cast<double>(StepsLeft(item));
    double seconds = steps > 0 ? steps * step : 0;
    if (item.facts.hours > 0) seconds = std::min(seconds, item.facts.hours * 3600);
    all += seconds;
    longest = std::max(longest, seconds);
  }
  return std::isfinite(all) ? std::max(longest, all / static_cast<double>(jobs)) : all;
}

ordered_json ItemsJson(const std::vector<SweepItem>& items, const SweepRecord& record) {
  ordered_json runs = ordered_json::array();
  for (const SweepItem& item : items) {
    const SweepGroup& group = record.groups[item.run.group];
    ordered_json values = ordered_json::object();
    for (std::size_t i = 0; i < record.keys.size(); ++i) values[record.keys[i].key] = group.values[i];
    runs.push_back({{"name", item.run.name},
                    {"path", item.path.string()},
                    {"group", group.folder},
                    {"values", std::move(values)},
                    {"seed", item.run.seed},
                    {"state", EnumName(item.state)},
                    {"step", item.pace.step},
                    {"steps", item.facts.steps},
                    {"why", item.why}});
  }
  return runs;
}

}  // namespace medley
