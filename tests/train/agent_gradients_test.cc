// Every task of the tree with the real agent: each legal mode and micro-batch gives the gradient of joint.

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <medley/model/model_factory.h>
#include <medley/plugin/plugin_host.h>
#include <medley/plugin/registry.h>
#include <medley/text/sentencepiece_tokenizer.h>
#include <medley/train/step_executor.h>

#include <cctype>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "tests/train/executor_fixture.h"
#include "tests/train/positive_relus.h"

namespace medley {
namespace {

using testing_fixture::Distance;
using testing_fixture::Gradient;
using testing_fixture::PositiveRelus;
using testing_fixture::TakeGradient;

constexpr std::int64_t kRows = 13;

const std::filesystem::path& Configs() {
  static const auto* path = new std::filesystem::path(std::filesystem::path(MEDLEY_SOURCE_DIR) / "configs");
  return *path;
}

const Tokenizer& SharedTokenizer() {
  static const Tokenizer* tokenizer = LoadTokenizer(Configs() / "tokenizers/small.model").release();
  return *tokenizer;
}

const Registry& SharedRegistry() {
  static const auto* registry = new Registry(
      Registry::Scan({.paths = {std::filesystem::path(MEDLEY_BUILD_DIR) / "lib/medley/plugins-1"},
                      .environment = false,
                      .user_directory = false}));
  return *registry;
}

struct TaskVariant {
  std::string task, variant;
};
std::ostream& operator<<(std::ostream& out, const TaskVariant& v) {
  return out << v.task << ", variant " << v.variant;
}

std::vector<TaskVariant> AllVariants() {
  std::vector<TaskVariant> all;
  for (const TaskInfo* info : SharedRegistry().tasks()) {
    for (const VariantInfo& variant : info->variants) all.push_back({info->name, variant.name});
  }
  return all;
}

class AgentGradients : public testing::TestWithParam<TaskVariant> {
 protected:
  AgentGradients()
      : model_(MakeModel(Configs() / "models/agent-tiny.json", SharedTokenizer(), /*seed=*/3)),
        host_({.registry = SharedRegistry(),
               .tokenizer = SharedTokenizer(),
               .image = ReadImageGeometry(Configs() / "models/agent-tiny.json"),
               .control_text = control_text_,
               .settings = {{GetParam().task, {.variant = GetParam().variant, .options = {}}}}}),
        task_(host_.Get(GetParam().task)) {
    at::set_num_threads(1);  // sums in one order on every machine
  }

  Batch Rows(std::int64_t begin, std::int64_t count = kRows) const {
    return task_.Sample({.seed = TaskSeed(3, GetParam().task), .begin = begin, .count = count});
  }
  Gradient GradientOf(const Batch& rows, Mode mode, std::int64_t micro_rows) {
    const ExecutionPlan plan{.mode = mode, .micro_rows = micro_rows, .term_weights = {}};
    StepExecutor executor(*model_, at::kCPU);
    executor.Run({{.task = &task_, .batch = &rows, .plan = &plan}});
    return TakeGradient(*model_);
  }
  std::pair<Gradient, std::int64_t> CountedGradientOf(const Batch& rows, Mode mode, std::int64_t micro_rows) {
    const PositiveRelus relus;
    const Gradient gradient = GradientOf(rows, mode, micro_rows);
    return {gradient, relus.count()};
  }
  std::vector<Mode> LegalModes() const {
    std::vector<Mode> modes{Mode::kJoint};
    if (!task_.variant().Carries()) modes.push_back(Mode::kSequential);
    return modes;
  }

  std::vector<std::string> control_text_{"The cat sits on the mat.", "A red boat, far out at sea."};
  std::unique_ptr<Model> model_;
  PluginHost host_;
  LoadedTask& task_;
};

TEST_P(AgentGradients, DoesWhatItsSpecSays) {
  StepExecutor executor(*model_, at::kCPU);
  EXPECT_NO_THROW(executor.CheckContract(task_, Rows(100, 1)));
}

// Where a ReLU's input is a rounding error away from 0, the rows of a forward decide on which side of its
// kink it falls, and one unit of one patch joins or leaves the gradient: in float up to 1e-4 of it, and no
// mistake. Of a million ReLUs that happens to one in a draw or two of ten, so such draws give way to the next
// one. All others keep the bound, with a tenth of it (3e-7) measured.
TEST_P(AgentGradients, EveryModeAndMicroBatchEqualsJoint) {
  for (const auto& [dtype, tolerance] : {std::pair{at::kDouble, 1e-12}, std::pair{at::kFloat, 5e-6}}) {
    model_->To(at::kCPU, dtype);
    std::set<std::pair<Mode, std::int64_t>> open;
    for (const Mode mode : LegalModes()) {
      for (const std::int64_t micro_rows : {1, 5, 13}) open.emplace(mode, micro_rows);
    }
    for (const std::int64_t begin : {100, 1000, 10000, 20000}) {
      if (open.empty()) break;
      const Batch rows = Rows(begin);
      const auto [joint, positive] = CountedGradientOf(rows, Mode::kJoint, 0);
      ASSERT_GT(positive, 0);
      for (const auto& [mode, micro_rows] : std::set(open)) {
        const auto [gradient, positive_now] = CountedGradientOf(rows, mode, micro_rows);
        if (positive_now != positive) continue;
        EXPECT_LE(Distance(gradient, joint), tolerance)
            << (mode == Mode::kJoint ? "joint, " : "sequential, ") << micro_rows << " rows, from " << begin;
        open.erase({mode, micro_rows});
      }
    }
    EXPECT_TRUE(open.empty()) << "no draw without a ReLU that changed sides";
  }
}

INSTANTIATE_TEST_SUITE_P(AllTasks, AgentGradients, testing::ValuesIn(AllVariants()), [](const auto& info) {
  std::string name = info.param.task + "_" + info.param.variant;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

// Without plugins there would be nothing above to fail.
TEST(AgentGradientTasks, AreAllOfTheTreeAndNoneIsRejected) {
  EXPECT_EQ(SharedRegistry().tasks().size(), 22U);
  for (const RejectedPlugin& rejected : SharedRegistry().rejected()) {
    ADD_FAILURE() << rejected.path << ": " << rejected.reason;
  }
}

}  // namespace
}  // namespace medley
