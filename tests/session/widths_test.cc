// A task whose width an option says, as a person runs it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/session/session_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Ended;
using test::Has;

class Widths : public ::testing::Test {
 protected:
  Widths() {
    WriteText(scratch_ / "weights.json", R"({"unit": "tokens", "weights": {"narrow": 1, "broad": 1}})");
  }
  Ended Train(const std::string& name, const std::string& more) const {
    BeginRequest request = test::RequestOf(
        "quickstart.json",
        "threads=1 hours=0 seed=5 tensorboard=false eval.every=0 checkpoint.every=2 checkpoint.keep=1000 "
        "steps=6 "
        "tasks.narrow.kind=widths tasks.narrow.rows=4 tasks.narrow.options.text_width=64 "
        "tasks.broad.kind=widths tasks.broad.rows=4 tasks.broad.options.text_width=256 weights=" +
            (scratch_ / "weights.json").string() + " " + more);
    request.plugins.paths = {fs::path(MEDLEY_PLUGIN_FIXTURES) / "widths"};
    return test::TrainToTheEnd(request, scratch_ / name);
  }

  ScratchDirectory scratch_;
};

TEST_F(Widths, APlanAndTheMixtureGoByWhatTheOptionSays) {
  const Ended ended = Train("run", "budget=1GiB");
  ASSERT_EQ(ended.code, ExitCode::kDone) << ended.out;
  std::map<std::string, std::int64_t> peaks;
  const json plan = json::parse(ReadText(scratch_ / "run/plan.json"));
  for (const json& task : plan.at("tasks")) peaks[task.at("task")] = task.at("predicted_peak");
  EXPECT_LT(peaks.at("narrow"), peaks.at("broad"));
  EXPECT_EQ(json::parse(ReadText(scratch_ / "run/receipt.json")).at("under_estimates"), 0);
  // In tokens a row of 256 is as much as four of 64.
  std::map<std::string, std::int64_t> rows;
  std::istringstream lines(ReadText(scratch_ / "run/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const json step = json::parse(line);
    const json draws = step.value("draws", json::array());
    for (const json& draw : draws) rows[draw.at("task")] += draw.at("rows").get<std::int64_t>();
  }
  EXPECT_GT(rows["narrow"], 2 * rows["broad"]) << rows["narrow"] << " " << rows["broad"];
}

TEST_F(Widths, AStageMayChangeItAndHasAPlanOfItsOwn) {
  WriteText(scratch_ / "weights.json", R"({"unit": "tokens", "stages": [
    {"name": "a", "weights": {"narrow": 1, "broad": 1}, "until": {"steps": 3}},
    {"name": "b", "weights": {"narrow": 1, "broad": 1}, "set": {"tasks.broad.options.text_width": 64}}]})");
  const Ended ended = Train("run", "budget=1GiB");
  ASSERT_EQ(ended.code, ExitCode::kDone) << ended.out;
  std::map<std::string, std::int64_t> peaks;
  const json plan = json::parse(ReadText(scratch_ / "run/plan.json"));
  for (const json& task : plan.at("tasks")) {
    const std::string form = task.at("task");
    peaks[form.starts_with("broad@") ? "changed" : form] = task.at("predicted_peak");
  }
  EXPECT_EQ(peaks.size(), 3U) << plan;
  EXPECT_EQ(peaks.at("changed"), peaks.at("narrow"));
  EXPECT_LT(peaks.at("changed"), peaks.at("broad"));
}

TEST_F(Widths, ItIsFixedOnceItWasTrained) {
  ASSERT_EQ(Train("run", "plan=false").code, ExitCode::kDone);
  ResumeRequest request{.overrides = {"steps=8", "tasks.broad.options.text_width=128"}};
  request.plugins.paths = {fs::path(MEDLEY_PLUGIN_FIXTURES) / "widths"};
  const Ended other = test::ResumeToTheEnd(scratch_ / "run", request);
  EXPECT_EQ(other.code, ExitCode::kBadInput) << other.out;
  EXPECT_TRUE(Has(other.out, "cannot change tasks.broad.options")) << other.out;
}

TEST_F(Widths, RowsThatAreWiderThanItAreRefused) {
  const Ended ended = Train("run", "plan=false tasks.broad.options.too_wide=true");
  EXPECT_NE(ended.code, ExitCode::kDone) << ended.out;
  EXPECT_TRUE(Has(ended.out, "256")) << ended.out;
}

TEST_F(Widths, APartOfATokenIsNone) {
  const Ended ended = Train("run", "plan=false tasks.broad.options.text_width=256.5");
  EXPECT_EQ(ended.code, ExitCode::kBadInput) << ended.out;
  EXPECT_TRUE(Has(ended.out, "tasks.broad.options.text_width: expected a whole number of at most"))
      << ended.out;
}

}  // namespace
}  // namespace medley
