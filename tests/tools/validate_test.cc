#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

using test::CommandResult;
using test::Medley;
using test::Shell;

const std::string kConfigs = MEDLEY_SOURCE_DIR "/configs/";

CommandResult Validate(const std::string& arguments) {
  return Shell(Medley() + "validate " + arguments + " 2>&1");
}

TEST(Validate, ChecksEveryKindOfFileThatItsReadmeNames) {
  for (const std::string directory : {"gpus", "models", "weights"}) {
    for (const auto& entry : std::filesystem::directory_iterator(kConfigs + directory)) {
      if (entry.is_directory()) continue;  // of a published model
      const CommandResult result = Validate(entry.path().string());
      EXPECT_EQ(result.code, 0) << entry.path() << ": " << result.out;
      EXPECT_TRUE(result.out.starts_with("ok: ")) << result.out;
    }
  }
}

// A mode that the plan may not take is not named; nor are numbers that hang on rows of the plan.
TEST(Validate, SaysWhatOnlyThePlanKnows) {
  const std::string run = kConfigs + "runs/quickstart.json ";
  const auto line = [](const CommandResult& result, const std::string& task) {
    const std::size_t at = result.out.find("\n  " + task + " ");
    return at == std::string::npos ? result.out
                                   : result.out.substr(at + 1, result.out.find('\n', at + 1) - at - 1);
  };
  const auto ends = [&](const CommandResult& result, const std::string& task, const std::string& words) {
    EXPECT_TRUE(line(result, task).ends_with(words)) << line(result, task);
  };
  const CommandResult open = Validate(run + "tasks.zoom_gold.mode=joint");
  ends(open, "position_qa", " 5, planned");
  ends(open, "zoom_gold", " 2, joint (pinned)");
  ends(open, "control", " 1, sequential");  // with one pass there is no other
  EXPECT_NE(open.out.find("planned: the mode is chosen before the first step"), std::string::npos)
      << open.out;
  const CommandResult rows = Validate(run + "tasks.zoom_gold.rows=auto");
  ends(rows, "zoom_gold", " auto      500           -  2, planned");
  ends(rows, "zoom_agent", " 16     3000       48000  2, planned");  // weights in steps
  EXPECT_NE(rows.out.find("planned, auto: modes and rows are chosen"), std::string::npos) << rows.out;
  const ScratchDirectory scratch;
  WriteText(scratch / "rows.json", R"({"unit": "rows", "weights": {"zoom_gold": 1, "zoom_agent": 1}})");
  const CommandResult in_rows =
      Validate(run + "tasks.zoom_gold.rows=auto weights=" + (scratch / "rows.json").string());
  ends(in_rows, "zoom_agent", " 16        -           -  2, planned");
  const CommandResult off = Validate(run + "plan=false tasks.zoom_gold.mode=joint");
  ends(off, "position_qa", " 5, sequential");
  EXPECT_NE(off.out.find("Nothing is planned"), std::string::npos) << off.out;
}

// What it says is what a plan does, wherever it names a mode.
TEST(Validate, NamesNoModeThatThePlanDoesNotTake) {
  const std::string run =
      kConfigs + "runs/quickstart.json tasks.zoom_gold.mode=sequential threads=1 budget=1GiB";
  const auto validated = nlohmann::json::parse(Shell(Medley() + "validate " + run + " --json").out);
  const auto planned = nlohmann::json::parse(Shell(Medley() + "plan " + run + " --json 2>/dev/null").out);
  std::map<std::string, std::string> modes;
  for (const auto& task : planned.at("tasks")) modes[task.at("task")] = task.at("mode");
  int named = 0, open = 0;
  for (const auto& task : validated.at("run").at("stages").at(0).at("tasks")) {
    if (task.at("mode_by") == "plan") {
      ++open;
      continue;
    }
    ++named;
    EXPECT_EQ(task.at("mode"), modes.at(task.at("task"))) << task;
  }
  EXPECT_EQ(named, 2);
  EXPECT_EQ(open, 4);
}

TEST(Validate, DrawsStagesWithTheShortestAndTheLongestRun) {
  const ScratchDirectory scratch;
  const std::string file = (scratch / "stages.json").string();
  WriteText(file, R"({"$schema": "weights.schema.json", "stages": [
    {"name": "a", "weights": {"control": 1, "zoom_gold": 3}, "until": {"any": [{"score": "control", "at_most": 0.1}, {"steps": 400}]},
     "eval_every": 50, "cooldown": 10},
    {"name": "b", "weights": {"control": 1}, "ramp": {"draws": 20}, "until": {"rows": 160}}]})");
  const CommandResult alone = Validate(file);
  EXPECT_EQ(alone.code, 0) << alone.out;
  for (const char* words :
       {"1 a: until control at most 0.1 or 400 steps, then 10 to cool; 60 to 410 steps\n",
        "    control    25.0 %  ##########\n    zoom_gold  75.0 %  ##############################\n",
        "2 b: reached over 20 draws, until 160 rows; 10 steps\n", "the run takes 70 to 420 steps"})
    EXPECT_NE(alone.out.find(words), std::string::npos) << words << alone.out;
  const CommandResult run =
      Validate(kConfigs + "runs/quickstart.json steps=300 tasks.control.rows=32 weights=" + file);
  EXPECT_EQ(run.code, 0) << run.out;
  EXPECT_NE(
      run.out.find("-- 1 a: until control at most 0.1 or 400 steps, then 10 to cool; 60 to 300 steps\n"),
      std::string::npos)
      << run.out;
}

// What train would refuse, unless it is the file of a run that goes on.
TEST(Validate, ARampOfTheFirstStageIsARunsOwn) {
  const ScratchDirectory scratch;
  const std::string file = (scratch / "weights.json").string();
  WriteText(file, R"({"weights": {"control": 1}, "ramp": {"draws": 7}})");
  const CommandResult refused = Validate(file);
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_NE(refused.out.find("weights.json:1:37: ramp: the first stage has none"), std::string::npos)
      << refused.out;
  WriteText(scratch / "weights.jsonl", "");
  EXPECT_EQ(Validate(file).code, 0);
}

TEST(Validate, AWeightsFileNeedsNoSchemaToBeKnown) {
  const ScratchDirectory scratch;
  const std::string file = (scratch / "weights.json").string();
  for (const char* text :
       {R"({"weights": {"control": 1}})", R"({"stages": [{"name": "a", "weights": {"control": 1}}]})"}) {
    WriteText(file, text);
    const CommandResult result = Validate(file);
    EXPECT_EQ(result.code, 0) << result.out;
    EXPECT_TRUE(result.out.starts_with("ok: weights of 1 tasks")) << result.out;
  }
  WriteText(file, R"({"weights": {"control": -1}})");
  const CommandResult wrong = Validate(file);
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.out.find(file + ":1:25: weights.control: "), std::string::npos) << wrong.out;
}

TEST(Validate, KnowsTheIdsThatTrainRefuses) {
  const auto ids = [](const std::string& list) {
    return Validate(kConfigs + "runs/quickstart.json lora.rank=4 'lora.tokens=" + list + "'");
  };
  EXPECT_EQ(ids("[7,5]").code, 0);
  for (const auto& [list, words] : {std::pair{"[5,9999999]", "lora.tokens: expected ids below "},
                                    {"[5,9,5]", "lora.tokens: 5 stands twice"}}) {
    const CommandResult refused = ids(list);
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_NE(refused.out.find(words), std::string::npos) << refused.out;
  }
}

TEST(Validate, SaysWhatAGpuHasForTensors) {
  const CommandResult result = Validate(kConfigs + "gpus/rtx-3090.json");
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.out.find("'RTX 3090', 23.6 GiB, of them "), std::string::npos) << result.out;
}

TEST(Validate, AGpuFilesMistakesAreAGpusNotARuns) {
  const auto file = std::filesystem::temp_directory_path() / ("gpu-" + std::to_string(getpid()) + ".json");
  std::ofstream(file) << R"({"$schema": "anywhere/gpu.schema.json", "name": "a card", "memory": "8 gigs",
                             "context": "400 MiB", "worksace": "8 MiB"})";
  const CommandResult result = Validate(file.string());
  std::filesystem::remove(file);
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.out.find("worksace: unknown key; did you mean 'workspace'?"), std::string::npos)
      << result.out;
  EXPECT_EQ(result.out.find("tokenizer"), std::string::npos) << result.out;
}

TEST(Validate, AllMistakesOfARunsFilesComeAtOnceEachWithItsPlace) {
  const auto file = std::filesystem::temp_directory_path() / ("run-" + std::to_string(getpid()) + ".json");
  std::ofstream(file) << "{\n"
                         "  \"model\": \"" +
                             kConfigs +
                             "models/agent-tiny.json\",\n"
                             "  \"tokenizer\": \"nosuch.model\",\n"
                             "  \"weights\": \"" +
                             kConfigs +
                             "weights/quickstart.json\",\n"
                             "  \"control_text\": \"" +
                             kConfigs +
                             "texts/control.txt\",\n"
                             "  \"stesp\": 5,\n"
                             "  \"hours\": -1,\n"
                             "  \"tasks\": {\"contrl\": {\"rows\": 4}}\n"
                             "}\n";
  const CommandResult result = Validate(file.string() + " seed=x");
  std::filesystem::remove(file);
  EXPECT_EQ(result.code, 2);
  for (const std::string words :
       {":3:16: tokenizer: ", ":6:3: stesp: unknown key; did you mean 'steps'?",
        ":7:12: hours: ", ":8:13: tasks.contrl: no such task; did you mean 'control'?", "seed: "})
    EXPECT_NE(result.out.find(words), std::string::npos) << words << " is not in " << result.out;
}

TEST(Validate, ReplacesValuesOfRunConfigsOnly) {
  const CommandResult result = Validate(kConfigs + "gpus/h100.json steps=5");
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.out.find("'steps=5' replaces a value of a run config"), std::string::npos) << result.out;
}

// Many more threads than cores stop the machine.
TEST(Validate, MoreThreadsThanCoresAreAWarningAndManyMoreAnErrorAlsoInTrain) {
  const std::string run = kConfigs + "runs/quickstart.json threads=";
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  EXPECT_EQ(Validate(run + std::to_string(cores)).out.find("threads:"), std::string::npos);
  const CommandResult warned = Validate(run + std::to_string(4 * cores));
  EXPECT_EQ(warned.code, 0) << warned.out;
  EXPECT_NE(warned.out.find("warning: threads: " + std::to_string(4 * cores) + " on "), std::string::npos)
      << warned.out;
  const std::string train = Medley() + "train " + run + std::to_string(4 * cores + 1) + " --out ";
  const auto out = std::filesystem::temp_directory_path() / ("threads-" + std::to_string(getpid()));
  for (const CommandResult& refused : {Validate(run + "4096"), Validate(run + std::to_string(4 * cores + 1)),
                                       Shell(train + out.string() + " 2>&1")}) {
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_NE(refused.out.find("expected at most " + std::to_string(4 * cores)), std::string::npos)
        << refused.out;
  }
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace medley
