// A run of the real agent is out of memory at allocations that are spread over a draw's forwards and
// backwards: it ends as the run that was planned small.

#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/run/run.h>
#include <medley/step/abandon.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/step/agent_fixture.h"
#include "tests/sweep.h"
#include "tests/train/trainer_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;
using nlohmann::json;

constexpr std::int64_t kRows = 4;
constexpr int kFaults = 9;  // of each case

// The first forward of a draw begins.
using Hook = std::function<void()>;

// A task of the tree, and before each of its passes a call.
class Hooked final : public Task {
 public:
  Hooked(LoadedTask& task, Hook hook) : task_(task), hook_(std::move(hook)) {}
  Batch Sample(const RowRange& rows) const override { return task_.Sample(rows); }
  Sums Run(std::string_view pass, PassContext& context) const override {
    if (context.batch().size() == kRows) hook_();  // a contract check has one row
    return task_.Run(pass, context);
  }
  Outcomes Evaluate(EvalContext&, const RowRange&) const override { return {}; }
  at::Tensor Constant(std::string_view name) const override { return task_.Constant(name, at::kCPU); }

 private:
  LoadedTask& task_;
  Hook hook_;
};

struct Case {
  std::string task;
  Mode mode;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.task << ", " << ModeName(c.mode);
}

struct Outcome {
  std::map<std::string, std::string> state;  // of the last checkpoint, and the metrics
  json first_step;                           // its metrics
  std::vector<json> overflows{};
};

std::vector<json> Lines(const std::filesystem::path& file) {
  std::vector<json> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

// A run of two steps.
struct Subject {
  Subject(const Case& c, std::int64_t micro_rows)
      : name(c.task),
        run(Build(c, micro_rows, scratch.path())),
        task(run->host->Get(run->forms.Own(name))),
        execution(run->Configured(run->forms.Own(name))) {}

  static std::unique_ptr<Run> Build(const Case& c, std::int64_t micro_rows,
                                    const std::filesystem::path& scratch) {
    const std::filesystem::path weights = scratch / "weights.json";
    WriteText(weights, json{{"unit", "steps"}, {"weights", {{c.task, 1}}}}.dump());
    const std::string own = "tasks." + c.task;
    return BuildRun(
        CheckInputs(Configs() / "runs/quickstart.json",
                    {"weights=" + weights.string(), "plan=false", "threads=1", "data.threads=0", "steps=2",
                     "checkpoint.every=0", "eval.every=0", own + ".rows=" + std::to_string(kRows),
                     own + ".mode=" + std::string(ModeName(c.mode)),
                     own + ".micro_rows=" + std::to_string(micro_rows)}),
        Purpose::kTrain);
  }

  ScratchDirectory scratch;
  std::string name;
  std::unique_ptr<Run> run;
  LoadedTask& task;
  Execution execution;
};

// Whatever is asked for.
class OneTask final : public TaskHost {
 public:
  explicit OneTask(LoadedTask& task) : task_(task) {}
  LoadedTask& Get(const Form&) override { return task_; }
  LoadedTask* Find(const FormId&) const override { return &task_; }
  const VariantInfo& Variant(const Form&) override { return task_.variant(); }
  std::optional<TaskOrigin> OriginOf(const std::string&) const override { return std::nullopt; }

 private:
  LoadedTask& task_;
};

Outcome Train(const Case& c, std::int64_t micro_rows, const Hook& hook) {
  Subject subject(c, micro_rows);
  Run& run = *subject.run;
  LoadedTask hooked(subject.task.info(), subject.task.variant(), "test",
                    std::make_unique<Hooked>(subject.task, hook));
  const auto plugins = std::exchange(run.host, std::make_unique<OneTask>(hooked));
  PlanInForce plan(run.forms, {{FormId(subject.name), subject.execution}});
  SilentConsole console;
  const std::filesystem::path directory = subject.scratch.path() / "run";
  std::filesystem::create_directory(directory);
  EXPECT_EQ(TestTrainer(run, plan, directory, *console).Train(), ExitCode::kDone) << console.words();
  Outcome outcome{.state = EndState(directory), .first_step = Lines(directory / "metrics.jsonl").at(0)};
  outcome.state.erase("state.json");  // how the rows were cut stands there too
  for (const json& step : Lines(directory / "timing.jsonl")) {
    for (const json& overflow : step.value("out_of_memory", json::array()))
      outcome.overflows.push_back(overflow);
  }
  return outcome;
}

// Of the forwards and backwards of a draw.
std::int64_t AllocationsOf(const Case& c) {
  Subject subject(c, 0);
  const Batch rows = subject.task.Sample({.seed = 1, .begin = 0, .count = kRows});
  const auto overflows = [&](std::int64_t nth) {
    bool overflow = false;
    FailCpuAllocation(nth);
    try {
      subject.run->executor->Run({{.task = &subject.task, .batch = &rows, .execution = &subject.execution}});
    } catch (const c10::OutOfMemoryError&) {
      overflow = true;
    }
    FailCpuAllocation(0);
    if (overflow) DrainEngine();
    ClearGradients(*subject.run->model);
    return overflow;
  };
  overflows(0);  // what is made once is there
  std::int64_t low = 1, high = 512;
  while (overflows(high)) low = std::exchange(high, 2 * high);
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (overflows(middle) ? low : high) = middle;
  }
  return low;
}

// The n-th allocation from the first draw's first pass on fails, once.
Hook FailAt(std::int64_t nth) {
  return [nth, done = std::make_shared<bool>(false)] {
    if (!std::exchange(*done, true)) FailCpuAllocation(nth);
  };
}

class AgentOom : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    InstallCpuAllocator();
    at::set_num_threads(1);
  }
  void TearDown() override { FailCpuAllocation(0); }
};

void ExpectNear(const Outcome& got, const Outcome& expected) {
  const auto near = [](const json& a, const json& b, const std::string& what) {
    EXPECT_NEAR(a.get<double>(), b.get<double>(), 5e-6 * std::abs(b.get<double>())) << what;
  };
  near(got.first_step.at("grad_norm"), expected.first_step.at("grad_norm"), "the gradient's norm");
  for (const auto& [task, terms] : expected.first_step.at("terms").items()) {
    for (const auto& [term, loss] : terms.items())
      near(got.first_step.at("terms").at(task).at(term).at("mean"), loss.at("mean"), term);
  }
}

TEST_P(AgentOom, TheRunIsThatOfAPlanWithHalfTheRowsAndNearOneWithOneRow) {
  const Outcome half = Train(GetParam(), kRows / 2, [] {}), single = Train(GetParam(), 1, [] {});
  const Outcome whole = Train(GetParam(), 0, [] {});
  ASSERT_TRUE(half.overflows.empty());
  ExpectNear(half, single);
  const std::int64_t allocations = AllocationsOf(GetParam());
  EXPECT_GT(allocations, 200);
  for (int i = 0; i < kFaults; ++i) {
    const std::int64_t nth = 1 + i * (allocations - 1) / (kFaults - 1);
    SCOPED_TRACE(::testing::Message() << "allocation " << nth << " of " << allocations);
    const Outcome outcome = Train(GetParam(), 0, FailAt(nth));
    ASSERT_EQ(outcome.overflows.size(), 1U);
    if (outcome.overflows[0].at("phase") == "between draws") {  // the step's sums: it runs again uncut
      EXPECT_EQ(outcome.state, whole.state);
      continue;
    }
    EXPECT_EQ(outcome.overflows[0].at("from"), kRows);
    EXPECT_EQ(outcome.overflows[0].at("to"), kRows / 2);
    EXPECT_EQ(outcome.overflows[0].at("left_bytes"), 0);
    EXPECT_EQ(outcome.state, half.state);
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, AgentOom,
                         ::testing::ValuesIn(test::Slice<Case>("AgentOom",
                                                               {{"position_qa", Mode::kSequential},
                                                                {"zoom_agent", Mode::kJoint},
                                                                {"mem_canvas", Mode::kTwoStage}},
                                                               3)),
                         [](const auto& info) { return info.param.task; });

}  // namespace
}  // namespace medley
