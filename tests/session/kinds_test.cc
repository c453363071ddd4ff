// Tasks that run under several names, as a person runs them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include <medley/checkpoint/run_directory.h>

#include "tests/session/session_runs.h"
#include "tests/tools/edited_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Ended;
using test::EntriesOf;
using test::Has;
using test::TrainUntil;
using Cause = WeightEntry::Cause;

constexpr const char* kTwice = R"({"unit": "steps", "weights": {"position_qa": 1, "asks": 1}})";
constexpr const char* kOnce = R"({"unit": "steps", "weights": {"position_qa": 1}})";
constexpr const char* kRun =
    "threads=1 hours=0 seed=5 tensorboard=false eval.every=0 checkpoint.every=2 checkpoint.keep=1000 steps=8 "
    "tasks.position_qa.rows=2 tasks.asks.kind=position_qa tasks.asks.rows=2 weights=";

class Kinds : public ::testing::Test {
 protected:
  BeginRequest Request(const std::string& weights, const std::string& more) const {
    WriteText(scratch_ / "weights.json", weights);
    return test::RequestOf("quickstart.json", kRun + (scratch_ / "weights.json").string() + " " + more);
  }
  Ended Train(const std::string& name, const std::string& weights, const std::string& more) const {
    return test::TrainToTheEnd(Request(weights, more), scratch_ / name);
  }
  std::vector<json> Steps(const std::string& name) const {
    std::vector<json> steps;
    std::istringstream lines(ReadText(scratch_ / name / "metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      json step = json::parse(line);
      if (step.contains("draws")) steps.push_back(std::move(step));
    }
    return steps;
  }
  json PlanOf(const std::string& name) const { return json::parse(ReadText(scratch_ / name / "plan.json")); }

  ScratchDirectory scratch_;
};

TEST_F(Kinds, OneUnderTwoNamesIsTwoTasksWithRowsAndCountersOfTheirOwn) {
  const Ended ended = Train("run", kTwice, "plan=false draws_per_step=2");
  ASSERT_EQ(ended.code, ExitCode::kDone) << ended.out;
  const std::vector<json> steps = Steps("run");
  ASSERT_EQ(steps.size(), 8U);
  std::map<std::string, std::int64_t> next;
  for (const json& step : steps) {
    std::set<std::string> drawn;
    for (const json& draw : step.at("draws")) {
      const std::string task = draw.at("task");
      EXPECT_EQ(draw.at("begin"), next[task]) << step;
      next[task] += draw.at("rows").get<std::int64_t>();
      drawn.insert(task);
    }
    EXPECT_EQ(drawn, (std::set<std::string>{"asks", "position_qa"})) << step;
    // In one step, by the same parameters.
    EXPECT_NE(step.at("terms").at("asks"), step.at("terms").at("position_qa")) << step;
  }
  EXPECT_TRUE(Has(ReadText(scratch_ / "run" / kRunWeights), "\"asks\""));
  EXPECT_TRUE(Has(ReadText(scratch_ / "run/config.resolved.json"), "\"kind\": \"position_qa\""));
}

TEST_F(Kinds, ARunIsResumedWithEveryBit) {
  const Ended whole = Train("whole", kTwice, "plan=false");
  ASSERT_EQ(whole.code, ExitCode::kDone) << whole.out;
  for (const std::int64_t step : {2, 6}) {
    const fs::path part = scratch_ / "part";
    fs::copy(scratch_ / "whole", part, fs::copy_options::recursive);
    for (const CheckpointEntry& entry : ListCheckpoints(part)) {
      if (entry.step > step) fs::remove_all(entry.path);
    }
    const Ended resumed = test::ResumeToTheEnd(part);
    ASSERT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
    EXPECT_EQ(test::EndState(part), test::EndState(scratch_ / "whole")) << step;
    fs::remove_all(part);
  }
}

TEST_F(Kinds, AChangedOneIsRefusedAtAResume) {
  ASSERT_EQ(Train("run", kTwice, "plan=false steps=2").code, ExitCode::kDone);
  const Ended other = test::ResumeToTheEnd(scratch_ / "run", "steps=4 tasks.asks.kind=near_gold_qa");
  EXPECT_EQ(other.code, ExitCode::kBadInput) << other.out;
  EXPECT_TRUE(Has(other.out,
                  "a run that was trained cannot change tasks.asks.kind: \"position_qa\" -> "
                  "\"near_gold_qa\""))
      << other.out;
}

TEST_F(Kinds, AnEditBringsOneThatTheConfigNamesAndNoOther) {
  test::SilentConsole console;
  Session session = Session::Begin(Request(kOnce, "plan=false steps=1000000"), scratch_ / "run", *console);
  ASSERT_EQ(session.Train(2), ExitCode::kDone);
  const fs::path weights = scratch_ / "run" / kRunWeights;
  WriteText(weights, R"({"unit": "steps", "weights": {"position_qa": 1, "others": 1}})");
  EXPECT_TRUE(
      TrainUntil(session, [&] { return EntriesOf(scratch_ / "run", Cause::kRefusedEdit).size() == 1; }));
  EXPECT_TRUE(Has(console.words(), "weights.others: no such task (")) << console.words();
  EXPECT_TRUE(Has(console.words(),
                  "an edit brings no further name of a task: the run's config names its kinds, so add "
                  "tasks.others.kind and begin a run"))
      << console.words();
  const auto is_drawn = [&](const std::string& name) {
    for (const json& step : Steps("run")) {
      for (const json& draw : step.at("draws")) {
        if (draw.at("task") == name) return true;
      }
    }
    return false;
  };
  EXPECT_FALSE(is_drawn("asks"));
  WriteText(weights, kTwice);
  EXPECT_TRUE(TrainUntil(session, [&] { return EntriesOf(scratch_ / "run", Cause::kEdit).size() == 1; }));
  EXPECT_TRUE(TrainUntil(session, [&] { return is_drawn("asks"); }));
  EXPECT_FALSE(is_drawn("others"));
}

TEST_F(Kinds, EqualTablesAreTheFloorsOnce) {
  const Ended twice = Train("twice", kTwice, "budget=1GiB steps=4");
  ASSERT_EQ(twice.code, ExitCode::kDone) << twice.out;
  const json profile = json::parse(ReadText(scratch_ / "twice/profile.json")).at("tasks");
  const json &own = profile.at("position_qa"), &asks = profile.at("asks");
  EXPECT_GT(own.at("constants"), 0);
  EXPECT_EQ(own.at("constants"), asks.at("constants"));
  const std::int64_t once = own.at("constants").get<std::int64_t>() + own.at("held").get<std::int64_t>() +
                            asks.at("held").get<std::int64_t>();
  EXPECT_EQ(PlanOf("twice").at("floor").at("constants"), once);
  // One that an edit brings adds none either.
  test::SilentConsole console;
  Session session =
      Session::Begin(Request(kOnce, "budget=1GiB steps=1000000"), scratch_ / "edited", *console);
  ASSERT_EQ(session.Train(2), ExitCode::kDone);
  session.Edit(kTwice);
  ASSERT_EQ(session.Train(6), ExitCode::kDone);
  EXPECT_EQ(PlanOf("edited").at("floor").at("constants"), once);
  EXPECT_EQ(PlanOf("edited").at("tasks").size(), 2U);
  const json receipt = json::parse(ReadText(scratch_ / "twice/receipt.json"));
  EXPECT_EQ(receipt.at("under_estimates"), 0) << receipt;
}

}  // namespace
}  // namespace medley
