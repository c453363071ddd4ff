#include <medley/task/drivers/classify_task.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <medley/task/drivers/input_columns.h>
#include <medley/task/drivers/labels.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/losses.h>
#include <medley/task/text_rows.h>

namespace medley {
namespace {

// As ClassifySpec writes it.
std::int64_t DeclaredClasses(const TaskSpec& spec) {
  if (spec.score.chance) return std::llround(1 / *spec.score.chance);
  throw Error("the spec says .classes = 0, as files name them, and the task class has no Classes");
}

}  // namespace

ClassifyTask::ClassifyTask(const TaskContext& context, const TaskSpec& spec)
    : spec_(spec),
      names_(context.Classes()),
      classes_(names_.empty() ? DeclaredClasses(spec) : std::ssize(names_)),
      label_smoothing_(context.Option("label_smoothing")) {}

std::string ClassifyTask::NameOf(std::int64_t label) const {
  return names_.empty() ? std::to_string(label) : names_[static_cast<std::size_t>(label)];
}

at::Tensor ClassifyTask::Show(const Batch& rows) const { return ShownColumn(spec_.inputs, rows); }

Batch ClassifyTask::Sample(const RowRange& rows) const {
  InputColumns inputs(spec_.inputs);
  std::vector<std::int64_t> labels;
  ForEachRow(rows, [&](Row& row) {
    Classified drawn = Draw(row);
    inputs.Add(row, std::move(drawn.inputs));
    CheckDrawn(row.number, "label", drawn.label, classes_);
    labels.push_back(drawn.label);
  });
  Batch batch(rows);
  inputs.MoveTo(batch);
  batch.Add("label", IntColumn(labels));
  batch.CountEach("class");
  return batch;
}

Sums ClassifyTask::Run(std::string_view, PassContext& context) const {
  return {{"class", SumCrossEntropy(OutputOfColumns(spec_, context), context.batch().Column("label"),
                                    label_smoothing_)}};
}

std::vector<at::Tensor> ClassifyTask::Shown(const std::filesystem::path&, std::int64_t) const {
  throw Error("the task class names files that people may show it, and does not read them: override Shown");
}

AskForm ClassifyTask::Asks() const {
  std::string files = ShownFiles();
  return {.kind = files.empty() ? AnswerKind::kNone : AnswerKind::kClass, .files = std::move(files)};
}

Asked ClassifyTask::Ask(const Questions& questions) const {
  InputColumns inputs(spec_.inputs);
  const RowRange rows{.count = std::ssize(questions.lines)};
  ForEachRow(rows, [&](Row& row) {
    const JsonItem& line = questions.lines[static_cast<std::size_t>(row.number)];
    const std::filesystem::path file = questions.folder / line.Text("file");
    const std::int64_t place = line.Has("row") ? line.Integer("row", 0) : -1;
    try {
      inputs.Add(row, Shown(file, place));
    } catch (const InputError& error) {
      line.Fail("file", error.what());
    }
  });
  Batch batch(rows);
  inputs.MoveTo(batch);
  Asked asked{.inputs = {}, .output = std::string(spec_.outputs[0])};
  for (const std::string_view name : spec_.inputs) {
    const at::Tensor& column = batch.Column(name);
    const bool is_picture = column.scalar_type() == at::kByte;
    asked.inputs.push_back({std::string(name), is_picture ? batch.Picture(name, at::kFloat) : column, ""});
  }
  for (std::int64_t label = 0; label < classes_; ++label) asked.classes.push_back(NameOf(label));
  return asked;
}

Outcomes ClassifyTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  Outcomes outcomes;
  Sheet sheet;
  std::vector<std::int64_t> labels;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    const std::vector<std::int64_t> said = HostValues(OutputOfColumns(spec_, piece).argmax(1)),
                                    right = HostValues(piece.batch().Column("label"));
    if (Sheet::Shows(labels.size())) {
      if (const at::Tensor shown = Show(piece.batch().To(at::kCPU)); shown.defined())
        sheet.Add(shown.to(at::kFloat).div_(255));
    }
    for (std::size_t i = 0; i < right.size(); ++i) {
      sheet.Add(labels.size(), {.question = "which class?",
                                .reply = NameOf(said[i]),
                                .right = NameOf(right[i]),
                                .is_right = said[i] == right[i]});
      labels.push_back(right[i]);
      outcomes.score.push_back(said[i] == right[i] ? 1 : 0);
      for (const auto& [name, mark] : Marks(said[i], right[i])) outcomes.Share(name).push_back(mark);
    }
  });
  const std::vector<std::int64_t> counts = TrainingCounts();
  outcomes.trivial["most frequent class"] = MostFrequentIsRight(labels, counts);
  if (!counts.empty())
    outcomes.chance = 1.0 / static_cast<double>(std::ranges::count_if(counts, [](auto n) { return n > 0; }));
  sheet.MoveTo(outcomes);
  return outcomes;
}

}  // namespace medley
