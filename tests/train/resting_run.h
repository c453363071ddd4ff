#pragma once

// A run that rests: its weights file, the log of it, and what its checkpoints know of that.

#include <medley/checkpoint/checkpoint.h>
#include <medley/curriculum/weight_log.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/report/scratch_directory.h"
#include "tests/report/silent_console.h"
#include "tests/words.h"

namespace medley::testing_fixture {

inline constexpr const char* kFirst = "{\"weights\": {\"one\": 1, \"two\": 3}}\n";
inline constexpr const char* kSecond = "{\"weights\": {\"one\": 2, \"two\": 3}}\n";
inline constexpr const char* kThird = "{\"weights\": {\"one\": 4, \"two\": 3}}\n";
inline constexpr const char* kFourth = "{\"weights\": {\"one\": 8, \"two\": 3}}\n";
inline constexpr const char* kByHand = "{\"weights\": {\"one\": 9, \"two\": 3}}\n";

// Began with the first text, was edited after steps 9, 15 and 18, and killed after 19. Its checkpoints: one
// before all edits, one after the first and one after the last.
class RestingRun {
 public:
  enum class Age { kNew, kOld };
  explicit RestingRun(Age age = Age::kNew) : old_(age == Age::kOld) {
    WeightLog log(path());
    Add(log, 0, WeightEntry::Cause::kStart, kFirst);
    Add(log, 4, WeightEntry::Cause::kStage);
    Save(log, 5);
    Add(log, 9, WeightEntry::Cause::kEdit, kSecond);
    Save(log, 10);
    Add(log, 12, WeightEntry::Cause::kStage);
    Add(log, 15, WeightEntry::Cause::kEdit, kThird);
    Add(log, 16, WeightEntry::Cause::kRefusedEdit, "{\"wei");
    Add(log, 18, WeightEntry::Cause::kEdit, kFourth);
    Save(log, 18);
    WriteText(own(), kFourth);
    WriteText(scratch_ / "metrics.jsonl", "{\"step\": 1}\n");
    if (old_) WriteText(file(), Old(ReadText(file())));
    text_ = ReadText(file());
  }

  const std::filesystem::path& path() const { return scratch_.path(); }
  std::filesystem::path file() const { return scratch_ / kWeightLog; }
  std::filesystem::path own() const { return scratch_ / kRunWeights; }
  const std::string& text() const { return text_; }
  std::optional<FoundCheckpoint> At(std::int64_t step) const {
    if (step == 0) return std::nullopt;
    return FoundCheckpoint{scratch_ / CheckpointName(step), Facts(step, marks_.at(step))};
  }
  static void Add(WeightLog& log, std::int64_t step, WeightEntry::Cause cause, const std::string& text = "") {
    log.Add({.number = 0,
             .step = step,
             .draw = step,
             .cause = cause,
             .name = "a",
             .words = {},
             .before = {},
             .after = {{"one", 0.25}},
             .owed = {{"one", 0.5}},
             .text = text});
  }
  static CheckpointFacts Facts(std::int64_t step, const LogMarks& marks) {
    return {.step = step, .logs = marks, .evaluated = {}, .config_hash = "x"};
  }
  static void SaveProgress(const std::filesystem::path& run, std::int64_t step,
                           const nlohmann::json& progress, const LogMarks& marks) {
    SaveCheckpoint(run, {{}, {}, {{"progress", 1, [=] { return progress; }, [](const auto&) {}}}},
                   Facts(step, marks));
  }
  // Without the sums of lines, as older medleys wrote it.
  static std::string Old(const std::string& text) {
    std::string old;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      const std::string line = text.substr(at, text.find('\n', at) - at);
      if (!test::Has(line, "\"cause\":\"end\""))
        old += line.substr(0, line.find(",\"line_xxh3_128\"")) + "}\n";
    }
    return old;
  }

 private:
  void Save(WeightLog& log, std::int64_t step) {
    nlohmann::json progress = {{"step", step}, {"weight_log", log.number()}};
    if (!old_) {
      progress["weight_lines"] = log.Kept();
      marks_[step][kWeightLog] = log.mark();
    } else {
      marks_[step] = {};
    }
    SaveProgress(path(), step, progress, marks_[step]);
  }

  ScratchDirectory scratch_;
  bool old_;
  std::string text_;
  std::map<std::int64_t, LogMarks> marks_;
};

}  // namespace medley::testing_fixture
