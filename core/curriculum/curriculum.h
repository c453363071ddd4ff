#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/config/config_file.h>
#include <medley/config/run_config.h>
#include <medley/curriculum/condition.h>
#include <medley/curriculum/mixture.h>

namespace medley {

// What a stage does with the optimizer's moments and counts of updates when it begins.
enum class Moments { kKeep, kReset };
template <>
struct EnumNames<Moments> {
  static constexpr std::array<std::string_view, 2> kNames = {"keep", "reset"};
};

// A part of a run with a mixture of its own.
struct Stage {
  std::string name;                               // "" of a weights file without stages
  Weights weights;                                // as in Mixture
  std::optional<Condition> until = std::nullopt;  // nothing: it does not end; only the last one may
  Ramp ramp = {};                                 // from the shares that are in force when it begins
  std::int64_t warmup_steps = 0;                  // from its start, in which the learning rate rises
  std::int64_t cooldown_steps = 0;                // once `until` holds, in which it falls
  double cooldown_to = 0.1;                       // times the learning rate, at the end of the cooldown
  Moments moments = Moments::kKeep;
  TaskChanges set = {};         // of the run config, while the stage lasts
  bool keep = false;            // its last checkpoint is never rotated away
  std::int64_t eval_every = 0;  // steps between the evaluations that `until` asks for; 0: the run's

  // The tasks with a weight above 0.
  std::vector<std::string> Active() const;
  // The tasks whose score `until` names, each once.
  std::vector<std::string> Scored() const;
};

// The weights file, parsed.
struct Curriculum {
  ShareUnit unit = ShareUnit::kRows;
  DrawOrder order = DrawOrder::kDeficit;
  std::vector<Stage> stages;  // in their order, at least one

  Mixture MixtureOf(std::size_t stage) const;
  // The tasks with a weight above 0 in some stage, in the order in which the file names them.
  std::vector<std::string> Named() const;
  // Those and the paused ones.
  std::vector<std::string> All() const;
  // The words before messages and paths of a stage: {"stages", "2"}, or none.
  std::vector<std::string> PathOf(std::size_t stage) const;
};

// One stage without end.
Curriculum OneStage(Weights weights, ShareUnit unit = ShareUnit::kRows,
                    DrawOrder order = DrawOrder::kDeficit);

inline constexpr std::int64_t kLargestWeightsFile = std::int64_t{1} << 20;  // bytes
// Throws an InputError with every mistake of the file.
Curriculum ReadCurriculum(const std::filesystem::path& file);
// The same of a text that a run wrote down, as kBegunRun; the file is for the words, and is not read.
Curriculum ParseCurriculum(const std::filesystem::path& file, const std::string& text);
// kBegunRun: of a run that goes on. An older medley accepted what had no effect, such as another unit of an
// urn.
enum class WeightsOf { kUser, kBegunRun };
// Reports every mistake to the file's diagnostics.
void ReadConfig(ConfigFile& file, Curriculum& curriculum, WeightsOf whose = WeightsOf::kUser);
nlohmann::ordered_json ToJson(const Curriculum& curriculum);
nlohmann::ordered_json ToJson(const Stage& stage);
nlohmann::ordered_json CurriculumSchema();

}  // namespace medley
