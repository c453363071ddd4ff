#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/checkpoint/checkpoint_facts.h>
#include <medley/checkpoint/divided_state.h>
#include <medley/checkpoint/section.h>
#include <medley/model/model.h>

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

// Of its tensors in a checkpoint; divided ones count once for each process.
std::int64_t BytesOf(const TrainingState& state, std::int64_t processes = 1);

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

// Fills the state from a verified checkpoint. Names, shapes and dtypes are compared before anything is
// written; an InputError names what differs. A half type and float are converted into each other.
void LoadCheckpoint(const std::filesystem::path& checkpoint, const TrainingState& state);
// One section's state of a verified checkpoint. An InputError where there is none of that name, or it is of a
// later version.
nlohmann::json ReadSection(const std::filesystem::path& checkpoint, const std::string& name, int version = 1);
// The same; nothing where there is none.
std::optional<nlohmann::json> FindSection(const std::filesystem::path& checkpoint, const std::string& name,
                                          int version = 1);

}  // namespace medley
