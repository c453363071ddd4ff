#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include <medley/base/clock.h>
#include <medley/checkpoint/checkpoint.h>
#include <medley/curriculum/weight_log.h>
#include <medley/plan/receipt_book.h>
#include <medley/run/run.h>
#include <medley/train/evaluation.h>
#include <medley/train/phases/predictor.h>
#include <medley/train/run_hours.h>
#include <medley/train/stages.h>
#include <medley/train/step_agreement.h>
#include <medley/train/weight_edits.h>
#include <medley/update/loss_scale.h>

namespace medley {

// Where a trainer begins.
struct TrainerStart {
  std::filesystem::path directory;           // the run's, which holds its weights file
  std::optional<FoundCheckpoint> from = {};  // goes on after it, and cuts the logs back to it; else at step 0
  FoundWeights weights = {};
  std::optional<RunScript> script = {};  // of a run that repeats another one
  SecondsSource now = SteadySeconds;     // what the run's hours are measured by
  PredictorHooks hooks = {};             // of tests
};

// What of a training a checkpoint holds, and what that is made with. The trainer's base: making it ends with
// loading and with what all processes agree on, so every member of the trainer finds it as it goes on.
class ResumedTraining {
 public:
  // What a checkpoint holds; the tensors are the live ones.
  TrainingState State();
  // False where the checkpoint's last step was not yet evaluated and written down, which a resume does first.
  static bool IsReported(const std::filesystem::path& checkpoint);

 protected:
  // Keeps references; `run` is changed as training changes it: its model, optimizer, mixer and rules.
  ResumedTraining(Run& run, PlanInForce& plan, WeightLog& log, Console& console, TrainerStart start);
  ~ResumedTraining() = default;
  ResumedTraining(const ResumedTraining&) = delete;
  ResumedTraining& operator=(const ResumedTraining&) = delete;

  Run& run_;
  PlanInForce& plan_;
  Console& console_;
  TrainerStart start_;
  const std::filesystem::path run_path_;  // what people call the run, on all of its processes
  std::int64_t step_ = 0;
  std::map<std::string, double> last_losses_;
  std::optional<StepRecord> unreported_;  // the last step, where its evaluation was interrupted
  const bool alone_;                      // one process trains the run
  Rounds rounds_;
  WorkDivision division_;
  WeightsFile weights_file_;
  RunHours hours_;
  Stages stages_;
  Prefetcher prefetcher_;
  TableRoom tables_;
  Evaluation evaluation_;
  ReceiptBook receipts_;
  // Of a run that has any; and as they were before a prediction whose step is not done, which is not saved.
  std::optional<PhaseState> phases_, phases_before_;
  LossScale loss_scale_;
  TrainingState state_;
  std::unique_ptr<StepAgreement> agreement_;

 private:
  void Load();
  nlohmann::json SaveProgress() const;
  void LoadProgress(const nlohmann::json& state);
  void TakeForms(const Stage& stage);
};

}  // namespace medley
