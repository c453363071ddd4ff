#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/checkpoint/checkpoint_files.h>
#include <medley/checkpoint/divided_state.h>
#include <medley/checkpoint/section.h>
#include <medley/model/adapters.h>
#include <medley/model/model.h>
#include <medley/report/console.h>
#include <medley/report/record_sink.h>

namespace medley {

// Everything that must be the same again after a resume. The tensors are the live ones: saving reads them,
// loading writes into them, and nobody trains meanwhile.
struct TrainingState {
  std::vector<Parameter> weights;
  std::vector<Parameter> optimizer;
  std::vector<Section> sections;
  // Of optimizer tensors that are divided among the processes of the run, those that this one has.
  std::vector<TensorPart> parts{};
  // Brings the optimizer's tensors, as a checkpoint has them, whole, into the form in which the run keeps
  // them, and leaves of divided ones the part that is here; none: they are so. May throw an InputError that
  // names a tensor.
  std::function<void(std::map<std::string, at::Tensor>& saved)> convert_optimizer{};
};

// The mean loss of an evaluation, a finite one: a loss that is not finite counts as not evaluated. It
// compares only with those over the same tasks in the same stage.
struct MeanEvaluation {
  double loss = 0;
  std::vector<std::string> tasks;
  std::string stage = {};
};
// What a checkpoint keeps of it: null where nothing was evaluated. Reading throws nlohmann's exception where
// it is something else.
nlohmann::ordered_json ToJson(const std::optional<MeanEvaluation>& evaluated);
std::optional<MeanEvaluation> ReadMeanEvaluation(const nlohmann::ordered_json& json);

// What a checkpoint knows beside its tensors and sections.
struct CheckpointFacts {
  std::int64_t step = 0;
  LogMarks logs;                            // of what is durable
  std::optional<MeanEvaluation> evaluated;  // the last one
  std::string config_hash;
  nlohmann::ordered_json config = nullptr;  // resolved; null in older checkpoints
  bool keep = false;                        // never rotated away
  std::int64_t parts = 0;                   // files of processes, each with its part of the optimizer
};

// Writes and commits step-<step>, see checkpoint_files.h, and reads it as a resume would. Refuses weights or
// optimizer state that are not finite, and names the tensor. kReplaces: in the place of the one that is
// there, which lacks what was found out since.
enum class Place { kNew, kReplaces };
Committed SaveCheckpoint(const std::filesystem::path& run, const TrainingState& state,
                         const CheckpointFacts& facts, Place place = Place::kNew);

// The same of a state that is divided: called by all processes of the run, each of which writes its parts and
// the first all else, and the facts. All of it is there, or in all an Error. What it returns is the first's.
std::optional<Committed> SaveTogether(const std::filesystem::path& run, const TrainingState& state,
                                      const std::function<CheckpointFacts()>& facts, Place place,
                                      const SavingTogether& together);

// kSetAside only under the run's lock; without it one that the run itself removed meanwhile is passed over.
enum class OnDamage { kSetAside, kSkip };

// A checkpoint that was verified.
struct FoundCheckpoint {
  std::filesystem::path path;
  CheckpointFacts facts;
};
// Verifies this one; an Error with path and reason where it is damaged.
FoundCheckpoint ReadCheckpoint(const std::filesystem::path& checkpoint);
// The newest whole checkpoint; each damaged one is printed with its path and reason, and set aside only once
// a whole one was found. Nothing where the run never had one. An InputError where all are damaged, be it now
// or when they were set aside, or gone: the run must not begin anew by itself. kSetAside also sees to it that
// LATEST names it. Trouble of the machine (a read error, no descriptor or memory left) says nothing about a
// checkpoint and is thrown on.
std::optional<FoundCheckpoint> FindCheckpoint(const std::filesystem::path& run, OnDamage on_damage,
                                              Console& console);

// Fills the state from a verified checkpoint. Names, shapes and dtypes are compared before anything is
// written; an InputError names what differs. A half type and float are converted into each other.
void LoadCheckpoint(const std::filesystem::path& checkpoint, const TrainingState& state);
// One section's state of a verified checkpoint. An InputError where there is none of that name.
nlohmann::json ReadSection(const std::filesystem::path& checkpoint, const std::string& name);
// The same; nothing where there is none.
std::optional<nlohmann::json> FindSection(const std::filesystem::path& checkpoint, const std::string& name);
// Which weights of a checkpoint: those that training goes on with, or their average where it has one.
enum class SavedWeights { kTrained, kAveraged };
// Loads only the weights whose names match one of the patterns (* and ?); every parameter that matches must
// be there. Adapters that the checkpoint has and the model has not are merged into its weights, on the CPU in
// float; those that the model alone has are left as they are; where both have some, they must be the same.
struct TakenWeights {
  std::size_t count = 0;
  std::string adapters{};  // what became of them, in words; "": neither has any, or they were taken
  bool averaged = false;
};
TakenWeights LoadWeights(const std::filesystem::path& checkpoint, const std::vector<Parameter>& weights,
                         const std::vector<std::string>& patterns = {"*"}, const Adapters& adapters = {},
                         SavedWeights kind = SavedWeights::kTrained);

// Removes committed checkpoints: all but the newest `keep`, those that are marked to be kept and, of those
// whose evaluation was over the same tasks in the same stage as the newest one's, the one with the lowest
// mean loss.
void RotateCheckpoints(const std::filesystem::path& run, std::int64_t keep);

}  // namespace medley
