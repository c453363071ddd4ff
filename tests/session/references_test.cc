// Runs whose passes ask further weights: as they begin, go on, are scored, exported and refused.
#include <gtest/gtest.h>
#include <medley/weights/safetensors.h>

#include <cmath>
#include <sstream>

#include "tests/report/silent_console.h"
#include "tests/session/session_runs.h"
#include "tests/sweep.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Ended;
using test::Has;
using test::Medley;
using test::Shell;

class ReferenceRuns : public ::testing::Test {
 protected:
  static constexpr const char* kPairs =
      R"("solver": {"kind": "preference", "rows": 4, "options": {"data": ")" MEDLEY_SOURCE_DIR
      R"(/configs/texts/pairs.jsonl", "text_width": 64}})";
  static constexpr const char* kChats =
      R"("student": {"rows": 3, "options": {"data": ")" MEDLEY_SOURCE_DIR
      R"(/configs/texts/talk.jsonl", "validation": ")" MEDLEY_SOURCE_DIR
      R"(/configs/texts/talk-validation.jsonl", "text_width": 128}, "terms": {"file": 1}})";

  // A run config of these tasks, each drawn as often as the others.
  void Write(const std::string& name, const std::string& tasks, const std::string& weights,
             const std::string& more = "") const {
    WriteText(scratch_ / (name + "-weights.json"), R"({"unit": "steps", "weights": {)" + weights + "}}");
    WriteText(scratch_ / (name + ".json"),
              R"({"model": ")" MEDLEY_SOURCE_DIR
              R"(/configs/models/agent-tiny.json", "tokenizer": ")" MEDLEY_SOURCE_DIR
              R"(/configs/tokenizers/small.model", "control_text": ")" MEDLEY_SOURCE_DIR
              R"(/configs/texts/control.txt", "weights": ")" +
                  (scratch_ / (name + "-weights.json")).string() +
                  R"(", "threads": 1, "seed": 3, "steps": 6, "plan": false, "eval": {"every": 3, "rows": 4},
                  "checkpoint": {"every": 2, "keep": 9},
                  "optimizer": {"learning_rate": 0.001, "warmup_steps": 0, "decay_fraction": 0},)" +
                  more + R"("tasks": {)" + tasks + "}}");
  }
  // For a command.
  static constexpr const char* kNamed =
      " --plugin-path " MEDLEY_BEYOND_PLUGINS " --plugin-path " MEDLEY_PLUGIN_FIXTURES "/fails_to_run ";
  static NamedPlugins Plugins() {
    return {.paths = {MEDLEY_BEYOND_PLUGINS, MEDLEY_PLUGIN_FIXTURES "/fails_to_run"}, .remember = false};
  }
  Ended Train(const std::string& name, const std::string& run, const std::string& overrides = "") const {
    return test::TrainToTheEnd({.config = scratch_ / (name + ".json"),
                                .overrides = test::Overrides(overrides),
                                .plugins = Plugins()},
                               scratch_ / run);
  }
  Ended Resume(const std::string& run, const std::string& overrides = "") const {
    return test::ResumeToTheEnd(scratch_ / run,
                                {.overrides = test::Overrides(overrides), .plugins = Plugins()});
  }
  std::vector<json> Metrics(const std::string& run) const {
    std::vector<json> lines;
    std::istringstream text(ReadText(scratch_ / run / "metrics.jsonl"));
    for (std::string line; std::getline(text, line);) {
      json parsed = json::parse(line);
      if (parsed.contains("draws")) lines.push_back(std::move(parsed));
    }
    return lines;
  }
  double FirstLoss(const std::string& run) const {
    return Metrics(run).at(0).at("terms").at("solver").at("preference").at("mean");
  }
  fs::path FileOf(const std::string& run, const std::string& reference) const {
    return scratch_ / run / "references" / (reference + ".safetensors");
  }
  ScratchDirectory scratch_;
};

struct Setting {
  const char* name;
  const char* overrides;
};
constexpr Setting kSettings[] = {
    {"plain", ""},
    {"planned", "plan=true"},
    {"bf16", "dtype=bf16"},
    {"fp16", "dtype=fp16"},
    {"eight_bits", "optimizer.moments=8bit"},
    {"adapters", "lora.rank=2"},
    {"several_draws", "draws_per_step=2"},
    {"hours", "hours=1"},
    {"phases",
     "steps=40 checkpoint.every=8 optimizer.average=0.9 phases.warmup_steps=4 phases.full_steps=8 "
     "phases.correct_steps=2 phases.allowance=0.9"},
};

// A pass of the weights of the beginning in one task, of an average of them in another.
TEST_F(ReferenceRuns, GoOnAsIfTheyHadNotStopped) {
  const std::string average = R"("references": {"teacher": {"of": "average", "decay": 0.9, "to": 1}},)";
  Write("both", std::string(kPairs) + "," + kChats, R"("solver": 1, "student": 1)", average);
  for (const Setting& setting :
       test::Slice<Setting>("ReferenceRuns", {std::begin(kSettings), std::end(kSettings)}, 2)) {
    SCOPED_TRACE(setting.name);
    const std::string run = setting.name;
    const Ended whole = Train("both", run, setting.overrides);
    ASSERT_EQ(whole.code, ExitCode::kDone) << whole.out;
    const auto end = test::EndState(scratch_ / run);
    const std::string start = ReadText(FileOf(run, "start"));
    EXPECT_FALSE(fs::exists(FileOf(run, "teacher"))) << "an average lies in the checkpoints";
    const auto checkpoints = ListCheckpoints(scratch_ / run);
    for (std::size_t i = 0; i + 1 < checkpoints.size(); ++i) fs::remove_all(checkpoints[i].path);
    const Ended resumed = Resume(run);
    ASSERT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
    EXPECT_EQ(test::EndState(scratch_ / run), end);
    EXPECT_EQ(ReadText(FileOf(run, "start")), start);
    EXPECT_NEAR(FirstLoss(run), std::log(2.0), 2e-3);
    if (run == "phases") {
      EXPECT_TRUE(Has(ReadText(scratch_ / run / "metrics.jsonl"), "\"jump"));
    }
  }
}

TEST_F(ReferenceRuns, KeepTheWeightsThatTrainingBeganWith) {
  Write("pairs", kPairs, R"("solver": 1)");
  ASSERT_EQ(Train("pairs", "sft", "tasks.solver.variant=simpo tasks.solver.terms.chosen=1 lora.rank=2").code,
            ExitCode::kDone);
  EXPECT_FALSE(fs::exists(scratch_ / "sft/references")) << "no pass asks for any";
  const std::string from = "init_from.run=" + (scratch_ / "sft").string();
  for (const std::string more : {"", " lora.rank=2"}) {
    const std::string run = "dpo" + std::to_string(more.size());
    const Ended done = Train("pairs", run, from + more);
    ASSERT_EQ(done.code, ExitCode::kDone) << done.out;
    EXPECT_NEAR(FirstLoss(run), std::log(2.0), 1e-5);
    EXPECT_GT(std::abs(Metrics(run).back().at("terms").at("solver").at("margin").at("mean").get<double>()),
              1e-5);
    const auto start = ReadSafetensors(FileOf(run, "start"));
    const auto newest = ReadSafetensors(ListCheckpoints(scratch_ / run).at(0).path / "model.safetensors");
    EXPECT_EQ(start.size() < newest.size(), !more.empty()) << "the base of adapters is the model's";
    for (const auto& [name, tensor] : start) {
      if (more.empty()) continue;
      EXPECT_TRUE(at::equal(
          tensor,
          ReadSafetensors(ListCheckpoints(scratch_ / "sft").at(0).path / "model.safetensors").at(name)))
          << name;
    }
  }
}

// Another task's failure costs none of it.
TEST_F(ReferenceRuns, OutliveATaskThatFails) {
  Write("drop", kPairs, R"("solver": 1, "fails_to_run": 1)");
  const Ended done = Train("drop", "run", "on_task_error=drop eval.every=0");
  ASSERT_EQ(done.code, ExitCode::kSomethingDropped) << done.out;
  EXPECT_TRUE(Has(done.out, "dropped: fails_to_run")) << done.out;
  EXPECT_NEAR(FirstLoss("run"), std::log(2.0), 1e-5);
  const auto end = test::EndState(scratch_ / "run");
  fs::remove_all(ListCheckpoints(scratch_ / "run").at(0).path);
  EXPECT_EQ(Resume("run").code, ExitCode::kSomethingDropped);
  EXPECT_EQ(test::EndState(scratch_ / "run"), end);
}

TEST_F(ReferenceRuns, AreScoredWithTheirOwnWeights) {
  Write("pairs", kPairs, R"("solver": 1)");
  ASSERT_EQ(Train("pairs", "run").code, ExitCode::kDone);
  const auto scored = Shell(Medley() + "eval " + (scratch_ / "run").string() + kNamed + " --json 2>" +
                            (scratch_ / "words").string());
  ASSERT_EQ(scored.code, 0) << ReadText(scratch_ / "words");
  EXPECT_EQ(json::parse(scored.out).at("tasks").at("solver").at("loss"),
            Metrics("run").back().at("eval").at("solver").at("loss"));
}

TEST_F(ReferenceRuns, GoBackWithTheirAverages) {
  Write("chats", kChats, R"("student": 1)", R"("references": {"teacher": {"of": "average", "decay": 0.5}},)");
  ASSERT_EQ(Train("chats", "run").code, ExitCode::kDone);
  const auto end = test::EndState(scratch_ / "run");
  ResumeRequest from_there{.plugins = Plugins()};
  from_there.from = 2;
  const Ended back = test::ResumeToTheEnd(scratch_ / "run", from_there);
  ASSERT_EQ(back.code, ExitCode::kDone) << back.out;
  EXPECT_EQ(test::EndState(scratch_ / "run"), end);
  std::size_t averages = 0;
  const fs::path newest = ListCheckpoints(scratch_ / "run").at(0).path;
  for (const auto& [name, tensor] : ReadSafetensors(newest / "optim.safetensors"))
    averages += name.ends_with(".reference.teacher") ? 1 : 0;
  EXPECT_EQ(averages, ReadSafetensors(newest / "model.safetensors").size());
  const auto out = Shell(Medley() + "export " + (scratch_ / "run").string() + kNamed + " --out " +
                         (scratch_ / "out").string() + " 2>&1");
  ASSERT_EQ(out.code, 0) << out.out;
  for (const auto& entry : fs::recursive_directory_iterator(scratch_ / "out"))
    EXPECT_FALSE(entry.path().extension() == ".safetensors" && Has(ReadText(entry.path()), ".reference."))
        << entry;
}

// The same averages whatever memory, micro-batches and processes do to a step.
TEST_F(ReferenceRuns, FollowStepsAndNotTries) {
  Write("chats", kChats, R"("student": 1)", R"("references": {"teacher": {"of": "average", "decay": 0.5}},)");
  std::vector<double> losses;
  for (const std::string micro_rows : {"0", "1", "2"}) {
    const std::string run = "rows" + micro_rows;
    ASSERT_EQ(Train("chats", run, "tasks.student.micro_rows=" + micro_rows).code, ExitCode::kDone);
    losses.push_back(Metrics(run).back().at("terms").at("student").at("learn").at("mean"));
    EXPECT_NEAR(losses.back(), losses.front(), 2e-3 * losses.front());
  }
}

TEST_F(ReferenceRuns, CountWhatTheyTake) {
  Write("both", std::string(kPairs) + "," + kChats, R"("solver": 1, "student": 1)",
        R"("references": {"teacher": {"of": "average"}},)");
  const Ended done = Train("both", "run", "plan=true budget=512MiB steps=6");
  ASSERT_EQ(done.code, ExitCode::kDone) << done.out;
  const json plan = json::parse(ReadText(scratch_ / "run/plan.json"));
  const std::int64_t weights = plan.at("floor").at("weights"), references = plan.at("floor").at("references");
  EXPECT_GE(references, 2 * weights) << "two whole models";
  EXPECT_LT(references, 3 * weights) << "and their tables";
  const json receipt = json::parse(ReadText(scratch_ / "run/receipt.json"));
  EXPECT_EQ(receipt.at("under_estimates"), 0) << receipt;
  EXPECT_EQ(receipt.at("overflows"), 0) << receipt;
  const auto estimated = Shell(Medley() + "estimate " + (scratch_ / "both.json").string() +
                               " --json --plugin-path " MEDLEY_BEYOND_PLUGINS " 2>&1");
  EXPECT_EQ(estimated.code, 0) << estimated.out;
  EXPECT_TRUE(Has(estimated.out, "\"references\": " + std::to_string(references) + ",")) << references;
}

TEST_F(ReferenceRuns, AreRefusedInASentence) {
  struct Refused {
    std::string tasks, weights, more, overrides;
    std::vector<std::string> words;
  };
  const std::string student = kChats, one = R"("student": 1)";
  const std::vector<Refused> all = {
      {student,
       one,
       "",
       "",
       {"references: ", "the task 'student' asks for the reference 'teacher'; add references.teacher"}},
      {student,
       one,
       R"("references": {"teacher": {"of": "average"}, "target": {"of": "average"}},)",
       "",
       {"references.target: no task of the weights file asks for it"}},
      {student,
       one,
       R"("references": {"teacher": {"of": "average"}, "start": {"of": "average"}},)",
       "",
       {"references.start: is the weights as training finds them", "choose another name"}},
      {student,
       one,
       R"("references": {"teacher": {"of": "average", "decay": 1.5}},)",
       "",
       {"references.teacher.decay: expected", "1.5"}},
      {student,
       one,
       R"("references": {"teacher": {"of": "average", "run": "runs/a"}},)",
       "",
       {"references.teacher.run: is of \"run\" alone"}},
      {student, one, R"("references": {"teacher": {"of": "run"}},)", "", {"references.teacher: lacks run"}},
      {student,
       one,
       R"("references": {"teacher": {"of": "yesterday"}},)",
       "",
       {"references.teacher.of: expected"}},
      {student,
       one,
       R"("references": {"teacher": {"of": "run", "run": "/nowhere/at/all"}},)",
       "",
       {"references.teacher.run: ", "/nowhere/at/all"}},
  };
  for (const Refused& refused : all) {
    Write("wrong", refused.tasks, refused.weights, refused.more);
    const Ended end = Train("wrong", "wrong", refused.overrides);
    EXPECT_EQ(end.code, ExitCode::kBadInput) << end.out;
    for (const std::string& words : refused.words)
      EXPECT_TRUE(Has(end.out, words)) << words << "\nin\n" << end.out;
    EXPECT_FALSE(fs::exists(scratch_ / "wrong"));
  }
}

TEST_F(ReferenceRuns, RefuseWhatIsNoLongerWhatItWas) {
  Write("pairs", kPairs, R"("solver": 1)");
  const std::string frozen = "optimizer.groups=[{\"match\":\"img_*\",\"frozen\":true}]";
  ASSERT_EQ(Train("pairs", "run", "steps=4 " + frozen).code, ExitCode::kDone);
  const std::string start = ReadText(FileOf("run", "start"));
  const Ended thawed = Resume("run", "steps=6 optimizer.groups=[]");
  EXPECT_EQ(thawed.code, ExitCode::kBadInput);
  EXPECT_TRUE(Has(thawed.out, "the reference 'start' was kept without 'img_")) << thawed.out;
  EXPECT_TRUE(Has(thawed.out, "begin a new run with init_from")) << thawed.out;
  std::string damaged = start;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  WriteText(FileOf("run", "start"), damaged);
  const auto scored = Shell(Medley() + "eval " + (scratch_ / "run").string() + kNamed + " 2>&1");
  EXPECT_NE(scored.code, 0) << scored.out;
  EXPECT_TRUE(Has(scored.out, "start.safetensors is not what run.json says")) << scored.out;
  const Ended changed = Resume("run", "steps=6");
  EXPECT_EQ(changed.code, ExitCode::kBadInput);
  EXPECT_TRUE(Has(changed.out, "start.safetensors is not what run.json says")) << changed.out;
  fs::remove(FileOf("run", "start"));
  EXPECT_EQ(Resume("run", "steps=6").code, ExitCode::kBadInput);
  WriteText(FileOf("run", "start"), start);
  EXPECT_EQ(Resume("run", "steps=6").code, ExitCode::kDone);
}

// A model of other widths, and a run whose checkpoints nobody scored.
TEST_F(ReferenceRuns, RefuseAnotherModelsRun) {
  Write("pairs", kPairs, R"("solver": 1)");
  json deeper = json::parse(ReadText(MEDLEY_SOURCE_DIR "/configs/models/agent-tiny.json"));
  deeper["language"]["layers"] = deeper.at("language").at("layers").get<int>() + 1;
  WriteText(scratch_ / "deeper.json", deeper.dump());
  const std::string few = "tasks.solver.variant=simpo steps=2 eval.every=0 ";
  ASSERT_EQ(Train("pairs", "wide", few + "model=" + (scratch_ / "deeper.json").string()).code,
            ExitCode::kDone);
  ASSERT_EQ(Train("pairs", "same", few).code, ExitCode::kDone);
  const auto of = [&](const std::string& run, const std::string& more) {
    Write("chats", kChats, R"("student": 1)",
          R"("references": {"teacher": {"of": "run", "run": ")" + (scratch_ / run).string() + "\"" + more +
              "}},");
    return Train("chats", "student-of-" + run);
  };
  json turned = json::parse(ReadText(MEDLEY_SOURCE_DIR "/configs/models/agent-tiny.json"));
  turned["language"]["rope_base"] = 100;
  WriteText(scratch_ / "turned.json", turned.dump());
  ASSERT_EQ(Train("pairs", "turned", few + "model=" + (scratch_ / "turned.json").string()).code,
            ExitCode::kDone);
  const Ended values = of("turned", "");
  EXPECT_EQ(values.code, ExitCode::kBadInput);
  EXPECT_TRUE(Has(values.out, "is of another model")) << values.out;
  EXPECT_TRUE(Has(values.out, "turned.json has other values than")) << values.out;
  json record = json::parse(ReadText(scratch_ / "same/run.json"));
  const std::string own = record.dump();
  record["tokenizer_hash"] = "another";
  WriteText(scratch_ / "same/run.json", record.dump());
  const Ended words = of("same", "");
  EXPECT_EQ(words.code, ExitCode::kBadInput);
  EXPECT_TRUE(Has(words.out, "reads another vocabulary (its hash is another")) << words.out;
  WriteText(scratch_ / "same/run.json", own);
  const Ended other = of("wide", "");
  EXPECT_EQ(other.code, ExitCode::kBadInput);
  EXPECT_TRUE(Has(other.out, "is of another model")) << other.out;
  const Ended unscored = of("same", R"(, "weights": "best")");
  EXPECT_EQ(unscored.code, ExitCode::kBadInput);
  EXPECT_TRUE(Has(unscored.out, "was evaluated, so none is the best")) << unscored.out;
  const Ended good = of("same", "");
  EXPECT_EQ(good.code, ExitCode::kDone) << good.out;
  fs::remove_all(scratch_ / "same");
  const Ended again =
      test::ReplayToTheEnd(scratch_ / "student-of-same",
                           {.config = scratch_ / "chats.json", .plugins = Plugins()}, scratch_ / "again");
  EXPECT_EQ(again.code, ExitCode::kDone) << again.out;
  EXPECT_EQ(Metrics("again"), Metrics("student-of-same"));
  EXPECT_EQ(ReadText(FileOf("again", "teacher")), ReadText(FileOf("student-of-same", "teacher")));
  EXPECT_EQ(Resume("student-of-same", "steps=8").code, ExitCode::kDone);
}

// An edit may bring a task whose weights nobody kept.
TEST_F(ReferenceRuns, AnEditBringsNoTaskWhoseWeightsNobodyKept) {
  Write("late", std::string(kPairs) + R"(, "control": {"rows": 2})", R"("control": 1)");
  test::SilentConsole console;
  Session session = Session::Begin({.config = scratch_ / "late.json"}, scratch_ / "run", *console);
  session.Train(2);
  try {
    session.Edit(R"({"unit": "steps", "weights": {"control": 1, "solver": 1}})");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_TRUE(
        Has(error.what(), "the task 'solver' asks for the reference 'start', which the run has not kept"))
        << error.what();
  }
}

}  // namespace
}  // namespace medley
