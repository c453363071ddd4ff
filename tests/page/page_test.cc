// A run as a page: what it has of the logs, and what it makes of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include <medley/base/error.h>
#include <medley/curriculum/mixer.h>
#include <medley/curriculum/weight_log.h>
#include <medley/page/curve.h>
#include <medley/page/mixture_curves.h>
#include <medley/page/page_sheets.h>
#include <medley/page/run_data.h>
#include <medley/page/run_page.h>
#include <medley/report/event_file.h>
#include <medley/report/tensorboard.h>

#include "tests/report/made_picture.h"
#include "tests/report/scratch_directory.h"
#include "tests/words.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using test::Has;

std::string FromBase64(const std::string& text) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char letter : text.substr(0, text.find('='))) {
    bits = bits << 6 | static_cast<std::uint32_t>(letters.find(letter));
    count += 6;
    if (count >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 255);
  }
  return bytes;
}

Curve Waves(std::int64_t steps) {
  Curve curve;
  for (std::int64_t step = 1; step <= steps; ++step)
    curve.push_back({step, std::sin(0.37 * static_cast<double>(step))});
  return curve;
}

TEST(Curve, ThinnedKeepsItsEndsAndEveryPeak) {
  Curve curve = Waves(45000);
  curve[31007].value = 9;
  curve[31008].value = -7;
  const Curve thin = Thinned(curve, 100);
  EXPECT_LE(thin.size(), 400u);
  EXPECT_EQ(thin.front().step, 1);
  EXPECT_EQ(thin.back().step, 45000);
  const auto has = [&](std::int64_t step, double value) {
    return std::any_of(thin.begin(), thin.end(),
                       [&](const CurvePoint& point) { return point.step == step && point.value == value; });
  };
  EXPECT_TRUE(has(31008, 9));
  EXPECT_TRUE(has(31009, -7));
  EXPECT_TRUE(std::is_sorted(thin.begin(), thin.end(),
                             [](const CurvePoint& a, const CurvePoint& b) { return a.step < b.step; }));
  EXPECT_EQ(Thinned(Waves(400), 100).size(), 400u) << "that fit";
  EXPECT_TRUE(Thinned({}, 100).empty());
}

TEST(Curve, NumbersHaveFiveDigitsAndWhatIsNoNumberIsNull) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(JsonOf({{1, 0.123456789}, {2, nan}, {3, -1234567}}).dump(),
            "[[1,0.12346],[2,null],[3,-1234600.0]]");
}

// Three steps of two tasks, an evaluation, an edit and a prediction.
class Pages : public ::testing::Test {
 protected:
  Pages() {
    Write("run.json", R"({"medley": "0.1.0", "seed": 7, "device": "cpu"})");
    Write("config.resolved.json", R"({"steps": 9, "note": "</script><b>"})");
    Write("metrics.jsonl", kSteps);
    Write("timing.jsonl", R"({"step": 1, "rows_per_second": 5, "memory_now": 1000, "memory_peak": 4000})"
                          "\n");
    Write("weights.jsonl",
          R"({"step": 2, "cause": "edit", "name": "", "words": "a 1 -> 2", "after": {"a": 0.6, "b": 0.4}})"
          "\n");
    Write("receipt.json",
          R"({"tasks": {"a": [{"mode": "joint", "micro_rows": 2, "measured_peak": {"largest": 4000},
              "overflows": {"count": 3}}]},
              "stages": [{"tasks": {"a": {"asked": 0.5, "delivered": 0.4, "rows": 6, "steps": 2, "seconds": 1.5}}},
                         {"tasks": {"a": {"asked": 0.6, "delivered": 0.7, "rows": 4, "steps": 1, "seconds": 0.5}}}]})");
    Write("plan.json", R"({"budget": 9000, "floor": {"weights": 100}, "tasks":
                          [{"task": "a", "mode": "joint", "rows": 4, "saved": 2000, "predicted_peak": 3900}]})");
  }
  void Write(const std::string& name, const std::string& text) const { WriteText(run_ / name, text); }
  ordered_json Data() const { return RunData(run_.path()); }
  const ordered_json& TaskOf(const ordered_json& data, const std::string& name) const {
    return *std::find_if(data["tasks"].begin(), data["tasks"].end(),
                         [&](const ordered_json& task) { return task["name"] == name; });
  }

  static constexpr const char* kSteps =
      R"({"step": 1, "draws": [{"task": "a", "begin": 0, "rows": 4}], "terms": {"a": {"t": {"mean": 3, "weighted": 6}}}, "grad_norm": 1, "lr": 0.1})"
      "\n"
      R"({"step": 2, "draws": [{"task": "a", "begin": 4, "rows": 6}], "terms": {"a": {"t": {"mean": null, "weighted": null}}}, "grad_norm": 2, "lr": 0.1})"
      "\n"
      R"({"step": 2, "transition": {"from": "predict", "to": "full"}, "jump": {"direction": "line", "gain": -1, "taken": false, "why": "it gains nothing"}})"
      "\n"
      R"({"step": 3, "draws": [{"task": "b", "begin": 0, "rows": 5}], "terms": {"b": {"t": {"mean": 2, "weighted": 2}}}, "grad_norm": 3, "lr": 0.1, "eval": {"a": {"metric": "error", "better": "lower", "value": 0.2, "low": 0.1, "high": 0.3, "chance": null, "trivial": {"input": 0.4}, "rows": 8, "loss": 1.5}, "b": {"metric": "accuracy", "better": "higher", "value": 0.6, "low": 0.5, "high": 0.7, "chance": 0.5, "trivial": {}, "rows": 8, "loss": 2.5}}})"
      "\n";
  ScratchDirectory run_;
};

TEST_F(Pages, HaveTasksWithScoresSharesAndVerdicts) {
  const ordered_json data = Data();
  EXPECT_EQ(data["step"], 3);
  EXPECT_EQ(data["steps"], 9);
  const ordered_json& a = TaskOf(data, "a");
  EXPECT_EQ(a["rows"], 10) << "of both stages";
  EXPECT_EQ(a["asked"], 0.6) << "of the last";
  EXPECT_EQ(a["loss"], 6) << "the last that has a value";
  EXPECT_EQ(a["score"]["clear"], true) << "0.3 at most, below 0.4";
  EXPECT_EQ(TaskOf(data, "b")["score"]["clear"], false) << "0.5 at least, which is chance";
  EXPECT_EQ(data["verdict"], "1 of 2 tasks are clear of chance and of all that needs no learning (not: b)");
  EXPECT_EQ(data["losses"]["a"]["t"].dump(), "[[1,3.0],[2,null]]");
  EXPECT_EQ(data["scores"]["a"].dump(), "[[3,0.2,0.1,0.3,1.5]]");
}

TEST_F(Pages, HaveDeliveredSharesInTheUnitOfTheWeights) {
  Write("metrics.jsonl", std::string(kSteps) +
                             R"({"step": 4, "draws": [{"task": "b", "begin": 5, "rows": 20}], "terms": {}})"
                             "\n");
  ordered_json mixture = Data()["mixture"];
  EXPECT_EQ(mixture["steps"].dump(), "[1,2,3,4]");
  EXPECT_EQ(mixture["delivered"]["a"].dump(), "[1.0,1.0,0.66667,0.28571]")
      << "4, 10, 10 of 15 and of 35 rows";
  EXPECT_EQ(mixture["asked"]["a"].dump(), "[null,null,0.6,0.6]") << "the edit came after step 2";
  Write("receipt.json", R"({"stages": [{"unit": "steps", "tasks": {}}]})");
  EXPECT_EQ(Data()["mixture"]["delivered"]["a"].dump(), "[1.0,1.0,0.66667,0.5]") << "two of four draws";
}

// What a run that goes on is asked about: by its logs alone, also where it has not saved yet.
TEST_F(Pages, KnowTheTasksOfARunThatGoesOnBeforeItsFirstSave) {
  for (const char* file : {"receipt.json", "plan.json", "timing.jsonl"}) fs::remove(run_ / file);
  Write(
      "metrics.jsonl",
      std::string(kSteps) +
          R"({"step": 4, "draws": [{"task": "a", "begin": 10, "rows": 15}], "terms": {"a": {"t": {"mean": 1, "weighted": 1}}}})"
          "\n"
          R"({"step": 5, "draws": [{"task": "b", "begin)");
  const ordered_json data = Data();
  const ordered_json& now = data["now"];
  EXPECT_EQ(data["step"], 4) << "the line of step 5 is being written";
  EXPECT_EQ(now["since"], 2) << "the edit";
  EXPECT_EQ(now["unit"], "rows");
  EXPECT_EQ(now["tasks"]["a"].dump(),
            R"({"asked":0.6,"delivered":0.75,"loss":5.5,"last_step":4,"rows":25,"draws":3})")
      << "15 of 20 rows since the edit; nine tenths of 6, one of 1; the step without an item moves nothing";
  EXPECT_EQ(now["tasks"]["b"]["delivered"], 0.25);
  EXPECT_EQ(now["tasks"]["b"]["loss"], 2);
  EXPECT_EQ(TaskOf(data, "a")["asked"], 0.6) << "no save says it";
  EXPECT_EQ(TaskOf(data, "a")["score"]["value"], 0.2);

  Write("weights.jsonl", "");
  EXPECT_TRUE(Data()["now"]["since"].is_null());
  EXPECT_TRUE(Data()["now"]["tasks"]["a"]["asked"].is_null()) << "nobody wrote it down";
  fs::remove(run_ / "metrics.jsonl");
  EXPECT_EQ(Data()["now"]["tasks"].dump(), "{}") << "before its first step";
}

TEST_F(Pages, CountDeliveredSharesSinceTheyAreAsked) {
  const std::string start = R"({"step": 0, "cause": "start", "after": {"a": 0.5, "b": 0.5}})",
                    refused = R"({"step": 2, "cause": "refused edit", "after": {"b": 0.5, "a": 0.5}})",
                    pause = R"({"step": 2, "cause": "edit", "after": {"b": 1.0}})";
  Write("weights.jsonl", start + "\n" + refused + "\n");
  EXPECT_EQ(Data()["now"]["stage"], "");
  EXPECT_EQ(Data()["now"]["since"], 0) << "a refused edit moves nothing";
  EXPECT_EQ(Data()["now"]["tasks"]["a"]["delivered"], 0.66667) << "10 of 15 rows";
  Write("weights.jsonl",
        start + "\n" + R"({"step": 1, "cause": "stage", "name": "late", "after": {"a": 0.5, "b": 0.5}})" +
            "\n" + pause + "\n");
  EXPECT_EQ(Data()["now"]["stage"], "late");
  const ordered_json paused = Data()["now"]["tasks"]["a"];
  EXPECT_EQ(paused["asked"], 0);
  EXPECT_EQ(paused["delivered"], 0);
  EXPECT_EQ(paused["last_step"], 2);
  EXPECT_EQ(paused["rows"], 10);
}

// What a row counts for is known from the first save on.
TEST_F(Pages, SayNothingOfDeliveredTokensBeforeTheFirstSave) {
  fs::remove(run_ / "receipt.json");
  fs::remove(run_ / "weights.jsonl");
  WeightLog log(run_.path());
  WeightEntry entry;
  entry.cause = WeightEntry::Cause::kStart;
  entry.after = {{"a", 0.5}, {"b", 0.5}};
  entry.text = R"({"unit": "tokens", "weights": {"a": 1, "b": 1}})";
  log.Add(entry);
  log.Sync();
  EXPECT_EQ(Data()["now"]["unit"], "tokens");
  EXPECT_EQ(Data()["now"]["tasks"]["a"]["asked"], 0.5);
  EXPECT_TRUE(Data()["now"]["tasks"]["a"]["delivered"].is_null());
  Write("receipt.json", R"({"stages": [{"unit": "tokens", "tasks": {"a": {"rows": 4, "charged": 40},
                                                                   "b": {"rows": 5, "charged": 100}}}]})");
  EXPECT_EQ(Data()["now"]["tasks"]["a"]["delivered"], 0.5) << "10 rows of 10 tokens, 5 of 20";
}

TEST_F(Pages, HaveNoMoreTimeLeftThanTheHours) {
  std::string timing;
  for (int step = 1; step <= 3; ++step)
    timing += R"({"step": )" + std::to_string(step) + R"(, "seconds": 100})" + "\n";
  Write("timing.jsonl", timing);
  EXPECT_EQ(Data()["seconds_left"], 600);
  Write("config.resolved.json", R"({"steps": 9, "hours": 0.125})");
  EXPECT_EQ(Data()["seconds_left"], 150) << "of 450 s";
  Write("run.json", R"({"starts": [{"step": 0}, {"step": 2}]})");
  EXPECT_EQ(Data()["seconds_left"], 350) << "which count anew from a resume";
}

TEST_F(Pages, HaveTheScoresOfMedleyEvalWhereTheyCameLast) {
  const char* scored =
      R"({"step": STEP, "tasks": {"a": {"metric": "error", "better": "lower", "value": 0.1, "low": 0.05, "high": 0.15, "chance": null, "trivial": {"input": 0.4}, "rows": 512, "loss": 1}}})";
  const auto at = [&](const std::string& step) {
    std::string text = scored;
    Write("eval.json", text.replace(text.find("STEP"), 4, step));
    return Data();
  };
  for (const char* step : {"3", "7"}) {
    const ordered_json data = at(step);
    const ordered_json& score = TaskOf(data, "a")["score"];
    EXPECT_EQ(score["value"], 0.1) << step;
    EXPECT_EQ(score["rows"], 512) << step;
    EXPECT_EQ(score["step"].dump(), step);
    EXPECT_EQ(data["scores"]["a"].size(), step == std::string("3") ? 1u : 2u);
    EXPECT_EQ(TaskOf(data, "b")["score"]["step"], 3) << "which medley eval did not score";
  }
  EXPECT_EQ(TaskOf(at("2"), "a")["score"]["value"], 0.2) << "the run's own evaluation came later";
}

TEST_F(Pages, SayWhetherARunIsOver) {
  EXPECT_EQ(Data()["is_over"], false);
  EXPECT_TRUE(Has(MakeRunPage({.runs = {run_.path()}, .refresh_seconds = 5}).text, "refresh = +\"5\""));
  Write("config.resolved.json", R"({"steps": 3})");
  EXPECT_EQ(Data()["is_over"], true);
  EXPECT_TRUE(Has(MakeRunPage({.runs = {run_.path()}, .refresh_seconds = 5}).text, "refresh = +\"0\""))
      << "a page of what stays as it is";
  Write("config.resolved.json", R"({"steps": 9, "optimizer": {"decay_fraction": 0.5}})");
  Write("weights.jsonl", R"({"step": 1, "cause": "early decay", "words": "the learning rate falls"})"
                         "\n");
  EXPECT_EQ(Data()["ends"], 2) << "one step and as many that decay";
  EXPECT_EQ(Data()["is_over"], true);
  Write("weights.jsonl", R"({"step": 1, "cause": "early decay", "ends": 8, "of_steps": 9})"
                         "\n"
                         R"({"step": 2, "cause": "decay refit", "ends": 6, "of_steps": 9})"
                         "\n"
                         R"({"step": 2, "cause": "decay refit", "ends": 3, "of_steps": 11})"
                         "\n");
  EXPECT_EQ(Data()["ends"], 6) << "the last of those that are of as many steps";
  EXPECT_EQ(Data()["is_over"], false);
}

TEST_F(Pages, KnowFromTheRunThatItEndedBeforeItsSteps) {
  EXPECT_EQ(Data()["why"], nullptr);
  const std::string start = R"({"time": "then"})",
                    ended = R"({"ended": {"step": 3, "why": "its last stage is over"}})";
  Write("run.json", R"({"starts": [)" + start + ", " + ended + "]}");
  EXPECT_EQ(Data()["is_over"], true);
  EXPECT_EQ(Data()["ends"], 3);
  EXPECT_EQ(Data()["steps"], 9);
  EXPECT_EQ(Data()["why"], "its last stage is over");
  EXPECT_EQ(Data()["seconds_left"], nullptr);
  Write("run.json", R"({"starts": [)" + ended + ", " + start + "]}");
  EXPECT_EQ(Data()["is_over"], false) << "it goes on";
  Write("run.json", R"({"starts": [{"ended": {"step": 2, "why": "its last stage is over"}}]})");
  EXPECT_EQ(Data()["is_over"], false) << "it went on, with an edit";
}

// Draws of a row each, the task of which the letter is.
std::map<std::string, Curve> DrawsOf(const std::string& letters) {
  std::map<std::string, Curve> draws;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    Curve& curve = draws[letters.substr(i, 1)];
    curve.push_back({static_cast<std::int64_t>(i) + 1, static_cast<double>(curve.size() + 1)});
  }
  return draws;
}

TEST(Mixture, DeliveredIsWhatWasDrawnSinceTheStageBeganExactlyHoweverManySteps) {
  const std::string stage = "aabaabaabb";  // 6 of 10
  std::string letters;
  for (int i = 0; i < 2000; ++i) letters += stage;
  for (int i = 0; i < 3000; ++i) letters += "b";
  const std::vector<ordered_json> marks = {
      {{"step", 0}, {"kind", "start"}, {"shares", {{"a", .6}, {"b", .4}}}},
      {{"step", 20000}, {"kind", "stage"}, {"shares", {{"b", 1}}}},
      {{"step", 21000}, {"kind", "edit"}, {"shares", {{"a", .1}, {"b", .9}}}},
      {{"step", 21500}, {"kind", "resume"}}};
  const ordered_json curves = MixtureCurves(DrawsOf(letters), marks, 23000);
  ASSERT_GE(curves["steps"].size(), 100u);
  EXPECT_EQ(curves["steps"].back(), 23000);
  for (std::size_t i = 0; i < curves["steps"].size(); ++i) {
    const std::int64_t step = curves["steps"][i];
    const std::int64_t begin = step <= 20000 ? 0 : 20000;
    const auto count = std::count(letters.begin() + begin, letters.begin() + step, 'a');
    EXPECT_EQ(curves["delivered"]["a"][i],
              Rounded(static_cast<double>(count) / static_cast<double>(step - begin)))
        << step;
    const double since = static_cast<double>(step - 21000) / static_cast<double>(step - 20000);
    EXPECT_EQ(curves["asked"]["a"][i], step <= 20000 ? .6 : step <= 21000 ? 0. : Rounded(.1 * since)) << step;
  }
}

// What a run's log of weights says of a mixer, and what that says itself of the same draws, one a step.
struct MixedRun {
  void Draw(std::int64_t steps) {
    for (; steps > 0; --steps) {
      const std::vector<medley::Draw> draws = mixer.Peek(1);
      mixer.Commit(draws);
      Curve& curve = amounts[draws[0].task];
      const double before = curve.empty() ? 0 : curve.back().value;
      curve.push_back({++step, before + static_cast<double>(draws[0].rows)});
      shares.push_back(mixer.Shares());
    }
  }
  void Change(const char* kind, const Weights& weights, std::int64_t ramp = 0) {
    const auto from = SharesNow(mixer);
    const auto accounts = std::string(kind) == "stage" ? Mixer::Accounts::kOpenAnew : Mixer::Accounts::kGoOn;
    mixer.SetMixture({.weights = weights}, {.draws = ramp}, accounts);
    marks.push_back({{"step", step}, {"kind", kind}, {"shares", SharesAimedAt(mixer)}});
    if (ramp > 0) marks.back()["ramp"] = {{"from", from}, {"until", step + ramp}, {"draws", ramp}};
  }

  Mixer mixer{
      {.weights = {{"a", 1}, {"b", 3}}}, {{"a", {.rows = 4}}, {"b", {.rows = 5}}, {"c", {.rows = 5}}}, 1};
  std::map<std::string, Curve> amounts;
  std::vector<ordered_json> marks = {{{"step", 0}, {"kind", "start"}, {"shares", SharesAimedAt(mixer)}}};
  std::vector<std::map<std::string, Mixer::Share>> shares;  // after each step
  std::int64_t step = 0;
};

TEST(Mixture, AskedIsWhatTheMixerSaysWhateverWasEditedPausedOrLedTo) {
  MixedRun run;
  run.Draw(300);
  run.Change("edit", {{"a", 3}, {"b", 1}});
  run.Draw(150);
  run.Change("edit", {{"a", 1}, {"b", 0}});
  run.Draw(50);
  run.Change("stage", {{"a", 1}, {"b", 2}, {"c", 7}}, 120);
  run.Draw(400);
  run.Change("edit", {{"a", 1}, {"b", 1}, {"c", 1}});
  run.Draw(100);
  const ordered_json curves = MixtureCurves(run.amounts, run.marks, run.step);
  for (std::size_t i = 0; i < curves["steps"].size(); ++i) {
    const std::int64_t step = curves["steps"][i];
    for (const auto& [task, share] : run.shares.at(static_cast<std::size_t>(step) - 1)) {
      EXPECT_NEAR(curves["delivered"][task][i].get<double>(), share.delivered, 1e-5) << task << " " << step;
      EXPECT_NEAR(curves["asked"][task][i].get<double>(), share.asked_so_far, 1e-5) << task << " " << step;
    }
  }
}

TEST(Mixture, OfARunWithoutAStepHasNoPoint) {
  EXPECT_TRUE(MixtureCurves({}, {}, 0)["steps"].empty());
  const ordered_json one = MixtureCurves(DrawsOf("a"), {}, 1);
  EXPECT_EQ(one["delivered"]["a"].dump(), "[1.0]");
  EXPECT_EQ(one["asked"]["a"].dump(), "[null]");
}

// Asked and delivered are of the same draws, in the middle of a ramp too; after it, of those since.
TEST(Mixture, WhatIsAskedNowIsOfWhatWasDeliveredSince) {
  MixedRun run;
  run.Draw(200);
  run.Change("stage", {{"a", 9}, {"b", 1}}, 120);
  run.Draw(50);
  const auto led = SharesSinceTheirChange(run.amounts, run.marks);
  ASSERT_TRUE(led);
  EXPECT_EQ(led->since, 200);
  for (const char* task : {"a", "b"}) {
    EXPECT_NEAR(led->asked.at(task), run.shares.back().at(task).asked_so_far, 1e-6) << task;
    EXPECT_NEAR(led->delivered.at(task), run.shares.back().at(task).delivered, 1e-6) << task;
  }
  run.Draw(100);
  const auto now = SharesSinceTheirChange(run.amounts, run.marks);
  EXPECT_EQ(now->since, 320);
  EXPECT_NEAR(now->asked.at("a"), .9, 1e-6);
  EXPECT_NEAR(now->delivered.at("a"), .9, .03) << "of thirty draws";
}

TEST_F(Pages, KnowWhichWayARampLed) {
  Write("weights.jsonl",
        R"({"step": 0, "draw": 0, "cause": "start", "after": {"a": 1}})"
        "\n"
        R"({"step": 1, "draw": 2, "cause": "stage", "name": "b", "before": {"a": 1}, "after": {"b": 1}})"
        "\n"
        R"({"step": 3, "draw": 6, "cause": "ramp", "name": "b", "after": {"b": 1}})"
        "\n");
  const ordered_json marks = Data()["marks"];
  const auto stage =
      std::find_if(marks.begin(), marks.end(), [](const auto& mark) { return mark["kind"] == "stage"; });
  ASSERT_NE(stage, marks.end());
  EXPECT_EQ(stage->at("ramp").dump(), R"({"from":{"a":1},"until":3,"draws":4.0})");
}

TEST_F(Pages, HaveMemoryPlannedBesideMeasuredAndMarksInOrder) {
  const ordered_json data = Data();
  const ordered_json& form = data["memory"]["forms"][0];
  EXPECT_EQ(form["predicted"], 3900);
  EXPECT_EQ(form["measured"], 4000);
  EXPECT_EQ(form["overflows"], 3);
  EXPECT_EQ(data["memory"]["budget"], 9000);
  EXPECT_EQ(data["peak"].dump(), "[[1,4000.0]]");
  ASSERT_EQ(data["marks"].size(), 2u);
  EXPECT_EQ(data["marks"][0]["words"], "line: not taken, it gains nothing");
  EXPECT_EQ(data["marks"][1]["kind"], "edit");
  EXPECT_EQ(data["marks"][1]["shares"]["a"], 0.6);
}

TEST_F(Pages, MarkResumesAndWhereMemoryRanOut) {
  Write("run.json",
        R"({"starts": [{"step": 0}, {"step": 2, "time": "noon", "config": "config.resolved.2.json"}]})");
  Write(
      "timing.jsonl",
      R"({"step": 3, "memory_now": 1, "memory_peak": 2, "out_of_memory": [{"task": "a", "phase": "forward", "from": 4, "to": 2, "left_bytes": 0}]})"
      "\n");
  std::set<std::string> said;
  const ordered_json data = Data();
  for (const ordered_json& mark : data["marks"])
    said.insert(mark["step"].dump() + " " + mark["kind"].get<std::string>() + ": " +
                mark["words"].get<std::string>());
  EXPECT_TRUE(said.count("2 resume: noon config.resolved.2.json")) << ::testing::PrintToString(said);
  EXPECT_TRUE(said.count("3 out of memory: a goes on with 2 rows at once")) << ::testing::PrintToString(said);
}

TEST_F(Pages, HaveWhatEachProcessTookWhereThereAreSeveral) {
  EXPECT_TRUE(Data()["ranks"].is_null());
  fs::create_directory(run_ / "rank-1");
  Write("rank-1/plan.json", R"({"tasks": [{"task": "a", "predicted_peak": 3900}]})");
  Write("rank-1/receipt.json", R"({"tasks": {"a": [{"measured_peak": {"largest": 5000}}]}})");
  Write("timing.jsonl", R"({"step": 1, "seconds": 2, "rank_work_ms": [1500, 2000]})"
                        "\n"
                        R"({"step": 2, "seconds": 2, "rank_work_ms": [500, 1000]})"
                        "\n");
  const ordered_json ranks = Data()["ranks"];
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0]["worked"], 0.5);
  EXPECT_EQ(ranks[1]["worked"], 0.75);
  EXPECT_EQ(ranks[0]["memory"]["forms"][0]["measured"], 4000);
  EXPECT_EQ(ranks[1]["memory"]["forms"][0]["measured"], 5000);
}

TEST_F(Pages, HavePredictionsAndChangesOfPhase) {
  const ordered_json jumps = Data()["phases"]["jumps"];
  ASSERT_EQ(jumps.size(), 1u);
  EXPECT_EQ(jumps[0]["direction"], "line");
  EXPECT_EQ(jumps[0]["gain"], -1);
  EXPECT_EQ(jumps[0]["taken"], false);
  Write(
      "timing.jsonl",
      R"({"step": 2, "transition": {"from": "full", "to": "predict"}, "memory_before": 5, "memory_after": 7})"
      "\n");
  const ordered_json changes = Data()["phases"]["transitions"];
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0]["to"], "predict");
  EXPECT_EQ(changes[0]["memory_after"], 7);
  fs::remove(run_ / "timing.jsonl");
  fs::remove(run_ / "metrics.jsonl");
  EXPECT_TRUE(Data()["phases"].is_null()) << "a run without";
}

TEST_F(Pages, HaveTheSheetsOfEvaluationsAndBehindThemTheLastScoring) {
  fs::create_directory(run_ / "tensorboard");
  {
    EventFile events(run_ / kTensorBoardLog, 0);
    for (int step = 100; step <= 9000; step += 100) events.Image("sheet/a", step, MadePicture(30, 20));
    events.Image("sheet/b", 9000, MadePicture(30, 20));
    events.Sync();
  }
  WriteText(run_ / "sheet-a.png", EncodePng(MadePicture(4, 4)));
  WriteText(run_ / "sheet-c.txt", "row 1\n");
  Write("eval.json", R"({"step": 9500})");
  const ordered_json sheets = SheetsOf(run_.path(), Data()["scored"]);
  ASSERT_EQ(sheets.size(), 3u);
  std::set<int> steps;
  for (const ordered_json& picture : sheets[0]["pictures"]) steps.insert(picture[0].get<int>());
  ASSERT_EQ(steps.size(), 50u) << "96 pictures of earlier ones, two an evaluation; the last, and the scoring";
  EXPECT_EQ(*steps.rbegin(), 9500);
  EXPECT_EQ(*std::next(steps.rbegin()), 9000);
  EXPECT_EQ(*steps.begin(), 100);
  int before = 0;
  for (const int step : steps) {
    EXPECT_LE(step - before, step == 9500 ? 500 : 300) << step << ": evenly";
    before = step;
  }
  EXPECT_EQ(sheets[0]["pictures"][0][0], 9500);
  EXPECT_EQ(sheets[1]["pictures"].size(), 1u);
  EXPECT_EQ(sheets[2]["words"], "row 1\n");
}

TEST_F(Pages, LeaveOutALineThatIsBeingWrittenAndRefuseOneThatIsDamaged) {
  Write("metrics.jsonl", std::string(kSteps) + R"({"step": 4, "dra)");
  EXPECT_EQ(Data()["step"], 3);
  Write("metrics.jsonl", std::string(kSteps) + "{\"step\": 4, \"dra\n" + kSteps);
  try {
    Data();
    FAIL();
  } catch (const InputError& error) {
    EXPECT_TRUE(Has(error.what(), "metrics.jsonl:5: expected an object of JSON")) << error.what();
  }
}

TEST_F(Pages, AreMadeOfWhateverIsThereButARunItMustBe) {
  for (const char* name : {"metrics.jsonl", "timing.jsonl", "weights.jsonl", "receipt.json", "plan.json"}) {
    fs::remove(run_ / name);
    EXPECT_NO_THROW(Data()) << name;
  }
  fs::remove(run_ / "config.resolved.json");
  EXPECT_THROW(Data(), InputError);
}

TEST_F(Pages, AreOneFileThatNothingInItEndsEarly) {
  Picture two(2, 1);  // in 16 levels, as it is on the page
  two.pixels = {255, 0, 17, 34, 200, 3};
  WriteText(run_ / "sheet-a.png", EncodePng(two));
  two.pixels = {255, 0, 17, 34, 204, 0};
  Write("sheet-a.txt", "<b>row 1</b> </script>");
  const std::string page = MakeRunPage({.runs = {run_.path(), run_.path()}, .refresh_seconds = 5}).text;
  EXPECT_FALSE(Has(page, "[/* runs */]"));
  EXPECT_FALSE(Has(page, "REFRESH_SECONDS"));
  const std::string begin = "\"pictures\":[[null,\"";
  const std::string text = page.substr(page.find(begin) + begin.size(), 400);
  const std::string bytes = FromBase64(text.substr(0, text.find('"')));
  EXPECT_EQ(bytes, EncodePng(two));
  std::size_t ends = 0;
  for (std::size_t at = page.find("</script"); at != std::string::npos; at = page.find("</script", at + 1))
    ++ends;
  EXPECT_EQ(ends, 2u);  // of the data, and of the script
  for (const char* fetched : {"src=\"http", "<link", "fetch(", "@import", "url("})
    EXPECT_FALSE(Has(page, fetched)) << fetched << ": nothing of the network";
}

// The page's data, as a browser's parser finds them.
ordered_json DataIn(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"runs\">";
  const std::size_t from = page.find(begin) + begin.size();
  const std::size_t end =
      page.find('<', from);  // in a script's text the parser does nothing at another letter
  EXPECT_EQ(page.compare(end, 9, "</script>"), 0) << page.substr(end, 80);
  return ordered_json::parse(page.substr(from, end - from));
}

TEST_F(Pages, KeepTextsOfAnyKindAsTheyAreWhereverTheyStand) {
  for (const std::string text :
       {"<!--<script", "<!-- <script></script> -->", "--><SCRIPT>", "</script><b>", "]]><![CDATA[",
        "__proto__", "\"'`${alert(1)}\\", "&lt;&#60;", "[/* runs */] REFRESH_SECONDS",
        "\u2028\u2029\u202e\u0085", "\x1b]0;a\x07\x01\x7f", "\xc3\xa4\xe7\x8c\xab\xf0\x9f\x90\x88",
        "constructor"}) {
    const auto put = [&](const std::string& name, ordered_json json, const std::string& more = "") {
      Write(name, json.dump() + more + "\n");
    };
    put("run.json",
        {{"medley", text},
         {"device", text},
         {"model", {{text, text}}},
         {"starts", {{{"step", 0}, {"time", text}}, {{"step", 1}, {"time", text}, {"config", text}}}}});
    put("config.resolved.json", {{"steps", 9}, {"note", text}, {text, text}});
    put("metrics.jsonl",
        {{"step", 3},
         {"draws", {{{"task", text}, {"begin", 0}, {"rows", 4}}}},
         {"terms", {{text, {{text, {{"mean", 3}, {"weighted", 6}}}}}}},
         {"lr", 0.1},
         {"eval",
          {{text,
            {{"metric", text},
             {"better", "lower"},
             {"value", 0.2},
             {"low", 0.1},
             {"high", 0.3},
             {"chance", nullptr},
             {"trivial", {{text, 0.4}}},
             {"rows", 8},
             {"loss", 1.5}}}}}},
        "\n" + ordered_json{{"step", 3},
                            {"transition", {{"from", text}, {"to", text}, {"why", text}}},
                            {"jump", {{"direction", text}, {"taken", false}, {"why", text}}}}
                   .dump());
    put("timing.jsonl",
        {{"step", 3}, {"out_of_memory", {{{"task", text}, {"to", text}}}}, {"guard", {{{"words", text}}}}});
    put("weights.jsonl",
        {{"step", 2}, {"cause", text}, {"name", text}, {"words", text}, {"after", {{text, 1}}}});
    put("receipt.json", {{"tasks", {{text, {{{"mode", text}, {"micro_rows", 2}}}}}},
                         {"stages", {{{"unit", text}, {"tasks", {{text, {{"rows", 6}, {"asked", 1}}}}}}}}});
    put("plan.json", {{"budget", 9000}, {"tasks", {{{"task", text}, {"mode", text}, {"rows", 4}}}}});
    Write("sheet-a.txt", text);
    const fs::path named = run_ / ("in/" + std::string(text.find('/') == std::string::npos ? text : "a"));
    fs::create_directories(named.parent_path());
    fs::create_directory_symlink(run_.path(), named);
    const ordered_json found = DataIn(MakeRunPage({.runs = {named, run_.path()}}).text);
    fs::remove(named);
    fs::create_directory_symlink(run_.path(), named);
    ordered_json expected = RunData(named);
    expected["sheets"] = SheetsOf(named, expected["scored"]);
    expected["unlike_rows"] = found[0]["unlike_rows"];
    EXPECT_EQ(found[0], ordered_json::parse(expected.dump())) << text;
    // As they were written, not as RunData may have bent them.
    EXPECT_EQ(found[0]["name"], named.filename().string());
    EXPECT_EQ(found[0]["config"][text], text);
    EXPECT_TRUE(found[0]["losses"][text].contains(text));
    EXPECT_EQ(found[0]["phases"]["jumps"][0]["why"], text);
    EXPECT_EQ(found[0]["sheets"][0]["words"], text);
    fs::remove(named);
  }
}

}  // namespace
}  // namespace medley
