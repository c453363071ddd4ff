#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/checkpoint/checkpoint_keeper.h>
#include <medley/eval/score.h>
#include <medley/plan/oom_recovery.h>
#include <medley/plan/receipt_book.h>
#include <medley/report/console.h>
#include <medley/report/metrics.h>
#include <medley/report/progress.h>
#include <medley/run/run.h>
#include <medley/train/memory_watch.h>
#include <medley/train/prefetcher.h>

namespace medley {

// How far a run is: all of the trainer's own that a resume needs.
struct TrainingProgress {
  std::int64_t step = 0;                                  // steps done
  std::optional<MeanEvaluation> evaluated;                // the last one
  std::map<std::string, double> last_losses;              // by task
  std::map<std::string, std::string> dropped;             // task: why
  std::map<std::string, std::int64_t> eval_rows_at_once;  // by task: what fitted
};

// Why a run must end, or a task be dropped.
struct Failure {
  std::string reason;
  ExitCode code = ExitCode::kFailed;
  bool out_of_memory = false;  // libtorch's: smaller micro-batches may help
};

// The loop. Every step is a handful of calls to the run's collaborators.
class Trainer {
 public:
  // `from`: goes on after this checkpoint; else at step 0. Cuts the logs back to it. Keeps references.
  Trainer(Run& run, const std::filesystem::path& directory, Console& console,
          const std::optional<FoundCheckpoint>& from = std::nullopt);
  ~Trainer();

  // Until the steps are done, the hours are over, or a signal came; saved in each case. A task's error under
  // on_task_error "stop", or a gradient that is not finite, is thrown after what was trained was saved; with
  // the error's own code, and kDoesNotFit where memory ran out. Whatever is thrown stands in the console's
  // log too.
  ExitCode Train();

  const TrainingProgress& progress() const { return progress_; }
  // What a checkpoint holds; the tensors are the live ones.
  TrainingState State();

 private:
  ExitCode TrainToTheEnd();
  bool Done(bool stop_requested);
  void Step();
  std::vector<Draw> NextDraws();
  std::optional<StepLosses> Gradients(const std::vector<Draw>& draws);
  StepLosses RunDraws(const std::vector<Draw>& draws);
  std::optional<double> UpdateWeights();
  nlohmann::ordered_json EvaluateIfDue();
  TaskScore Evaluate(const std::string& task);
  void Report(StepRecord& record);
  void GrowBack(const std::vector<Draw>& draws);
  void SaveIfDue();
  void SaveReceipt();
  void HeedGuard();

  // trainer_errors.cc
  Failure Describe(const std::exception& error) const;
  Failure DescribeStep(const std::exception& error) const;
  bool MakeRoom(const std::vector<Draw>& draws);
  bool CutTask(const Draw& draw);
  bool TryAgain();
  void AddMemoryHint(Failure& failure, const std::string& culprit, const std::vector<Draw>& draws) const;
  std::string NewestCheckpoint() const;  // as a sentence
  [[noreturn]] void SaveAndFail();
  void OnTaskError(const std::string& task, const Failure& failure);
  std::string FindCulprit(const std::vector<Draw>& draws);
  void Drop(const std::string& task, const Failure& failure);

  // trainer_state.cc
  nlohmann::json SaveProgress() const;
  void LoadProgress(const nlohmann::json& state);
  // The table at the end of a run: what every task got, where it stands, and where the run lies.
  std::string Summary() const;

  Run& run_;
  std::filesystem::path directory_;
  Console& console_;
  TrainingProgress progress_;
  Prefetcher prefetcher_;
  double seconds_in_steps_ = 0;  // since the run was started or resumed
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<Progress> status_;
  std::unique_ptr<CheckpointKeeper> checkpoints_;
  std::unique_ptr<MemoryWatch> memory_;
  OomRecovery oom_;
  nlohmann::ordered_json overflows_;  // of the step that runs
  bool tried_again_ = false;          // as it was, this step
  ReceiptBook receipts_;
  std::chrono::steady_clock::time_point run_started_, step_started_;
  bool interrupted_ = false;
  std::optional<Failure> failure_;  // the run must end; the state is that of the last whole step
};

}  // namespace medley
