// The estimate of a step's bytes beside what the counting allocator measures, for every task of the tree.

#include <gtest/gtest.h>

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
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

void ClearGradients(const Model& model) {
  for (const Parameter& parameter : model.parameters()) at::Tensor(parameter.tensor).mutable_grad().reset();
}

std::unique_ptr<at::ObserverContext> See(const at::RecordFunction& function) {
  std::printf("    %10ld %10ld %s\n", ReadCpuMemory().now, ReadCpuMemory().peak, function.name());
  ResetCpuPeak();
  return nullptr;
}

TEST_P(StepBytesOf, IsNeverBelowTheMeasuredPeak) {
  const std::string model_file = Configs() / "models/agent-tiny.json";
  const auto model = MakeModel(model_file, SharedTokenizer(), /*seed=*/3);
  const std::vector<std::string> lines = {"The cat sleeps.",
                                          "It rained all day, so we stayed at home and read."};
  PluginHost host({.registry = SharedRegistry(),
                   .tokenizer = SharedTokenizer(),
                   .image = ReadImageGeometry(model_file),
                   .control_text = lines,
                   .settings = {{GetParam().task, {.variant = GetParam().variant, .options = {}}}}});
  LoadedTask& task = host.Get(GetParam().task);
  StepExecutor executor(*model, at::kCPU);
  const ProbeRows probe(task, TaskSeed(3, GetParam().task));

  for (const std::int64_t rows : {1, 4, 16}) {
    for (const std::int64_t micro : std::set<std::int64_t>{0, rows / 4}) {
      if (micro == 1 && rows == 1) continue;
      for (const int every : {0, 1}) {
        const ExecutionPlan plan{.mode = GetParam().mode, .micro_rows = micro, .recompute_every = every};
        const std::int64_t data_floor = ReadCpuMemory().data_now;
        const Batch batch = probe.Make(0, rows);
        const std::int64_t data = ReadCpuMemory().data_now - data_floor;
        executor.Run({{.task = &task, .batch = &batch, .plan = &plan}});
        ClearGradients(*model);
        const std::int64_t floor = ReadCpuMemory().now;
        ResetCpuPeak();
        if (std::getenv("TIMELINE") != nullptr) {
          std::printf("%s/%s/%s %ld/%ld floor %ld\n", GetParam().task.c_str(), GetParam().variant.c_str(),
                      std::string(ModeName(GetParam().mode)).c_str(), rows, micro, floor);
          const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(&See).scopes(
              {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
          executor.Run({{.task = &task, .batch = &batch, .plan = &plan}});
          at::removeCallback(handle);
          ClearGradients(*model);
          continue;
        }
        executor.Run({{.task = &task, .batch = &batch, .plan = &plan}});
        const std::int64_t measured = ReadCpuMemory().peak - floor + data;
        ClearGradients(*model);

        const StepSetting setting{
            .mode = GetParam().mode, .rows = rows, .micro_rows = micro, .recompute_every = every};
        const TaskShape shape = ShapeOf(task, batch, 128);
        const StepBytes at = TrainingBytes(*model, shape, setting, {});
        std::printf(
            "%-24s %-8s %-10s %3ld/%2ld r%d  measured %9ld  ratio %.3f  G %ld in %ld act %ld pre %ld log %ld "
            "work %ld\n",
            GetParam().task.c_str(), GetParam().variant.c_str(),
            std::string(ModeName(GetParam().mode)).c_str(), rows, micro, every, measured,
            static_cast<double>(at.total()) / static_cast<double>(measured), at.gradients, at.inputs,
            at.activations, at.prefix, at.logits, at.working);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTasks, StepBytesOf, testing::ValuesIn(AllCases()),
                         [](const testing::TestParamInfo<Case>& info) {
                           return info.param.task + "_" + info.param.variant + "_" +
                                  std::string(ModeName(info.param.mode));
                         });

}  // namespace
}  // namespace medley
