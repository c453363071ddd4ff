#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include <medley/estimate/estimate_report.h>
#include <medley/estimate/gpu.h>
#include <medley/estimate/gpu_verdict.h>

#include "tools/medley/estimates.h"

namespace medley {

// All that is known of a run's bytes, beside the answer to what was asked.
struct EstimateAccount {
  std::vector<TaskFigures> tasks;
  std::int64_t waiting = 0, caches = 0;  // bytes on the CPU, whatever the device is
  GpuVerdicts gpus;
};
EstimateAccount AccountOf(Estimates& estimates, bool on_gpu);

// `gpu`: that was asked about; null: none. Prints to stdout.
void Print(const EstimateAccount& account, const Estimates& estimates, const Gpu* gpu, bool on_gpu,
           const EstimateArguments& arguments);
void AddTo(nlohmann::ordered_json& json, const EstimateAccount& account, bool on_gpu);

// What the bytes are of, and what is assumed where nobody knows.
void PrintModel(const EstimatedRun& subject, std::int64_t ranks);
void PrintAssumptions(bool on_gpu, bool has_profile);
nlohmann::ordered_json ModelJson(const EstimatedRun& subject, std::int64_t ranks);

}  // namespace medley
