// What a run writes for TensorBoard, as TensorBoard's own package reads it.

#include <medley/report/metrics.h>
#include <medley/report/tensorboard.h>

#include <nlohmann/json.hpp>

#include "tests/tools/run_command.h"
#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kRead = R"(
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={'scalars': 0, 'images': 0})
events.Reload()
tags = events.Tags()
print(json.dumps({
    'scalars': {tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in tags['scalars']},
    'images': {tag: [[e.step, e.width, e.height] for e in events.Images(tag)] for tag in tags['images']},
}))
)";

std::string Python() { return MEDLEY_SOURCE_DIR "/.venv/bin/python "; }

json ReadEvents(const fs::path& run) {
  const ScratchDirectory scratch;
  WriteText(scratch / "read.py", kRead);
  const auto read = test::Shell(Python() + (scratch / "read.py").string() + " " +
                                (run / "tensorboard").string() + " 2>" + (scratch / "said").string());
  EXPECT_EQ(read.code, 0) << ReadText(scratch / "said");
  return json::parse(read.out);
}

RunConfig TensorboardConfig() {
  RunConfig config = TinyConfig(12);
  config.tensorboard = true;
  return config;
}

Ended TrainWithTensorboard(const fs::path& directory, const RunConfig& config) {
  SilentConsole console;
  const auto found = FindCheckpoint(directory, OnDamage::kSetAside, *console);
  const auto tiny = MakeTinyRun(config);
  TestTrainer trainer(*tiny, directory, *console, found);
  return TrainToTheEnd(trainer, console);
}

// The steps of a tag that are no times and no bytes, which differ from run to run.
json Repeatable(json events) {
  for (auto tag = events["scalars"].begin(); tag != events["scalars"].end();) {
    const bool measured = tag.key().starts_with("memory/") || tag.key().starts_with("speed/");
    tag = measured ? events["scalars"].erase(tag) : std::next(tag);
  }
  return events;
}

class TensorBoardRun : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::Shell(Python() + "-c 'import tensorboard' 2>&1").code != 0)
      GTEST_SKIP() << "the Python package tensorboard is not in .venv: tools/setup --tests";
  }
  ScratchDirectory scratch_;
};

TEST_F(TensorBoardRun, ShowsWhatTheMetricsSayAndTheSheets) {
  ASSERT_EQ(TrainWithTensorboard(scratch_.path(), TensorboardConfig()).code, ExitCode::kDone);
  const json events = ReadEvents(scratch_.path());
  const json& scalars = events.at("scalars");
  std::istringstream lines(ReadText(scratch_ / kMetricsLog));
  std::map<std::string, std::size_t> draws;
  for (std::string line; std::getline(lines, line);) {
    const json step = json::parse(line);
    for (const auto& [task, terms] : step.at("terms").items()) {
      const json& term = scalars.at("loss/" + task + "/answer").at(draws[task]++);
      EXPECT_EQ(term.at(0), step.at("step"));
      EXPECT_FLOAT_EQ(term.at(1), terms.at("answer").at("mean"));
    }
    const auto at = step.at("step").get<std::size_t>() - 1;
    EXPECT_FLOAT_EQ(scalars.at("optimizer/learning_rate").at(at).at(1), step.at("lr"));
    if (!step.contains("eval")) continue;
    for (const auto& [task, score] : step.at("eval").items()) {
      EXPECT_FLOAT_EQ(scalars.at("score/" + task).back().at(1), score.at("value"));
      EXPECT_EQ(events.at("images").at("sheet/" + task).back().at(0), 10);
    }
  }
  for (const char* tag : {"memory/now", "memory/peak", "speed/rows_per_second", "share/one", "share/three"})
    EXPECT_EQ(scalars.at(tag).size(), 12u) << tag;
  EXPECT_FALSE(scalars.contains("memory/planned")) << "nothing was planned";
}

TEST_F(TensorBoardRun, IsCutBackWhereTheRunIsResumed) {
  fs::create_directory(scratch_ / "whole");
  ASSERT_EQ(TrainWithTensorboard(scratch_ / "whole", TensorboardConfig()).code, ExitCode::kDone);
  fs::copy(scratch_ / "whole", scratch_ / "part", fs::copy_options::recursive);
  for (const CheckpointEntry& entry : ListCheckpoints(scratch_ / "part")) {
    if (entry.step > 7) fs::remove_all(entry.path);
  }
  ASSERT_EQ(TrainWithTensorboard(scratch_ / "part", TensorboardConfig()).code, ExitCode::kDone);
  EXPECT_EQ(Repeatable(ReadEvents(scratch_ / "part")), Repeatable(ReadEvents(scratch_ / "whole")));
}

TEST_F(TensorBoardRun, ADamagedFileIsSetAsideAndNeverStopsAResume) {
  RunConfig config = TensorboardConfig();
  ASSERT_EQ(TrainWithTensorboard(scratch_.path(), config).code, ExitCode::kDone);
  config.steps = 14;
  const auto resume_with = [&](const std::string& name, const std::function<void(const fs::path&)>& damage) {
    const fs::path copy = scratch_.path().string() + "-" + name;
    fs::copy(scratch_.path(), copy, fs::copy_options::recursive);
    damage(copy / kTensorBoardLog);
    const Ended ended = TrainWithTensorboard(copy, config);
    EXPECT_EQ(ended.code, ExitCode::kDone) << name << ": " << ended.error;
    EXPECT_EQ(ended.step, 14) << name;
    fs::remove_all(copy);
    return ended.words;
  };
  EXPECT_TRUE(Says(resume_with("flipped",
                               [](const fs::path& file) {
                                 std::string text = ReadText(file);
                                 text[100] ^= 1;
                                 WriteText(file, text);
                               }),
                   {"damaged-1"}));
  EXPECT_TRUE(
      Says(resume_with("short", [](const fs::path& file) { fs::resize_file(file, 10); }), {"damaged-1"}));
  resume_with("missing", [](const fs::path& file) { fs::remove_all(file.parent_path()); });
  EXPECT_TRUE(Says(resume_with("no directory",
                               [](const fs::path& file) {
                                 fs::remove_all(file.parent_path());
                                 WriteText(file.parent_path(), "in its place");
                               }),
                   {"writes nothing for TensorBoard"}));
}

TEST_F(TensorBoardRun, ChangesNothingOfTheRun) {
  RunConfig without = TensorboardConfig();
  without.tensorboard = false;
  fs::create_directory(scratch_ / "with");
  fs::create_directory(scratch_ / "without");
  TrainWithTensorboard(scratch_ / "with", TensorboardConfig());
  TrainWithTensorboard(scratch_ / "without", without);
  EXPECT_EQ(EndState(scratch_ / "with"), EndState(scratch_ / "without"));
  EXPECT_FALSE(fs::exists(scratch_ / "without/tensorboard"));
}

}  // namespace
}  // namespace medley::testing_fixture
