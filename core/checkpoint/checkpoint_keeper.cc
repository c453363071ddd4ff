#include <medley/checkpoint/checkpoint_keeper.h>

#include <set>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/checkpoint/checkpoint_search.h>
#include <medley/cluster/group.h>

namespace medley {
namespace {

constexpr int kMostFailures = 3;  // in a row

// What a run has whose newest step was not saved. What stands in the way of a save may hide the others too.
std::string WhatIsLeft(const std::filesystem::path& run) try {
  if (TypeOf(run) == std::filesystem::file_type::not_found)
    return "The run's directory is gone, with all that was saved (where it was moved, medley resume goes on "
           "there)";
  return ListCheckpoints(run).empty() ? "There is no checkpoint yet" : "The last checkpoint is intact";
} catch (const Error& error) {
  return std::string("What was saved before is as it was, and cannot be looked at: ") + error.what();
}

// A save says nothing of what became of it since.
void RequireCheckpoint(const std::filesystem::path& run, std::int64_t step, Console& console) {
  const std::filesystem::path saved = run / CheckpointName(step);
  try {
    if (TypeOf(saved) != std::filesystem::file_type::not_found) return;
  } catch (const FileError& error) {
    return console.Warn(std::string("whether the last checkpoint is there cannot be told: ") + error.what());
  }
  throw Error("step " + std::to_string(step) + " was saved, but " + Printable(saved) +
              " is not there any more: somebody removed or moved it while the run was trained. " +
              WhatIsLeft(run));
}

}  // namespace

CheckpointKeeper::CheckpointKeeper(Setting setting, TrainingState state, RecordSinks& sinks, Console& console)
    : setting_(std::move(setting)), state_(std::move(state)), sinks_(sinks), console_(console) {}

void CheckpointKeeper::SayWhatIsKept(bool has_best, bool falls) const {
  if (!setting_.writes) return;
  const std::int64_t processes = setting_.together ? setting_.together->place.ranks : 1;
  std::string kept = "the newest " + std::to_string(setting_.config.keep);
  if (has_best) kept += falls ? ", the best" : " and the best";
  if (falls) kept += " and the one behind which the learning rate falls";
  console_.Say("a checkpoint takes " + FormatBytes(BytesOf(state_, processes)) + "; kept are " + kept);
}

void CheckpointKeeper::SaveIfDue(std::int64_t step, const std::optional<MeanEvaluation>& evaluated) {
  if (saved_step_ == step) return;
  if (setting_.config.every > 0 && step % setting_.config.every == 0) TrySave(step, evaluated);
}

void CheckpointKeeper::SaveAndKeep(std::int64_t step, const std::optional<MeanEvaluation>& evaluated) {
  if (saved_step_ != step) TrySave(step, evaluated, Rotation::kNever);
}

void CheckpointKeeper::SaveBefore(Fall fall, std::int64_t step,
                                  const std::optional<MeanEvaluation>& evaluated) {
  KeepBefore(fall, step);
  if (saved_step_ != step) TrySave(step, evaluated);
  if (saved_step_ == step && setting_.writes)
    console_.Say("the learning rate falls from here on: step " + std::to_string(step) +
                 " is kept, for a longer run to go on from");
}

void CheckpointKeeper::SaveEarly(std::int64_t step, const std::optional<MeanEvaluation>& evaluated,
                                 const std::string& reason) {
  if (saved_step_ == step) return;
  console_.Say("saving early: " + reason);
  TrySave(step, evaluated);
}

void CheckpointKeeper::TrySave(std::int64_t step, const std::optional<MeanEvaluation>& evaluated,
                               Rotation rotation) {
  try {
    Save(step, evaluated, rotation);
    failures_ = 0;
  } catch (const std::exception& error) {
    if (EndsTheRun(error)) throw;
    ++failures_;
    const std::string line = "step " + std::to_string(step) + " was not saved: " + error.what();
    if (failures_ >= kMostFailures) {
      throw Error(line + ". That was the " + std::to_string(failures_) +
                  "rd time in a row; the run ends here. " + WhatIsLeft(setting_.run) +
                  ": mend what is wrong, then medley resume " + ShellWord(setting_.run.string()));
    }
    console_.Warn(line + ". " + WhatIsLeft(setting_.run) + "; training goes on");
  }
}

void CheckpointKeeper::SaveNow(std::int64_t step, const std::optional<MeanEvaluation>& evaluated,
                               Older older) {
  for (int failures = 1; saved_step_ != step; ++failures) {
    try {
      Save(step, evaluated, older == Older::kStay ? Rotation::kLater : Rotation::kTakesPart);
    } catch (const std::exception& error) {
      if (EndsTheRun(error)) throw;
      const std::string line = "step " + std::to_string(step) + " was not saved: " + error.what();
      if (failures >= kMostFailures) throw Error(line + ". " + NewestCheckpointWords(setting_.run));
      console_.Warn(line + ". Trying again");
    }
  }
  if (setting_.writes) RequireCheckpoint(setting_.run, step, console_);
}

CheckpointFacts CheckpointKeeper::FactsNow(std::int64_t step, const std::optional<MeanEvaluation>& evaluated,
                                           Rotation rotation) {
  LogMarks logs;
  sinks_.Sync(logs);
  return {.step = step,
          .logs = std::move(logs),
          .evaluated = evaluated,
          .config_hash = HashText(JsonText(setting_.resolved)),
          .config = setting_.resolved,
          .keep = rotation == Rotation::kNever};
}

void CheckpointKeeper::Save(std::int64_t step, const std::optional<MeanEvaluation>& evaluated,
                            Rotation rotation) {
  if (!setting_.writes && !setting_.together) {
    saved_step_ = step;
    return;
  }
  const Place place = step == unreported_step_ ? Place::kReplaces : Place::kNew;
  std::optional<Committed> saved;
  if (setting_.together) {
    saved = SaveTogether(
        setting_.run, state_, [&] { return FactsNow(step, evaluated, rotation); }, place, *setting_.together);
  } else {
    saved = SaveCheckpoint(setting_.run, state_, FactsNow(step, evaluated, rotation), place);
  }
  saved_step_ = step;
  if (!saved) return;  // the first process has it
  console_.Say("saved step " + std::to_string(step));
  sinks_.Take(SaveRecord{.step = step, .checkpoint = setting_.run / CheckpointName(step)});
  for (const std::string& trouble : saved->trouble)
    console_.Warn("step " + std::to_string(step) + " is saved, but " + trouble);
  if (!saved->proven || rotation == Rotation::kLater) return;
  try {
    std::set<std::int64_t> kept;
    for (const auto& [fall, before] : before_falls_) kept.insert(before);
    RotateCheckpoints(setting_.run, setting_.config.keep, std::move(kept));
  } catch (const std::exception& error) {
    console_.Warn(std::string("an old checkpoint could not be removed: ") + error.what());
  }
}

}  // namespace medley
