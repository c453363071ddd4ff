// What an author outside wrote (tests/kit/plugins): their tasks keep their promises, are learned, and say
// where their data are wrong.
#include <medley/testing/checks.h>

#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/plugin/test_files.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

using nlohmann::json;
using test::CommandResult;
using test::Has;
using testing::WriteBytes;

// Before the first tensor of the program.
const bool kInstalled = (InstallCpuAllocator(), true);

class Authors : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(kInstalled);
    setenv("XDG_CACHE_HOME", (work_ / "cache").c_str(), 1);
  }
  // A run of the task alone; on the tiny agent, or on the model of that kind.
  std::filesystem::path Config(const std::string& task, json of_task, const std::string& kind = "") const {
    const std::string configs = MEDLEY_SOURCE_DIR "/configs/";
    WriteBytes(work_ / "weights.json", json{{"weights", {{task, 1}}}}.dump());
    json run{{"weights", "weights.json"},
             {"steps", 200},
             {"threads", 1},
             {"budget", "1GiB"},
             {"eval", {{"rows", 200}}},
             {"tasks", {{task, std::move(of_task)}}},
             {"optimizer", {{"learning_rate", 3e-3}, {"warmup_steps", 10}}}};
    if (kind.empty()) {
      run["model"] = configs + "models/agent-tiny.json";
      run["tokenizer"] = configs + "tokenizers/small.model";
      run["control_text"] = configs + "texts/control.txt";
    } else {
      WriteBytes(work_ / "model.json", json{{"kind", kind}}.dump());
      run["model"] = "model.json";
    }
    WriteBytes(work_ / "run.json", run.dump());
    return work_ / "run.json";
  }
  check::Findings FindingsOf(const std::filesystem::path& config, const std::string& task) const {
    const check::Bench bench(config, {MEDLEY_AUTHORS_PLUGINS});
    return check::All(bench.Task(task), bench.model());
  }
  CommandResult Run(const std::string& words) const {
    return test::Shell(test::Medley() + words + " --plugin-path " MEDLEY_AUTHORS_PLUGINS " 2>&1");
  }
  // Trains and scores.
  json Score(const std::filesystem::path& config, const std::string& task) const {
    const std::string run = (work_ / "run").string();
    const CommandResult trained = Run("train " + config.string() + " --out " + run);
    EXPECT_EQ(trained.code, 0) << trained.out;
    const CommandResult scored = Run("eval " + run);
    EXPECT_EQ(scored.code, 0) << scored.out;
    return json::parse(testing::ReadBytes(work_ / "run/eval.json")).at("tasks").at(task);
  }
  json DateFiles() const {
    std::string train, validation;
    for (int day = 1; day <= 12; ++day) {
      const std::string two = (day < 10 ? "0" : "") + std::to_string(day);
      (day % 4 == 0 ? validation : train) +=
          json{{"text", std::to_string(day) + " March 2024"}, {"iso", "2024-03-" + two}}.dump() + "\n";
    }
    WriteBytes(work_ / "train.jsonl", train);
    WriteBytes(work_ / "validation.jsonl", validation);
    return {{"rows", 4}, {"options", {{"train", "train.jsonl"}, {"validation", "validation.jsonl"}}}};
  }

  // `each` points of every class, around a place of its own, from the `from`th on.
  static std::string PointsOf(const std::vector<std::string>& classes, int each, int from = 0) {
    std::string lines = "x,y,label\n";
    for (int i = from; i < from + each; ++i) {
      for (std::size_t c = 0; c < classes.size(); ++c)
        lines += std::to_string(static_cast<double>(c) - 0.001 * i) + "," +
                 std::to_string(static_cast<double>(c * c) + 0.002 * i) + "," + classes[c] + "\n";
    }
    return lines;
  }
  json Record(const std::string& run) const {
    return json::parse(testing::ReadBytes(work_ / run / "run.json"));
  }

  testing::TempDirectory work_;
};

TEST_F(Authors, DatesOfTwoFilesKeepWhatTheyPromise) {
  EXPECT_EQ(FindingsOf(Config("datenorm", DateFiles()), "datenorm"), check::Findings());
}

TEST_F(Authors, ALineOfAnotherKindIsToldWithFileLineAndKey) {
  const auto config = Config("datenorm", DateFiles());
  WriteBytes(work_ / "train.jsonl", "\n{\"text\": \"one\", \"iso\": 1}\n");
  const CommandResult trained =
      Run("train " + config.string() + " plan=false steps=2 --out " + (work_ / "run").string());
  EXPECT_EQ(trained.code, 2) << trained.out;
  EXPECT_TRUE(Has(trained.out, "train.jsonl:2: iso: expected a text, found 1")) << trained.out;
}

TEST_F(Authors, DiscsOfAnyNumberKeepWhatTheyPromise) {
  EXPECT_EQ(FindingsOf(Config("recallboxes", {{"rows", 4}}), "recallboxes"), check::Findings());
}

TEST_F(Authors, NumbersAndClassesOfASeriesKeepWhatTheyPromise) {
  for (const char* task : {"spring", "spring_class"})
    EXPECT_EQ(FindingsOf(Config(task, {{"rows", 16}}, "spring_net"), task), check::Findings()) << task;
}

TEST_F(Authors, NumbersOfASeriesAreLearned) {
  const auto config = Config("spring", {{"rows", 64}}, "spring_net");
  const json score = Score(config, "spring");
  EXPECT_GT(score.at("low"), 0.5) << score.dump(2);
  EXPECT_LE(score.at("high"), 1) << score.dump(2);
  EXPECT_EQ(score.at("chance"), 0);
  EXPECT_LT(score.at("figures").at("absolute error of frequency").at("value"), 0.1) << score.dump(2);
  const CommandResult estimate = Run("estimate " + config.string());
  EXPECT_EQ(estimate.code, 0) << estimate.out;
}

// A model whose file leaves its classes out has those of the training file; the run keeps their names.
TEST_F(Authors, ClassesAreThoseThatTheTrainingFileNames) {
  WriteBytes(work_ / "points.csv", PointsOf({"x", "10", "2"}, 10) + "9,9,x\n");
  WriteBytes(work_ / "test.csv", PointsOf({"x", "10", "2"}, 4, 8));
  const json options{{"data", "points.csv"}, {"validation", "test.csv"}};
  const auto config = Config("points", {{"rows", 8}, {"options", options}}, "point_net");
  EXPECT_EQ(FindingsOf(config, "points"), check::Findings());
  const auto train = [&](const std::string& run, const std::string& more) {
    return Run("train " + config.string() + " plan=false steps=3 --out " + (work_ / run).string() + " " +
               more);
  };
  const CommandResult trained = train("run", "eval.every=3");
  ASSERT_EQ(trained.code, 0) << trained.out;
  EXPECT_TRUE(Has(trained.out, "'points' is evaluated on 12 items of a file of their own, of which 6 stand"))
      << trained.out;
  EXPECT_EQ(Record("run").at("data_rules").at("classes"), (json{{"points", {"2", "10", "x"}}}));
  const CommandResult scored = Run("eval " + (work_ / "run").string());
  ASSERT_EQ(scored.code, 0) << scored.out;
  const json score = json::parse(testing::ReadBytes(work_ / "run/eval.json")).at("tasks").at("points");
  EXPECT_EQ(score.at("chance"), 1.0 / 3);
  EXPECT_EQ(score.at("trivial").at("most frequent class"), 4.0 / 12) << "training's, which is x";
  EXPECT_EQ(score.at("items"), 12);
  // So is each evaluation while it trains, by which a checkpoint is the best.
  const std::string steps = testing::ReadBytes(work_ / "run/metrics.jsonl");
  const json last = json::parse(steps.substr(steps.rfind('\n', steps.size() - 2) + 1));
  EXPECT_EQ(last.at("eval").at("points").at("items"), 12);

  // Each of two processes finds them in the file, and the model has as many in both.
  const CommandResult ranks =
      test::Shell(test::Medley() + "launch -n 2 -- " + test::Medley() + "train " + config.string() +
                  " plan=false steps=2 eval.every=2 --plugin-path " MEDLEY_AUTHORS_PLUGINS " --out " +
                  (work_ / "ranks").string() + " 2>&1");
  ASSERT_EQ(ranks.code, 0) << ranks.out;
  EXPECT_EQ(Record("ranks").at("data_rules"), Record("run").at("data_rules"));

  // Another file may lack some of them, and have no others.
  WriteBytes(work_ / "other.csv", "x,y,label\n0,0,10.0\n");
  const std::string other = " tasks.points.options.validation=" + (work_ / "other.csv").string();
  const CommandResult of_another =
      Run("eval " + (work_ / "run").string() + " --out " + (work_ / "other").string() + other);
  EXPECT_EQ(of_another.code, 0) << of_another.out;
  EXPECT_TRUE(Has(of_another.out, "'points' is evaluated on 1 item of a file of their own"))
      << of_another.out;
  WriteBytes(work_ / "other.csv", "x,y,label\n0,0,10\n0,0,3\n");
  const CommandResult refused = train("refused", other);
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "other.csv:3: label: '3' is none of the run's 3 classes.")) << refused.out;

  // A run from before names were kept may have had these: nothing of it is thrown away.
  json record = Record("ranks");
  record.at("data_rules").erase("classes");
  WriteBytes(work_ / "ranks/run.json", record.dump());
  const CommandResult whole = train("whole", "init_from.run=" + (work_ / "ranks").string());
  EXPECT_TRUE(Has(whole.out, "took 4 of 4 parameters")) << whole.out;

  WriteBytes(work_ / "points.csv", PointsOf({"x", "10", "2", "y"}, 10));
  const CommandResult grown = Run("resume " + (work_ / "run").string() + " --steps 5 --allow-changed " +
                                  (work_ / "points.csv").string());
  EXPECT_EQ(grown.code, 2) << grown.out;
  EXPECT_TRUE(Has(grown.out, "points.csv:5: label: 'y' is none of the run's 3 classes.")) << grown.out;
  const CommandResult next = train("next", "init_from.run=" + (work_ / "run").string());
  ASSERT_EQ(next.code, 0) << next.out;
  EXPECT_TRUE(Has(next.out, "took 2 of 4 parameters")) << next.out;
  EXPECT_TRUE(Has(next.out, "its classes are others, so these begin anew: head.bias, head.weight"))
      << next.out;

  WriteBytes(work_ / "other.csv", "x,y,label\n1,2,x\n3,4,x\n");
  const CommandResult one = train("one", "tasks.points.options.data=" + (work_ / "other.csv").string());
  EXPECT_EQ(one.code, 2) << one.out;
  EXPECT_TRUE(Has(one.out, "task 'points' has 1 class, and the model 'point_net' tells 2 to 1000 apart"))
      << one.out;

  WriteBytes(work_ / "model.json", R"({"kind": "point_net", "classes": 5})");
  const CommandResult said = train("said", "");
  EXPECT_EQ(said.code, 2) << said.out;
  EXPECT_TRUE(Has(said.out, "task 'points' has 4 classes, the model's \"classes\" is 5. Leave")) << said.out;
}

}  // namespace
}  // namespace medley
