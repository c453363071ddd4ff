#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/curriculum/curriculum_changes.h>
#include <medley/curriculum/curriculum_edit.h>
#include <medley/curriculum/weight_log.h>
#include <medley/report/screen.h>
#include <medley/run/run_files.h>
#include <medley/run/validate.h>
#include <medley/run/weight_log_check.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using Cause = WeightEntry::Cause;
using nlohmann::ordered_json;

constexpr std::size_t kLargestState = std::size_t{1} << 28;  // bytes, and values

void RequireWhole(const fs::path& directory, const WeightLog& log) {
  if (const std::string words = WeightLogProblemWords(directory, log); !words.empty())
    throw InputError(words);
}

WeightLog LogOf(const fs::path& directory) {
  if (const std::string problem = DirectoryProblem(directory); !problem.empty())
    throw InputError(problem + "; a run directory is expected");
  WeightLog log(directory);
  if (!log.entries().empty()) return log;
  RequireWhole(directory, log);
  throw InputError(DisplayPath(directory) + " has no " + kWeightLog +
                   "; medley train writes one, and medley resume for a run of an older medley");
}

// "control 25 % -> 40 %, zoom_gold 75 % -> 60 %"; of a start "control 25 %".
std::string SharesInWords(const WeightEntry& entry) {
  std::map<std::string, double> all = entry.after;
  all.insert(entry.before.begin(), entry.before.end());
  const auto share_in = [](const std::map<std::string, double>& shares, const std::string& task) {
    const auto found = shares.find(task);
    return found == shares.end() ? 0 : found->second;
  };
  std::string words;
  for (const auto& [task, share] : all) {
    const ShareChange move{task, share_in(entry.before, task), share_in(entry.after, task)};
    const bool stays = entry.before.empty() || move.before == move.after;
    words += (words.empty() ? "" : ", ") + task + " " + (stays ? ShareInWords(move.after) : InWords(move));
  }
  return words;
}

ordered_json HistoryJson(const fs::path& directory, const WeightLog& log) {
  ordered_json entries = ordered_json::array(), due = ordered_json::array();
  for (const WeightEntry& entry : log.entries()) {
    entries.push_back({{"number", entry.number},
                       {"step", entry.step},
                       {"draw", entry.draw},
                       {"cause", WordOf(entry.cause)},
                       {"name", entry.name},
                       {"words", entry.words},
                       {"before", entry.before},
                       {"after", entry.after}});
  }
  for (const DueEdit& edit : log.due()) due.push_back({{"step", edit.step}});
  return {
      {"run", fs::absolute(directory).string()}, {"entries", std::move(entries)}, {"due", std::move(due)}};
}

void PrintHistory(const WeightLog& log) {
  for (const WeightEntry& entry : log.entries()) {
    const std::string name = entry.name.empty() ? "" : " " + entry.name;
    const std::string words = entry.words.empty() ? "" : ": " + entry.words;
    std::printf("step %lld, draw %lld: %s%s%s\n", static_cast<long long>(entry.step),
                static_cast<long long>(entry.draw), std::string(WordOf(entry.cause)).c_str(), name.c_str(),
                words.c_str());
    if (entry.cause == Cause::kRefusedEdit || entry.cause == Cause::kEarlyDecay ||
        entry.cause == Cause::kDecayRefit || entry.cause == Cause::kChangedFile)
      continue;
    std::printf("%s\n", Prose("    " + SharesInWords(entry), 0).c_str());
  }
  for (const DueEdit& edit : log.due())
    std::printf("step %lld: an edit that comes again when the run comes there\n",
                static_cast<long long>(edit.step));
}

void ShowHistory(const fs::path& directory, bool as_json) {
  const WeightLog log = LogOf(directory);
  if (as_json)
    std::cout << JsonText(HistoryJson(directory, log), 2) << std::endl;
  else
    PrintHistory(log);
  std::fflush(stdout);  // what can be trusted of it comes first
  RequireWhole(directory, log);
}

// By name: it may have become another one's place.
std::size_t PresentStage(const WeightLog& log, const Curriculum& curriculum) {
  std::string name = curriculum.stages.front().name;
  for (const WeightEntry& entry : log.entries()) {
    if (entry.cause == Cause::kStage) name = entry.name;
  }
  const auto found = std::find_if(curriculum.stages.begin(), curriculum.stages.end(),
                                  [&](const Stage& stage) { return stage.name == name; });
  return static_cast<std::size_t>(found - curriculum.stages.begin());
}

// The log has when the present stage began; the newest checkpoint, whether it cools or was the last and is
// over.
StagePlace PlaceOf(const fs::path& directory, std::size_t present) try {
  const std::vector<CheckpointEntry> saved = ListCheckpoints(directory);
  if (saved.empty()) return {.number = present};
  const fs::path file = saved.front().path / "state.json";
  const auto state =
      ReadJson(ReadFile(file), DisplayPath(file), {.bytes = kLargestState, .values = kLargestState});
  const auto& stage = state.at("progress").at("state").at("stage");
  const auto number = stage.at("number").get<std::size_t>();
  if (number < present) return {.number = present};
  return {.number = number, .cools = stage.at("cooled") >= 0};
} catch (const std::exception&) {
  return {.number = present};  // a resume says what is wrong with it
}

// As a resume does.
void CheckDiff(const fs::path& directory, const Curriculum& before, const std::string& then,
               const StagePlace& place) {
  const fs::path file = fs::absolute(directory) / kRunWeights, config = NewestConfig(directory);
  RunFiles files(config, {"weights=" + file.string()});
  const Registry registry = ScanPlugins(config, {}, files).registry;
  const CheckedRun run = CheckRun(config, files.overrides(), registry, RunAge::kBegun,
                                  WeightsText{file, then}, Locks::kHold, files.of_model());
  CheckEdit({file, ReadFile(file, kLargestWeightsFile)}, run.run, run.model->info, registry, WeightsOf::kUser,
            [&](ConfigFile& edited, const Curriculum& next) { CheckWhatStays(edited, before, next, place); });
}

// An edit that the run would refuse is an answer too.
std::string WhyRefused(const fs::path& directory, const Curriculum& before, const std::string& then,
                       const StagePlace& place) try {
  CheckDiff(directory, before, then, place);
  return "";
} catch (const InputError& error) {
  return error.what();
}

void ShowDiff(const fs::path& directory, bool as_json) {
  const WeightLog log = LogOf(directory);
  RequireWhole(directory, log);
  RequireOwnWeights(directory);
  const fs::path file = directory / kRunWeights;
  const Curriculum before = ParseCurriculum(directory / kWeightLog, log.Text().value_or(""));
  const Curriculum now = ReadCurriculum(file);
  const StagePlace place = PlaceOf(directory, PresentStage(log, before));
  // What it would be comes first.
  if (!as_json) std::cout << Prose(EditInWords(before, now, place.number)) << std::endl;
  const std::string refused = log.LastText() == ReadFile(file, kLargestWeightsFile)
                                  ? ""
                                  : WhyRefused(directory, before, log.Text().value_or(""), place);
  if (as_json) {
    ordered_json json = {{"run", fs::absolute(directory).string()},
                         {"changes", ToJson(ChangesOf(before, now, place.number))},
                         {"shares", ToJson(SharesMovedBy(before, now, place.number))}};
    if (!refused.empty()) json["refused"] = refused;
    std::cout << JsonText(json, 2) << std::endl;
  }
  if (!refused.empty()) throw InputError(refused);
}

}  // namespace

int RunWeights(int argc, char** argv) {
  CLI::App app("What became of a run's weights.", "medley weights");
  fs::path directory;
  CLI::App* history = app.add_subcommand("history", "every change so far: when, why, and the shares");
  history->add_option("DIR", directory, "the run's directory")->required();
  CLI::App* diff = app.add_subcommand(
      "diff", "what the weights file changes of what is in force; exit code 2 where the run would refuse it");
  diff->add_option("DIR", directory, "the run's directory")->required();
  bool as_json = false;
  for (CLI::App* verb : {history, diff}) AddJson(*verb, as_json);
  app.require_subcommand(1);
  if (!ParseArguments(app, argc, argv)) return 0;
  if (history->parsed()) ShowHistory(directory, as_json);
  if (diff->parsed()) ShowDiff(directory, as_json);
  return 0;
}

}  // namespace medley
