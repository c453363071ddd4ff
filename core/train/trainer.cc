#include <medley/train/trainer.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <medley/base/crash.h>
#include <medley/base/interrupt.h>
#include <medley/base/suggest.h>
#include <medley/curriculum/forms.h>
#include <medley/report/table.h>
#include <medley/run/validate.h>
#include <medley/train/run_sinks.h>
#include <medley/train/stop_signal.h>

namespace medley {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void AddWaits(const std::map<std::string, double>& before, const std::map<std::string, double>& now,
              StepRecord& record) {
  for (const auto& [task, seconds] : now) {
    const auto found = before.find(task);
    const double milliseconds = 1000 * (seconds - (found == before.end() ? 0 : found->second));
    if (milliseconds <= 0) continue;
    record.data_waits[task] = milliseconds;
    record.data_wait_ms += milliseconds;
  }
}

}  // namespace

Trainer::Trainer(const Setting& setting, const std::optional<FoundCheckpoint>& from)
    : setting_(setting),
      hours_(setting.config, setting.console, setting.now, setting.script),
      stages_({.curriculum = setting.curriculum,
               .eval_every = setting.config.eval.every,
               .mixer = setting.mixer,
               .optimizer = setting.optimizer,
               .log = setting.live != nullptr ? &setting.live->log : nullptr,
               .console = setting.console,
               .take_forms = [this](const Stage& stage) { TakeForms(stage); }}),
      prefetcher_({.threads = setting.config.data.threads,
                   .seed = static_cast<std::uint64_t>(setting.config.seed),
                   .device = setting.device,
                   .host = setting.host,
                   .contract = setting.executor.contract(),
                   .plan = setting.plan}),
      tables_(setting.device, setting.host, setting.plan),
      evaluation_({.config = setting.config.eval,
                   .seed = static_cast<std::uint64_t>(setting.config.seed),
                   .with_sheets = setting.config.tensorboard,
                   .device = setting.device,
                   .model = setting.model,
                   .tasks = prefetcher_,
                   .plan = setting.plan,
                   .mixer = setting.mixer,
                   .tables = tables_,
                   .console = setting.console}) {
  const RunConfig& config = setting.config;
  auto receipts = std::make_unique<ReceiptBook>(setting.directory, setting.console);
  receipts_ = receipts.get();
  const TrainingState state = State();
  stages_.TakeForms();
  if (from) {
    LoadCheckpoint(from->path, state);
    setting.optimizer.weights().Round();
  }
  progress_.emplace(step_, hours_.decay().end(), config.data.threads);
  sinks_ = MakeRunSinks(setting.directory, setting.curriculum.Named(), from, config.tensorboard,
                        std::move(receipts), *progress_, setting.console);
  if (setting.live != nullptr) sinks_.Add(MakeWeightLogSink(setting.live->log));
  checkpoints_.emplace(CheckpointKeeper::Setting{setting.directory, config.checkpoint, ToJson(config)}, state,
                       sinks_, setting.console);
  if (unreported_) {
    checkpoints_->SetUnreported(step_);
  } else if (from) {
    checkpoints_->SetSaved(step_);
  }
  memory_.emplace(MemoryWatch::Setting{.device = setting.device,
                                       .budget = setting.budget,
                                       .model = setting.model,
                                       .optimizer = setting.optimizer,
                                       .host = setting.host,
                                       .plan = setting.plan,
                                       .tables = tables_});
  recovery_.emplace(StepRecovery::Setting{.device = setting.device,
                                          .budget = setting.budget,
                                          .seed = static_cast<std::uint64_t>(config.seed),
                                          .draws_per_step = config.draws_per_step,
                                          .draws_ahead = config.data.threads > 0 ? config.data.ahead : 0,
                                          .drops = config.on_task_error == "drop",
                                          .directory = setting.directory,
                                          .model = setting.model,
                                          .host = setting.host,
                                          .executor = setting.executor,
                                          .stages = stages_,
                                          .plan = setting.plan,
                                          .prefetcher = prefetcher_,
                                          .memory = *memory_,
                                          .sinks = sinks_,
                                          .console = setting.console});
  if (setting.live != nullptr)
    edits_.emplace(WeightEdits::Setting{.file = setting.directory / kRunWeights,
                                        .config = config,
                                        .live = *setting.live,
                                        .stages = stages_,
                                        .prefetcher = prefetcher_,
                                        .sinks = sinks_,
                                        .console = setting.console});
  if (const std::string blind = memory_->Blindness(); !blind.empty()) setting.console.Say(blind);
  receipts_->Save();  // as the logs: back to the checkpoint
}

Trainer::~Trainer() = default;

ExitCode Trainer::Train() {
  try {
    return TrainToTheEnd();
  } catch (const c10::AcceleratorError& error) {
    // Whatever is asked of the device from now on fails too: nothing can be saved, and no task is to blame.
    const std::string words = "the device failed: " + Failure::Of(error).reason +
                              ". Nothing was saved after it; " + NewestCheckpointWords(setting_.directory);
    setting_.console.Log("the run ends: " + words);
    throw Error(words);
  } catch (const std::exception& error) {
    setting_.console.Log("the run ends: " + Failure::Of(error).reason);
    throw;
  }
}

ExitCode Trainer::TrainToTheEnd() {
  const StopSignal stop;
  SetCrashAdvice("What the run saved stays: medley resume " + setting_.directory.string() +
                 " goes on from its newest checkpoint");
  hours_.Start(step_);
  if (unreported_) Conclude(*std::exchange(unreported_, std::nullopt));
  if (edits_ && !unreported_) edits_->Start(step_);
  while (!Done(stop.requested())) Step();
  if (recovery_->failure()) SaveAndFail();
  checkpoints_->SaveNow(step_, evaluation_.evaluated());
  receipts_->Save();
  setting_.console.Say(Summary());
  if (interrupted_) return ExitCode::kInterrupted;
  return stages_.dropped().empty() ? ExitCode::kDone : ExitCode::kSomethingDropped;
}

bool Trainer::Done(bool stop_requested) {
  if (recovery_->failure()) return true;
  WatchHours();
  if (hours_.ends_at(step_)) return true;
  const bool all_done = (step_ >= hours_.decay().end() || stages_.over()) && !unreported_;
  interrupted_ = stop_requested && !all_done;
  if (interrupted_ || all_done) return true;
  if (hours_.over())
    setting_.console.Say("the run's hours are over; medley resume " + setting_.directory.string() +
                         " goes on");
  return hours_.over();
}

void Trainer::Step() {
  step_started_ = Clock::now();
  memory_->BeginStep();
  StepRecord record;
  record.step = step_ + 1;
  const std::map<std::string, double> waits = prefetcher_.waits();
  record.draws = NextDraws();
  const std::size_t dropped = stages_.dropped().size();
  std::optional<StepLosses> losses = recovery_->Gradients(record.step, record.draws);
  if (!losses) {
    if (stages_.dropped().size() == dropped) return;
    const std::optional<MeanEvaluation> evaluated = evaluation_.evaluated();
    if (GoOnInStages()) checkpoints_->SaveAndKeep(step_, evaluated);
    return;
  }
  record.losses = std::move(*losses);
  const OptimizerConfig& optimizer = setting_.config.optimizer;
  record.learning_rate =
      optimizer.learning_rate * ScheduleScale(optimizer, hours_.decay(), step_) * stages_.LearningRateScale();
  const std::optional<double> norm = UpdateWeights(record);
  if (!norm) return;
  record.gradient_norm = *norm;
  setting_.mixer.Commit(record.draws);
  for (const auto& [task, share] : setting_.mixer.Shares()) {
    if (share.asked > 0) record.delivered[task] = share.delivered;
  }
  step_ = record.step;
  stages_.Trained(record);
  record.overflows = recovery_->overflows();
  AddWaits(waits, prefetcher_.waits(), record);
  Measure(record);
  Conclude(std::move(record));
}

// Evaluates where that is due, writes the step down, and saves where that is due.
void Trainer::Conclude(StepRecord record) {
  if (hours_.ends_within(step_)) {
    unreported_ = std::move(record);
    return;
  }
  try {
    record.evaluation = EvaluateIfDue();
  } catch (const Interrupted&) {
    unreported_ = std::move(record);
    return;
  }
  if (record.evaluation) stages_.Scored(*record.evaluation, step_);
  progress_->EndsAt(hours_.decay().end(), hours_.SecondsLeft());
  progress_->SetStage(stages_.Words());
  sinks_.Take(record);
  recovery_->Fitted(step_, record.draws);  // in the forms that it had
  const std::optional<MeanEvaluation> evaluated = evaluation_.evaluated();
  const bool keep = GoOnInStages();
  FollowEdits();
  if (keep && !recovery_->failure()) checkpoints_->SaveAndKeep(step_, evaluated);
  if (!recovery_->failure()) checkpoints_->SaveIfDue(step_, evaluated);
  HeedGuard();
}

// True where a stage ended whose last checkpoint is to be kept.
bool Trainer::GoOnInStages() {
  const bool keep = stages_.now().keep;
  if (recovery_->failure() || stages_.GoOn(step_) == Stages::Going::kPresent) return false;
  memory_->PhaseChanges();
  evaluation_.Forget();
  return keep;
}

void Trainer::FollowEdits() {
  if (edits_ && !recovery_->failure() && edits_->Follow(step_)) memory_->PhaseChanges();
}

// Rows that were sampled ahead may be of other forms.
void Trainer::TakeForms(const Stage& stage) {
  PlanInForce& plan = setting_.plan;
  if (!plan.SetForms(FormsOf(setting_.config, stage))) return;
  prefetcher_.WhileIdle([&] {
    for (const std::string& task : stages_.curriculum().Named()) {
      const std::string& form = plan.FormOf(task);
      const std::int64_t rows = plan.RowsOf(task).value_or(ConfigOf(setting_.config, form).rows);
      setting_.mixer.SetSize(task, SizeOf(setting_.host.Variant(form), rows));
    }
  });
}

void Trainer::WatchHours() {
  const bool early = hours_.is_early();
  hours_.Watch(step_);
  if (!early && hours_.is_early()) LogEarlyDecay();
}

void Trainer::LogEarlyDecay() {
  stages_.LogEarlyDecay("the learning rate falls from here on, and the run ends after step " +
                        std::to_string(hours_.decay().end()));
}

// What is about to end the run must not take with it what was trained.
void Trainer::HeedGuard() {
  for (const GuardFinding& finding : memory_->verdict().findings) {
    setting_.console.Warn("step " + std::to_string(step_) + ": " + finding.words);
    if (finding.level != GuardLevel::kCritical || recovery_->failure()) continue;
    checkpoints_->SaveEarly(step_, evaluation_.evaluated(), "the next step may be the last");
  }
}

// The step's; the data threads begin with those of the next steps.
std::vector<Draw> Trainer::NextDraws() {
  const std::int64_t per_step = setting_.config.draws_per_step, ahead = setting_.config.data.ahead;
  const std::int64_t steps_later = std::min(ahead, hours_.decay().end() - step_ - 1);
  std::vector<Draw> draws = setting_.mixer.Peek(per_step + std::min(ahead, steps_later * per_step));
  prefetcher_.Expect(draws);
  draws.resize(static_cast<std::size_t>(per_step));
  return draws;
}

// The norm of the gradient; nothing where it is not finite, and then nothing was updated. After any other
// exception some weights may be updated and others not: it ends the run, and nothing is saved.
std::optional<double> Trainer::UpdateWeights(const StepRecord& record) {
  try {
    return setting_.optimizer.Step(record.learning_rate);
  } catch (const Error& error) {
    std::set<std::string> tasks;
    for (const Draw& draw : record.draws) tasks.insert(draw.task);
    recovery_->Fail(Failure::Of(
        error, "step " + std::to_string(record.step) + ", whose draws are of " + Listed(tasks) + ": "));
    ClearGradients(setting_.model);
    recovery_->TakeBack();
    return std::nullopt;
  }
}

void Trainer::Measure(StepRecord& record) {
  record.seconds = SecondsSince(step_started_);
  seconds_in_steps_ += record.seconds;
  memory_->EndStep(record);
  for (const auto& [task, terms] : record.losses) {
    if (const auto loss = TotalLoss(terms)) last_losses_[task] = *loss;
  }
}

std::optional<EvaluationRecord> Trainer::EvaluateIfDue() {
  const Evaluation::Wanted wanted{
      .whole = evaluation_.IsDue(step_), .asked = stages_.Asked(step_), .stage = stages_.now().name};
  if (!wanted.whole && wanted.asked.empty()) return std::nullopt;
  memory_->PhaseChanges();
  auto record = evaluation_.Run(step_, wanted, *recovery_);
  if (record) memory_->PhaseChanges();
  return record;
}

// What was trained is saved; a save that fails too must not hide why the run ends.
void Trainer::SaveAndFail() {
  const Failure& failure = *recovery_->failure();
  std::string words = failure.reason;
  try {
    checkpoints_->SaveNow(step_, evaluation_.evaluated());
    receipts_->Save();
    words += ". Step " + std::to_string(step_) + " is saved; ";
    if (failure.code == ExitCode::kBadInput) words += "mend what is wrong, then ";
    words += "medley resume " + setting_.directory.string();
    if (failure.diverged && step_ > 0)
      words += " optimizer.learning_rate=" + FormatNumber(setting_.config.optimizer.learning_rate / 10);
    words += " goes on from there";
    // A resume refuses what the weights depend on.
    if (failure.code == ExitCode::kBadInput)
      words += "; another model config, tokenizer or control text needs a new run (medley train)";
  } catch (const std::exception& error) {
    words += ". Besides, " + Failure::Of(error).reason + ". " + NewestCheckpointWords(setting_.directory);
  }
  setting_.console.Say(Summary());
  throw Error(words, failure.code);
}

}  // namespace medley
