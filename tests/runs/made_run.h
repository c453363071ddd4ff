#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <medley/report/score.h>

#include "tests/report/scratch_directory.h"

namespace medley::test {

// A run's directory, written by hand: a step a line, scores by task after some of them.
struct MadeRun {
  std::int64_t steps = 3, ends = 3;
  double seconds = 2;  // a step
  std::map<std::string, std::vector<std::pair<std::int64_t, double>>> scores = {};
  bool higher_is_better = true;
  nlohmann::ordered_json config = nlohmann::ordered_json::object();  // beside model, steps and seed
  nlohmann::json ended = nullptr;
  std::string began = "2026-03-01T12:00:00Z";

  void WriteIn(const std::filesystem::path& run) const {
    std::filesystem::create_directories(run);
    nlohmann::ordered_json whole = {
        {"model", "/m.json"}, {"weights", "/w.json"}, {"seed", 0}, {"steps", ends}, {"eval", {{"seed", 0}}}};
    whole.update(config);
    WriteText(run / "config.resolved.json", whole.dump());
    nlohmann::json start = {{"time", began}, {"step", 0}};
    if (!ended.is_null()) start["ended"] = ended;
    WriteText(run / "run.json", nlohmann::json{{"starts", {start}}, {"seed", whole.at("seed")}}.dump());
    std::string metrics, timing;
    for (std::int64_t step = 1; step <= steps; ++step) {
      nlohmann::json line = {{"step", step},
                             {"terms", {{"zoom", {{"text", {{"mean", 1.0}, {"weighted", 1.0}}}}}}}};
      for (const auto& [task, points] : scores) {
        for (const auto& [after, value] : points) {
          if (after == step) line["eval"][task] = Score(value);
        }
      }
      metrics += line.dump() + "\n";
      timing += nlohmann::json{{"step", step}, {"seconds", seconds}}.dump() + "\n";
    }
    WriteText(run / "metrics.jsonl", metrics);
    WriteText(run / "timing.jsonl", timing);
    WriteText(run / "run.lock", "");
  }

  nlohmann::ordered_json Score(double value) const {
    ScoreRecord score;
    score.metric = "accuracy";
    score.higher_is_better = higher_is_better;
    score.score = {value, value - 0.1, value + 0.1};
    score.rows = score.items = 8;
    score.loss = 1 - value;
    return ToJson(score);
  }
};

}  // namespace medley::test
