// Every task of the tree with the real agent: what the prober predicts is what a step takes.

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/model_factory.h>
#include <medley/plugin/plugin_host.h>
#include <medley/plugin/registry.h>
#include <medley/text/sentencepiece_tokenizer.h>
#include <medley/train/prober.h>

#include <cctype>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace medley {
namespace {

constexpr std::uint64_t kSeed = 5;
constexpr std::int64_t kPlanned = 21;  // rows: more than any probe has

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

class AgentPeaks : public testing::TestWithParam<TaskVariant> {
 protected:
  static void SetUpTestSuite() {
    InstallCpuAllocator();
    at::set_num_threads(1);
  }
  AgentPeaks()
      : model_(MakeModel(Configs() / "models/agent-tiny.json", SharedTokenizer(), /*seed=*/3)),
        executor_(*model_, at::kCPU),
        host_({.registry = SharedRegistry(),
               .tokenizer = SharedTokenizer(),
               .image = ReadImageGeometry(Configs() / "models/agent-tiny.json"),
               .control_text = control_text_,
               .settings = {{GetParam().task, {.variant = GetParam().variant, .options = {}}}}}),
        task_(host_.Get(GetParam().task)) {}

  Batch Rows(std::int64_t begin, std::int64_t count, bool longest) const {
    const MemoryOwnerScope data(MemoryOwner::kData);
    return task_.Sample(
        {.seed = TaskSeed(7, GetParam().task), .begin = begin, .count = count, .longest = longest});
  }
  std::int64_t PeakOf(const Batch& rows, const ExecutionPlan& plan) {
    const std::int64_t floor = ReadCpuMemory().now;
    ResetCpuPeak();
    executor_.Run({{.task = &task_, .batch = &rows, .plan = &plan}});
    const std::int64_t peak = ReadCpuMemory().peak - floor;
    for (const Parameter& parameter : model_->parameters())
      at::Tensor(parameter.tensor).mutable_grad().reset();
    return peak;
  }

  std::vector<std::string> control_text_{"The cat sits on the mat.", "A red boat, far out at sea.", "Hm."};
  std::unique_ptr<Model> model_;
  StepExecutor executor_;
  PluginHost host_;
  LoadedTask& task_;
};

TEST_P(AgentPeaks, ArePredictedToTheByteForTheLongestRowsAndNeverExceededByDrawnOnes) {
  Prober prober(*model_, executor_, at::kCPU, kSeed, std::int64_t{8} << 30);
  prober.CheckContract(task_);
  for (const int recompute_every : {0, 1}) {
    for (const Mode mode : LegalModes(task_.variant())) {
      if (recompute_every > 0 && GetParam().variant != "default") continue;
      ExecutionPlan plan{
          .mode = mode, .micro_rows = 0, .recompute_every = recompute_every, .term_weights = {}};
      TaskProfile profile;
      prober.Measure(task_, plan, profile);
      const ModeProfile& measured = profile.modes.at(0);
      ASSERT_GE(measured.whole.size(), 3U);
      prober.Confirm(task_, plan, kPlanned, profile);
      const PeakLines whole(measured.whole), pieces(measured.pieces);
      const std::string where = std::string(ModeName(mode)) + (recompute_every > 0 ? " recomputed" : "");
      const std::int64_t longest = PeakOf(Rows(0, kPlanned, /*longest=*/true), plan);
      if (ProbeRows(task_, kSeed).kinds() == 1) {
        EXPECT_EQ(longest, whole.At(kPlanned)) << where;
      } else {
        EXPECT_LE(longest, whole.At(kPlanned)) << where;
      }
      for (const std::int64_t rows : {1, 3, 12}) {
        const std::int64_t begin = 100 * rows;
        EXPECT_LE(PeakOf(Rows(begin, rows, false), plan), whole.At(rows)) << where << ", rows " << rows;
        EXPECT_LE(PeakOf(Rows(begin + 1, rows, true), plan), whole.At(rows)) << where << ", rows " << rows;
      }
      plan.micro_rows = 6;
      EXPECT_LE(PeakOf(Rows(40, kPlanned, false), plan), pieces.At(6)) << where << " in pieces";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTasks, AgentPeaks, testing::ValuesIn(AllVariants()), [](const auto& info) {
  std::string name = info.param.task + "_" + info.param.variant;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

}  // namespace
}  // namespace medley
