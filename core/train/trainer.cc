#include <medley/train/trainer.h>

#include <utility>

#include <medley/report/table.h>
#include <medley/train/device.h>
#include <medley/train/evaluator.h>
#include <medley/train/file_digest.h>
#include <medley/train/stop_signal.h>

namespace medley {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

LoggedLosses ForLog(const StepLosses& losses) {
  LoggedLosses logged;
  for (const auto& [task, terms] : losses) {
    for (const auto& [name, term] : terms) logged[task][name] = {term.sum, term.count, term.weight};
  }
  return logged;
}

}  // namespace

Trainer::Trainer(Run& run, const std::filesystem::path& directory, Console& console,
                 const std::optional<FoundCheckpoint>& from)
    : run_(run), directory_(directory), console_(console), draw_rows_(run) {
  const std::vector<std::string> columns = run_.ActiveTasks();
  const TrainingState state = State();
  if (from) LoadCheckpoint(from->path, state);
  metrics_ = std::make_unique<Metrics>(directory_, columns, from ? from->facts.logs : LogOffsets());
  const std::string config_hash = HashText(ToJson(run_.config).dump());
  checkpoints_ = std::make_unique<CheckpointKeeper>(
      CheckpointKeeper::Setting{directory_, run_.config.checkpoint, config_hash}, state, *metrics_, console_);
  if (from) checkpoints_->SetSaved(from->facts.step);
  status_ = std::make_unique<Progress>(progress_.step, run_.config.steps, 3600 * run_.config.hours);
}

Trainer::~Trainer() = default;

ExitCode Trainer::Train() {
  try {
    return TrainToTheEnd();
  } catch (const std::exception& error) {
    console_.Warn("the run ends: " + Describe(error).reason);
    throw;
  }
}

ExitCode Trainer::TrainToTheEnd() {
  const StopSignal stop;
  run_started_ = Clock::now();
  while (!Done(stop.requested())) Step();
  if (failure_) SaveAndFail();
  checkpoints_->SaveNow(progress_.step, progress_.evaluated);
  console_.Say(TrainingSummary(run_, progress_, status_->memory_peak(), directory_));
  if (interrupted_) return ExitCode::kInterrupted;
  return progress_.dropped.empty() ? ExitCode::kDone : ExitCode::kSomethingDropped;
}

bool Trainer::Done(bool stop_requested) {
  if (failure_ || progress_.step >= run_.config.steps) return true;
  interrupted_ = stop_requested;
  if (interrupted_) return true;
  const bool late = run_.config.hours > 0 && SecondsSince(run_started_) >= 3600 * run_.config.hours;
  if (late) console_.Say("the run's hours are over; medley resume " + directory_.string() + " goes on");
  return late;
}

void Trainer::Step() {
  step_started_ = Clock::now();
  ResetPeak(run_.device);
  StepRecord record;
  record.draws = run_.mixer->Peek(run_.config.draws_per_step);
  const std::optional<StepLosses> losses = Gradients(record.draws);
  if (!losses) return;
  record.learning_rate = run_.optimizer->LearningRate(progress_.step);
  const std::optional<double> norm = UpdateWeights();
  if (!norm) return;
  run_.mixer->Commit(record.draws);
  record.step = ++progress_.step;
  record.losses = ForLog(*losses);
  record.gradient_norm = *norm;
  Report(std::move(record));
  if (!failure_) checkpoints_->SaveIfDue(progress_.step, progress_.evaluated);
}

// Nothing where a task failed: it was dropped, or the run ends.
std::optional<StepLosses> Trainer::Gradients(const std::vector<Draw>& draws) {
  Failure failure;
  try {
    return RunDraws(draws);  // losses that are not finite are errors too
  } catch (const std::exception& error) {
    failure = DescribeStep(error);
  }
  DrainEngine();
  ClearGradients();
  const std::string culprit = FindCulprit(draws);
  if (failure.code == ExitCode::kDoesNotFit) AddMemoryHint(failure, culprit);
  OnTaskError(culprit, failure);
  return std::nullopt;
}

StepLosses Trainer::RunDraws(const std::vector<Draw>& draws) {
  const DrawRows::Rows rows = draw_rows_.Take(draws);
  return run_.executor->Run(rows.pieces);
}

// The norm of the gradient; nothing where it is not finite, and then nothing was updated.
std::optional<double> Trainer::UpdateWeights() {
  try {
    return run_.optimizer->Step(progress_.step);
  } catch (const std::exception& error) {
    failure_ = DescribeStep(error);
    ClearGradients();
    return std::nullopt;
  }
}

void Trainer::Report(StepRecord record) {
  record.seconds = SecondsSince(step_started_);
  const DeviceMemory memory = ReadMemory(run_.device);
  record.memory_now = memory.now;
  record.memory_peak = memory.peak;
  for (const Draw& draw : record.draws) {
    record.constant_bytes[draw.task] = run_.task(draw.task).ConstantBytes(run_.device);
    progress_.last_losses[draw.task] = TotalLoss(record.losses[draw.task]);
  }
  record.evaluation = EvaluateIfDue();
  metrics_->Record(record);
  status_->Add(record);
  console_.Status(status_->Line(), status_->Line(console_.columns()));
}

ordered_json Trainer::EvaluateIfDue() {
  const EvalConfig& config = run_.config.eval;
  if (config.every <= 0 || progress_.step % config.every != 0) return nullptr;
  Scores scores;
  for (const std::string& name : run_.ActiveTasks()) {
    try {
      scores[name] =
          ScoreTask(run_.task(name), run_.plans.at(name),
                    {*run_.model, run_.device, static_cast<std::uint64_t>(run_.config.seed), config.rows});
    } catch (const std::exception& error) {
      scores.erase(name);
      Failure failure = Describe(error);
      failure.reason =
          "evaluation of " + name + " after step " + std::to_string(progress_.step) + ": " + failure.reason;
      OnTaskError(name, failure);
      if (failure_) return nullptr;
    }
  }
  MeanEvaluation& evaluated = progress_.evaluated.emplace();
  evaluated.loss = MeanLoss(scores);
  for (const auto& [name, score] : scores) evaluated.tasks.push_back(name);
  std::string line = "step " + std::to_string(progress_.step) + " evaluated:";
  for (const auto& [name, score] : scores) line += "  " + name + " " + FormatNumber(score.score.value);
  console_.Say(line + "  mean loss " + FormatNumber(evaluated.loss));
  ordered_json json = ScoresJson(scores).at("tasks");
  for (const auto& [name, score] : scores) json[name]["loss"] = score.loss;
  return json;
}

}  // namespace medley
