#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <medley/model/model.h>
#include <medley/plan/plan_in_force.h>
#include <medley/report/records.h>
#include <medley/train/prefetcher.h>
#include <medley/train/table_room.h>
#include <medley/update/directions.h>

namespace medley {

// The losses of a task's probe rows with moved averages: by displacement, the pieces'.
using TrialLosses = std::vector<std::vector<double>>;

// Looks at how well a model does with its averages moved, on rows of the training split that nothing is
// trained on. Without a graph; the generators are left where they were, and so is every weight, bit for bit.
// On the trainer's thread, between two steps.
class JumpTrial {
 public:
  static constexpr std::int64_t kPieces = 8, kPieceRows = 4, kRows = kPieces * kPieceRows;

  // References outlive it.
  struct Setting {
    std::uint64_t seed = 0;  // of the run
    at::Device device;
    const Model& model;
    const References* references;  // null: each is the model itself
    Directions& directions;
    Prefetcher& tasks;
    const PlanInForce& plan;
    TableRoom& tables;
    std::map<std::string, std::int64_t>& rows_at_once;  // that fitted, by task; it writes there
  };
  explicit JumpTrial(const Setting& setting) : setting_(setting) {}

  // Rows kRows * event and on, the same for every displacement. Where memory runs out, fewer rows at once;
  // c10::OutOfMemoryError where not one fits. What the task throws passes, and so does Interrupted.
  TrialLosses Losses(const std::string& task, std::int64_t event,
                     const std::vector<Displacement>& displacements);

 private:
  TrialLosses Run(LoadedTask& task, std::int64_t event, const std::vector<Displacement>& displacements,
                  std::int64_t rows_at_once);

  Setting setting_;
};

// What a candidate is worth against what it is compared with.
struct JumpVerdict {
  double gain = 0;            // the mean over the pieces, of the tasks by their shares
  double standard_error = 0;  // of it
  std::map<std::string, JumpRecord::Change> tasks;
  std::string refused;  // why, in words; "": taken

  auto Fields() { return std::tie(gain, standard_error, tasks, refused); }  // for another process: see Wire
};
// `losses`: by task, of the pieces: of what is compared, and the candidate's. `least_gain`: what training
// gains for the same cost. `shares` of these tasks sum to 1.
JumpVerdict JudgeJump(const std::map<std::string, TrialLosses>& losses,
                      const std::map<std::string, double>& shares, double least_gain);

}  // namespace medley
