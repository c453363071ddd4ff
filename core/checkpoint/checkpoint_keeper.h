#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <medley/checkpoint/checkpoint.h>
#include <medley/config/run_config.h>
#include <medley/report/console.h>
#include <medley/report/record_sink.h>

namespace medley {

// Decides when a run is saved, and what a failed save means: the old checkpoint and the training go on, until
// the third failure in a row ends the run, with an Error. A device that failed is no failed save: it is
// thrown on. So are peers that are gone: where a state is divided, all processes call it at the same places,
// and a save that fails in one fails in all. To be used on the trainer's thread, between steps.
class CheckpointKeeper {
 public:
  struct Setting {
    std::filesystem::path run;
    CheckpointConfig config;
    nlohmann::ordered_json resolved;           // the run's config
    bool writes = true;                        // false: another process of the run saves for all
    std::optional<SavingTogether> together{};  // where each has a part of the state
  };
  // Keeps references to the sinks and the console.
  CheckpointKeeper(Setting setting, TrainingState state, RecordSinks& sinks, Console& console);

  // The checkpoint of this step is already there (after a resume).
  void SetSaved(std::int64_t step) { saved_step_ = step; }
  // The same, but it lacks the step's evaluation: it is saved again where it would be saved.
  void SetUnreported(std::int64_t step) { unreported_step_ = step; }
  // What checkpoints take of the disk; `falls`: whether the learning rate will.
  void SayWhatIsKept(bool has_best, bool falls) const;
  void SaveIfDue(std::int64_t step, const std::optional<MeanEvaluation>& evaluated);
  // Saves now what is never rotated away.
  void SaveAndKeep(std::int64_t step, const std::optional<MeanEvaluation>& evaluated);
  // Behind this step the learning rate falls to its end, in the run's decay or in the cooldown of its last
  // stage: what a longer run goes on from is kept, until the next one of that kind. Saves it where it is not
  // there.
  enum class Fall { kDecay, kCooldown };
  void SaveBefore(Fall fall, std::int64_t step, const std::optional<MeanEvaluation>& evaluated);
  // The same of a run that goes on behind that step, where its checkpoint may be or not.
  void KeepBefore(Fall fall, std::int64_t step) { before_falls_[fall] = step; }
  // Saves now, for this reason. A save that fails is treated as one that was due.
  void SaveEarly(std::int64_t step, const std::optional<MeanEvaluation>& evaluated,
                 const std::string& reason);
  // Saves at the end of a run: the third failure in a row is an Error. kStay: no older one is removed for it.
  enum class Older { kRotate, kStay };
  void SaveNow(std::int64_t step, const std::optional<MeanEvaluation>& evaluated,
               Older older = Older::kRotate);

 private:
  enum class Rotation { kTakesPart, kNever, kLater };
  void TrySave(std::int64_t step, const std::optional<MeanEvaluation>& evaluated,
               Rotation rotation = Rotation::kTakesPart);
  void Save(std::int64_t step, const std::optional<MeanEvaluation>& evaluated,
            Rotation rotation = Rotation::kTakesPart);
  CheckpointFacts FactsNow(std::int64_t step, const std::optional<MeanEvaluation>& evaluated,
                           Rotation rotation);

  Setting setting_;
  TrainingState state_;
  RecordSinks& sinks_;
  Console& console_;
  std::optional<std::int64_t> saved_step_, unreported_step_;
  std::map<Fall, std::int64_t> before_falls_;
  int failures_ = 0;
};

}  // namespace medley
