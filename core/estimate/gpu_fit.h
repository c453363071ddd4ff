#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/work_progress.h>
#include <medley/curriculum/form_table.h>
#include <medley/estimate/advice.h>
#include <medley/estimate/estimate.h>
#include <medley/estimate/gpu.h>

namespace medley {

// How the planner would run a task on a kind of GPU.
struct TaskOnGpu {
  FormId form{};
  std::int64_t rows = 0;    // of a step
  Accumulation forwards{};  // {0, 0}: not one row fits
  Way way{};
  std::int64_t room = 0;  // bytes for tensors that its widest moment leaves; below 0: that one row lacks
};

// A run on a kind of GPU. Where tasks do not fit, the others are planned as if they were all.
struct GpuFit {
  Gpu gpu{};
  std::int64_t room = 0;           // below 0: what weights and optimizer alone lack; then there are no tasks
  std::vector<TaskOnGpu> tasks{};  // of the estimate, in its order

  bool fits() const;  // all of it
};
GpuFit FitOn(const Estimate& estimate, const Gpu& gpu);

// What people call a run's forms: "single", or where a stage has its own settings for it, "single (four
// scans)".
NamesOfForms FormNames(const FormTable& forms, const Curriculum& curriculum);

// How many take every task, and the smallest that does, for people: a line.
std::string CountOfFits(const std::vector<GpuFit>& fits);
// A line for each GPU and task, for people; of several tasks one line where the GPU above takes the same.
std::string GpuTable(const std::vector<GpuFit>& fits, const NamesOfForms& names);

// An array, a GPU each.
nlohmann::ordered_json ToJson(const std::vector<GpuFit>& fits);

}  // namespace medley
