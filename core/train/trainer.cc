#include <medley/train/trainer.h>

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <set>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/base/crash.h>
#include <medley/base/interrupt.h>
#include <medley/base/next_command.h>
#include <medley/base/suggest.h>
#include <medley/model/asked_losses.h>
#include <medley/report/screen.h>
#include <medley/report/table.h>
#include <medley/run/run_rules.h>
#include <medley/run/validate.h>
#include <medley/train/profile_sink.h>
#include <medley/train/remedy.h>
#include <medley/train/run_sinks.h>

namespace medley {
namespace {

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

SlowdownSetting SlowdownOf(const Run& run, bool alone, const std::filesystem::path& directory) {
  return {.threads = at::get_num_threads(),
          .data_threads = run.config.data.threads,
          .on_cpu = run.device.is_cpu(),
          .alone = alone,
          .resume = "medley resume " + directory.string()};
}

// Where a task asks a model for losses that are made of all its logits; else "".
std::string LossesWords(const Run& run) {
  if (!MakesLossesOfLogits(run.model->spec())) return "";
  for (const std::string& name : run.NamedTasks()) {
    const TaskInfo* task = run.registry->Find(name);
    if (task == nullptr || std::ranges::find(task->outputs, kLosses) == task->outputs.end()) continue;
    return "the model '" + std::string(run.model->spec().name) + "' has no \"losses\", for which the task '" +
           name +
           "' asks: they are made of its \"logits\", and those of all learned tokens wait for the backward";
  }
  return "";
}

}  // namespace

Trainer::Trainer(Run& run, PlanInForce& plan, WeightLog& log, Admission& admission, Console& console,
                 TrainerStart start)
    : ResumedTraining(run, plan, log, console, std::move(start)),
      progress_(step_, hours_.decay().end(), run.config.data.threads),
      sinks_(MakeRunSinks(start_.directory, run.curriculum.Named(), start_.from,
                          run.config.tensorboard && run.cluster->is_first(), receipts_, log, progress_,
                          SlowdownOf(run, alone_, run_path_), console)),
      checkpoints_({.run = run_path_,
                    .config = run.config.checkpoint,
                    .resolved = ToJson(run.config),
                    .writes = run.cluster->is_first(),
                    .together = SavesTogether()},
                   state_, sinks_, console),
      memory_({.device = run.device,
               .budget = run.budget,
               .model = *run.model,
               .optimizer = *run.optimizer,
               .references = run.references.get(),
               .host = *run.host,
               .plan = plan,
               .tables = tables_}),
      attempt_({run_path_, run.device, *run.model, *run.executor, plan, prefetcher_, division_, *agreement_,
                alone_ ? run.optimizer.get() : nullptr, memory_, sinks_, console}),
      blame_({run.config, alone_, run.device, run.budget, *run.host, *run.executor, attempt_, stages_, plan,
              prefetcher_, memory_, console}),
      edits_({run_path_, run.config, run.model_file->info, *run.registry, log, admission, stages_,
              weights_file_, rounds_, [this] { return agreement_->clock(); }, prefetcher_, sinks_, console},
             std::move(start_.weights)) {
  if (run.cluster->is_first()) AddProfile(sinks_, start_.directory, run.device);
  if (phases_)
    predictor_.emplace(Predictor::Setting{.config = run.config,
                                          .device = run.device,
                                          .model = *run.model,
                                          .references = run.references.get(),
                                          .optimizer = *run.optimizer,
                                          .loss_scale = loss_scale_,
                                          .mixer = *run.mixer,
                                          .state = *phases_,
                                          .before = phases_before_,
                                          .attempt = attempt_,
                                          .memory = memory_,
                                          .tasks = prefetcher_,
                                          .plan = plan,
                                          .tables = tables_,
                                          .sinks = sinks_,
                                          .console = console,
                                          .rounds = rounds_,
                                          .hooks = start_.hooks});
  if (unreported_) {
    checkpoints_.SetUnreported(step_);
  } else if (start_.from) {
    checkpoints_.SetSaved(step_);
  }
  if (const auto before = hours_.before_fall(); before && step_ >= *before)
    checkpoints_.KeepBefore(CheckpointKeeper::Fall::kDecay, *before);
  if (const auto before = stages_.before_last_cooldown())
    checkpoints_.KeepBefore(CheckpointKeeper::Fall::kCooldown, *before);
  if (const std::string blind = memory_.Blindness(); !blind.empty()) console.Say(blind);
  if (const std::string words = LossesWords(run); !words.empty()) console.Say(words);
  receipts_.Save();  // as the logs: back to the checkpoint
}

ExitCode Trainer::Train(std::int64_t until, AtReturn leaves) {
  try {
    return TrainOn(until, leaves);
  } catch (const c10::AcceleratorError& error) {
    // Whatever is asked of the device from now on fails too: nothing can be saved, and no task is to blame.
    const std::string words = "the device failed: " + Failure::Of(error).reason +
                              ". Nothing was saved after it; " + NewestCheckpointWords(run_path_);
    console_.Log("the run ends: " + words);
    NoteEnd(RunEnd::kFailed, words);
    throw Error(words);
  } catch (const Interrupted&) {
    NoteEnd(RunEnd::kStopped, "it was interrupted");
    throw;
  } catch (const std::exception& error) {
    console_.Log("the run ends: " + Failure::Of(error).reason);
    NoteEnd(RunEnd::kFailed, Failure::Of(error).reason);
    throw;
  }
}

// For good, not only because it came as far as it was asked to.
bool Trainer::IsOver() {
  return hours_.ends_at(step_) || step_ >= hours_.decay().end() || stages_.over() || hours_.over();
}

ExitCode Trainer::TrainOn(std::int64_t until, AtReturn leaves) {
  const auto goes_on = [](const Outcome& outcome) {
    return std::holds_alternative<Trained>(outcome) || std::holds_alternative<DroppedTask>(outcome);
  };
  Outcome last = Start();
  while (goes_on(last) && !Done(until)) last = Step();
  KeepRules();
  const auto code = [&] { return stages_.dropped().empty() ? ExitCode::kDone : ExitCode::kSomethingDropped; };
  if (leaves == AtReturn::kUnsaved && goes_on(last) && !IsOver()) return code();
  if (const auto* failure = std::get_if<Failure>(&last)) SaveAndFail(*failure);
  checkpoints_.SaveNow(step_, evaluation_.evaluated());
  receipts_.Save();
  if (goes_on(last))
    NoteEnd(RunEnd::kEnded, WhyOver());
  else
    NoteEnd(RunEnd::kStopped, "it was interrupted");
  rounds_.WaitForAll();
  SayEnd();
  if (std::holds_alternative<InterruptedStep>(last)) return ExitCode::kInterrupted;
  return code();
}

std::map<std::string, ScoreRecord> Trainer::Score(std::int64_t rows) {
  memory_.SizesChange();
  std::map<std::string, ScoreRecord> scores = evaluation_.Look(rows);
  memory_.SizesChange();
  return scores;
}

void Trainer::SayEnd() {
  console_.Detail(Prose(Account()));
  std::string words = Prose(Summary());
  words.pop_back();
  console_.Say(words);
  if (!run_.kernel_words.empty()) console_.Warn(run_.kernel_words);
}

std::string Trainer::WhyOver() const {
  if (stages_.over()) return "its last stage is over";
  if (step_ >= run_.config.steps) return "all its steps are done";
  return step_ >= hours_.decay().end() || hours_.over() ? "its hours are over" : "";
}

void Trainer::NoteEnd(RunEnd how, const std::string& why) {
  if (why.empty()) return;  // just as far as it was asked to go
  try {
    RecordEnd(start_.directory, step_, how, why);
  } catch (const std::exception& error) {
    console_.Warn("the run has " + EnumName(how) + ", which could not be noted: " + error.what());
  }
}

// Before the first step, and again where that was interrupted.
Trainer::Outcome Trainer::Start() {
  if (started_) return Trained();
  SetCrashAdvice("What the run saved stays: medley resume " + run_path_.string() +
                 " goes on from its newest checkpoint");
  hours_.Start(step_);
  checkpoints_.SayWhatIsKept(run_.config.eval.every > 0, hours_.before_fall() || stages_.CoolsAtItsEnd());
  if (unreported_) {
    Outcome outcome = Conclude(*std::exchange(unreported_, std::nullopt));
    if (unreported_ || std::holds_alternative<Failure>(outcome)) return outcome;
  }
  if (auto ended = EvaluateAtStart()) return *std::move(ended);
  edits_.Start(step_);
  started_ = true;
  return Trained();
}

bool Trainer::Done(std::int64_t until) {
  WatchHours();
  if (hours_.ends_at(step_) || step_ >= until) return true;
  if (step_ >= hours_.decay().end() || stages_.over()) return true;
  if (!hours_.over() || InterruptRequested()) return false;
  console_.Say("the run's hours are over; medley resume " + run_path_.string() + " goes on");
  return true;
}

Trainer::Outcome Trainer::Step() {
  if (InterruptRequested()) return InterruptedStep();
  if (auto ended = Predict()) return *std::move(ended);
  step_started_ = SteadySeconds();
  memory_.BeginStep();
  StepRecord record;
  record.step = step_ + 1;
  const std::map<std::string, double> waits = prefetcher_.waits();
  record.draws = NextDraws();
  if (auto ended = TrainOnDraws(record)) return *std::move(ended);
  run_.mixer->Commit(record.draws);
  for (const auto& [task, share] : run_.mixer->Shares()) {
    if (share.asked > 0) record.delivered[task] = share.delivered;
  }
  step_ = record.step;
  stages_.Trained(record);
  AddWaits(waits, prefetcher_.waits(), record);
  Measure(record);
  if (predictor_) predictor_->Trained(record);
  return Conclude(std::move(record));
}

// Nothing where it updated the weights; else the loss scale is as before it, as if it had not begun.
std::optional<Trainer::Outcome> Trainer::TrainOnDraws(StepRecord& record) {
  const LossScale begun = loss_scale_;
  std::optional<Outcome> ended = TryAtScales(record, begun);
  if (ended) loss_scale_ = begun;
  return ended;
}

// A gradient that fp16 cannot hold costs another try of the same rows, on all processes, which have the same
// one.
std::optional<Trainer::Outcome> Trainer::TryAtScales(StepRecord& record, const LossScale& begun) {
  while (true) {
    run_.executor->ScaleLosses(loss_scale_.now());
    run_.optimizer->TakeLossScale(loss_scale_.now());
    std::optional<StepAttempt::Outcome> computed = Gradients(record);
    if (!computed) {  // a jump is undone, also what it asked of the scale
      loss_scale_ = begun;
      continue;
    }
    StepAttempt::Outcome& tried = *computed;
    if (std::holds_alternative<InterruptedStep>(tried)) return InterruptedStep();
    if (const auto* failure = std::get_if<Failure>(&tried)) return Blamed(record.draws, *failure);
    record.losses = std::get<StepLosses>(std::move(tried));
    const std::vector<Overflow>& overflows = attempt_.overflows();
    record.overflows.insert(record.overflows.end(), overflows.begin(), overflows.end());
    SayWhatWasNotJudged();
    std::optional<Failure> failure = UpdateWeights(record);
    if (!failure) break;
    if (!loss_scale_.Halve()) return *std::move(failure);
    ++record.loss_repeats;
    console_.Detail("step " + std::to_string(record.step) +
                    ": its gradient is more than fp16 holds; the same rows run again, with losses times " +
                    std::to_string(static_cast<std::int64_t>(loss_scale_.now())));
    memory_.BeginStep();
  }
  if (loss_scale_.on()) record.loss_scale = loss_scale_.now();
  loss_scale_.Updated();
  return std::nullopt;
}

// Nothing where the step goes on.
std::optional<Trainer::Outcome> Trainer::Predict() {
  if (!predictor_) return std::nullopt;
  std::optional<Predictor::FailedTask> failed;
  try {
    failed = predictor_->Predict(step_, run_.config.optimizer.learning_rate * stages_.LearningRateScale());
  } catch (const Interrupted&) {
    return InterruptedStep();
  }
  if (!failed) return std::nullopt;
  if (auto end = blame_.TaskFailed(failed->task, failed->failure)) return *std::move(end);
  return GoOnWithoutTask();
}

std::optional<StepAttempt::Outcome> Trainer::Gradients(const StepRecord& record) {
  return predictor_ ? predictor_->Gradients(record.step, record.draws)
                    : attempt_.Gradients(record.step, record.draws);
}

// Of the tasks that were drawn for the first time.
void Trainer::SayWhatWasNotJudged() {
  for (const auto& [task, missed] : run_.contract->TakeNotJudged())
    for (const std::string& what : missed)
      console_.Say("task '" + task + "' passed the check of its first draw; not judged: " + what);
}

// What was decided over the items of tasks that were made since, before a checkpoint knows their rows.
void Trainer::KeepRules() {
  for (const std::string& words : run_.rules->TakeWords()) console_.Say(words);
  try {
    RecordRules(start_.directory, *run_.rules);
  } catch (const Error& error) {
    console_.Warn(std::string("which items are held out could not be noted: ") + error.what());
  }
}

// Another stage may begin.
Trainer::Outcome Trainer::GoOnWithoutTask() {
  const std::optional<MeanEvaluation> evaluated = evaluation_.evaluated();
  KeepRules();
  if (GoOnInStages()) checkpoints_.SaveAndKeep(step_, evaluated);
  return DroppedTask();
}

Trainer::Outcome Trainer::Blamed(const std::vector<Draw>& draws, const Failure& failure) {
  const Blame::Verdict verdict = blame_.Judge(draws, failure);
  if (std::holds_alternative<InterruptedStep>(verdict)) return InterruptedStep();
  if (const auto* end = std::get_if<Failure>(&verdict)) return *end;
  return GoOnWithoutTask();
}

// Evaluates where that is due, writes the step down, and saves where that is due.
Trainer::Outcome Trainer::Conclude(StepRecord record) {
  if (hours_.ends_within(step_)) {
    unreported_ = std::move(record);
    return Trained();
  }
  KeepRules();  // what they say of scores comes before these
  std::optional<Failure> failure;
  try {
    failure = EvaluateIfDue(record);
  } catch (const Interrupted&) {
    unreported_ = std::move(record);
    return InterruptedStep();
  }
  KeepRules();
  if (record.evaluation) stages_.Scored(*record.evaluation, step_);
  progress_.EndsAt(hours_.decay().end(), hours_.SecondsLeft());
  progress_.SetStage(stages_.Words());
  sinks_.Take(record);
  attempt_.Fitted(step_, record.Computed());  // in the forms that it had
  if (failure) {
    WarnOfGuard();
    return *std::move(failure);
  }
  const std::optional<MeanEvaluation> evaluated = evaluation_.evaluated();
  const bool keep = GoOnInStages();
  if (edits_.Follow(step_)) Edited();
  if (keep) checkpoints_.SaveAndKeep(step_, evaluated);
  checkpoints_.SaveIfDue(step_, evaluated);
  SaveBeforeFalls(evaluated);
  if (agreement_->TakeSaveRequest()) checkpoints_.SaveEarly(step_, evaluated, "a signal asked for it");
  // What is about to end the run must not take with it what was trained.
  const bool warned = WarnOfGuard();
  const bool saves_alone = run_.cluster->is_first() && !run_.optimizer->is_divided();
  if (warned && !saves_alone) agreement_->Warn();
  if ((warned && saves_alone) || agreement_->TakeWarning())
    checkpoints_.SaveEarly(step_, evaluation_.evaluated(), "the next step may be the last");
  return Trained();
}

void Trainer::Edit(const std::string& text) {
  if (!std::holds_alternative<Trained>(Start()))
    throw Error("step " + std::to_string(step_) +
                " is not yet evaluated, so its weights cannot be edited. Train on first");
  edits_.Take(text, step_);
  Edited();
}

void Trainer::Edited() {
  memory_.SizesChange();
  if (predictor_) predictor_->Settle(step_, "the weights were edited");
}

// True where a stage ended whose last checkpoint is to be kept.
bool Trainer::GoOnInStages() {
  const bool keep = stages_.now().keep;
  if (stages_.GoOn(step_) == Stages::Going::kPresent) return false;
  memory_.SizesChange();
  if (predictor_) predictor_->Settle(step_, "another stage begins");
  evaluation_.Forget();
  if (!stages_.over()) sinks_.Take(StageStart{.step = step_, .name = stages_.now().name});
  return keep;
}

void Trainer::WatchHours() {
  if (hours_.NeedsTime(step_)) agreement_->ReadClock();
  for (const DecayMove& move : hours_.Watch(step_)) {
    if (move.begins) SaveBeforeFalls(evaluation_.evaluated());
    stages_.LogDecay(move);
  }
}

// Where the rate falls from here on. Of an early decay before it is written down: that is decided anew by who
// goes on from there.
void Trainer::SaveBeforeFalls(const std::optional<MeanEvaluation>& evaluated) {
  using Fall = CheckpointKeeper::Fall;
  if (hours_.before_fall() == step_) checkpoints_.SaveBefore(Fall::kDecay, step_, evaluated);
  if (stages_.before_last_cooldown() == step_) checkpoints_.SaveBefore(Fall::kCooldown, step_, evaluated);
}

// True where one says that the run is about to end.
bool Trainer::WarnOfGuard() {
  bool critical = false;
  for (const GuardFinding& finding : memory_.verdict().findings) {
    console_.Warn("step " + std::to_string(step_) + ": " + finding.words);
    critical = critical || finding.level == GuardLevel::kCritical;
  }
  return critical;
}

// The step's; the data threads begin with those of the next steps.
std::vector<Draw> Trainer::NextDraws() {
  const std::int64_t per_step = run_.config.draws_per_step, ahead = run_.config.data.ahead;
  const std::int64_t steps_later = std::min(ahead, hours_.decay().end() - step_ - 1);
  std::vector<Draw> draws = run_.mixer->Peek(per_step + std::min(ahead, steps_later * per_step));
  prefetcher_.Expect(division_.OwnPart(draws));
  draws.resize(static_cast<std::size_t>(per_step));
  return draws;
}

// Fails where the gradient is not finite, and then nothing was updated. After any other exception some
// weights may be updated and others not: it ends the run, and nothing is saved.
std::optional<Failure> Trainer::UpdateWeights(StepRecord& record) {
  const OptimizerConfig& optimizer = run_.config.optimizer;
  record.learning_rate =
      optimizer.learning_rate * ScheduleScale(optimizer, hours_.decay(), step_) * stages_.LearningRateScale();
  try {
    record.gradient_norm = run_.optimizer->Step(record.learning_rate);
    agreement_->Updated();
    if (run_.references) run_.references->Updated(record.step, hours_.decay().end());
    return std::nullopt;
  } catch (const NotFiniteError& error) {
    std::set<std::string> tasks;
    for (const Draw& draw : record.draws) tasks.insert(draw.task);
    ClearGradients(*run_.model);
    attempt_.TakeBack();
    return Failure::Of(
        error, "step " + std::to_string(record.step) + ", whose draws are of " + Listed(tasks) + ": ");
  }
}

void Trainer::Measure(StepRecord& record) {
  record.seconds = SteadySeconds() - step_started_;
  seconds_in_steps_ += record.seconds;
  if (!alone_) record.own = attempt_.computed();
  record.peer_wait_ms = 1000 * (agreement_->seconds_in_exchanges() -
                                std::exchange(exchanged_, agreement_->seconds_in_exchanges()));
  for (const double seconds : agreement_->seconds_of_ranks()) record.rank_work_ms.push_back(1000 * seconds);
  memory_.EndStep(record);
  for (const auto& [task, terms] : record.losses) {
    if (const auto loss = TotalLoss(terms)) last_losses_[task] = *loss;
  }
}

std::optional<Failure> Trainer::EvaluateIfDue(StepRecord& record) {
  const Evaluation::Wanted wanted{
      .whole = evaluation_.IsDue(step_), .asked = stages_.Asked(step_), .stage = stages_.now().name};
  if (!wanted.whole && wanted.asked.empty()) return std::nullopt;
  memory_.SizesChange();
  auto evaluated = evaluation_.Run(step_, wanted, blame_);
  if (auto* failure = std::get_if<Failure>(&evaluated)) return std::move(*failure);
  record.evaluation = std::get<EvaluationRecord>(std::move(evaluated));
  memory_.SizesChange();
  return std::nullopt;
}

// Nothing where the run goes on. The best checkpoint is one of what was trained: this counts for none.
std::optional<Trainer::Outcome> Trainer::EvaluateAtStart() {
  if (step_ > 0 || !run_.config.eval.at_start || evaluation_.was_at_start()) return std::nullopt;
  memory_.SizesChange();
  try {
    auto evaluated = evaluation_.Run(0, {.whole = true, .asked = {}, .stage = stages_.now().name}, blame_);
    if (auto* failure = std::get_if<Failure>(&evaluated)) return std::move(*failure);
    KeepRules();
    sinks_.Take(std::get<EvaluationRecord>(evaluated));
  } catch (const Interrupted&) {
    return InterruptedStep();
  }
  evaluation_.Forget();
  evaluation_.SetWasAtStart();
  memory_.SizesChange();
  if (GoOnInStages()) checkpoints_.SaveAndKeep(step_, {});  // one that lost all of its tasks
  return std::nullopt;
}

// What was trained is saved; a save that fails too must not hide why the run ends. A model that diverged must
// not cost the checkpoints that are better.
void Trainer::SaveAndFail(const Failure& failure) {
  std::string words = failure.reason;
  try {
    checkpoints_.SaveNow(
        step_, evaluation_.evaluated(),
        failure.diverged ? CheckpointKeeper::Older::kStay : CheckpointKeeper::Older::kRotate);
    receipts_.Save();
    const Remedy remedy = RemedyFor(failure, run_.config.optimizer.learning_rate, run_path_, step_);
    words += ". Step " + std::to_string(step_) + " is saved; " + remedy.words;
    SetNextCommand(remedy.command);
  } catch (const std::exception& error) {
    const std::string besides = Failure::Of(error).reason, newest = NewestCheckpointWords(run_path_);
    words += ". Besides, " + besides;
    if (!besides.ends_with(newest)) words += ". " + newest;  // as a failed save says itself
  }
  SayEnd();
  try {
    rounds_.WaitForAll();
  } catch (const PeerError&) {  // why this run ends is known
  }
  throw Error(words, failure.code);
}

// Where each process has a part of what is saved; nothing where the first has all.
std::optional<SavingTogether> Trainer::SavesTogether() {
  if (!run_.optimizer->is_divided()) return std::nullopt;
  return SavingTogether{.place = run_.Shard(),
                        .all_or_none = [this](const std::function<void()>& work) { rounds_.AllOrNone(work); },
                        .everyones = [this](const std::string& own) { return rounds_.Everyones(own); }};
}

double Trainer::ShareWaited() const {
  return seconds_in_steps_ > 0 ? prefetcher_.seconds_waited() / seconds_in_steps_ : 0;
}

std::string Trainer::Summary() const {
  // Shares as the receipt has them: against what was asked while it was, of the stage alone.
  Table table({"task", "rows", "draws", "asked", "delivered", "last loss", "constants"});
  table.Spares({"constants"});
  for (const auto& [task, share] : run_.mixer->Shares()) {
    const auto loss = last_losses_.find(task);
    const LoadedTask* loaded = run_.host->Find(plan_.IdOf(task));
    const std::int64_t constants = loaded == nullptr ? 0 : loaded->ConstantBytes(run_.device);
    table.Add({task, std::to_string(share.rows), std::to_string(share.draws), FormatShare(share.asked_so_far),
               FormatShare(share.delivered), loss == last_losses_.end() ? "-" : FormatNumber(loss->second),
               FormatBytes(constants)});
  }
  std::string text = "after step " + std::to_string(step_) + " of " + std::to_string(run_.config.steps);
  if (hours_.is_early())
    text += ", decayed early, in steps " + std::to_string(hours_.begun().start) + " to " +
            std::to_string(hours_.decay().end());
  text += ":\n";
  text += table.ToText();
  const std::string& stage = stages_.now().name;
  if (const ShareUnit unit = run_.mixer->mixture().unit; unit != ShareUnit::kRows || !stage.empty())
    text +=
        "(asked and delivered: of " + EnumName(unit) + (stage.empty() ? "" : ", in stage " + stage) + ")\n";
  if (const std::int64_t under = receipts_.receipt().under(); under > 0)
    text += std::to_string(under) + " draws took more memory than was planned: medley report " +
            start_.directory.string() + "\n";
  if (const std::string words = DataWaitWords(ShareWaited(), prefetcher_.waits(), run_.config.data.threads);
      !words.empty())
    text += words + "\n";
  for (const auto& [task, reason] : stages_.dropped()) text += "dropped: " + task + " (" + reason + ")\n";
  return text;
}

std::string Trainer::Account() const {
  std::string text = "largest share error " + FormatShare(run_.mixer->ShareError()) + ", memory peak " +
                     FormatBytes(progress_.memory_peak()) + "\n";
  const MemoryLedger& peak = memory_.largest();
  if (peak.total() > 0)
    text += "the largest step took " + FormatBytes(peak.total()) +
            " with the rows that waited: " + peak.Words() + "\n";
  text += "waited for data " + FormatShare(ShareWaited()) + " of the steps' time\n";
  if (!alone_ && seconds_in_steps_ > 0)
    text += "as " + run_.cluster->Words() + ", " + FormatShare(exchanged_ / seconds_in_steps_) +
            " of the steps' time went into waiting for the other processes and adding up with them; all "
            "processes: " +
            progress_.rank_work().Words(1000 * seconds_in_steps_) + "\n";
  return text + "the run lies in " + start_.directory.string();
}

}  // namespace medley
