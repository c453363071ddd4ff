#pragma once

// Small runs that the command's tests and those of sessions make alike: their files, and KEY=VALUEs for a
// config of this tree.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/report/scratch_directory.h"

namespace medley::test {

// For quickstart.json: one task, as small as they come. The path of the weights file follows.
inline constexpr const char* kOneTaskWeights = R"({"unit": "rows", "weights": {"control": 1}})";
inline constexpr const char* kOneTask =
    "threads=1 plan=false hours=0 draws_per_step=1 seed=5 tensorboard=false eval.every=0 "
    "tasks.control.rows=2 weights=";

// For quickstart.json: the second stage gives the arrow another loss, which makes its task anew, more rows,
// and weights of terms. The path of the weights file follows.
inline constexpr const char* kStagedWeights = R"({"stages": [
  {"name": "a", "weights": {"control": 1, "arrow_to_gold": 1}, "until": {"steps": 4}},
  {"name": "b", "weights": {"control": 1, "arrow_to_gold": 2}, "until": {"steps": 5}, "ramp": {"draws": 3},
   "set": {"tasks.arrow_to_gold.rows": 3, "tasks.arrow_to_gold.options.region_share": 0.9,
           "tasks.arrow_to_gold.terms.control_text": 0}},
  {"name": "c", "weights": {"arrow_to_gold": 1}, "until": {"steps": 3}}]})";
inline constexpr const char* kStaged =
    "threads=1 hours=0 seed=5 eval.every=0 checkpoint.every=1 checkpoint.keep=1000 tasks.control.rows=2 "
    "tasks.arrow_to_gold.rows=2 weights=";

// What a run of control.json with one step is made from: copies, which a test may change.
struct CopiedFiles {
  CopiedFiles() {
    const std::filesystem::path configs = MEDLEY_SOURCE_DIR "/configs";
    std::filesystem::copy(configs / "tokenizers/small.model", tokenizer);
    std::filesystem::copy(configs / "texts/control.txt", control_text);
    std::filesystem::copy(configs / "weights/control.json", weights);
    std::filesystem::create_directory(plugin.parent_path());
    std::filesystem::copy(MEDLEY_BUILD_DIR "/lib/medley/" MEDLEY_PLUGIN_FOLDER "/control.so", plugin);
  }
  std::string Overrides() const {
    return "threads=1 plan=false tasks.control.rows=2 steps=1 tokenizer=" + tokenizer.string() +
           " control_text=" + control_text.string() + " weights=" + weights.string();
  }

  ScratchDirectory scratch;
  std::filesystem::path run = scratch / "run", tokenizer = scratch / "own.model",
                        control_text = scratch / "own.txt", weights = scratch / "own.json",
                        plugin = scratch / "plugins/control.so";
};

// How many lines a file of a run has; 0 where it is not there yet.
inline std::int64_t LineCount(const std::filesystem::path& file) {
  const std::string text = ReadText(file);
  return std::count(text.begin(), text.end(), '\n');
}

}  // namespace medley::test
