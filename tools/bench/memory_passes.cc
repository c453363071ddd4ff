// What a task's passes cost in rows. First with tasks that differ in nothing but their number of passes, each
// the same question about one picture; then the tasks of the config, with what a row keeps for the backward.
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/estimate/task_shape.h>
#include <medley/plugin/task_host.h>
#include <medley/report/table.h>
#include <medley/task/losses.h>
#include <medley/task/text_rows.h>

#include "tools/bench/memory_bench.h"

namespace medley::bench {
namespace {

constexpr int kMostPasses = 5, kWidth = 24, kLearned = 8, kQuestions = 16;

std::string PassName(int pass) { return "question_" + std::to_string(pass); }

TaskInfo InfoOf(int passes) {
  TaskInfo info;
  info.name = "passes_" + std::to_string(passes);
  VariantInfo variant{.name = "default", .passes = {}, .terms = {}};
  for (int p = 0; p < passes; ++p) {
    variant.passes.push_back({.name = PassName(p), .text_width = kWidth, .images = {"image"}, .carries = {}});
    variant.terms.push_back({.name = PassName(p), .weight = 1, .max_items = kLearned});
  }
  info.variants = {std::move(variant)};
  info.constants = {{.name = "questions", .rows = kQuestions, .width = kWidth, .dtype = "int64"}};
  info.inputs = {"images", "tokens", "lengths", "supervised"};
  info.outputs = {"logits", "targets"};
  return info;
}

// Every pass asks one of a table's questions about the row's picture and learns the last tokens.
class EqualPasses final : public Task {
 public:
  EqualPasses(int passes, std::int64_t size, std::int64_t vocabulary)
      : passes_(passes), size_(size), vocabulary_(vocabulary) {}

  Batch Sample(const RowRange& rows) const override {
    Batch batch(rows);
    batch.Add("image", at::full({rows.count, 3, size_, size_}, 100, at::kByte));
    for (int p = 0; p < passes_; ++p) {
      std::vector<std::int64_t> asked;
      for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row)
        asked.push_back((row + p) % kQuestions);
      batch.Add(PassName(p), IntColumn(asked));
      AddLearned(batch, PassName(p) + ".learned", PassName(p),
                 std::vector<LearnedSpan>(asked.size(), {kWidth - kLearned, kWidth}));
    }
    batch.Add("lengths", at::full({rows.count}, kWidth, at::kLong));
    return batch;
  }

  Sums Run(std::string_view pass, PassContext& context) const override {
    const Batch& batch = context.batch();
    const std::string name(pass);
    const at::Tensor tokens = context.Constant("questions").index_select(0, batch.Column(name));
    const at::Tensor supervised = FlatPositions(batch.Ragged(name + ".learned"), kWidth);
    const ModelOutputs outputs =
        context.Forward({context.Image("image"),
                         {.name = "tokens", .tensor = tokens, .key = ""},
                         {.name = "lengths", .tensor = batch.Column("lengths"), .key = ""},
                         {.name = "supervised", .tensor = supervised, .key = ""}},
                        {"logits", "targets"});
    return {{name, SumCrossEntropy(outputs.at("logits"), outputs.at("targets"))}};
  }
  Outcomes Evaluate(EvalContext&, const RowRange&) const override { return {}; }
  at::Tensor Constant(std::string_view) const override {
    return at::arange(kQuestions * kWidth).remainder(vocabulary_).view({kQuestions, kWidth});
  }

 private:
  int passes_;
  std::int64_t size_, vocabulary_;
};

// Tasks of one to five equal passes, all of them loaded.
class EqualHost final : public TaskHost {
 public:
  EqualHost(std::int64_t size, std::int64_t vocabulary) {
    for (int passes = 1; passes <= kMostPasses; ++passes) {
      infos_.push_back(std::make_unique<TaskInfo>(InfoOf(passes)));
      const TaskInfo& info = *infos_.back();
      names_.push_back(info.name);
      tasks_[FormId(info.name)] = std::make_unique<LoadedTask>(
          info, info.variants.front(), "bench", std::make_unique<EqualPasses>(passes, size, vocabulary));
    }
  }

  LoadedTask& Get(const Form& form) override { return *Find(form.id); }
  LoadedTask* Find(const FormId& form) const override { return tasks_.at(form).get(); }
  const VariantInfo& Variant(const Form& form) override { return Get(form).variant(); }
  std::optional<TaskOrigin> OriginOf(const std::string&) const override { return std::nullopt; }

  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<TaskInfo>> infos_;
  std::map<FormId, std::unique_ptr<LoadedTask>> tasks_;
};

// Of the config's model with these tasks, "rows": "auto", in this mode, or in the planner's where it is "".
Plan PlanOfEqualPasses(const Asked& asked, const std::string& mode) {
  std::unique_ptr<Run> made = MakeRun(asked);
  auto host = std::make_unique<EqualHost>(made->model_file->Pictures()->size, made->tokenizer->size());
  RunConfig config = made->config;
  config.tasks.clear();
  for (const std::string& name : host->names()) {
    config.tasks[name].rows = 0;
    config.tasks[name].mode = mode;
  }
  Run run(std::move(config));
  run.device = made->device;
  run.budget = made->budget;
  run.registry = std::move(made->registry);
  run.model_file = std::move(made->model_file);
  run.tokenizer = std::move(made->tokenizer);
  run.model = std::move(made->model);
  run.contract = std::move(made->contract);
  run.executor = std::move(made->executor);
  run.optimizer = std::move(made->optimizer);
  std::vector<Form> forms;
  for (const std::string& name : host->names()) forms.push_back(run.forms.Own(name));
  run.host = std::move(host);
  Console console(stderr);
  return RunPlanner(FormMeasurer::PartsOf(run), run.curriculum, RunPlanner::SettingOf(run), console)
      .PlanRun(forms);
}

void CompareEqualPasses(const Asked& asked) {
  const Plan planned = PlanOfEqualPasses(asked, ""), joint = PlanOfEqualPasses(asked, "joint");
  Table table({"passes", "micro rows", "over one pass", "joint: micro rows", "over one pass"});
  const auto over = [](std::int64_t rows, const Plan& plan) {
    return Ratio(static_cast<double>(rows) / static_cast<double>(plan.entries.front().rows));
  };
  for (std::size_t p = 0; p < planned.entries.size(); ++p) {
    const std::int64_t rows = planned.entries[p].micro_rows, all_graphs = joint.entries[p].micro_rows;
    table.Add({std::to_string(p + 1), std::to_string(rows), over(rows, planned), std::to_string(all_graphs),
               over(all_graphs, joint)});
  }
  Say(table.ToText());
  Say("budget " + Megabytes(planned.budget) + "   (goal: micro rows at least 0.95 of one pass's)");
}

// What decides a row's bytes: the heaviest pass, or all passes where their graphs live together.
struct Cause {
  std::int64_t by_losses = 0;  // bytes that the task's own losses keep
  std::string words;
};

class SavedByPass final : public StepObserver {
 public:
  bool WantsSavedBytes() const override { return true; }
  void PassRan(const PassRun& run) override {
    if (run.saved) bytes_[run.pass] = *run.saved;
  }
  const std::map<std::string, std::int64_t>& bytes() const { return bytes_; }

 private:
  std::map<std::string, std::int64_t> bytes_;
};

// The passes whose graphs live at once when the peak is there.
std::vector<const PassShape*> LiveTogether(AutoRun& planned, LoadedTask& task, const TaskShape& shape,
                                           Mode mode) {
  Run& run = planned.run();
  SavedByPass meter;
  MeasureStep(run, task, SampleRows(run, task, 0, 1, true), planned.execution(FormId(task.info().name)),
              meter);
  std::map<std::string, std::int64_t> saved = meter.bytes();
  std::vector<const PassShape*> passes;
  for (const PassShape& pass : shape.passes) {
    if (mode == Mode::kJoint || passes.empty()) {
      passes.push_back(&pass);
    } else if (saved[pass.name] > saved[passes.front()->name]) {
      passes.front() = &pass;
    }
  }
  return passes;
}

Cause CauseOf(AutoRun& planned, LoadedTask& task, Mode mode) {
  const Run& run = planned.run();
  const TaskShape shape =
      ShapeOf(task, SampleRows(run, task, 0, 1, true), *run.model, run.model_file->config);
  const auto passes = LiveTogether(planned, task, shape, mode);
  Cause cause;
  std::size_t pictures = 0, drawn = 0;
  std::int64_t tokens = 0;
  for (const PassShape* pass : passes) {
    cause.by_losses += pass->loss.kept;
    pictures += pass->images.size();
    tokens += pass->sizes.at("text_width");
    drawn += pass->outputs.count("image") + pass->outputs.count("drawing") > 0 ? 1 : 0;
  }
  cause.words = std::to_string(passes.size()) + " at once: reads " + std::to_string(pictures) + ", draws " +
                std::to_string(drawn) + ", " + std::to_string(tokens) + " tokens";
  return cause;
}

void ExplainRows(AutoRun& planned) {
  Table table({"task", "passes", "mode", "micro rows", "a row's peak", "kept for backward", "by losses",
               "passes, pictures and text"});
  for (const PlannedTask& entry : planned.plan().entries) {
    const ModeProfile& mode = *planned.profile().tasks.at(entry.form).Find(entry.way);
    const PeakLines lines(mode.whole);
    const Cause cause = CauseOf(planned, planned.task(entry.form), entry.way.mode);
    table.Add({entry.form.text(), std::to_string(entry.passes), std::string(ModeName(entry.way.mode)),
               std::to_string(entry.micro_rows), Megabytes(lines.At(entry.rows + 1) - lines.At(entry.rows)),
               Megabytes(mode.saved_per_row), Megabytes(cause.by_losses), cause.words});
  }
  Say(table.ToText());
}

}  // namespace

void BenchPasses(Session& session) {
  CompareEqualPasses(session.asked());
  ExplainRows(session.planned());
}

}  // namespace medley::bench
