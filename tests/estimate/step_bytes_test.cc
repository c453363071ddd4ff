// The estimate of a step's bytes beside what the counting allocator measures, for every task of the tree.

#include <gtest/gtest.h>
#include <medley/estimate/estimated_evaluation.h>
#include <medley/estimate/step_bytes.h>
#include <medley/eval/evaluator.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/product_workspace.h>
#include <medley/model/float_type.h>
#include <medley/plan/peak_lines.h>
#include <medley/plan/probe_rows.h>
#include <medley/step/passes/saved_variables.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/step/agent_fixture.h"
#include "tests/sweep.h"

namespace medley {
namespace {

using namespace testing_fixture;

struct Case {
  TaskVariant what;
  Mode mode;
  double dropout = 0;
  at::ScalarType dtype = at::kFloat;
  bool qwen2 = false;
  LoraConfig lora{};
  std::int64_t loss_items = 0;  // that the limit of losses has room for; 0: for all
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.what << ", " << ModeName(c.mode) << ", dropout " << c.dropout << ", " << c.dtype
             << (c.qwen2 ? ", as Qwen2" : "") << ", rank " << c.lora.rank << " with dropout "
             << c.lora.dropout << ", room for " << c.loss_items;
}

// Of all maps, of some, with rows of tokens, with dropout.
std::vector<LoraConfig> Adapted() {
  const NamesOrPattern all{.names = {}, .pattern = kAllLinear};
  return {{.rank = 4, .alpha = 8, .targets = all},
          {.rank = 8, .alpha = 8, .targets = {.names = {"q_proj", "v_proj"}}},
          {.rank = 4, .alpha = 8, .targets = {.names = {"up_proj", "down_proj"}}, .tokens = {9, 12}},
          {.rank = 4, .alpha = 8, .dropout = 0.1, .targets = all}};
}

std::vector<Case> AllCases() {
  std::vector<Case> all;
  for (const TaskVariant& what : AllVariants()) {
    const VariantInfo* variant = SharedRegistry().Find(what.task)->FindVariant(what.variant);
    for (const Mode mode : LegalModes(*variant)) all.push_back({what, mode});
  }
  for (const TaskVariant& what :
       {TaskVariant{"position_qa", "default"}, TaskVariant{"arrow_to_gold", "carry"},
        TaskVariant{"control", "default"}, TaskVariant{"mem_canvas", "default"}}) {
    const VariantInfo* variant = SharedRegistry().Find(what.task)->FindVariant(what.variant);
    for (const Mode mode : LegalModes(*variant)) {
      all.push_back({what, mode, 0.1});
      all.push_back({what, mode, 0.1, at::kBFloat16});
      all.push_back({what, mode, 0, at::kFloat, /*qwen2=*/true});
      for (const LoraConfig& lora : Adapted())
        all.push_back({what, mode, 0, at::kFloat, /*qwen2=*/false, lora});
      all.push_back({what, mode, 0, at::kBFloat16, /*qwen2=*/false, Adapted().front()});
      all.push_back({what, mode, 0, at::kHalf});
      all.push_back({what, mode, 0, at::kHalf, /*qwen2=*/false, Adapted().front()});
      for (const LoraConfig& lora : {LoraConfig(), Adapted()[2]}) {
        for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16})
          all.push_back({what, mode, 0, dtype, /*qwen2=*/false, lora, /*loss_items=*/4});
      }
    }
  }
  for (const TaskVariant& what : DefaultVariants()) {
    const VariantInfo* variant = SharedRegistry().Find(what.task)->FindVariant(what.variant);
    for (const Mode mode : LegalModes(*variant)) all.push_back({what, mode, 0, at::kBFloat16});
  }
  return all;
}

std::string NameOf(const LoraConfig& lora) {
  if (lora.rank == 0) return "";
  const NamesOrPattern& targets = lora.targets;
  return "_lora_" + (targets.names.empty() ? "all" : targets.names.front()) +
         (lora.dropout > 0 ? "_drops" : "");
}

class StepBytesOf : public ::testing::TestWithParam<Case> {
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
      : loaded_(c.what, c.dropout, c.dtype, c.qwen2, c.lora, c.loss_items),
        rows_(loaded_.task, TaskSeed(3, c.what.task)) {
    for (std::int64_t kind = 0; kind < rows_.kinds(); ++kind) {
      const TaskShape shape =
          ShapeOf(loaded_.task, rows_.Make(kind, 1).Take({0, 0}), *loaded_.model, TinyAgentFile().config);
      shape_ = kind == 0 ? shape : Widest(shape_, shape);
    }
  }

  // The largest of all kinds of rows.
  std::int64_t Peak(const Execution& plan, std::int64_t rows, std::int64_t forwards) {
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

  std::int64_t Estimated(const Execution& plan, std::int64_t rows) const {
    const StepSetting setting{.way = plan.way, .rows = rows, .micro_rows = plan.micro_rows};
    return TrainingBytes(*loaded_.model, shape_, setting, {}).total();
  }
  std::int64_t kinds() const { return rows_.kinds(); }
  const std::vector<Parameter>& parameters() const { return loaded_.model->parameters(); }

 private:
  void Run(const Execution& plan, const Batch& batch) {
    loaded_.Run(batch, plan);
    ClearGradients(*loaded_.model);
  }

  AgentWithTask loaded_;
  ProbeRows rows_;
  TaskShape shape_;
};

TEST_P(StepBytesOf, AreNeverBelowTheMeasuredPeakAndNear) {
  Subject subject(GetParam());
  // Rows of several kinds are taken for the widest of all, and what half types take for a moment for the
  // most. Beside frozen weights, what they do not keep is taken for there while a layer goes back.
  // Losses that are cut are taken for such as need not be, where rows have fewer items, and then take more.
  const bool is_loose = subject.kinds() > 1 || IsHalf(GetParam().dtype) || GetParam().lora.rank > 0 ||
                        GetParam().loss_items > 0;
  const double most = is_loose ? 1.15 : 1.07;
  struct Size {
    std::int64_t rows, forwards;
    int every;
  };
  for (const Size& size : {Size{1, 1, 0}, {8, 1, 0}, {2, 2, 0}, {1, 1, 1}, {4, 1, 1}}) {
    const Execution plan{.way = {GetParam().mode, size.every}, .micro_rows = size.rows, .term_weights = {}};
    const std::int64_t measured = subject.Peak(plan, size.rows, size.forwards);
    const std::int64_t estimated = subject.Estimated(plan, size.rows * size.forwards);
    const double ratio = static_cast<double>(estimated) / static_cast<double>(measured);
    const std::int64_t near = estimated - WorkspaceOf(subject.parameters()).backward;
    // Of one row half types' gradients weigh the most, which are there in both types for a moment; and of one
    // of words alone, as files have them, the 0.2 MiB that are taken for what any forward has once.
    const bool is_heavy =
        IsHalf(GetParam().dtype) || GetParam().loss_items > 0 || !OptionsOnFile(GetParam().what.task).empty();
    const double more = is_heavy && size.rows * size.forwards == 1 ? 0.07 : 0;
    SCOPED_TRACE(::testing::Message()
                 << size.forwards << " forwards of " << size.rows << " rows, recompute every " << size.every);
    EXPECT_GE(ratio, 1);
    EXPECT_LE(static_cast<double>(near) / static_cast<double>(measured), most + more);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTasks, StepBytesOf,
                         ::testing::ValuesIn(test::Slice("StepBytesOf", AllCases(), 8)),
                         [](const ::testing::TestParamInfo<Case>& info) {
                           return NameOf(info.param.what) + "_" + std::string(ModeName(info.param.mode)) +
                                  (info.param.dropout > 0 ? "_dropout" : "") +
                                  (info.param.dtype == at::kBFloat16 ? "_bf16" : "") +
                                  (info.param.dtype == at::kHalf ? "_fp16" : "") +
                                  (info.param.qwen2 ? "_qwen2" : "") + NameOf(info.param.lora) +
                                  (info.param.loss_items > 0 ? "_cut" : "");
                         });

struct Evaluated {
  TaskVariant what;
  at::ScalarType dtype = at::kFloat;
};
std::ostream& operator<<(std::ostream& out, const Evaluated& e) { return out << e.what << ", " << e.dtype; }

std::vector<Evaluated> AllEvaluated() {
  std::vector<Evaluated> all;
  for (const TaskVariant& what : AllVariants()) all.push_back({what});
  for (const TaskVariant& what : DefaultVariants()) {
    for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) all.push_back({what, dtype});
  }
  return all;
}

class EvaluationBytesOf : public ::testing::TestWithParam<Evaluated> {
 protected:
  EvaluationBytesOf() {
    InstallCpuAllocator();
    at::set_num_threads(1);
  }
};

// What the estimate finds without a model, beside the model itself.
TEST_P(EvaluationBytesOf, AreNeverBelowTheMeasuredPeakAndNear) {
  AgentWithTask loaded(GetParam().what, 0, GetParam().dtype);
  const std::uint64_t seed = EvalSeed(3, GetParam().what.task);
  const PeakLines lines =
      EvaluationLines(loaded.task, *MakeHollow(*loaded.model, TinyAgentFile().config, false), seed);
  const std::int64_t workspace = WorkspaceOf(loaded.model->parameters()).forward;
  for (const std::int64_t rows : {1, 5, 8, 9, 16}) {
    const std::int64_t estimated = lines.At(rows);
    const std::int64_t measured = EvaluationPeak(loaded.task, *loaded.model, seed, rows);
    EXPECT_GE(estimated, measured) << rows;
    EXPECT_LE(static_cast<double>(estimated - workspace), 1.1 * static_cast<double>(measured)) << rows;
  }
}

// As a run evaluates, over rows as they come, which are seldom the longest.
TEST_P(EvaluationBytesOf, HoldForTheEvaluationOfARun) {
  AgentWithTask loaded(GetParam().what, 0, GetParam().dtype);
  const auto hollow = MakeHollow(*loaded.model, TinyAgentFile().config, /*on_gpu=*/false);
  const PeakLines lines = EvaluationLines(loaded.task, *hollow, EvalSeed(3, GetParam().what.task));
  const std::int64_t floor = ReadCpuMemory().now;
  ResetCpuPeak();
  ScoreTask(loaded.task, {}, {*loaded.model, at::kCPU, 3, /*rows=*/8});
  const std::int64_t measured = ReadCpuMemory().peak - floor;
  EXPECT_GE(lines.At(8), measured);
  if (!OptionsOnFile(GetParam().what.task).empty()) return;  // lines may be far shorter than text_width
  EXPECT_LE(static_cast<double>(lines.At(8)), 1.3 * static_cast<double>(measured));
}

INSTANTIATE_TEST_SUITE_P(AllTasks, EvaluationBytesOf,
                         ::testing::ValuesIn(test::Slice("EvaluationBytesOf", AllEvaluated(), 5)),
                         [](const ::testing::TestParamInfo<Evaluated>& info) {
                           return NameOf(info.param.what) + (info.param.dtype == at::kBFloat16 ? "_bf16"
                                                             : info.param.dtype == at::kHalf   ? "_fp16"
                                                                                               : "");
                         });

}  // namespace
}  // namespace medley
