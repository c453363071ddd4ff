#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/work_progress.h>
#include <medley/estimate/advice.h>
#include <medley/estimate/estimate.h>
#include <medley/estimate/gpu.h>

namespace medley {

// Whether the run fits on a GPU, and how.
struct GpuVerdict {
  Gpu gpu;
  bool fits = false, as_configured = false;  // the latter: all rows in one forward, nothing repeated
  std::string words;                         // with the first of the tasks that it takes in pieces
  FitVerdict verdict{};
};
struct GpuVerdicts {
  std::vector<GpuVerdict> gpus;
  std::string as_configured, in_pieces;  // the first that takes it so; "": none does

  bool any_fits() const { return !in_pieces.empty(); }
};
// In the order of the GPUs, which begins with the smallest.
GpuVerdicts JudgeGpus(const Estimate& estimate, const std::vector<Gpu>& gpus, const Telling& tell = {});

// The one to take, for people: a line.
std::string Recommendation(const GpuVerdicts& verdicts);
// Up to the smallest that takes every task as configured, and the names of the larger ones, which do so too.
std::string VerdictTable(const GpuVerdicts& verdicts, const NamesOfForms& names);
// Every one, with what its memory goes to beside the tensors.
std::string WholeVerdictTable(const GpuVerdicts& verdicts, const NamesOfForms& names);
nlohmann::ordered_json ToJson(const GpuVerdicts& verdicts);

}  // namespace medley
