// The estimate of a step's bytes beside what the counting allocator measures, for every task of the tree.

#include <gtest/gtest.h>

#include <ATen/Parallel.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/saved_variables.h>
#include <medley/memory/step_bytes.h>
#include <medley/model/model_factory.h>
#include <medley/plugin/plugin_host.h>
#include <medley/text/sentencepiece_tokenizer.h>
#include <medley/train/probe_rows.h>
#include <medley/train/step_executor.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <medley/base/random.h>

namespace medley {
namespace {

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

struct Case {
  std::string task, variant;
  Mode mode;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.task << "/" << c.variant << "/" << ModeName(c.mode);
}

std::vector<Case> AllCases() {
  std::vector<Case> all;
  for (const TaskInfo* info : SharedRegistry().tasks()) {
    for (const VariantInfo& variant : info->variants) {
      for (const Mode mode : LegalModes(variant)) {
        all.push_back({info->name, variant.name, mode});
      }
    }
  }
  return all;
}

class StepBytesOf : public testing::TestWithParam<Case> {
 protected:
  StepBytesOf() {
    InstallCpuAllocator();
    InstallSavedVariableHooks();
    at::set_num_threads(1);
  }
};

class Subject {
 public:
  explicit Subject(const Case& c)
      : model_(MakeModel(kModel, SharedTokenizer(), /*seed=*/3)),
        host_({.registry = SharedRegistry(),
               .tokenizer = SharedTokenizer(),
               .image = ReadImageGeometry(kModel),
               .control_text = lines_,
               .settings = {{c.task, {.variant = c.variant, .options = {}}}}}),
        task_(host_.Get(c.task)),
        rows_(task_, TaskSeed(3, c.task)),
        executor_(*model_, at::kCPU) {
    for (std::int64_t kind = 0; kind < rows_.kinds(); ++kind) {
      const TaskShape shape = ShapeOf(task_, rows_.Make(kind, 1).Take({0, 0}), 128, *model_);
      shape_ = kind == 0 ? shape : Widest(shape_, shape);
    }
  }

  // The largest of all kinds of rows.
  std::int64_t Peak(const ExecutionPlan& plan, std::int64_t rows, std::int64_t forwards) {
    Run(plan, rows_.Make(0, 1));  // the first draw in a mode also checks that the task may have it
    std::int64_t peak = 0;
    for (std::int64_t kind = 0; kind < rows_.kinds(); ++kind) {
      const std::int64_t data = ReadCpuMemory().data_now;
      const Batch batch = rows_.Make(kind, rows, forwards);
      const std::int64_t floor = ReadCpuMemory().now;
      ResetCpuPeak();
      Run(plan, batch);
      const CpuMemory after = ReadCpuMemory();
      peak = std::max(peak, after.peak - floor + after.data_now - data);
    }
    return peak;
  }

  std::int64_t Estimated(const ExecutionPlan& plan, std::int64_t rows) const {
    const StepSetting setting{.mode = plan.mode,
                              .rows = rows,
                              .micro_rows = plan.micro_rows,
                              .recompute_every = plan.recompute_every};
    return TrainingBytes(*model_, shape_, setting, {}).total();
  }
  std::int64_t kinds() const { return rows_.kinds(); }

 private:
  void Run(const ExecutionPlan& plan, const Batch& batch) {
    executor_.Run({{.task = &task_, .batch = &batch, .plan = &plan}});
    for (const Parameter& parameter : model_->parameters())
      at::Tensor(parameter.tensor).mutable_grad().reset();
  }

  static inline const std::string kModel = Configs() / "models/agent-tiny.json";
  std::vector<std::string> lines_ = {"The cat sleeps.", "It rained all day, so we stayed at home and read."};
  std::unique_ptr<Model> model_;
  PluginHost host_;
  LoadedTask& task_;
  ProbeRows rows_;
  StepExecutor executor_;
  TaskShape shape_;
};

TEST_P(StepBytesOf, AreNeverBelowTheMeasuredPeakAndNear) {
  Subject subject(GetParam());
  // Rows of several kinds are taken for the widest of all.
  const double most = subject.kinds() > 1 ? 1.15 : 1.07;
  struct Way {
    std::int64_t rows, forwards;
    int every;
  };
  for (const Way& way : {Way{1, 1, 0}, {8, 1, 0}, {2, 2, 0}, {1, 1, 1}, {4, 1, 1}}) {
    const ExecutionPlan plan{
        .mode = GetParam().mode, .micro_rows = way.rows, .recompute_every = way.every, .term_weights = {}};
    const std::int64_t measured = subject.Peak(plan, way.rows, way.forwards);
    const std::int64_t estimated = subject.Estimated(plan, way.rows * way.forwards);
    const double ratio = static_cast<double>(estimated) / static_cast<double>(measured);
    SCOPED_TRACE(testing::Message() << way.forwards << " forwards of " << way.rows
                                    << " rows, recompute every " << way.every);
    EXPECT_GE(ratio, 1);
    EXPECT_LE(ratio, most);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTasks, StepBytesOf, testing::ValuesIn(AllCases()),
                         [](const testing::TestParamInfo<Case>& info) {
                           return info.param.task + "_" + info.param.variant + "_" +
                                  std::string(ModeName(info.param.mode));
                         });

}  // namespace
}  // namespace medley
