// A session as a program uses it: begun, trained in parts, edited, resumed.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/rand.h>
#include <c10/core/DefaultDtype.h>
#include <gtest/gtest.h>

#include <medley/curriculum/weight_log.h>
#include <medley/report/record_sink.h>

#include "tests/session/session_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::EndState;
using test::Has;

constexpr const char* kOnlyControl = R"({"unit": "steps", "weights": {"control": 1, "zoom_gold": 0}})";
constexpr const char* kMoreZoom = R"({"unit": "steps", "weights": {"control": 1, "zoom_gold": 5}})";

class Sessions : public ::testing::Test {
 protected:
  Sessions() { WriteText(scratch_ / "weights.json", kOnlyControl); }

  BeginRequest Request() const {
    return test::RequestOf(
        "quickstart.json",
        "plan=false threads=1 hours=0 seed=5 steps=12 tensorboard=false eval.every=5 eval.rows=4 "
        "checkpoint.every=4 tasks.control.rows=2 tasks.zoom_gold.rows=2 weights=" +
            (scratch_ / "weights.json").string());
  }
  Session Begin(const std::string& name) { return Session::Begin(Request(), scratch_ / name, *console_); }
  // Of a run that is trained without a break, and edited after so many steps.
  std::map<std::string, std::string> Edited(const std::string& name, std::int64_t after) {
    Session session = Begin(name);
    if (after > 0) session.Train(after);
    session.Edit(kMoreZoom);
    EXPECT_EQ(session.Train(), ExitCode::kDone);
    return EndState(scratch_ / name);
  }
  std::map<std::string, std::string> Straight(const std::string& name) {
    EXPECT_EQ(Begin(name).Train(), ExitCode::kDone);
    return EndState(scratch_ / name);
  }
  std::vector<WeightEntry> Edits(const std::string& name) const {
    std::vector<WeightEntry> found;
    const WeightLog log(scratch_ / name);
    for (const WeightEntry& entry : log.entries()) {
      if (entry.cause == WeightEntry::Cause::kEdit) found.push_back(entry);
    }
    return found;
  }

  ScratchDirectory scratch_;
  test::SilentConsole console_;
};

TEST_F(Sessions, OneThatTrainsInPartsIsTheOneThatTrainsAtOnce) {
  const auto straight = Straight("straight");
  {
    Session session = Begin("parts");
    EXPECT_EQ(session.step(), 0);
    for (const std::int64_t until : {1, 5, 5, 7, 2}) EXPECT_EQ(session.Train(until), ExitCode::kDone);
    EXPECT_EQ(session.step(), 7);
    EXPECT_EQ(ListCheckpoints(scratch_ / "parts").at(0).step, 7) << "saved when it returns";
    EXPECT_EQ(session.Train(), ExitCode::kDone);
    EXPECT_EQ(session.step(), 12);
  }
  EXPECT_EQ(EndState(scratch_ / "parts"), straight);
}

class Steps final : public RecordSink {
 public:
  using RecordSink::Take;
  void Take(const StepRecord& record) override { steps.push_back(record.step); }
  std::vector<std::int64_t> steps;
};

TEST_F(Sessions, OneThatIsNotSavedBetweenStepsIsTheOneThatTrainsAtOnce) {
  const auto straight = Straight("straight");
  Steps told;
  {
    Session session = Begin("steps");
    session.Tell(told);
    session.Train(2);
    const std::string words = console_.words();
    for (std::int64_t step = 3; step <= 7; ++step)
      EXPECT_EQ(session.Train(step, AtReturn::kUnsaved), ExitCode::kDone);
    EXPECT_EQ(ListCheckpoints(scratch_ / "steps").at(0).step, 4) << "only where one was due";
    EXPECT_FALSE(Has(console_.words().substr(words.size()), "after step")) << "no summary of each";
    EXPECT_EQ(session.Train(session.step()), ExitCode::kDone);
    EXPECT_EQ(ListCheckpoints(scratch_ / "steps").at(0).step, 7) << "saved when that is asked for";
    EXPECT_EQ(session.Train(9, AtReturn::kUnsaved), ExitCode::kDone);
    EXPECT_EQ(test::TrainInterrupted(session), ExitCode::kInterrupted);
    EXPECT_EQ(ListCheckpoints(scratch_ / "steps").at(0).step, 9) << "an interrupt saves";
    EXPECT_EQ(session.Train(1000, AtReturn::kUnsaved), ExitCode::kDone);
    EXPECT_EQ(session.step(), 12) << "and goes on, to the run's end, which saves";
  }
  EXPECT_EQ(EndState(scratch_ / "steps"), straight);
  EXPECT_EQ(told.steps, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST_F(Sessions, AProcessHasOneAtATime) {
  {
    Session session = Begin("first");
    const Ended second = test::TrainToTheEnd(Request(), scratch_ / "second");
    EXPECT_EQ(second.code, ExitCode::kBadInput) << second.out;
    EXPECT_TRUE(Has(second.out, "this process has a session open already, of " +
                                    (scratch_ / "first").string() + ", so " + (scratch_ / "second").string() +
                                    " cannot have another"))
        << second.out;
    EXPECT_FALSE(fs::exists(scratch_ / "second"));
    Session moved = std::move(session);
    EXPECT_EQ(moved.Train(3), ExitCode::kDone) << "the first one goes on";
    EXPECT_EQ(test::ReplayToTheEnd(scratch_ / "first", Request(), scratch_ / "second").code,
              ExitCode::kBadInput);
  }
  EXPECT_EQ(test::TrainToTheEnd({.config = scratch_ / "none.json"}, scratch_ / "third").code,
            ExitCode::kBadInput);
  EXPECT_EQ(test::TrainToTheEnd(Request(), scratch_ / "second").code, ExitCode::kDone)
      << "one that could not begin is none";
}

// What a program has set in libtorch.
struct Settings {
  int threads = at::get_num_threads();
  at::ScalarType type = c10::get_default_dtype_as_scalartype();
  bool deterministic = at::globalContext().deterministicAlgorithms();
  bool gradients = at::GradMode::is_enabled();
  bool operator==(const Settings&) const = default;
};

TEST_F(Sessions, NeitherHeedsNorChangesWhatAProgramHasSetInLibtorch) {
  const auto straight = Straight("straight");
  const Settings before;
  const auto seed = [] {
    at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
    generator.set_current_seed(7);
  };
  const auto next_numbers = [&] {
    seed();
    at::rand({3});
    return at::rand({3}).to(at::kDouble);
  };
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(at::kDouble));
  const at::Tensor expected = next_numbers();
  at::set_num_threads(3);
  {
    const at::NoGradGuard no_gradients;
    const Settings set;
    const auto unchanged = [&] {
      EXPECT_EQ(Settings(), set);
      EXPECT_EQ(set.threads, 3);
    };
    Session session = Begin("other");
    unchanged();
    session.Train(4);
    unchanged();
    seed();
    at::rand({3});
    for (const std::int64_t until : {5, 9}) session.Train(until, AtReturn::kUnsaved);
    EXPECT_TRUE(at::rand({3}).to(at::kDouble).equal(expected)) << "between two numbers of the program's";
    session.Score(4);
    unchanged();
    session.Train();
    unchanged();
  }
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(before.type));
  at::set_num_threads(before.threads);
  EXPECT_EQ(Settings(), before);
  EXPECT_EQ(EndState(scratch_ / "other"), straight);
}

TEST_F(Sessions, AScoreIsThatOfAnEvaluationAndLeavesTheRunAsItWas) {
  const auto straight = Straight("straight");
  {
    Session session = Begin("asked");
    session.Train(5);
    const auto scores = session.Score();
    ASSERT_EQ(scores.size(), 1U);
    std::istringstream lines(ReadText(scratch_ / "asked/metrics.jsonl"));
    nlohmann::json last;
    for (std::string line; std::getline(lines, line);) last = nlohmann::json::parse(line);
    EXPECT_EQ(nlohmann::json(ToJson(scores.at("control"))), last.at("eval").at("control"));
    EXPECT_EQ(session.Score(10).at("control").rows, 10);
    EXPECT_EQ(session.Train(), ExitCode::kDone);
  }
  EXPECT_EQ(EndState(scratch_ / "asked"), straight);
  test::SilentConsole console;
  Session over = Session::Resume(scratch_ / "asked", {}, *console);
  EXPECT_TRUE(Has(test::MessageOf<InputError>([&] { over.Score(); }), "medley eval"));
}

TEST_F(Sessions, OneThatBeginsWhereARunLiesLeavesItAsItWas) {
  const auto straight = Straight("run");
  const std::string words = ReadText(scratch_ / "run/log.txt");
  const Ended begun = test::TrainToTheEnd(Request(), scratch_ / "run");
  EXPECT_EQ(begun.code, ExitCode::kBadInput) << begun.out;
  EXPECT_TRUE(Has(begun.out, (scratch_ / "run").string())) << begun.out;
  EXPECT_EQ(EndState(scratch_ / "run"), straight);
  EXPECT_EQ(ReadText(scratch_ / "run/log.txt"), words);
}

TEST_F(Sessions, HoldsItsRunAsLongAsItLives) {
  {
    Session session = Begin("run");
    session.Train(3);
    const Ended second = test::ResumeToTheEnd(scratch_ / "run");
    EXPECT_EQ(second.code, ExitCode::kBadInput) << second.out;
    EXPECT_TRUE(Has(second.out, (scratch_ / "run").string())) << second.out;
    EXPECT_EQ(session.Train(4), ExitCode::kDone) << "the first one goes on";
  }
  const Ended resumed = test::ResumeToTheEnd(scratch_ / "run");
  EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "restored step 4")) << resumed.out;
  EXPECT_EQ(EndState(scratch_ / "run"), Straight("straight"));
}

TEST_F(Sessions, AnEditThatIsWrongIsThrownWithItsPlaceAndCostsNothing) {
  const auto straight = Straight("straight");
  {
    Session session = Begin("run");
    session.Train(6);
    const fs::path file = scratch_ / "run" / kRunWeights, log = scratch_ / "run" / kWeightLog;
    const std::string before = ReadText(file), logged = ReadText(log);
    const std::string wrong = "{\"unit\": \"steps\",\n \"weights\": {\"control\": 1, \"zoom_glod\": 1}}";
    const std::string words = test::MessageOf<InputError>([&] { session.Edit(wrong); });
    EXPECT_TRUE(Has(words, "weights.json:2:28: weights.zoom_glod: no such task; did you mean 'zoom_gold'?"))
        << words;
    EXPECT_EQ(ReadText(file), before);
    EXPECT_EQ(ReadText(log), logged);
    EXPECT_EQ(session.Train(), ExitCode::kDone);
  }
  EXPECT_EQ(EndState(scratch_ / "run"), straight);
  EXPECT_TRUE(Edits("run").empty());
}

TEST_F(Sessions, AnEditBeforeTheFirstStepHoldsFromItOn) {
  EXPECT_NE(Edited("run", 0).at("metrics"), Straight("straight").at("metrics"));
  const auto edits = Edits("run");
  ASSERT_EQ(edits.size(), 1U);
  EXPECT_EQ(edits[0].step, 0);
  EXPECT_EQ(ReadText(scratch_ / "run" / kRunWeights), kMoreZoom);
}

TEST_F(Sessions, AnEditIsAnEditOfTheRunsFile) {
  const auto edited = Edited("call", 6);
  {
    Session session = Begin("file");
    session.Train(5);
    WriteText(scratch_ / "file" / kRunWeights, kMoreZoom);  // looked at after the next step
    EXPECT_EQ(session.Train(), ExitCode::kDone);
  }
  ASSERT_EQ(Edits("file").size(), 1U);
  ASSERT_EQ(Edits("file")[0].step, 6);
  EXPECT_EQ(EndState(scratch_ / "file"), edited);
  EXPECT_EQ(ReadText(scratch_ / "file" / kWeightLog), ReadText(scratch_ / "call" / kWeightLog));
  EXPECT_NE(Straight("straight").at("metrics"), edited.at("metrics"));
}

TEST_F(Sessions, OfARunWhoseStepsAreDoneThereIsNothingToTrain) {
  const auto straight = Straight("run");
  test::SilentConsole console;
  Session session = Session::Resume(scratch_ / "run", {}, *console);
  EXPECT_TRUE(Has(console.words(), "all 12 steps are done")) << console.words();
  EXPECT_EQ(session.step(), 12);
  EXPECT_EQ(session.Train(), ExitCode::kDone);
  const std::string refused = test::MessageOf<InputError>([&] { session.Edit(kMoreZoom); });
  EXPECT_TRUE(Has(refused, "Resume it with more steps first")) << refused;
  EXPECT_EQ(EndState(scratch_ / "run"), straight);
  EXPECT_TRUE(Edits("run").empty());
}

// Once, where it begins. A resume may have another rule, but no more and no fewer buffers beside the weights.
TEST_F(Sessions, MuonOnAnotherRunsWeightsIsWarnedOf) {
  Straight("first");
  BeginRequest request = Request();
  for (const std::string& more : {"init_from.run=" + (scratch_ / "first").string(), std::string("steps=2"),
                                  std::string("optimizer.average=0.9"), std::string("optimizer.name=muon")})
    request.overrides.push_back(more);
  const Ended begun = test::TrainToTheEnd(request, scratch_ / "next");
  EXPECT_EQ(begun.code, ExitCode::kDone) << begun.out;
  EXPECT_TRUE(Has(begun.out, "Muon begins with another run's parameters")) << begun.out;
  EXPECT_TRUE(Has(begun.out, "all (adamw)") && Has(begun.out, "all (muon)") && Has(begun.out, "scratch"))
      << begun.out;
  EXPECT_TRUE(Has(begun.out, "read the average of the parameters")) << begun.out;
  const Ended resumed = test::ResumeToTheEnd(scratch_ / "next", "steps=3");
  EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_FALSE(Has(resumed.out, "Muon begins with")) << resumed.out;
  const Ended other = test::ResumeToTheEnd(scratch_ / "next", "steps=4 optimizer.name=sgd");
  EXPECT_EQ(other.code, ExitCode::kDone) << other.out;
  EXPECT_TRUE(Has(other.out, "tensors was of muon, and is converted into that of sgd")) << other.out;
  const Ended refused = test::ResumeToTheEnd(scratch_ / "next", "steps=5 optimizer.average=0");
  EXPECT_EQ(refused.code, ExitCode::kBadInput) << refused.out;
  EXPECT_TRUE(Has(refused.out, "a run that was trained cannot change optimizer.average")) << refused.out;
}

}  // namespace
}  // namespace medley
