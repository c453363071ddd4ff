#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/config/run_config.h>
#include <medley/run/run.h>
#include <medley/train/run_hours.h>

#include "tools/medley/training.h"

namespace medley {

// A run that is to be repeated: its starts that still count, for a start that went back behind another one
// takes its place, and all that a clock or a person decided meanwhile.
class Replay {
 public:
  // InputError where the directory holds no run, too little is known of it, or its log of the weights is not
  // as it was written.
  explicit Replay(std::filesystem::path directory);

  // Of its first start: it holds where no budget was named.
  EarlierPlan FirstPlan() const { return {.directory = directory_, .plan = PlanOfStart(0)}; }
  // The weights that it began with.
  const WeightsText& weights() const { return weights_; }
  // Throws an InputError with all differences where it did not begin with this config.
  void RequireSame(const RunConfig& config) const;
  // Of the first start.
  RunScript script() const { return ScriptOf(0); }
  // A run that begins gets the edits that are to come.
  void GiveEditsTo(const RunDirectory& run, Console& console) const;
  // After the first start, which ended with this code: the others, one after the other. Returns the last
  // one's.
  int GoOnWith(const RunDirectory& run, ExitCode first, const NamedPlugins& plugins) const;

 private:
  struct Start {
    std::int64_t step = 0;
    bool unevaluated = false;  // its last step was
    std::filesystem::path config;
  };
  std::filesystem::path PlanOfStart(std::size_t start) const;
  RunScript ScriptOf(std::size_t start) const;

  std::filesystem::path directory_;
  std::vector<Start> starts_;
  WeightsText weights_;
  std::string last_text_, weight_log_;
  bool log_has_sums_ = true;
  std::set<std::int64_t> early_decays_;
  std::int64_t last_step_ = 0;
};

}  // namespace medley
