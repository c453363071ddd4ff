#include <medley/train/trainer.h>

#include <algorithm>
#include <utility>

#include <medley/base/file_digest.h>
#include <medley/eval/evaluator.h>
#include <medley/model/device.h>
#include <medley/report/table.h>
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
    : run_(run),
      directory_(directory),
      console_(console),
      prefetcher_(run),
      oom_(run.plans),
      receipts_(run, oom_, directory) {
  const std::vector<std::string> columns = run_.ActiveTasks();
  const TrainingState state = State();
  if (from) LoadCheckpoint(from->path, state);
  metrics_ = std::make_unique<Metrics>(directory_, columns, from ? from->facts.logs : LogOffsets());
  const std::string config_hash = HashText(ToJson(run_.config).dump());
  checkpoints_ = std::make_unique<CheckpointKeeper>(
      CheckpointKeeper::Setting{directory_, run_.config.checkpoint, config_hash}, state, *metrics_, console_);
  if (from) checkpoints_->SetSaved(from->facts.step);
  memory_ = std::make_unique<MemoryWatch>(run_);
  status_ = std::make_unique<Progress>(progress_.step, run_.config.steps, 3600 * run_.config.hours);
  SaveReceipt();  // as the logs: back to the checkpoint
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
  SaveReceipt();
  console_.Say(Summary());
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
  memory_->BeginStep();
  overflows_ = nullptr;
  tried_again_ = false;
  StepRecord record;
  const double waited = prefetcher_.seconds_waited();
  record.draws = NextDraws();
  const std::optional<StepLosses> losses = Gradients(record.draws);
  if (!losses) return;
  record.learning_rate = run_.optimizer->LearningRate(progress_.step);
  const std::optional<double> norm = UpdateWeights();
  if (!norm) return;
  run_.mixer->Commit(record.draws);
  record.step = ++progress_.step;
  record.losses = ForLog(*losses);
  record.gradient_norm = *norm;
  record.overflows = std::move(overflows_);
  record.data_wait_ms = 1000 * (prefetcher_.seconds_waited() - waited);
  Report(record);
  GrowBack(record.draws);
  if (!failure_) SaveIfDue();
  HeedGuard();
}

void Trainer::SaveReceipt() {
  if (const std::string words = receipts_.Save(); !words.empty()) console_.Warn(words);
}

void Trainer::SaveIfDue() {
  checkpoints_->SaveIfDue(progress_.step, progress_.evaluated);
  if (run_.config.checkpoint.every > 0 && progress_.step % run_.config.checkpoint.every == 0) SaveReceipt();
}

// What is about to end the run must not take with it what was trained.
void Trainer::HeedGuard() {
  for (const GuardFinding& finding : memory_->verdict().findings) {
    console_.Warn("step " + std::to_string(progress_.step) + ": " + finding.words);
    if (finding.level != GuardLevel::kCritical || failure_) continue;
    checkpoints_->SaveEarly(progress_.step, progress_.evaluated, "the next step may be the last");
    SaveReceipt();
  }
}

// The step's; the data threads begin with those of the next steps.
std::vector<Draw> Trainer::NextDraws() {
  const std::int64_t per_step = run_.config.draws_per_step, ahead = run_.config.data.ahead;
  const std::int64_t steps_later = std::min(ahead, run_.config.steps - progress_.step - 1);
  std::vector<Draw> draws = run_.mixer->Peek(per_step + std::min(ahead, steps_later * per_step));
  prefetcher_.Expect(draws);
  draws.resize(static_cast<std::size_t>(per_step));
  return draws;
}

// Nothing where a task failed: it was dropped, or the run ends.
std::optional<StepLosses> Trainer::Gradients(const std::vector<Draw>& draws) {
  const nlohmann::json generators = SaveGenerators(run_.device);
  Failure failure;
  do {
    LoadGenerators(generators, run_.device);
    try {
      return RunDraws(draws);  // losses that are not finite are errors too
    } catch (const std::exception& error) {
      failure = DescribeStep(error);
    }
    ClearGradients(*run_.model);  // first: draining takes a little memory
    DrainEngine();
  } while (failure.out_of_memory && MakeRoom(draws));
  // Other failures name their task, and where the run ends nobody else asks.
  const bool asked = failure.out_of_memory || run_.config.on_task_error == "drop";
  const std::string culprit = asked ? FindCulprit(draws) : "";
  if (failure.out_of_memory) AddMemoryHint(failure, culprit, draws);
  LoadGenerators(generators, run_.device);  // what is saved now is the state after the last whole step
  OnTaskError(culprit, failure);
  return std::nullopt;
}

StepLosses Trainer::RunDraws(const std::vector<Draw>& draws) {
  const Prefetcher::Rows rows = prefetcher_.Take(draws);
  memory_->BeginDraws();
  memory_->SeeRows(rows.pieces);
  return run_.executor->Run(rows.pieces);
}

// The norm of the gradient; nothing where it is not finite, and then nothing was updated. After any other
// exception some weights may be updated and others not: it ends the run, and nothing is saved.
std::optional<double> Trainer::UpdateWeights() {
  try {
    return run_.optimizer->Step(progress_.step);
  } catch (const Error& error) {
    failure_ = DescribeStep(error);
    ClearGradients(*run_.model);
    return std::nullopt;
  }
}

void Trainer::Report(StepRecord& record) {
  record.seconds = SecondsSince(step_started_);
  seconds_in_steps_ += record.seconds;
  memory_->EndStep(record);
  receipts_.Record(record.draws, memory_->step());
  for (const auto& [task, terms] : record.losses) {
    if (const auto loss = TotalLoss(terms)) progress_.last_losses[task] = *loss;
  }
  record.evaluation = EvaluateIfDue();
  if (!record.evaluation.is_null()) memory_->PhaseChanges();
  metrics_->Record(record);
  status_->Add(record);
  console_.Status(status_->Line(), status_->Line(console_.columns()));
}

TaskScore Trainer::Evaluate(const std::string& task) {
  std::int64_t& rows_at_once = progress_.eval_rows_at_once.try_emplace(task, kEvalRows).first->second;
  TaskScore score = ScoreTask(run_.task(task), run_.plans.at(task),
                              {.model = *run_.model,
                               .device = run_.device,
                               .seed = static_cast<std::uint64_t>(run_.config.seed),
                               .rows = run_.config.eval.rows,
                               .rows_at_once = rows_at_once});
  if (score.rows_at_once < rows_at_once) {
    rows_at_once = score.rows_at_once;
    console_.Warn("evaluation of " + task + " after step " + std::to_string(progress_.step) +
                  " ran out of memory; from now on it takes " + std::to_string(rows_at_once) +
                  " rows at once");
  }
  return score;
}

ordered_json Trainer::EvaluateIfDue() {
  const EvalConfig& config = run_.config.eval;
  if (config.every <= 0 || progress_.step % config.every != 0) return nullptr;
  memory_->PhaseChanges();
  Scores scores;
  for (const std::string& name : run_.ActiveTasks()) {
    try {
      scores[name] = Evaluate(name);
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
