#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/curriculum/curriculum_changes.h>
#include <medley/curriculum/weight_log.h>
#include <medley/run/weight_log_check.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using Cause = WeightEntry::Cause;

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

// "control 25 -> 40 %, zoom_gold 75 -> 60 %"; of a start "control 25 %".
std::string SharesInWords(const WeightEntry& entry) {
  const auto percent = [](const std::map<std::string, double>& shares, const std::string& task) {
    const auto found = shares.find(task);
    return std::to_string(std::lround(100 * (found == shares.end() ? 0 : found->second)));
  };
  std::map<std::string, double> all = entry.after;
  all.insert(entry.before.begin(), entry.before.end());
  std::string words;
  for (const auto& [task, share] : all) {
    const std::string was = percent(entry.before, task), is = percent(entry.after, task);
    words += (words.empty() ? "" : ", ") + task + " " +
             (was == is || entry.before.empty() ? "" : was + " -> ") + is + " %";
  }
  return words;
}

void PrintHistory(const fs::path& directory) {
  const WeightLog log = LogOf(directory);
  for (const WeightEntry& entry : log.entries()) {
    const std::string name = entry.name.empty() ? "" : " " + entry.name;
    const std::string words = entry.words.empty() ? "" : ": " + entry.words;
    std::printf("step %lld, draw %lld: %s%s%s\n", static_cast<long long>(entry.step),
                static_cast<long long>(entry.draw), std::string(WordOf(entry.cause)).c_str(), name.c_str(),
                words.c_str());
    if (entry.cause == Cause::kRefusedEdit || entry.cause == Cause::kEarlyDecay ||
        entry.cause == Cause::kChangedFile)
      continue;
    std::printf("    %s\n", SharesInWords(entry).c_str());
  }
  for (const DueEdit& edit : log.due())
    std::printf("step %lld: an edit that comes again when the run comes there\n",
                static_cast<long long>(edit.step));
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

void PrintDiff(const fs::path& directory) {
  const WeightLog log = LogOf(directory);
  RequireWhole(directory, log);
  const fs::path file = directory / kRunWeights;
  const Curriculum before = ParseCurriculum(directory / kWeightLog, log.Text().value_or(""));
  const Curriculum now = ReadCurriculum(file);
  std::printf("%s\n", ChangesInWords(before, now, PresentStage(log, before)).c_str());
}

}  // namespace

int RunWeights(int argc, char** argv) {
  CLI::App app("What became of a run's weights.", "medley weights");
  fs::path directory;
  CLI::App* history = app.add_subcommand("history", "every change so far: when, why, and the shares");
  history->add_option("DIR", directory, "the run's directory")->required();
  CLI::App* diff = app.add_subcommand("diff", "what the weights file changes of what is in force");
  diff->add_option("DIR", directory, "the run's directory")->required();
  app.require_subcommand(1);
  if (!ParseArguments(app, argc, argv)) return 0;
  if (history->parsed()) PrintHistory(directory);
  if (diff->parsed()) PrintDiff(directory);
  return 0;
}

}  // namespace medley
