#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/curriculum/curriculum.h>
#include <medley/estimate/gpu.h>
#include <medley/plugin/model_file.h>
#include <medley/plugin/registry.h>
#include <medley/run/validate.h>
#include <medley/text/chat_strings.h>

namespace medley {

// What medley validate says of files without a mistake: gathered once, and printed as words or as JSON.

// Who says how a task's passes are run: the config, the planner before the first step, or its spec, which
// leaves no choice.
enum class ModeBy { kConfig, kPlan, kSpec };

// A task of a stage, with what it would get in the longest run.
struct TaskOutlook {
  std::string task, kind{}, variant, mode;  // kind: "" where it is that of the name
  ModeBy mode_by = ModeBy::kSpec;
  double share = 0;
  std::int64_t rows = 0;                       // of a draw; 0: "auto"
  double draws = 0, rows_in_all = 0;           // of the stage; by one row of a draw where the rows are "auto"
  bool knows_draws = true, knows_rows = true;  // whether no such row counts in them
  std::int64_t passes = 0;
};

struct StageOutlook {
  std::string name, words;  // "" of weights without stages
  std::vector<TaskOutlook> tasks;
  std::vector<std::string> paused;
};

struct RunOutlook {
  RunConfig run;
  ShareUnit unit = ShareUnit::kRows;
  DrawOrder order = DrawOrder::kDeficit;
  std::string model;  // its kind
  std::vector<StageOutlook> stages;
  std::string length;                   // in words; "" without stages
  std::vector<std::string> choices;     // of plugins that give the same task, in words
  std::string token_table;              // see CheckedRun
  std::vector<std::string> warnings{};  // of what it says and what does nothing, or not what it seems
};
RunOutlook OutlookOf(const CheckedRun& checked, const Registry& registry);

// Without a run config nobody knows the rows of a draw: stages and their lengths are counted with the
// defaults.
struct WeightsOutlook {
  ShareUnit unit = ShareUnit::kRows;
  std::size_t tasks = 0;
  std::vector<StageOutlook> stages;  // whose tasks have a share, and nothing else
  std::string length;                // as above
};
WeightsOutlook OutlookOf(const Curriculum& curriculum);

void Print(const RunOutlook& outlook);
void Print(const WeightsOutlook& outlook);
void Print(const ModelFile& model);
void Print(const Gpu& gpu);
void Print(const ChatStrings& chat);
nlohmann::ordered_json ToJson(const RunOutlook& outlook);
nlohmann::ordered_json ToJson(const WeightsOutlook& outlook);
nlohmann::ordered_json ToJson(const ModelFile& model);
nlohmann::ordered_json ToJson(const Gpu& gpu);

}  // namespace medley
