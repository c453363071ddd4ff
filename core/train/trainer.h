#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/clock.h>
#include <medley/base/error.h>
#include <medley/checkpoint/checkpoint_keeper.h>
#include <medley/model/adapters.h>
#include <medley/plan/receipt_book.h>
#include <medley/report/console.h>
#include <medley/report/progress.h>
#include <medley/report/records.h>
#include <medley/step/optimizer.h>
#include <medley/train/evaluation.h>
#include <medley/train/memory_watch.h>
#include <medley/train/prefetcher.h>
#include <medley/train/run_hours.h>
#include <medley/train/stages.h>
#include <medley/train/step_recovery.h>
#include <medley/train/weight_edits.h>

namespace medley {

// The loop. Every step is a handful of calls to its collaborators.
class Trainer {
 public:
  // What it trains with; references outlive it.
  struct Setting {
    const RunConfig& config;
    at::Device device;
    Budget budget;  // 0 bytes: no limit
    std::filesystem::path directory;
    TaskHost& host;
    const Model& model;
    const Curriculum& curriculum;
    Mixer& mixer;  // of all named tasks, with the first stage's mixture
    StepExecutor& executor;
    AdamW& optimizer;
    PlanInForce& plan;
    Console& console;
    SecondsSource now = SteadySeconds;               // what the run's hours are measured by
    std::optional<RunScript> script = std::nullopt;  // of a run that repeats another one
    LiveWeights* live = nullptr;  // null: nobody edits the weights, and nothing writes them down
    Adapters adapters{};          // of the model
  };
  // `from`: goes on after this checkpoint; else at step 0. Cuts the logs back to it.
  explicit Trainer(const Setting& setting, const std::optional<FoundCheckpoint>& from = std::nullopt);
  ~Trainer();

  // Until the steps, the last stage or an early decay are done, the hours are over, or a signal came (see
  // StopSignal); saved in each case. A signal costs the step or evaluation that is under way: a resume begins
  // it anew. A task's error under on_task_error "stop", or a gradient that is not finite, is thrown after
  // what was trained was saved; with the error's own code, and kDoesNotFit where memory ran out. Whatever is
  // thrown stands in the console's log too.
  ExitCode Train();

  std::int64_t step() const { return step_; }                                        // steps done
  const std::map<std::string, double>& last_losses() const { return last_losses_; }  // by task
  const Evaluation& evaluation() const { return evaluation_; }
  const std::map<std::string, std::string>& dropped() const { return stages_.dropped(); }
  // What a checkpoint holds; the tensors are the live ones.
  TrainingState State();
  // False where the checkpoint's last step was not yet evaluated and written down, which a resume does first.
  static bool IsReported(const std::filesystem::path& checkpoint);

 private:
  ExitCode TrainToTheEnd();
  bool Done(bool stop_requested);
  void Step();
  std::vector<Draw> NextDraws();
  std::optional<double> UpdateWeights(const StepRecord& record);
  void Measure(StepRecord& record);
  void Conclude(StepRecord record);
  bool GoOnInStages();
  void FollowEdits();
  void TakeForms(const Stage& stage);
  void WatchHours();
  void LogEarlyDecay();
  std::optional<EvaluationRecord> EvaluateIfDue();
  void HeedGuard();
  [[noreturn]] void SaveAndFail();

  // trainer_state.cc
  nlohmann::json SaveProgress() const;
  void LoadProgress(const nlohmann::json& state);
  // The table at the end of a run: what every task got, where it stands, and where the run lies.
  std::string Summary() const;

  Setting setting_;
  std::int64_t step_ = 0;
  std::map<std::string, double> last_losses_;
  RunHours hours_;
  std::optional<StepRecord> unreported_;  // the last step, where its evaluation was interrupted
  Stages stages_;
  Prefetcher prefetcher_;
  TableRoom tables_;
  Evaluation evaluation_;
  ReceiptBook* receipts_ = nullptr;  // one of the sinks
  RecordSinks sinks_;
  // Made when the run's state is loaded:
  std::optional<Progress> progress_;
  std::optional<CheckpointKeeper> checkpoints_;
  std::optional<MemoryWatch> memory_;
  std::optional<StepRecovery> recovery_;
  std::optional<WeightEdits> edits_;  // where there is a live weights file
  double seconds_in_steps_ = 0;       // since the run was started or resumed
  std::chrono::steady_clock::time_point step_started_;
  bool interrupted_ = false;
};

}  // namespace medley
