#include <medley/checkpoint/checkpoint.h>
#include <medley/checkpoint/checkpoint_search.h>
#include <medley/checkpoint/load_weights.h>

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include <medley/base/newer.h>
#include <medley/checkpoint/checkpoint_keeper.h>
#include <medley/checkpoint/go_back.h>
#include <medley/report/metrics.h>
#include <medley/weights/safetensors.h>

#include "tests/checkpoint/forged_checkpoint.h"
#include "tests/step/renamed_model.h"
#include "tests/tools/run_command.h"
#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

namespace fs = std::filesystem;

struct State {
  FixtureModel model;
  nlohmann::json counter = 0;
  TrainingState Training() {
    return {model.parameters(),
            {},
            {{"counter", 1, [this] { return counter; }, [this](const auto& s) { counter = s; }}}};
  }
};

void Save(State& state, const fs::path& run, std::int64_t step,
          std::optional<MeanEvaluation> evaluated = {}) {
  state.counter = step;
  SaveCheckpoint(run, state.Training(),
                 {.step = step, .logs = {}, .evaluated = evaluated, .config_hash = "x"});
}

void Flip(const fs::path& file, std::size_t byte) {
  std::string text = ReadText(file);
  text.at(byte) ^= 1;
  WriteText(file, text);
}

TEST(Checkpoint, GivesBackTensorsAndSections) {
  const ScratchDirectory scratch;
  State saved, loaded;
  at::Tensor(saved.model.parameters()[0].tensor.detach()).fill_(0.25);
  Save(saved, scratch.path(), 5);
  LoadCheckpoint(scratch / "step-00000005", loaded.Training());
  EXPECT_EQ(loaded.counter, 5);
  for (std::size_t i = 0; i < saved.model.parameters().size(); ++i) {
    EXPECT_TRUE(loaded.model.parameters()[i].tensor.equal(saved.model.parameters()[i].tensor));
  }
}

TEST(Checkpoint, WeightsAreTakenByFormerNamesAndPatternsMatchBoth) {
  const ScratchDirectory scratch;
  State saved;
  saved.model.To(at::kCPU, at::kFloat);
  at::Tensor(saved.model.parameters()[0].tensor.detach()).fill_(0.25);
  Save(saved, scratch.path(), 5);
  for (const char* pattern : {"model.encoder.*", "encoder.*"}) {
    const RenamedModel model;
    EXPECT_EQ(LoadWeights(scratch / "step-00000005", model.parameters(), {pattern}).count, 2u);
    EXPECT_TRUE(model.parameters()[0].tensor.eq(0.25).all().item<bool>()) << pattern;
  }
}

TEST(Checkpoint, ADamagedOneIsPassedOverSetAsideAndItsStepFreed) {
  const ScratchDirectory scratch;
  State state;
  for (const std::int64_t step : {1, 2, 3}) Save(state, scratch.path(), step);
  Flip(scratch.path() / "step-00000003" / "model.safetensors", 400);
  fs::remove(scratch.path() / "step-00000002" / "optim.safetensors");
  SilentConsole console;
  // A reader without the lock changes nothing.
  EXPECT_EQ(FindCheckpoint(scratch.path(), OnDamage::kSkip, *console)->facts.step, 1);
  EXPECT_TRUE(fs::exists(scratch / "step-00000003"));
  EXPECT_EQ(FindCheckpoint(scratch.path(), OnDamage::kSetAside, *console)->facts.step, 1);
  EXPECT_TRUE(Says(console.words(), {"step-00000003/model.safetensors was damaged",
                                     "optim.safetensors is missing", ".bad-3"}));
  EXPECT_FALSE(fs::exists(scratch / "step-00000003"));
  EXPECT_TRUE(fs::exists(scratch / ".bad-3"));
  EXPECT_EQ(ReadText(scratch / "LATEST"), "step-00000001\n");
  Save(state, scratch.path(), 3);
  EXPECT_EQ(FindCheckpoint(scratch.path(), OnDamage::kSetAside, *console)->facts.step, 3);
}

TEST(Checkpoint, ANewerMedleysIsRefusedAndNothingIsSetAside) {
  const ScratchDirectory scratch;
  State state;
  for (const std::int64_t step : {1, 2, 3}) Save(state, scratch.path(), step);
  ForgeFormat(scratch / "step-00000002", 2);
  Flip(scratch.path() / "step-00000003" / "model.safetensors", 400);
  SilentConsole console;
  for (const OnDamage on_damage : {OnDamage::kSkip, OnDamage::kSetAside})
    EXPECT_TRUE(
        Says(MessageOf<NewerError>([&] { FindCheckpoint(scratch.path(), on_damage, *console); }),
             {"step-00000002 is of a newer medley (format 2, this one reads 1). Use that medley, or a "
              "checkpoint from before"}));
  EXPECT_EQ(ListCheckpoints(scratch.path()).size(), 3u);
  EXPECT_TRUE(ListSetAside(scratch.path()).empty());
  EXPECT_EQ(ReadText(scratch / "LATEST"), "step-00000003\n");
  EXPECT_EQ(CheckpointOf(scratch.path(), 1).facts.step, 1) << "as the words say";
  EXPECT_THROW(CheckpointOf(scratch.path(), 2), NewerError);
  EXPECT_THROW(BestCheckpoint(scratch.path()), NewerError) << "it may be the one";
  RotateCheckpoints(scratch.path(), 3);
  EXPECT_THROW(RotateCheckpoints(scratch.path(), 1), NewerError) << "where one is to go";
  EXPECT_EQ(ListCheckpoints(scratch.path()).size(), 3u);
}

TEST(Checkpoint, ASectionOfANewerMedleyIsRefusedByAllWhoReadIt) {
  const ScratchDirectory scratch;
  const fs::path checkpoint = scratch / "step-00000001";
  State state;
  Save(state, scratch.path(), 1);
  EXPECT_EQ(ReadSection(checkpoint, "counter"), 1);
  ForgeState(checkpoint, [](auto& sections) { sections["counter"]["version"] = 2; });
  const std::string expected =
      "the checkpoint's state of \"counter\" is of a newer medley (version 2, this one reads 1). Use that "
      "medley, or a checkpoint from before";
  EXPECT_EQ(MessageOf<NewerError>([&] { LoadCheckpoint(checkpoint, state.Training()); }), expected);
  EXPECT_EQ(MessageOf<NewerError>([&] { ReadSection(checkpoint, "counter"); }), expected);
  EXPECT_EQ(MessageOf<NewerError>([&] { FindSection(checkpoint, "counter"); }), expected);
  EXPECT_EQ(ReadSection(checkpoint, "counter", 2), 1);
  EXPECT_FALSE(FindSection(checkpoint, "moon"));
}

TEST(Checkpoint, SectionsThatARunCannotTakeSayWhatToDo) {
  const ScratchDirectory scratch;
  const fs::path checkpoint = scratch / "step-00000001";
  State state;
  Save(state, scratch.path(), 1);
  const auto refusal = [&] {
    return MessageOf<InputError>([&] { LoadCheckpoint(checkpoint, state.Training()); });
  };
  ForgeState(checkpoint, [](auto& sections) { sections["moon"] = {{"version", 1}, {"state", 0}}; });
  EXPECT_EQ(refusal(),
            "the checkpoint has state of \"moon\", which this run does not have. It is of another config, or "
            "of a newer medley: take that one, or a checkpoint from before");
  ForgeState(checkpoint, [](auto& sections) { sections["counter"]["version"] = 0; });
  EXPECT_EQ(refusal(),
            "the checkpoint's state of \"counter\" has version 0, this medley reads version 1. Take the "
            "medley that saved it, or another checkpoint");
  ForgeState(checkpoint, [](auto& sections) { sections.erase("counter"); });
  EXPECT_EQ(refusal(),
            "the checkpoint has no state of \"counter\". Take the config that it was saved with, or another "
            "checkpoint");
}

// medley eval beside medley train.
TEST(Checkpoint, AReaderBesideALiveRunTakesNoRotatedOneForDamaged) {
  const ScratchDirectory scratch;
  State state;
  Save(state, scratch.path(), 1);
  std::atomic<bool> done = false;
  std::thread live([&] {
    for (std::int64_t step = 2; step <= 60; ++step) {
      Save(state, scratch.path(), step);
      RotateCheckpoints(scratch.path(), 1);
    }
    done = true;
  });
  SilentConsole console;
  std::string error;
  try {
    while (!done) FindCheckpoint(scratch.path(), OnDamage::kSkip, *console);
  } catch (const std::exception& thrown) {
    error = thrown.what();
  }
  live.join();
  EXPECT_EQ(error, "");
  EXPECT_EQ(console.words(), "");
}

TEST(Checkpoint, OnlyDamagedOnesStopTheResume) {
  const ScratchDirectory scratch;
  SilentConsole console;
  EXPECT_FALSE(FindCheckpoint(scratch.path(), OnDamage::kSetAside, *console));
  State state;
  Save(state, scratch.path(), 1);
  Flip(scratch.path() / "step-00000001" / "seal", 3);
  // Again and again: the second time must not take the run for one without checkpoints.
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(
        Says(MessageOf<InputError>([&] { FindCheckpoint(scratch.path(), OnDamage::kSetAside, *console); }),
             {"no checkpoint", "is whole", "step-00000001"}));
    EXPECT_TRUE(fs::exists(scratch / "step-00000001"));
  }
  fs::rename(scratch / "step-00000001", scratch / ".bad-1");
  EXPECT_TRUE(
      Says(MessageOf<InputError>([&] { FindCheckpoint(scratch.path(), OnDamage::kSetAside, *console); }),
           {"is whole", ".bad-1"}));
}

// Whoever may not read a file learns nothing about it.
TEST(Checkpoint, AFileThatCannotBeReadIsNoDamage) {
  const ScratchDirectory scratch;
  State state;
  for (const std::int64_t step : {1, 2}) Save(state, scratch.path(), step);
  fs::permissions(scratch / "step-00000002" / "model.safetensors", fs::perms::none);
  const bool root = ::geteuid() == 0;
  ASSERT_EQ(root ? ::seteuid(65534) : 0, 0);
  SilentConsole console;
  const std::string message =
      MessageOf<FileError>([&] { FindCheckpoint(scratch.path(), OnDamage::kSetAside, *console); });
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
  EXPECT_TRUE(Says(message, {"step-00000002/model.safetensors", "Permission denied"}));
  EXPECT_TRUE(fs::exists(scratch / "step-00000002"));
}

TEST(Checkpoint, LogsDoNotDecideWhetherItIsWhole) {
  const ScratchDirectory scratch;
  State state;
  SaveCheckpoint(scratch.path(), state.Training(),
                 {.step = 1,
                  .logs = {{"metrics.jsonl", {8, "ab"}}, {"timing.jsonl", {1000, ""}}},
                  .evaluated = {},
                  .config_hash = ""});
  SilentConsole console;
  const auto found = FindCheckpoint(scratch.path(), OnDamage::kSetAside, *console);
  EXPECT_EQ(found->facts.logs, (LogMarks{{"metrics.jsonl", {8, "ab"}}, {"timing.jsonl", {1000, ""}}}));
  EXPECT_EQ(console.words(), "");
}

TEST(Checkpoint, AnotherModelIsRefusedByTensorNameAndShapeAndNothingIsLoaded) {
  const ScratchDirectory scratch;
  State saved, other;
  Save(saved, scratch.path(), 1);
  other.model.To(at::kCPU, at::kFloat);
  other.counter = 77;
  EXPECT_TRUE(
      Says(MessageOf<InputError>([&] { LoadCheckpoint(scratch / "step-00000001", other.Training()); }),
           {"encoder.weight", "Double [12, 7]", "Float [12, 7]"}));
  EXPECT_EQ(other.counter, 77);
  TrainingState more = saved.Training();
  more.sections.push_back({"moon", 1, [] { return 0; }, [](const auto&) {}});
  EXPECT_TRUE(Says(MessageOf([&] { LoadCheckpoint(scratch / "step-00000001", more); }), {"moon"}));
}

// Before they are compared with what the run keeps.
TEST(Checkpoint, TheOptimizersTensorsAreConvertedAsTheRunAsks) {
  const ScratchDirectory scratch;
  State state;
  TrainingState training = state.Training();
  training.optimizer = {{.name = "a.codes", .tensor = at::ones({3}, at::kByte)}};
  SaveCheckpoint(scratch.path(), training, {.step = 1, .logs = {}, .evaluated = {}, .config_hash = "x"});
  training.optimizer = {{.name = "a", .tensor = at::zeros({3}, at::kFloat)}};
  const auto load = [&] { LoadCheckpoint(scratch / "step-00000001", training); };
  EXPECT_TRUE(Says(MessageOf<InputError>(load), {"optim.safetensors has no tensor a"}));
  training.convert_optimizer = [](auto& saved) {
    saved["a"] = 2 * saved.at("a.codes").to(at::kFloat);
    saved.erase("a.codes");
  };
  load();
  EXPECT_TRUE(training.optimizer[0].tensor.eq(2).all().item<bool>());
  training.convert_optimizer = [](auto&) { throw InputError("a.codes is damaged"); };
  EXPECT_TRUE(Says(MessageOf<InputError>(load), {"optim.safetensors: a.codes is damaged"}));
}

TEST(Checkpoint, RotationKeepsTheNewestAndTheBest) {
  const ScratchDirectory scratch;
  State state;
  const std::vector<double> losses = {0.9, 0.4, 0.4, 0.6, 0.7, 0.5};
  for (std::size_t i = 0; i < losses.size(); ++i) {
    Save(state, scratch.path(), static_cast<std::int64_t>(i) + 1, MeanEvaluation{losses[i], {"one", "two"}});
    RotateCheckpoints(scratch.path(), 2);
  }
  std::vector<std::int64_t> steps;
  for (const CheckpointEntry& entry : ListCheckpoints(scratch.path())) steps.push_back(entry.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{6, 5, 2}));
}

// JSON would make it null, and no resume could read it, while rotation deletes the good ones.
TEST(Checkpoint, AStateThatIsNotFiniteIsNeverSaved) {
  const ScratchDirectory scratch;
  State state;
  TrainingState training = state.Training();
  training.sections.push_back({"pace", 1,
                               [] {
                                 return nlohmann::json{{"seconds", {1.0, std::nan("")}}};
                               },
                               [](const nlohmann::json&) {}});
  try {
    SaveCheckpoint(scratch.path(), training, {.step = 3, .logs = {}, .evaluated = {}, .config_hash = "x"});
    FAIL() << "it was saved";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("pace.state.seconds.1"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(ListCheckpoints(scratch.path()).empty());
}

TEST(Checkpoint, ALossThatIsNotFiniteCountsAsNotEvaluatedAndIsNeverTheBest) {
  const ScratchDirectory scratch;
  State state;
  Save(state, scratch.path(), 1, MeanEvaluation{0.9, {"one"}});
  Save(state, scratch.path(), 2, MeanEvaluation{0.4, {"one"}});
  Save(state, scratch.path(), 3, MeanEvaluation{NAN, {"one"}});
  Save(state, scratch.path(), 4, MeanEvaluation{INFINITY, {"one"}});
  SilentConsole console;
  const auto found = FindCheckpoint(scratch.path(), OnDamage::kSkip, *console);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->facts.step, 4);
  EXPECT_FALSE(found->facts.evaluated);
  RotateCheckpoints(scratch.path(), 1);
  std::vector<std::int64_t> steps;
  for (const CheckpointEntry& entry : ListCheckpoints(scratch.path())) steps.push_back(entry.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{4, 2}));
  // As a medley wrote it that did not look.
  EXPECT_FALSE(ReadMeanEvaluation({{"loss", nullptr}, {"tasks", {"one"}}}));
}

// A state that a resume would refuse is no checkpoint.
TEST(Checkpoint, IsReadAsAResumeWouldBeforeItCounts) {
  const ScratchDirectory scratch;
  State state;
  TrainingState training = state.Training();
  training.sections.push_back({"counter", 0, [] { return 0; }, [](const auto&) {}});
  const std::string said = MessageOf([&] {
    SaveCheckpoint(scratch.path(), training, {.step = 1, .logs = {}, .evaluated = {}, .config_hash = "x"});
  });
  EXPECT_TRUE(Says(said, {"counter", "version"}));
  EXPECT_TRUE(ListCheckpoints(scratch.path()).empty());
}

TEST(Checkpoint, TheBestIsForgottenWhenOtherTasksAreEvaluated) {
  const ScratchDirectory scratch;
  State state;
  Save(state, scratch.path(), 1, MeanEvaluation{0.1, {"easy", "hard"}});
  Save(state, scratch.path(), 2, MeanEvaluation{0.8, {"hard"}});
  Save(state, scratch.path(), 3, MeanEvaluation{0.9, {"hard"}});
  Save(state, scratch.path(), 4, MeanEvaluation{1.0, {"hard"}});
  RotateCheckpoints(scratch.path(), 1);
  std::vector<std::int64_t> steps;
  for (const CheckpointEntry& entry : ListCheckpoints(scratch.path())) steps.push_back(entry.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{4, 2}));
}

// Scores of other held-out rows are no measure of these; where a medley before did not say which, they count.
TEST(Checkpoint, TheBestIsForgottenWhenOtherRowsAreHeldOut) {
  for (const auto& [before, kept] :
       {std::pair<std::string, std::vector<std::int64_t>>{"a", {4, 2}}, {"", {4, 1}}}) {
    const ScratchDirectory scratch;
    State state;
    Save(state, scratch.path(), 1, MeanEvaluation{0.1, {"one"}, "", before});
    for (std::int64_t step = 2; step <= 4; ++step)
      Save(state, scratch.path(), step,
           MeanEvaluation{0.7 + 0.1 * static_cast<double>(step), {"one"}, "", "b"});
    RotateCheckpoints(scratch.path(), 1);
    std::vector<std::int64_t> steps;
    for (const CheckpointEntry& entry : ListCheckpoints(scratch.path())) steps.push_back(entry.step);
    EXPECT_EQ(steps, kept);
  }
}

// Names, types, shapes and every byte, as the package of the format's makers reads them.
TEST(Checkpoint, TheSafetensorsPackageReadsWhatWeRead) {
  const fs::path python = MEDLEY_SOURCE_DIR "/.venv/bin/python";
  if (!fs::exists(python)) GTEST_SKIP() << python << " is not there";
  const ScratchDirectory scratch;
  State state;
  Save(state, scratch.path(), 1);
  const fs::path file = scratch.path() / "step-00000001" / "model.safetensors";
  WriteText(scratch / "read.py",
            "import json, sys\n"
            "from safetensors import safe_open\n"
            "out = {}\n"
            "with safe_open(sys.argv[1], framework='numpy') as f:\n"
            "    for name in f.keys():\n"
            "        t = f.get_tensor(name)\n"
            "        out[name] = [str(t.dtype), list(t.shape), t.tobytes().hex()]\n"
            "print(json.dumps(out))\n");
  const auto result =
      test::Shell(python.string() + " " + (scratch / "read.py").string() + " " + file.string());
  ASSERT_EQ(result.code, 0) << result.out;
  const auto theirs = nlohmann::json::parse(result.out);
  const std::map<std::string, at::Tensor> ours = ReadSafetensors(file);
  EXPECT_EQ(theirs.size(), ours.size());
  EXPECT_EQ(ours.size(), state.model.parameters().size());
  for (const auto& [name, tensor] : ours) {
    std::string hex;
    const auto* bytes = static_cast<const unsigned char*>(tensor.const_data_ptr());
    for (std::size_t i = 0; i < tensor.nbytes(); ++i) {
      hex += "0123456789abcdef"[bytes[i] >> 4];
      hex += "0123456789abcdef"[bytes[i] & 15];
    }
    EXPECT_EQ(theirs.at(name), nlohmann::json({"float64", tensor.sizes().vec(), hex})) << name;
  }
}

// RLIMIT_FSIZE stands in for a full disk.
TEST(CheckpointKeeper, TrainsOnAfterAFailedSaveAndEndsAfterTheThirdInARow) {
  const ScratchDirectory scratch;
  SilentConsole console;
  State state;
  RecordSinks sinks;
  sinks.Add(std::make_unique<MetricsLog>(scratch.path(), LogMarks{}, *console));
  CheckpointKeeper keeper({scratch.path(), {.every = 1, .keep = 2}, {}}, state.Training(), sinks, *console);
  keeper.SaveIfDue(1, {});
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const auto limit = [&](rlim_t bytes) {
    const rlimit now{bytes, old_limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  };
  limit(1000);
  EXPECT_NO_THROW(keeper.SaveIfDue(2, {}));
  EXPECT_NO_THROW(keeper.SaveIfDue(3, {}));
  limit(old_limit.rlim_cur);
  EXPECT_NO_THROW(keeper.SaveIfDue(4, {}));
  limit(1000);
  EXPECT_NO_THROW(keeper.SaveIfDue(5, {}));
  EXPECT_NO_THROW(keeper.SaveIfDue(6, {}));
  const std::string message = MessageOf([&] { keeper.SaveIfDue(7, {}); });
  limit(old_limit.rlim_cur);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_TRUE(
      Says(message, {"step 7 was not saved", "model.safetensors", "File too large", "medley resume"}));
  EXPECT_TRUE(
      Says(console.words(), {"saved step 1", "step 2 was not saved", "training goes on", "saved step 4"}));
  EXPECT_EQ(FindCheckpoint(scratch.path(), OnDamage::kSetAside, *console)->facts.step, 4);
}

// What stands in the way of a save may hide what was saved before: that too is no reason to end at the first.
TEST(CheckpointKeeper, ADirectoryThatCannotBeListedOrIsGoneIsAFailedSaveAsOthers) {
  for (const bool is_gone : {true, false}) {
    const ScratchDirectory scratch;
    const fs::path run = scratch / "run", aside = scratch / "aside";
    fs::create_directory(run);
    SilentConsole console;
    State state;
    RecordSinks sinks;
    CheckpointKeeper keeper({run, {.every = 1, .keep = 2}, {}}, state.Training(), sinks, *console);
    keeper.SaveIfDue(1, {});
    fs::rename(run, aside);
    if (!is_gone) WriteText(run, "no directory");
    const std::string left = is_gone ? "The run's directory is gone" : "What was saved before is as it was";
    EXPECT_NO_THROW(keeper.SaveIfDue(2, {}));
    EXPECT_NO_THROW(keeper.SaveIfDue(3, {}));
    EXPECT_TRUE(Says(console.words(), {"step 3 was not saved", left.c_str(), "training goes on"}))
        << console.words();
    const std::string third = MessageOf([&] { keeper.SaveIfDue(4, {}); });
    EXPECT_TRUE(Says(third, {"That was the 3rd time in a row", left.c_str()})) << third;
    fs::remove(run);
    fs::rename(aside, run);
    EXPECT_NO_THROW(keeper.SaveNow(4, {}));
    EXPECT_EQ(FindCheckpoint(run, OnDamage::kSetAside, *console)->facts.step, 4);
  }
}

// A run that says that all is done has its last checkpoint.
TEST(CheckpointKeeper, ARunWhoseDirectoryWasRemovedDoesNotEndWell) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  fs::create_directory(run);
  SilentConsole console;
  State state;
  RecordSinks sinks;
  CheckpointKeeper keeper({run, {.every = 1, .keep = 2}, {}}, state.Training(), sinks, *console);
  keeper.SaveIfDue(1, {});
  EXPECT_NO_THROW(keeper.SaveNow(1, {}));
  fs::remove_all(run / CheckpointName(1));
  EXPECT_TRUE(Says(MessageOf([&] { keeper.SaveNow(1, {}); }), {"step 1 was saved", "is not there any more"}));
  fs::remove_all(run);
  EXPECT_TRUE(Says(MessageOf([&] { keeper.SaveNow(1, {}); }), {"The run's directory is gone"}));
}

}  // namespace
}  // namespace medley::testing_fixture
