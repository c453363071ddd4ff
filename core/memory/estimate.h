#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <medley/memory/accumulation.h>
#include <medley/memory/gpu.h>
#include <medley/memory/peak_lines.h>
#include <medley/memory/step_bytes.h>

namespace medley {

// One task of a run, to be estimated.
struct EstimatedTask {
  std::string name;
  std::string variant;
  TaskShape shape;
  StepSetting setting;  // as configured; rows 0: as many as fit
  // Bytes above the floor, where a profile has the task in this mode: all rows in one forward, and pieces of
  // a draw, from the second on with gradients.
  PeakLines measured{}, measured_pieces{};
};

// What a run's steps would take. Runs nothing: the model's parameters may be on the meta device.
class Estimate {
 public:
  // `floor`: weights and optimizer. Keeps a reference to the model.
  Estimate(const Model& model, const StepBytes& floor, std::vector<EstimatedTask> tasks)
      : model_(model), floor_(floor), tasks_(std::move(tasks)) {}

  const std::vector<EstimatedTask>& tasks() const { return tasks_; }
  const StepBytes& floor() const { return floor_; }

  // At the widest moment of a step with so many rows, micro_rows in a forward.
  StepBytes Training(const EstimatedTask& task, std::int64_t rows, std::int64_t micro_rows) const;
  // Its total; by the profile where there is one.
  std::int64_t Peak(const EstimatedTask& task, std::int64_t rows, std::int64_t micro_rows) const;
  StepBytes Evaluation(const EstimatedTask& task, std::int64_t rows) const;

  // The most rows in a forward for which the configured rows fit, and how many of them make a step. Rows that
  // are not configured all run in one. {0, 0} where not one row fits.
  Accumulation Recommend(const EstimatedTask& task, std::int64_t budget) const;

  // The tasks of which not one row fits, and what is missing.
  struct Shortfall {
    std::string task;  // "": weights and optimizer alone are too large
    std::int64_t missing = 0;
  };
  std::vector<Shortfall> Shortfalls(std::int64_t budget) const;
  // The task with the largest peak as configured (one row where rows are not).
  const EstimatedTask& Heaviest() const;

 private:
  StepBytes FloorOf(const EstimatedTask& task) const;

  const Model& model_;
  StepBytes floor_;
  std::vector<EstimatedTask> tasks_;
};

// Bytes of a model's parameters and tables.
std::int64_t WeightBytes(const Model& model);

// The tables for people.
std::string StepTable(const Estimate& estimate);
std::string RowsTable(const Estimate& estimate, const std::vector<std::int64_t>& rows);
std::string GpuTable(const Estimate& estimate, const std::vector<Gpu>& gpus);
// Rows and accumulation of every task.
std::string RecommendationTable(const Estimate& estimate, std::int64_t budget);

}  // namespace medley
