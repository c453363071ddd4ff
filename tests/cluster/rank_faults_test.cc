// What may happen to one of several processes, wherever the run is then, and what long runs of several must
// keep. Minutes: for tools/test --all.
#include <medley/weights/safetensors.h>

#include <ATen/ATen.h>

#include <chrono>
#include <map>
#include <set>

#include "tests/cluster/ranks_fixture.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;

class RankFaults : public test::Ranks {
 protected:
  // As far as both came: who waits at the end of a step for one that fails there is done with the step, and
  // has a line more.
  void ExpectTheSameSumsAsFarAsBothCame(const std::string& run) const {
    const std::string first = Sums(run, 0), second = Sums(run, 1);
    EXPECT_FALSE(first.empty()) << run;
    EXPECT_TRUE(first.starts_with(second) || second.starts_with(first)) << run << "\n" << first << second;
    const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
    EXPECT_LE(std::abs(lines(first) - lines(second)), 1) << run << "\n" << first << second;
  }
  // Whether memory ran out, step by step.
  std::vector<bool> Overflows(const fs::path& timing) const {
    std::vector<bool> overflows;
    std::istringstream lines(ReadText(timing));
    for (std::string line; std::getline(lines, line);)
      overflows.push_back(json::parse(line).contains("out_of_memory"));
    return overflows;
  }
};

// Where the process still has its own rows to compute, it takes fewer of them or tries again; where the
// others have had their part of an exchange, all end, with what was saved.
TEST_F(RankFaults, AnAllocationThatFailsAnywhereOnOneCostsATryOrEndsAll) {
  WriteText(scratch_ / "weights.json", R"({"unit": "steps", "weights": {"zoom_halfway": 1}})");
  constexpr int kSteps = 250, kBehindTheStep = 40;
  int tries = 0, ends = 0, runs = 0;
  for (std::int64_t nth = 1;;) {
    const std::string run = "run" + std::to_string(nth);
    const std::string moments = runs++ % 2 == 0 ? "" : "optimizer.shard=true ";
    const CommandResult done = Train(
        2, run,
        moments + "draws_per_step=1 eval.every=0 checkpoint.every=1000 tasks.zoom_halfway.rows=8 steps=" +
            std::to_string(kSteps),
        "ON_RANK=1 FAULT=memory:each:" + std::to_string(nth));
    ExpectTheSameSumsAsFarAsBothCame(run);
    const std::vector<bool> overflows = Overflows(At(run) / "rank-1/timing.jsonl");
    tries += static_cast<int>(std::count(overflows.begin(), overflows.end(), true));
    if (done.code == 0) {
      ExpectTheSameSumsOnAll(run, 2);
      ASSERT_EQ(overflows.size(), static_cast<std::size_t>(kSteps));
      if (std::none_of(overflows.end() - kBehindTheStep, overflows.end(), [](bool one) { return one; }))
        break;
      nth += kSteps;
      continue;
    }
    ++ends;
    EXPECT_EQ(done.code, 5) << nth << ": " << done.out;
    EXPECT_TRUE(Has(done.out, "memory")) << done.out;
    EXPECT_EQ(ReadText(At(run) / "rank-1/metrics.jsonl"), ReadText(At(run) / "metrics.jsonl"));
    nth += std::ssize(overflows) + 1;
    fs::remove_all(At(run));
    ASSERT_LT(ends, 100) << done.out;
  }
  std::printf("%d tries more, %d runs that ended\n", tries, ends);
  EXPECT_GT(tries, 200);
  EXPECT_LT(ends, 40);
}

TEST_F(RankFaults, KilledOrStoppedAtAnyTimeTheOthersEndAndTheRunGoesOn) {
  const std::string few = "steps=6 eval.every=2 checkpoint.every=2 draws_per_step=2 ";
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(Train(2, "whole", few).code, 0);
  const double all =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  int ended = 0;
  for (const std::string signal : {"kill", "stop"}) {
    const int parts = signal == "kill" ? 12 : 4;  // the others wait for one that is stopped
    for (int number = 0; number < 2 * parts; ++number) {
      const std::string run = signal + std::to_string(number), rank = std::to_string(number % 2);
      const auto ms = std::to_string(static_cast<int>(all * number / (2 * parts)));
      const std::string moments = number / 2 % 2 == 0 ? "" : "optimizer.shard=true ";
      const CommandResult done = Train(2, run, few + moments + (signal == "stop" ? "peer_timeout=4" : ""),
                                       "AT=1 ON_RANK=" + rank + " FAULT=" + signal + ":" + ms);
      if (done.code == 0) continue;  // it was done by then
      ++ended;
      EXPECT_EQ(done.code, 4) << run << ": " << done.out;
      const CommandResult resumed = Resume(1 + number % 2, run, "peer_timeout=120");
      EXPECT_EQ(resumed.code, 0) << run << ": " << resumed.out;
      EXPECT_EQ(Metrics(run).size(), 6u) << run;
      fs::remove_all(At(run));
    }
  }
  std::printf("%d runs ended by it\n", ended);
  EXPECT_GT(ended, 8);
}

// Of the tensors of two checkpoints, those that are the same to the byte.
std::set<std::string> Unchanged(const fs::path& before, const fs::path& after) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(before)) {
    if (entry.path().extension() != ".safetensors") continue;
    const auto then = ReadSafetensors(entry.path()), now = ReadSafetensors(after / entry.path().filename());
    for (const auto& [name, tensor] : then) {
      if (at::equal(tensor, now.at(name))) names.insert(entry.path().filename().string() + " " + name);
    }
  }
  return names;
}

// Its moments and its decay would move it, if it were given a gradient of zeros.
TEST_F(RankFaults, WhatNobodyUsesForAThousandStepsStaysToTheByte) {
  WriteText(scratch_ / "weights.json", R"({"unit": "steps", "stages": [
    {"name": "all", "weights": {"control": 1, "position_qa": 1, "zoom_halfway": 1}, "until": {"steps": 12}},
    {"name": "text", "weights": {"position_qa": 1}}]})");
  const std::string settings =
      "draws_per_step=3 eval.every=0 checkpoint.every=12 checkpoint.keep=100 steps=1020 "
      "optimizer.weight_decay=0.1";
  std::map<int, std::set<std::string>> unchanged;
  for (const int ranks : {1, 2}) {
    const std::string run = "run" + std::to_string(ranks);
    // The program of the other tests saves each step.
    const CommandResult done =
        Shell(Medley() + "launch -n " + std::to_string(ranks) + " -- " + Medley() + "train " + Quickstart() +
              Settings(settings) + " --out " + At(run).string() + " 2>&1");
    ASSERT_EQ(done.code, 0) << done.out;
    unchanged[ranks] = Unchanged(At(run) / "step-00000012", At(run) / "step-00001020");
  }
  EXPECT_EQ(unchanged.at(2), unchanged.at(1));
  const auto is_weight = [](const std::string& name) { return name.starts_with("model.safetensors"); };
  const auto weights = std::count_if(unchanged.at(2).begin(), unchanged.at(2).end(), is_weight);
  EXPECT_GT(weights, 5) << "the decoder of pictures";
  EXPECT_GT(std::ssize(unchanged.at(2)), 2 * weights) << "and its moments";
}

// One process draws the same by the same edits: so the mixer, which has a proof for one, keeps its word.
TEST_F(RankFaults, EditsAndStagesOfThreeAreThoseOfOneThatRepeatsThem) {
  WriteText(scratch_ / "weights.json", R"({"unit": "rows", "stages": [
    {"name": "a", "weights": {"control": 1, "position_qa": 2}, "until": {"steps": 9}},
    {"name": "b", "weights": {"control": 2, "position_qa": 1, "arrow_to_gold": 1}, "until": {"steps": 40}, "ramp": {"draws": 12}},
    {"name": "c", "weights": {"zoom_halfway": 1, "position_qa": 1}}]})");
  const std::string train = Medley() + "train " + Quickstart() +
                            Settings("steps=1000000 eval.every=0 draws_per_step=2") + " --out ";
  test::Background run(Medley() + "launch -n 3 -- " + train + At("run").string(), At("log"));
  const std::string edits[] = {
      R"({"unit": "rows", "stages": [
        {"name": "a", "weights": {"control": 1, "position_qa": 2}, "until": {"steps": 9}},
        {"name": "b", "weights": {"control": 5, "position_qa": 1, "zoom_gold": 2}, "until": {"steps": 40}, "ramp": {"draws": 6}},
        {"name": "c", "weights": {"zoom_halfway": 1, "position_qa": 3}}]})",
      R"({"unit": "rows", "stages": [
        {"name": "a", "weights": {"control": 1, "position_qa": 2}, "until": {"steps": 9}},
        {"name": "b", "weights": {"control": 1, "position_qa": 1}, "until": {"steps": 30}},
        {"name": "c", "weights": {"zoom_halfway": 2, "control": 3}}]})"};
  std::int64_t after = 12;
  for (const std::string& edit : edits) {
    ASSERT_TRUE(run.WaitUntil([&] { return test::StepsOf(At("run")) >= after; })) << run.words();
    WriteText(At("run") / "weights.json", edit);
    after += 20;
  }
  ASSERT_TRUE(run.WaitUntil([&] { return test::StepsOf(At("run")) >= 100; })) << run.words();
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 130) << run.words();
  EXPECT_TRUE(Has(ReadText(At("run") / "metrics.jsonl"), "zoom_gold"));
  const CommandResult repeated =
      Shell(train + At("again").string() + " --replay " + At("run").string() + " 2>&1");
  EXPECT_EQ(repeated.code, 0) << repeated.out;
  const auto three = Metrics("run"), one = Metrics("again");
  ASSERT_EQ(three.size(), one.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(three[i].at("draws"), one[i].at("draws")) << i;
}

}  // namespace
}  // namespace medley
