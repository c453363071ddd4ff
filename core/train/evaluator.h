#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/plugin/plugin_host.h>
#include <medley/report/picture.h>
#include <medley/report/statistics.h>
#include <medley/train/step_executor.h>

namespace medley {

// How well a task is done on rows that are never trained.
struct TaskScore {
  std::string metric;
  bool higher_is_better = true;
  Interval score;  // mean over the rows and its 95 % interval, see MeanInterval
  std::optional<double> chance;
  std::map<std::string, double> trivial;  // mean of answers that need no learning
  std::int64_t rows = 0;
  double loss = 0;  // weighted terms, as in training
  std::vector<std::vector<Picture>>
      examples;  // a row each: input, target, output; empty for tasks without pictures
};
using Scores = std::map<std::string, TaskScore>;

// What an evaluation needs beside the task.
struct EvalSetting {
  const Model& model;
  at::Device device;
  std::uint64_t seed = 0;  // the run's; the rows are those of EvalSeed(seed, task)
  std::int64_t rows = 0;
};

// Rows 0 .. rows-1 of the task's evaluation. No gradient, and libtorch's generators are left where they were.
TaskScore ScoreTask(LoadedTask& task, const ExecutionPlan& plan, const EvalSetting& setting);

// {"tasks": {name: {metric, better, value, low, high, chance, trivial, rows}}}
nlohmann::ordered_json ScoresJson(const Scores& scores);
// The same for people.
std::string ScoresTable(const Scores& scores);
// Weighted loss, averaged over tasks.
double MeanLoss(const Scores& scores);
// sheet-<task>.png for each task with pictures; returns the files.
std::vector<std::filesystem::path> WriteSheets(const Scores& scores, const std::filesystem::path& directory);

}  // namespace medley
