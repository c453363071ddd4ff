// The verbs that train and use a model, as a user calls them, on a small run of the shipped tasks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <thread>

#include <medley/base/version.h>
#include <medley/checkpoint/checkpoint_files.h>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Medley;
using test::Shell;

// Its sizes are those that it names, and measured only where `more` says plan=true.
std::string TrainOneCommand(const fs::path& out, const std::string& more,
                            const std::string& output = "2>&1") {
  std::string command = Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out " +
                        out.string() + " threads=1 seed=5";
  for (const char* task :
       {"control", "arrow_to_gold", "position_qa", "zoom_agent", "zoom_gold", "zoom_halfway"}) {
    command += " tasks." + std::string(task) + ".rows=2";
  }
  if (more.find("plan=") == std::string::npos) command += " plan=false";
  return command + " " + more + " " + output;
}

std::map<std::string, std::string> EndState(const fs::path& run) {
  const fs::path checkpoint = ListCheckpoints(run).at(0).path;
  std::map<std::string, std::string> state = {{"step", checkpoint.filename()}};
  for (const char* name : {"model.safetensors", "optim.safetensors"})
    state[name] = HashText(ReadText(checkpoint / name));
  auto sections = nlohmann::ordered_json::parse(ReadText(checkpoint / "state.json"));
  sections.erase("receipt");  // measured, so not the same in every run
  state["state.json"] = HashText(sections.dump());
  state["metrics"] = HashText(ReadText(run / "metrics.jsonl"));
  return state;
}

// A folder with the libraries of a libtorch for the CPU, and its path: another one than medley was built for.
std::string TorchWithoutCuda(const fs::path& folder) {
  fs::create_directories(folder);
  for (const char* name : {"libtorch_cpu.so", "libc10.so", "libgomp.so.1"}) {
    const fs::path library = TorchLibraryDirectory() / name;
    if (fs::exists(library) && !fs::exists(folder / name)) fs::create_symlink(library, folder / name);
  }
  return folder.string();
}

// Starts a command line in the background; `exec` makes the process the command itself.
pid_t Start(const std::string& command) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::unsetenv("MEDLEY_STARTER");  // it is to be the process that gets the signals
    ::execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
    ::_exit(127);
  }
  return child;
}

int Wait(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool WaitFor(const std::function<bool()>& condition) {
  for (int i = 0; i < 1200; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

bool Says(const fs::path& log, const std::string& words) {
  return ReadText(log).find(words) != std::string::npos;
}

// The plan is a line and its tables a file; of six tasks that were scored the verdict, then what comes next.
void ExpectTheAnswerFirstAndLast(const fs::path& run, const std::string& said) {
  EXPECT_TRUE(std::regex_search(
      said, std::regex("^(warning: [^\n]*\n)?measuring what [^\n]*\n(measuring [^\n]*\n)*plan: 6 "
                       "tasks, joint or sequential, 2 rows a draw, at most ")))
      << said;
  for (const char* file : {"plan.txt", "log.txt"}) {
    const std::string text = ReadText(run / file);
    for (const char* words : {"predicted peak", "saved for the backward", "zoom_halfway"})
      EXPECT_NE(text.find(words), std::string::npos) << words << " in " << file;
  }
  for (const char* words : {"predicted peak", "share error", " measured steps", " moments"})
    EXPECT_EQ(said.find(words), std::string::npos) << words << " in " << said;
  EXPECT_TRUE(std::regex_search(
      said, std::regex("\n[0-6] of 6 tasks are clear of chance and of all that needs no "
                       "learning[^]*, after step 6\nnext:\n  medley report " +
                       run.string() + "\\s[^]*\n  medley eval " + run.string() + "\\s[^]*\n  medley resume " +
                       run.string() + " --steps 12\\s+trains on\n$")))
      << said;
}

TEST(RunCommand, TrainsEvaluatesGeneratesAndLeavesWhatItPromises) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  const CommandResult trained =
      Shell(TrainOneCommand(run, "plan=true steps=6 eval.every=3 eval.rows=4 checkpoint.every=2"));
  ASSERT_EQ(trained.code, 0) << trained.out;
  ExpectTheAnswerFirstAndLast(run, trained.out);
  EXPECT_EQ(trained.out.find('\r'), std::string::npos);  // not a terminal
  EXPECT_EQ(trained.out.find('\x1b'), std::string::npos);
  for (const char* name : {"config.resolved.json", "run.json", "metrics.jsonl", "timing.jsonl", "losses.csv",
                           "log.txt", "LATEST"}) {
    EXPECT_TRUE(fs::exists(run / name)) << name;
  }
  EXPECT_EQ(ReadText(run / "LATEST"), "step-00000006\n");
  int evaluations = 0;
  std::ifstream metrics(run / "metrics.jsonl");
  for (std::string line; std::getline(metrics, line);) {
    const auto step = nlohmann::json::parse(line);
    if (!step.contains("eval")) continue;
    ++evaluations;
    EXPECT_EQ(step.at("eval").size(), 6u);
    for (const auto& [task, score] : step.at("eval").items()) {
      EXPECT_LE(score.at("low"), score.at("value")) << task;
      EXPECT_LE(score.at("value"), score.at("high")) << task;
    }
  }
  EXPECT_EQ(evaluations, 2);

  const CommandResult scored = Shell(Medley() + "eval " + run.string() + " --rows 8");
  ASSERT_EQ(scored.code, 0) << scored.out;
  const auto scores = nlohmann::json::parse(ReadText(run / "eval.json")).at("tasks");
  EXPECT_EQ(scores.size(), 6u);
  EXPECT_EQ(scores.at("position_qa").at("better"), "higher");
  EXPECT_EQ(scores.at("position_qa").at("chance"), 0.5);
  EXPECT_EQ(scores.at("control").at("trivial").size(), 1u);
  for (const auto& [task, score] : scores.items()) {
    EXPECT_EQ(score.at("rows"), 8) << task;
    EXPECT_LE(score.at("low"), score.at("value")) << task;
    EXPECT_LE(score.at("value"), score.at("high")) << task;
    EXPECT_TRUE(fs::exists(run / ("sheet-" + task + ".png"))) << task;
    EXPECT_EQ(fs::exists(run / ("sheet-" + task + ".txt")), task == "position_qa") << task;
  }

  ASSERT_EQ(Shell(Medley() + "sample zoom_gold --rows 2 --out " + (scratch / "s.png").string() +
                  " --pictures " + (scratch / "p").string())
                .code,
            0);
  const std::string generate =
      Medley() + "generate " + run.string() + " --prompt 'Zoom in on the gold.' --image ";
  EXPECT_EQ(
      Shell(generate + (scratch / "p/image-1.png").string() + " --out " + (scratch / "g.png").string()).code,
      0);
  EXPECT_TRUE(fs::exists(scratch / "g.png"));
  // What a GPU trained is used without one, and the other way round.
  for (const std::string& command : {Medley() + "eval " + run.string() + " --rows 1",
                                     generate + (scratch / "p/image-1.png").string() + " --tokens 1"}) {
    EXPECT_EQ(Shell("cd " + run.string() + " && sed -i '/\"device\":/s/cpu/cuda/' config.resolved.json; " +
                    command + " --device cpu")
                  .code,
              0);
    const CommandResult on_gpu =
        Shell("LD_LIBRARY_PATH=" + TorchWithoutCuda(scratch / "torch") + " " + command + " 2>&1");
    EXPECT_EQ(on_gpu.code, 2) << command;
    EXPECT_NE(on_gpu.out.find((scratch / "torch").string() + ", has no libtorch_cuda.so"), std::string::npos)
        << on_gpu.out;
    EXPECT_EQ(Shell(command + " --device tpu 2>/dev/null").code, 2);
  }
  const CommandResult refused =
      Shell(generate + MEDLEY_SOURCE_DIR "/tests/fuzz/corpus/jpeg/turned.jpg --device cpu 2>&1");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.out.find("turned.jpg has 10 x 18 pixels, this model looks at 128 x 128"),
            std::string::npos)
      << refused.out;
}

TEST(RunCommand, ASampleMarksWhatIsLearned) {
  const ScratchDirectory scratch;
  const CommandResult sample =
      Shell(Medley() + "sample position_qa --rows 3 --out " + (scratch / "s.png").string());
  ASSERT_EQ(sample.code, 0);
  EXPECT_TRUE(fs::exists(scratch / "s.png"));
  EXPECT_EQ(Shell(Medley() + "sample position_qa --rows 1 --out " + (scratch / "sheet.2").string()).code, 0);
  EXPECT_TRUE(fs::exists(scratch / "sheet.2.png"));
  EXPECT_NE(sample.out.find("pass gold_side"), std::string::npos);
  EXPECT_NE(sample.out.find("<eos>]"), std::string::npos) << sample.out;
  EXPECT_EQ(Shell(Medley() + "sample nosuch 2>&1").code, 2);
  EXPECT_EQ(Shell(Medley() + "sample control --variant nosuch 2>&1").code, 2);
}

// A change of the corpus or of a task's texts needs the command run again, and the runs that used the old
// ids.
TEST(RunCommand, TheShippedTokenizerIsWhatTheCommandMakes) {
  const ScratchDirectory scratch;
  const CommandResult trained =
      Shell(Medley() + "tokenizer train --corpus " MEDLEY_SOURCE_DIR "/configs/texts/corpus.txt --out " +
            (scratch / "again.model").string() + " 2>&1");
  ASSERT_EQ(trained.code, 0) << trained.out;
  EXPECT_EQ(HashText(ReadText(scratch / "again.model")),
            HashText(ReadText(MEDLEY_SOURCE_DIR "/configs/tokenizers/small.model")));
}

TEST(TokenizerCommand, LearnsFromTheTasksThatAreNamed) {
  const ScratchDirectory scratch;
  const std::string train = Medley() + "tokenizer train --vocab 320 --out " + (scratch / "a.model").string();
  const CommandResult one = Shell(train + " --task position_qa 2>&1");
  EXPECT_EQ(one.code, 0) << one.out;
  EXPECT_NE(one.out.find(" texts of 1 tasks"), std::string::npos) << one.out;
  const CommandResult unknown = Shell(train + " --force --task positon_qa 2>&1");
  EXPECT_EQ(unknown.code, 2) << unknown.out;
  EXPECT_NE(unknown.out.find("no such task: 'positon_qa'"), std::string::npos) << unknown.out;
}

TEST(RunCommand, KilledAndInterruptedRunsResumeToTheSameEnd) {
  const ScratchDirectory scratch;
  const std::string settings = "steps=16 checkpoint.every=2 eval.every=4 eval.rows=2";
  ASSERT_EQ(Shell(TrainOneCommand(scratch / "whole", settings)).code, 0);
  const auto expected = EndState(scratch / "whole");
  for (const int signal : {SIGKILL, SIGINT}) {
    const fs::path run = scratch / ("run" + std::to_string(signal));
    const pid_t child = Start(TrainOneCommand(run, settings) + " >/dev/null");
    ASSERT_TRUE(WaitFor([&] { return Says(run / "log.txt", "saved step 4"); }));
    ::kill(child, signal);
    EXPECT_EQ(Wait(child), signal == SIGKILL ? 128 + SIGKILL : 130);
    const CommandResult resumed = Shell(Medley() + "resume " + run.string() + " 2>&1");
    EXPECT_EQ(resumed.code, 0) << resumed.out;
    EXPECT_NE(resumed.out.find("restored step"), std::string::npos) << resumed.out;
    EXPECT_EQ(resumed.out.find("stale") != std::string::npos, signal == SIGKILL) << resumed.out;
    EXPECT_EQ(EndState(run), expected);
  }
}

TEST(RunCommand, ASecondProcessAndASecondRunAreRefused) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  const pid_t child = Start(TrainOneCommand(run, "steps=100000") + " >/dev/null");
  ASSERT_TRUE(
      WaitFor([&] { return fs::exists(run / "metrics.jsonl") && fs::file_size(run / "metrics.jsonl") > 0; }));
  const std::string holder = "in use by process " + std::to_string(child);
  const CommandResult train = Shell(TrainOneCommand(run, "")),
                      resume = Shell(Medley() + "resume " + run.string() + " 2>&1");
  EXPECT_EQ(train.code, 2);
  EXPECT_NE(train.out.find(holder), std::string::npos) << train.out;
  EXPECT_EQ(resume.code, 2);
  EXPECT_NE(resume.out.find(holder), std::string::npos) << resume.out;
  ::kill(child, SIGTERM);
  EXPECT_EQ(Wait(child), 130);
  const CommandResult again = Shell(TrainOneCommand(run, ""));
  EXPECT_EQ(again.code, 2);
  EXPECT_NE(again.out.find("medley resume"), std::string::npos) << again.out;
}

// The ends that a terminal brings. Whoever read the lines is gone before the signal comes.
TEST(RunCommand, AClosedPipeCostsTheLinesAndAHangupIsSaved) {
  const ScratchDirectory scratch;
  for (const int signal : {0, SIGINT, SIGHUP}) {
    const fs::path run = scratch / ("run" + std::to_string(signal)),
                   pipe = scratch / ("p" + run.filename().string());
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    const pid_t child = Start(
        TrainOneCommand(run, signal == 0 ? "steps=6 checkpoint.every=2" : "steps=100000 checkpoint.every=2",
                        ">" + pipe.string() + " 2>&1"));
    ASSERT_TRUE(WaitFor([&] { return Says(run / "log.txt", "saved step 2"); }));
    ::close(reader);
    if (signal != 0) {
      ASSERT_TRUE(WaitFor([&] { return Says(run / "log.txt", "saved step 6"); }));
      ::kill(child, signal);
    }
    EXPECT_EQ(Wait(child), signal == 0 ? 0 : 130);
    std::ifstream lines(run / "metrics.jsonl");
    const auto steps = std::count(std::istreambuf_iterator<char>(lines), {}, '\n');
    EXPECT_EQ(ListCheckpoints(run).at(0).step, steps);
  }
}

TEST(RunCommand, ANohupRunSurvivesTheHangup) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  const pid_t child = Start("env --ignore-signal=HUP " +
                            TrainOneCommand(run, "steps=8 checkpoint.every=2", ">/dev/null 2>&1"));
  ASSERT_TRUE(WaitFor([&] { return Says(run / "log.txt", "saved step 2"); }));
  ::kill(child, SIGHUP);
  EXPECT_EQ(Wait(child), 0);
}

TEST(RunCommand, AResumeWhoseCheckpointsAreGoneIsRefusedAndChangesNothing) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  ASSERT_EQ(Shell(TrainOneCommand(run, "steps=4 checkpoint.every=2")).code, 0);
  const std::string metrics = ReadText(run / "metrics.jsonl");
  for (const CheckpointEntry& entry : ListCheckpoints(run)) fs::remove_all(entry.path);
  const CommandResult resumed = Shell(Medley() + "resume " + run.string() + " --steps 6 2>&1");
  EXPECT_EQ(resumed.code, 2);
  EXPECT_NE(resumed.out.find("LATEST says that step-00000004 was saved"), std::string::npos) << resumed.out;
  EXPECT_EQ(ReadText(run / "metrics.jsonl"), metrics);
  fs::remove(run / "LATEST");  // as the words say
  EXPECT_EQ(Shell(Medley() + "resume " + run.string() + " --steps 6 2>&1").code, 0);
}

TEST(RunCommand, DamagedCheckpointsAreNamedAndTheOlderOneIsUsed) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  ASSERT_EQ(Shell(TrainOneCommand(run, "steps=6 checkpoint.every=2 checkpoint.keep=5")).code, 0);
  const auto expected = EndState(run);
  std::string model = ReadText(run / "step-00000006/model.safetensors");
  model[model.size() / 2] ^= 16;
  WriteText(run / "step-00000006/model.safetensors", model);
  fs::remove(run / "step-00000004/state.json");
  const CommandResult resumed = Shell(Medley() + "resume " + run.string() + " 2>&1");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_NE(resumed.out.find("step-00000006/model.safetensors was damaged"), std::string::npos)
      << resumed.out;
  EXPECT_NE(resumed.out.find("step-00000004/state.json is missing"), std::string::npos) << resumed.out;
  EXPECT_NE(resumed.out.find("restored step 2"), std::string::npos) << resumed.out;
  EXPECT_EQ(EndState(run), expected);
}

// ulimit -f stands in for a full disk: blocks of 1 KiB, enough for the logs and not for the weights.
TEST(RunCommand, AFullDiskEndsTheRunOnlyAfterThreeFailedSaves) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  ASSERT_EQ(Shell(TrainOneCommand(run, "steps=2 checkpoint.every=2")).code, 0);
  const CommandResult full =
      Shell("bash -c 'ulimit -f 200; " + Medley() + "resume " + run.string() + " --steps 50' 2>&1");
  EXPECT_EQ(full.code, 1) << full.out;
  EXPECT_NE(full.out.find("step 4 was not saved"), std::string::npos) << full.out;
  EXPECT_NE(full.out.find("step 6 was not saved"), std::string::npos) << full.out;
  EXPECT_NE(full.out.find("File too large"), std::string::npos) << full.out;
  EXPECT_EQ(ListCheckpoints(run).at(0).step, 2);
  EXPECT_EQ(Shell(Medley() + "resume " + run.string() + " --steps 4 2>&1").code, 0);
}

TEST(RunCommand, AChangedModelConfigIsRefusedAtAResume) {
  const ScratchDirectory scratch;
  const fs::path model = scratch / "model.json";
  fs::copy(MEDLEY_SOURCE_DIR "/configs/models/agent-tiny.json", model);
  const fs::path run = scratch / "run";
  ASSERT_EQ(Shell(TrainOneCommand(run, "steps=1 model=" + model.string())).code, 0);
  WriteText(model, ReadText(model) + "\n");
  const CommandResult resumed = Shell(Medley() + "resume " + run.string() + " --steps 2 2>&1");
  EXPECT_EQ(resumed.code, 2) << resumed.out;
  EXPECT_NE(resumed.out.find("not what the run began with"), std::string::npos) << resumed.out;
}

TEST(RunCommand, CudaWithoutAGpuIsRefusedInWords) {
  const ScratchDirectory scratch;
  if (fs::exists("/dev/nvidiactl")) GTEST_SKIP() << "there is a GPU";
  const CommandResult result = Shell(TrainOneCommand(scratch / "run", "steps=1 device=cuda"));
  EXPECT_EQ(result.code, 2) << result.out;
  EXPECT_TRUE(result.out.find("needs a libtorch with CUDA") != std::string::npos ||
              result.out.find("cannot open") != std::string::npos ||
              result.out.find("sees no GPU") != std::string::npos)
      << result.out;
}

std::set<std::string> Keys(const nlohmann::json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

TEST(RunCommand, TheScoresFileHasExactlyTheseKeys) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  ASSERT_EQ(Shell(TrainOneCommand(run, "steps=1")).code, 0);
  ASSERT_EQ(Shell(Medley() + "eval " + run.string() + " --rows 4").code, 0);
  const auto json = nlohmann::json::parse(ReadText(run / "eval.json"));
  EXPECT_EQ(Keys(json), (std::set<std::string>{"run", "step", "seed", "rows", "revision", "tasks"}));
  EXPECT_EQ(json.at("run"), run.string());
  EXPECT_EQ(json.at("step"), 1);
  EXPECT_EQ(json.at("seed"), 0);  // eval.seed, whatever the run's own is
  EXPECT_EQ(json.at("rows"), 4);
  const CommandResult version = Shell(Medley() + "version");
  EXPECT_NE(version.out.find(json.at("revision").get<std::string>()), std::string::npos) << version.out;
  const auto& control = json.at("tasks").at("control");
  const auto& position_qa = json.at("tasks").at("position_qa");
  const std::set<std::string> keys = {"metric",  "better", "value", "low",     "high", "chance",
                                      "trivial", "rows",   "items", "figures", "loss", "text"};
  EXPECT_EQ(Keys(control), keys);
  EXPECT_EQ(Keys(position_qa), keys);
  EXPECT_TRUE(control.at("chance").is_null());
  EXPECT_GT(control.at("loss"), 0);
  EXPECT_EQ(control.at("better"), "lower");
  EXPECT_EQ(Keys(position_qa.at("trivial")), (std::set<std::string>{"most frequent reply"}));
  EXPECT_EQ(Keys(position_qa.at("figures")),
            (std::set<std::string>{"gold_side", "gold_height", "agent_side", "agent_height"}));
}

TEST(RunCommand, EvalScoresTheRowsOfTheConfigOrThoseThatAreAskedFor) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  ASSERT_EQ(Shell(TrainOneCommand(run, "steps=1 eval.rows=3")).code, 0);
  for (const auto& [asked, rows] : {std::pair("", 3), {" --rows 5", 5}}) {
    ASSERT_EQ(Shell(Medley() + "eval " + run.string() + asked).code, 0);
    const auto json = nlohmann::json::parse(ReadText(run / "eval.json"));
    EXPECT_EQ(json.at("rows"), rows);
    for (const auto& [task, score] : json.at("tasks").items()) {
      EXPECT_EQ(score.at("rows"), rows) << task;
      EXPECT_EQ(score.at("items"), rows) << task << ": made up without end";
    }
  }
}

TEST(RunCommand, EvalAgainstAnotherRunComparesOnTheSameRows) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run", other = scratch / "other", less = scratch / "less";
  ASSERT_EQ(Shell(TrainOneCommand(run, "steps=4 eval.rows=2")).code, 0);
  ASSERT_EQ(Shell(TrainOneCommand(other, "steps=3 seed=6")).code, 0);
  const CommandResult result =
      Shell(Medley() + "eval " + run.string() + " --rows 4 --against " + other.string());
  ASSERT_EQ(result.code, 0) << result.out;
  EXPECT_NE(
      result.out.find("(step 4) against " + other.string() + " (step 3), on the same held-out rows, seed 0"),
      std::string::npos)
      << result.out;
  const auto json = nlohmann::json::parse(ReadText(run / "eval.json"));
  const auto& against = json.at("against");
  EXPECT_EQ(Keys(against), (std::set<std::string>{"run", "step", "seed", "tasks", "skipped"}));
  EXPECT_EQ(against.at("seed"), 0);
  EXPECT_EQ(against.at("tasks").size(), 6u) << "two seeds of training, the same held-out rows";
  for (const auto& [task, compared] : against.at("tasks").items()) {
    EXPECT_EQ(Keys(compared), (std::set<std::string>{"metric", "better", "value", "other", "difference",
                                                     "low", "high", "rows", "items", "verdict"}));
    EXPECT_EQ(compared.at("value"), json.at("tasks").at(task).at("value")) << task;
    EXPECT_NEAR(compared.at("difference").get<double>(),
                compared.at("value").get<double>() - compared.at("other").get<double>(), 1e-9)
        << task;
  }
  EXPECT_FALSE(fs::exists(other / "eval.json"));

  WriteText(scratch / "weights.json", R"({"unit": "rows", "weights": {"zoom_gold": 1}})");
  ASSERT_EQ(Shell(TrainOneCommand(less, "steps=1 weights=" + (scratch / "weights.json").string())).code, 0);
  const CommandResult partly =
      Shell(Medley() + "eval " + run.string() + " --rows 2 --against " + less.string());
  EXPECT_NE(partly.out.find("not compared: control (only this run trains it)"), std::string::npos)
      << partly.out;
  EXPECT_EQ(nlohmann::json::parse(ReadText(run / "eval.json")).at("against").at("tasks").size(), 1u);
}

TEST(RunCommand, EvalSaysThatAPluginWasBuiltAnew) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  ASSERT_EQ(Shell(TrainOneCommand(run, "steps=1 plan=false eval.every=0")).code, 0);
  const std::string eval = Medley() + "eval " + run.string() + " --rows 2 2>&1";
  EXPECT_EQ(Shell(eval).out.find("changed since"), std::string::npos);
  nlohmann::json record = nlohmann::json::parse(ReadText(run / "run.json"));
  record["plugins"][0]["build_id"] = "0123";
  std::ofstream(run / "run.json") << record.dump();
  const CommandResult result = Shell(eval);
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_NE(result.out.find("changed since " + run.string() + " was trained: the plugin " +
                            record["plugins"][0]["path"].get<std::string>() + " was built anew"),
            std::string::npos)
      << result.out;
}

TEST(RunCommand, EvalRefusesWhatIsNoRunInWords) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run", gone = scratch / "gone";
  ASSERT_EQ(Shell(TrainOneCommand(run, "steps=1")).code, 0);
  const auto refused = [&](const std::string& arguments, const std::string& words) {
    const CommandResult result = Shell(Medley() + "eval " + arguments + " 2>&1");
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_NE(result.out.find(words), std::string::npos) << result.out;
  };
  fs::create_directory(scratch / "empty");
  refused((scratch / "empty").string(), "holds no run");
  refused((scratch / "nosuch").string(), "no such directory");
  refused(run.string() + " --against " + (scratch / "empty").string(), "--against: ");
  refused(run.string() + " --against " + (run / "run.json").string(), "expected a directory");
  refused(run.string() + " --rows 0", "--rows");
  refused(run.string() + " --rows many", "--rows");

  fs::copy(run, gone, fs::copy_options::recursive);
  fs::remove_all(gone / "step-00000001");
  refused(gone.string(), "has no checkpoint any more");
  fs::remove(gone / "LATEST");
  refused(gone.string(), "holds no checkpoint yet");
  refused(run.string() + " --against " + gone.string(), "holds no checkpoint yet");

  fs::copy(run / "step-00000001", gone / "step-00000001");
  WriteText(gone / "weights.json", R"({"weights": {"left_the_house": 1}})");
  refused(gone.string(), "left_the_house: no such task");
}

// The names and shapes that the package of the format's makers finds are those that the manifest promises;
// tests/train compares every byte.
TEST(RunCommand, TheSafetensorsPackageOpensACheckpoint) {
  const fs::path python = MEDLEY_SOURCE_DIR "/.venv/bin/python";
  if (!fs::exists(python)) GTEST_SKIP() << python << " is not there";
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  ASSERT_EQ(Shell(TrainOneCommand(run, "steps=1")).code, 0);
  const fs::path checkpoint = run / "step-00000001";
  WriteText(scratch / "read.py",
            "import json, sys\n"
            "from safetensors.numpy import load_file\n"
            "print(json.dumps({n: list(t.shape) for n, t in load_file(sys.argv[1]).items()}))\n");
  const CommandResult read = Shell(python.string() + " " + (scratch / "read.py").string() + " " +
                                   (checkpoint / "model.safetensors").string());
  ASSERT_EQ(read.code, 0) << read.out;
  nlohmann::json promised = nlohmann::json::object();
  const auto manifest = nlohmann::json::parse(ReadText(checkpoint / "manifest.json"));
  for (const auto& [name, tensor] : manifest.at("facts").at("tensors").at("model.safetensors").items())
    promised[name] = tensor.at("shape");
  EXPECT_GT(promised.size(), 10u);
  EXPECT_EQ(nlohmann::json::parse(read.out), promised);
}

TEST(RunCommand, ALateMistakeLeavesNothingBehind) {
  const ScratchDirectory scratch;
  WriteText(scratch / "no.model", "this is no tokenizer");
  fs::create_directory(scratch / "empty");
  for (const std::string& mistake :
       {"tokenizer=" + (scratch / "no.model").string(), "init_from.run=" + (scratch / "empty").string(),
        std::string("'optimizer.groups=[{\"match\": \"nosuch.*\", \"weight_decay\": 0}]'")}) {
    const CommandResult refused = Shell(TrainOneCommand(scratch / "run", "steps=1 " + mistake));
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_FALSE(fs::exists(scratch / "run")) << refused.out;
  }
}

// With and without a plan: the tasks themselves refuse it, when they are made.
TEST(RunCommand, WhatTheTasksRefuseIsBadInputBeforeAnythingIsTrained) {
  const ScratchDirectory scratch;
  ASSERT_EQ(
      Shell(Medley() +
            "tokenizer train --vocab 340 --corpus " MEDLEY_SOURCE_DIR "/configs/texts/corpus.txt --out " +
            (scratch / "letters.model").string())
          .code,
      0);
  auto small = nlohmann::json::parse(ReadText(MEDLEY_SOURCE_DIR "/configs/models/agent-tiny.json"));
  small["image"]["size"] = 112;
  WriteText(scratch / "small.json", small.dump());
  const std::map<std::string, std::string> mistakes = {
      {"tokenizer=" + (scratch / "letters.model").string(), "Shorten the text, or train the vocabulary"},
      {"model=" + (scratch / "small.json").string(), "images of 112 pixels"}};
  for (const auto& [mistake, words] : mistakes) {
    const CommandResult planned = Shell(TrainOneCommand(scratch / "planned", "plan=true steps=3 " + mistake));
    EXPECT_EQ(planned.code, 2) << planned.out;
    EXPECT_NE(planned.out.find(words), std::string::npos) << planned.out;
    EXPECT_FALSE(fs::exists(scratch / "planned"));
    const fs::path run = scratch / "run";
    const CommandResult refused = Shell(TrainOneCommand(run, "steps=3 plan=false " + mistake));
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_NE(refused.out.find(words), std::string::npos) << refused.out;
    EXPECT_NE(refused.out.find("mend what is wrong"), std::string::npos) << refused.out;
    EXPECT_EQ(ReadText(run / "metrics.jsonl"), "") << "nothing was trained";
    fs::remove_all(run);
  }
}

TEST(RunCommand, OnlyDamagedCheckpointsAreRefusedAtEachResume) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  ASSERT_EQ(Shell(TrainOneCommand(run, "steps=2 checkpoint.every=1")).code, 0);
  for (const CheckpointEntry& entry : ListCheckpoints(run)) fs::remove(entry.path / "seal");
  const std::string metrics = ReadText(run / "metrics.jsonl");
  const CommandResult first = Shell(Medley() + "resume " + run.string() + " --steps 4 2>&1");
  const CommandResult second = Shell(Medley() + "resume " + run.string() + " --steps 4 2>&1");
  EXPECT_EQ(first.code, 2) << first.out;
  EXPECT_NE(first.out.find("no checkpoint of"), std::string::npos) << first.out;
  EXPECT_EQ(second.code, first.code);
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(ReadText(run / "metrics.jsonl"), metrics);
}

}  // namespace
}  // namespace medley
