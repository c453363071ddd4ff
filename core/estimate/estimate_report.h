#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/estimate/estimate.h>
#include <medley/estimate/gpu.h>

namespace medley {

// What an estimate says, gathered once: tables for people and JSON are made of it.

// What one task takes, as configured and by rows.
struct TaskFigures {
  std::string task, variant;  // its form
  Way way{};
  std::int64_t rows = 1;  // of a draw
  bool is_auto = false;   // as many as fit: counted as one
  std::int64_t micro_rows = 1;
  MemoryLedger step{};  // its widest moment
  std::int64_t peak = 0;
  bool is_measured = false;  // the peak, by a profile
  std::int64_t evaluation_rows = 0, evaluation = 0;
  std::map<std::int64_t, std::int64_t> peaks, evaluations;  // by rows at once
};
std::vector<TaskFigures> FiguresOf(const Estimate& estimate, const std::vector<std::int64_t>& rows,
                                   const std::vector<std::int64_t>& evaluated);
// `gpu`: what it takes beside the tensors is shown too; null: nothing is known of it.
std::string StepTable(const std::vector<TaskFigures>& tasks, const Gpu* gpu);
std::string RowsTable(const std::vector<TaskFigures>& tasks);
std::string EvaluationTable(const std::vector<TaskFigures>& tasks);
nlohmann::ordered_json ToJson(const std::vector<TaskFigures>& tasks);

// Whether the run fits on a GPU, and how.
struct GpuVerdict {
  Gpu gpu;
  bool fits = false, as_configured = false;  // the latter: all rows in one forward, nothing repeated
  std::string words;
};
struct GpuVerdicts {
  std::vector<GpuVerdict> gpus;
  std::string as_configured, in_pieces;  // the first that takes it so; "": none does

  bool any_fits() const { return !in_pieces.empty(); }
};
// In the order of the GPUs.
GpuVerdicts JudgeGpus(const Estimate& estimate, const std::vector<Gpu>& gpus);
std::string VerdictTable(const GpuVerdicts& verdicts);
nlohmann::ordered_json ToJson(const GpuVerdicts& verdicts);

// Mode, rows and accumulation of every task under a budget.
struct TaskAdvice {
  std::string task, variant;
  Way way{};
  Estimate::Recommendation best{};
  double share = 0;  // of the budget, with the rows that wait
};
struct Advice {
  std::int64_t budget = 0, waiting = 0;  // bytes; the latter beside the peaks
  std::int64_t ranks = 1;                // of one of so many processes
  std::vector<TaskAdvice> tasks;
};
Advice AdviceOf(const Estimate& estimate, const Plan& plan);
std::string AdviceTable(const Advice& advice);
nlohmann::ordered_json ToJson(const Advice& advice);

}  // namespace medley
