#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/report/records.h>
#include <medley/report/screen.h>

namespace medley {

// What a task asked for and got in a stage.
struct TaskAccount {
  double asked = 0, delivered = 0;  // shares of the unit, over the stage
  std::int64_t charged = 0;         // of the unit, likewise
  std::int64_t rows = 0, steps = 0, tokens_run = 0,
               forwards = 0;  // steps: draws; the last two: see DrawReceipt
  double seconds = 0;         // of steps; those of a step's draws are equal parts
  std::int64_t peak = 0;      // bytes, the largest of its draws
  std::int64_t items = 0;     // for training; 0: they do not end
};

struct StageAccount {
  std::int64_t number = 0;  // of the stage, from 0
  std::string name;
  std::string
      unit;  // that its weights are shares of; "" of an older medley, which did not say what was charged
  std::map<std::string, TaskAccount> tasks;
};

// The accounts of every stage that a run has begun, its resumes included.
class StageAccounts {
 public:
  // Steps come in their order: one of another stage than the last begins a new account.
  void Add(const StepRecord& record);
  const std::vector<StageAccount>& stages() const { return stages_; }

  nlohmann::ordered_json ToJson() const;
  // Throws what JSON and counts throw.
  static StageAccounts FromJson(const nlohmann::ordered_json& json);

 private:
  std::vector<StageAccount> stages_;
};

// A table for people: a line a task, with its shares of what the stage had in all; "" where there is nothing.
// What the unit counts has a column: rows, steps, or the tokens or passes that tasks declare. What ran is
// another count. `losses`, by task, stand in the last stage that had the task.
std::string StagesTable(const StageAccounts& accounts, std::size_t columns = ScreenColumns(),
                        const std::map<std::string, double>& losses = {});

}  // namespace medley
