#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/work_progress.h>
#include <medley/estimate/advice.h>
#include <medley/estimate/estimate.h>
#include <medley/run/run.h>

namespace medley {

// One step of a task that was really run, beside the estimate for it.
struct CheckedStep {
  FormId form{};
  std::int64_t rows = 0, estimated = 0, measured = 0;  // the latter two: bytes at the peak
};

// Runs a step of each task. `estimate` is for the device of the run, whatever GPU was asked about;
// `estimates_own`: bytes on the CPU that were in use before the run was built.
std::vector<CheckedStep> CheckSteps(const Run& run, const Estimate& estimate, std::int64_t estimates_own,
                                    const Telling& tell);
std::string StepsTable(const std::vector<CheckedStep>& steps, const NamesOfForms& names,
                       const std::string& device);
nlohmann::ordered_json ToJson(const std::vector<CheckedStep>& steps);

}  // namespace medley
