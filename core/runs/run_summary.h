#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include <medley/config/config_values.h>
#include <medley/runs/run_state.h>

namespace medley {

// A task's score over a run's evaluations.
struct ScoreCourse {
  std::string metric;
  bool higher_is_better = true;
  double best = std::numeric_limits<double>::quiet_NaN(), last = best;
  std::int64_t best_step = 0, last_step = 0;  // after which it came

  // One that came after all others; NaN counts for none.
  void Add(double value, std::int64_t step);
  // Infinite where there is none, so that it comes last.
  double Rank() const;
};

// What a run's files say, whoever holds it: this stays the same while they do.
struct RunFacts {
  std::string problem = {};        // why nobody can tell what became of it; "" where one can
  std::string damage = {};         // what else of it cannot be read; "": nothing
  nlohmann::json ended = nullptr;  // see NewestEnd
  std::string began = {};          // the time of its first start, "2026-03-01T12:34:56Z"; "": nobody says
  std::int64_t step = 0;           // done
  std::optional<std::int64_t> ends{};
  double seconds = 0;  // of its steps
  std::map<std::string, ScoreCourse> scores = {};
  ConfigValues config = {};
};
// Of a run that is written just now, of an older medley, or damaged too: throws nothing.
RunFacts ReadRunFacts(const std::filesystem::path& run);
// For who keeps them. Reading throws what JSON throws.
nlohmann::json ToJson(const RunFacts& facts);
RunFacts RunFactsFrom(const nlohmann::json& json);

// A run among others.
struct RunSummary {
  std::filesystem::path path;  // absolute
  RunState state;
  RunFacts facts;
};
// With what its lock says now.
RunSummary Summarized(const std::filesystem::path& run, RunFacts facts);

}  // namespace medley
