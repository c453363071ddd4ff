#pragma once

// Runs whose weights file is edited, which the command's tests and those of sessions make alike.

#include <filesystem>
#include <string>
#include <vector>

#include <medley/curriculum/weight_log.h>

namespace medley::test {

// For quickstart.json: small, and saved often. The path of the weights file follows.
inline constexpr const char* kEditedWeights =
    "{\n  \"$schema\": \"schema/weights.schema.json\",\n  \"unit\": \"steps\",\n  \"weights\": {\"control\": "
    "1, \"zoom_gold\": 3}\n}\n";
inline constexpr const char* kEdited =
    "threads=1 hours=0 seed=5 tensorboard=false eval.every=0 checkpoint.every=20 checkpoint.keep=1000 "
    "data.threads=1 tasks.control.rows=1 tasks.zoom_gold.rows=1 tasks.arrow_to_gold.rows=1 weights=";

// kEditedWeights with this weight of control.
inline std::string EditedWeights(const std::string& control) {
  std::string text = kEditedWeights;
  return text.replace(text.find("\"control\": 1"), 12, "\"control\": " + control);
}

// What a run's log of weights has of this cause.
inline std::vector<WeightEntry> EntriesOf(const std::filesystem::path& run, WeightEntry::Cause cause) {
  std::vector<WeightEntry> found;
  const WeightLog log(run);
  for (const WeightEntry& entry : log.entries()) {
    if (entry.cause == cause) found.push_back(entry);
  }
  return found;
}

// For quickstart.json: two stages, the second with a ramp and other rows. The path of the weights file
// follows.
inline constexpr const char* kReplayedWeights =
    "{\"unit\": \"steps\", \"stages\": [\n"
    "{\"name\": \"a\", \"weights\": {\"control\": 1, \"zoom_gold\": 3}, \"until\": {\"steps\": 30}},\n"
    "{\"name\": \"b\", \"weights\": {\"zoom_gold\": 1}, \"ramp\": {\"draws\": 10}, "
    "\"set\": {\"tasks.zoom_gold.rows\": 2}}]}\n";
inline constexpr const char* kReplayed =
    "threads=1 seed=5 tensorboard=false eval.every=20 eval.rows=4 checkpoint.every=10 data.threads=1 "
    "tasks.control.rows=1 tasks.zoom_gold.rows=1 tasks.arrow_to_gold.rows=1 weights=";

}  // namespace medley::test
