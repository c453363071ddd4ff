#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/checkpoint/checkpoint_files.h>
#include <medley/report/record_sink.h>

namespace medley {

inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optim.safetensors";
inline constexpr const char* kStateFile = "state.json";

// The mean loss of an evaluation, a finite one: a loss that is not finite counts as not evaluated. It
// compares only with those over the same tasks and rows in the same stage.
struct MeanEvaluation {
  double loss = 0;
  std::vector<std::string> tasks;
  std::string stage = {};
  std::string rows = {};  // which were held out; "": a medley before did not say

  bool ComparesWith(const MeanEvaluation& other) const;
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

// As a manifest keeps them, beside what the files' tensors are.
nlohmann::ordered_json FactsJson(const CheckpointFacts& facts, const nlohmann::ordered_json& tensors);
// Throws an Error that names what is missing.
CheckpointFacts ReadCheckpointFacts(const std::filesystem::path& checkpoint, const Manifest& manifest);

// A checkpoint that was verified.
struct FoundCheckpoint {
  std::filesystem::path path;
  CheckpointFacts facts;
};
// Of its manifest, which lists all that belongs to it; an Error where something is missing.
FoundCheckpoint CompleteCheckpoint(const std::filesystem::path& checkpoint, const Manifest& manifest);
// Verifies this one; an Error with path and reason where it is damaged.
FoundCheckpoint ReadCheckpoint(const std::filesystem::path& checkpoint);

}  // namespace medley
