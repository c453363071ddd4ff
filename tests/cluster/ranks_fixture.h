#pragma once

#include <gtest/gtest.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/train/work_division.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/report/scratch_directory.h"
#include "tests/tools/background.h"
#include "tests/tools/run_command.h"

namespace medley::test {

// With rates that are the same however many steps the run has.
inline constexpr const char* kSteady = " optimizer.warmup_steps=0 optimizer.decay_fraction=0 eval.every=0 ";

// Tasks that are unlike: text alone, questions with ragged answers, pictures that are carried.
inline constexpr const char* kUnlikeTasks =
    R"({"unit": "steps", "weights": {"control": 1, "position_qa": 2, "arrow_to_gold": 1, "zoom_halfway": 1}})";
inline constexpr const char* kSmallRun =
    " threads=1 plan=false hours=0 seed=5 tensorboard=false eval.every=4 eval.rows=4 checkpoint.every=2 "
    "checkpoint.keep=9 peer_timeout=120 tasks.control.rows=3 tasks.position_qa.rows=5 "
    "tasks.arrow_to_gold.rows=2 "
    "tasks.zoom_halfway.rows=3 tasks.position_qa.mode=joint ";

// Runs of several processes, as `medley launch` starts them, by medley_ranks_program.
class Ranks : public ::testing::Test {
 protected:
  Ranks() { WriteText(scratch_ / "weights.json", kUnlikeTasks); }

  std::string Quickstart() const { return MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json"; }
  std::filesystem::path At(const std::string& run) const { return scratch_ / run; }
  std::string Settings(const std::string& more) const {
    return kSmallRun + ("weights=" + (scratch_ / "weights.json").string()) + " " + more;
  }
  // Trains by the program, with this many processes; its words are behind RUN.words.RANK.
  std::string Command(int ranks, const std::string& config, const std::string& run,
                      const std::string& more) const {
    return Medley() + "launch -n " + std::to_string(ranks) +
           " -- " MEDLEY_BUILD_DIR "/bin/medley_ranks_program " + config + " " + At(run).string() + " " +
           At(run + ".words").string() + " " + more;
  }
  CommandResult Train(int ranks, const std::string& run, const std::string& more,
                      const std::string& environment = "") const {
    return Shell(environment + " " + Command(ranks, Quickstart(), run, Settings(more)) + " 2>&1");
  }
  CommandResult Resume(int ranks, const std::string& run, const std::string& more = "") const {
    return Shell(Command(ranks, "RESUME", run, more) + " 2>&1");
  }
  std::string Sums(const std::string& run, int rank) const {
    return ReadText(At(run + ".words." + std::to_string(rank)));
  }
  void ExpectTheSameSumsOnAll(const std::string& run, int ranks) const {
    EXPECT_FALSE(Sums(run, 0).empty());
    for (int rank = 1; rank < ranks; ++rank) EXPECT_EQ(Sums(run, rank), Sums(run, 0)) << run << " " << rank;
  }

  std::vector<nlohmann::json> Metrics(const std::string& run) const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(ReadText(At(run) / "metrics.jsonl"));
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  // The same draws and counts, and losses but for rounding.
  void ExpectTheSameRun(const std::string& run, const std::string& whole) const {
    const auto got = Metrics(run), expected = Metrics(whole);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ExpectNear(got[i], expected[i], run + ": " + std::to_string(i));
  }
  // A run that three begin and others go on with is that of one.
  void ExpectToGoOnWithAnotherNumber(const std::string& settings) const {
    ASSERT_EQ(Train(1, "straight", "steps=6" + (kSteady + settings)).code, 0);
    ASSERT_EQ(Train(3, "run", "steps=2" + (kSteady + settings)).code, 0);
    for (const auto& [ranks, steps] : {std::pair{2, 3}, {1, 4}, {3, 6}}) {
      const CommandResult done = Resume(ranks, "run", "steps=" + std::to_string(steps));
      ASSERT_EQ(done.code, 0) << done.out;
      ExpectTheSameSumsOnAll("run", ranks);
    }
    ExpectTheSameRun("run", "straight");
  }
  static void ExpectNear(const nlohmann::json& got, const nlohmann::json& expected,
                         const std::string& where) {
    if (expected.is_number_float()) {
      const double a = got.get<double>(), b = expected.get<double>();
      EXPECT_NEAR(a, b, 2e-3 * std::abs(b) + 1e-6) << where;
    } else if (expected.is_structured()) {
      ASSERT_EQ(got.size(), expected.size()) << where << "\n" << got << "\n" << expected;
      for (const auto& [key, value] : expected.items()) {
        const bool is_list = expected.is_array();
        ASSERT_TRUE(is_list || got.contains(key)) << where << "." << key;
        ExpectNear(is_list ? got.at(static_cast<std::size_t>(std::stoul(key))) : got.at(key), value,
                   where + "." + key);
      }
    } else {
      EXPECT_EQ(got, expected) << where;
    }
  }

  // What both computed of each task is what the plan's counts gave them.
  void ExpectRowsByCountedWork(const std::string& run) const {
    std::map<std::string, std::int64_t> costs;
    const nlohmann::json plan = nlohmann::json::parse(ReadText(At(run) / "plan.json"));
    for (const nlohmann::json& task : plan.at("tasks"))
      costs[task.at("task")] =
          task.at("operations").get<std::int64_t>() / task.at("rows").get<std::int64_t>();
    std::array<std::map<std::string, std::int64_t>, 2> expected;
    for (const nlohmann::json& line : Metrics(run)) {
      std::vector<CostedDraw> draws;
      for (const nlohmann::json& draw : line.at("draws"))
        draws.push_back({{draw.at("task"), draw.at("begin"), draw.at("rows")}, costs.at(draw.at("task"))});
      const auto parts = AssignRows(draws, 2);
      for (std::size_t rank = 0; rank < 2; ++rank) {
        for (const Draw& piece : parts[rank]) expected[rank][piece.task] += piece.rows;
      }
    }
    for (std::size_t rank = 0; rank < 2; ++rank) {
      const nlohmann::json receipt =
          nlohmann::json::parse(ReadText(At(run) / (rank == 0 ? "" : "rank-1") / "receipt.json"));
      std::map<std::string, std::int64_t> computed;
      for (const auto& [task, epochs] : receipt.at("tasks").items()) {
        for (const nlohmann::json& epoch : epochs) computed[task] += epoch.at("rows").get<std::int64_t>();
      }
      EXPECT_EQ(computed, expected[rank]) << rank;
    }
  }

  ScratchDirectory scratch_;
};

}  // namespace medley::test
