#include <medley/task/drivers/classify_task.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/stack.h>

#include <cmath>

#include <medley/task/drawings.h>
#include <medley/task/drivers/labels.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/losses.h>
#include <medley/task/text_rows.h>

namespace medley {

ClassifyTask::ClassifyTask(const TaskContext& context, const TaskSpec& spec)
    : spec_(spec),
      classes_(std::llround(1 / *spec.score.chance)),  // as ClassifySpec writes it
      label_smoothing_(context.Option("label_smoothing")) {}

at::Tensor ClassifyTask::Show(const Batch& rows) const {
  at::Tensor shown;
  for (std::size_t i = 0; i < spec_.inputs.size() && !shown.defined(); ++i)
    shown = DrawColumn(rows, rows.Column(spec_.inputs[i]));
  return shown;
}

Batch ClassifyTask::Sample(const RowRange& rows) const {
  std::vector<std::vector<at::Tensor>> inputs(spec_.inputs.size());
  std::vector<std::int64_t> labels;
  ForEachRow(rows, [&](Row& row) {
    Classified drawn = Draw(row);
    if (drawn.inputs.size() != inputs.size())
      throw Error("row " + std::to_string(row.number) + " has " + std::to_string(drawn.inputs.size()) +
                  " inputs, the spec " + std::to_string(inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].push_back(std::move(drawn.inputs[i]));
    CheckDrawn(row.number, "label", drawn.label, classes_);
    labels.push_back(drawn.label);
  });
  Batch batch(rows);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    batch.Add(std::string(spec_.inputs[i]), at::stack(inputs[i]));
  batch.Add("label", IntColumn(labels));
  batch.CountEach("class");
  return batch;
}

at::Tensor ClassifyTask::Logits(PassContext& context) const {
  ModelInputs inputs;
  for (const std::string_view name : spec_.inputs) {
    const at::Tensor& column = context.batch().Column(name);
    const bool is_picture = column.scalar_type() == at::kByte;
    inputs.push_back({std::string(name), is_picture ? context.Pixels(name) : column, ""});
  }
  const std::string_view output = spec_.outputs[0];
  return context.Forward(inputs, {output}).find(output)->second;
}

Sums ClassifyTask::Run(std::string_view, PassContext& context) const {
  return {{"class", SumCrossEntropy(Logits(context), context.batch().Column("label"), label_smoothing_)}};
}

Outcomes ClassifyTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  Outcomes outcomes;
  Sheet sheet;
  std::vector<std::int64_t> labels;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    const std::vector<std::int64_t> said = HostValues(Logits(piece).argmax(1)),
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
  outcomes.trivial["most frequent class"] = MostFrequentIsRight(labels);
  sheet.MoveTo(outcomes);
  return outcomes;
}

}  // namespace medley
