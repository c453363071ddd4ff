#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/checkpoint/run_directory.h>
#include <medley/report/console.h>
#include <medley/run/run.h>
#include <medley/train/admission.h>
#include <medley/train/run_hours.h>

namespace medley {

// A run that is to be repeated: its starts that still count, for a start that went back behind another one
// takes its place, and all that a clock or a person decided meanwhile. Its logs are read when this is made,
// its configs and plans when they are asked for; none of it is written, and no lock is taken.
class RepeatedRun {
 public:
  // InputError where the directory holds no run, too little is known of it, or its log of the weights is not
  // as it was written.
  explicit RepeatedRun(std::filesystem::path directory);

  // The weights that it began with.
  const WeightsText& weights() const { return weights_; }
  // Throws an InputError with all differences where it did not begin with this config: of files, in what is
  // in them.
  void RequireSame(const RunInputs& inputs) const;
  // A run that begins gets the edits that are to come: replaces the weights file and the log of them in its
  // directory. A FileError where they cannot be written.
  void GiveEditsTo(const std::filesystem::path& run, Console& console) const;

  // Its starts, counted from 0: `config` is the file of one, and `step` was done before it.
  struct Start {
    std::int64_t step = 0;
    bool unevaluated = false;  // its last step was
    std::filesystem::path config;
  };
  const std::vector<Start>& starts() const { return starts_; }
  const std::filesystem::path& directory() const { return directory_; }
  // `start`: its place in starts(). What it planned; of the first start, what holds where no budget was
  // named.
  EarlierPlan PlanOf(std::size_t start) const;
  RunScript ScriptOf(std::size_t start) const;

 private:
  std::filesystem::path directory_;
  std::vector<Start> starts_;
  WeightsText weights_;
  std::string last_text_, weight_log_;
  bool log_has_sums_ = true;
  std::vector<DecayMove> decays_;
  std::int64_t last_step_ = 0;
};

}  // namespace medley
