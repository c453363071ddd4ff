#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/curriculum/mixer.h>
#include <medley/step/step_executor.h>

namespace medley {

// Smaller micro-batches for a task whose draw ran out of memory although it was planned to fit. Its step runs
// again: the same rows, divided by the same counts, charged to the mixer once. No other task changes. What
// fits stays in force, and grows back to the plan.
class OomRecovery {
 public:
  // Keeps the reference; changes the micro-rows of plans.
  explicit OomRecovery(std::map<std::string, ExecutionPlan>& plans) : plans_(plans) {}

  // Micro-rows of a task, before and after.
  struct Change {
    std::string task;
    std::int64_t from = 0, to = 0;
  };
  // Halves them. Nothing where already one row is too much.
  std::optional<Change> Shrink(const std::string& task, std::int64_t draw_rows);
  // A whole step fitted. A task that was cut doubles its micro-rows after 32 of its draws, at most to the
  // plan's; each time that this was too early, it waits twice as long before it tries again.
  std::vector<Change> Fitted(const std::vector<Draw>& draws);

  // Does the task take fewer rows at once than its plan says?
  bool IsCut(const std::string& task) const;

  nlohmann::json Save() const;
  // After the plans were made: those of tasks that were cut are cut again.
  void Load(const nlohmann::json& state);

 private:
  struct Cut {
    std::int64_t planned = 0;  // micro-rows; 0: all rows of a draw
    std::int64_t micro_rows = 0;
    std::int64_t fitted = 0;  // draws since the last change
    std::int64_t patience = 0;
    bool grew = false;  // the last change
  };

  std::map<std::string, ExecutionPlan>& plans_;
  std::map<std::string, Cut> cuts_;
};

}  // namespace medley
