#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/work_progress.h>
#include <medley/estimate/advice.h>
#include <medley/estimate/estimate.h>
#include <medley/estimate/gpu.h>

namespace medley {

// What an estimate says, gathered once: tables for people and JSON are made of it.

// What one task takes, as configured and by rows.
struct TaskFigures {
  FormId form{};
  std::string variant;
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
                                   const std::vector<std::int64_t>& evaluated, const Telling& tell = {});
// `gpu`: what it takes beside the tensors is shown too; null: nothing is known of it.
std::string StepTable(const std::vector<TaskFigures>& tasks, const NamesOfForms& names, const Gpu* gpu);
std::string RowsTable(const std::vector<TaskFigures>& tasks, const NamesOfForms& names);
std::string EvaluationTable(const std::vector<TaskFigures>& tasks, const NamesOfForms& names);
nlohmann::ordered_json ToJson(const std::vector<TaskFigures>& tasks);

}  // namespace medley
