#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace medley {

// What a run's timing.jsonl tells of one phase; bytes are those in use.
struct PhaseAccount {
  std::string name;                       // "warmup", "full", "predict" or "correct"
  std::int64_t count = 0;                 // steps; of "predict", predictions
  std::int64_t first = 0, last = 0;       // between two steps, when it first and last ended
  std::int64_t grown = 0;                 // by a step
  std::int64_t peak = 0;                  // the highest
  std::optional<double> rows_per_second;  // nothing where no row was trained
};

struct PhaseAccounts {
  std::vector<PhaseAccount> phases;  // those that a run had, in the order in which they come
  // What predictions cost: rows a second with them and without. Nothing where no step took time.
  std::optional<double> with_predictions, without_predictions;
};

// Nothing where the run has no phases, or the log is missing. Lines that cannot be read are passed over.
PhaseAccounts ReadPhases(const std::filesystem::path& timing);

// A table for people; "" where there is nothing.
std::string PhasesTable(const PhaseAccounts& accounts);
nlohmann::ordered_json ToJson(const PhaseAccounts& accounts);

}  // namespace medley
