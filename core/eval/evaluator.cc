#include <medley/eval/evaluator.h>

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/rows.h>
#include <medley/eval/eval_pass.h>
#include <medley/eval/held_out_loss.h>
#include <medley/eval/pictures.h>
#include <medley/eval/row_items.h>
#include <medley/memory/meter.h>
#include <medley/model/device.h>
#include <medley/report/statistics.h>
#include <medley/report/table.h>
#include <medley/step/abandon.h>

namespace medley {
namespace {

constexpr double kRounding = 1e-6;  // of the end, or of 1

// The score or a figure, and where its author says that a row's value is.
struct Declared {
  std::string rows;  // "the score"
  std::string said;  // "the spec declares distance": what goes before the range
  std::string type;  // whose `low` and `high` these are
  std::optional<double> low, high;
};

std::optional<ScoreRange> RangeOf(const std::optional<double>& low, const std::optional<double>& high) {
  if (!low && !high) return std::nullopt;
  const ScoreRange endless;
  return ScoreRange{.low = low.value_or(endless.low), .high = high.value_or(endless.high)};
}

// Rounding beyond a declared end is taken back; what is further outside is an Error that names the task and
// the row.
void KeepToRange(const LoadedTask& task, const RowRange& rows, const Declared& declared,
                 std::vector<double>& values) {
  const auto is_rounding = [](double off, double end) {
    return off <= kRounding * std::max(1.0, std::abs(end));
  };
  std::int64_t row = rows.begin;
  const auto keep = [&](double& value, double end, double off, const char* bound, const char* field) {
    if (!(off > 0)) return;
    if (!is_rounding(off, end)) {
      throw Error("task '" + task.info().name + "' of " + task.plugin() + ": " + declared.rows + " of " +
                  task.NameRow(rows, row) + " is " + FormatNumber(value) + ", and " + declared.said +
                  " to be " + bound + " " + FormatNumber(end) + " (" + declared.type + "::" + field + ")");
    }
    value = end;
  };
  for (double& value : values) {
    if (declared.low) keep(value, *declared.low, *declared.low - value, "at least", "low");
    if (declared.high) keep(value, *declared.high, value - *declared.high, "at most", "high");
    ++row;
  }
}

void KeepToRanges(const LoadedTask& task, const RowRange& rows, Outcomes& outcomes) {
  const ScoreInfo& score = task.info().score;
  KeepToRange(task, rows,
              {"the score", "the spec declares " + score.name, "ScoreSpec", score.low, score.high},
              outcomes.score);
  for (auto& [name, figure] : outcomes.figures) {
    KeepToRange(task, rows,
                {"the figure '" + name + "'", "the task declares it", "FigureRows", figure.low, figure.high},
                figure.rows);
  }
}

// Tells whether two runs are scored on the same examples, whatever pieces they come in. By their pictures
// alone: tokens are others with another tokenizer, and a variant may add columns of its own; pictures of a
// pass's own are named "PASS.NAME". So another build of a task that asks other things of the same pictures is
// not told apart.
class RowsDigest {
 public:
  void Add(const Batch& rows) {
    const auto is_picture = [](const auto& column) {
      return column.second.scalar_type() == at::kByte && column.first.find('.') == std::string::npos;
    };
    const bool has_picture = std::ranges::any_of(rows.columns(), is_picture);
    for (const auto& column : rows.columns()) {
      if (has_picture && !is_picture(column)) continue;
      const at::Tensor values = column.second.contiguous();
      columns_[column.first].Add(values.const_data_ptr(), values.nbytes());
    }
    for (const auto& [name, column] : rows.ragged()) {
      if (has_picture || !column.is_padded()) continue;
      const at::Tensor values = column.values.contiguous();
      columns_[name].Add(values.const_data_ptr(), values.nbytes());
    }
  }
  std::string Value() {
    std::string text;
    for (auto& [name, digest] : columns_) {
      text += name;
      for (const std::string& chunk : digest.Finish().chunks) text += " " + chunk;
    }
    return HashText(text);
  }

 private:
  std::map<std::string, Digester> columns_;
};

// Those that a task gave, in the order of a sheet.
std::vector<std::pair<std::string, at::Tensor>> PicturesIn(const Outcomes& outcomes) {
  std::vector<std::pair<std::string, at::Tensor>> pictures = {
      {"input", outcomes.input}, {"target", outcomes.target}, {"output", outcomes.output}};
  std::erase_if(pictures, [](const auto& column) { return !column.second.defined(); });
  return pictures;
}

std::vector<Example> Examples(const Outcomes& outcomes) {
  std::vector<Example> rows(std::min(outcomes.answers.size(), kSheetRows));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].answers = outcomes.answers[i];
  for (const auto& [name, column] : PicturesIn(outcomes)) {
    const std::vector<Picture> pictures = PicturesOf(column, static_cast<std::int64_t>(kSheetRows));
    rows.resize(std::max(rows.size(), pictures.size()));
    for (std::size_t i = 0; i < pictures.size(); ++i) rows[i].pictures.push_back(pictures[i]);
  }
  return rows;
}

std::map<std::string, Figure> Figures(const Outcomes& outcomes, const RowItems& items) {
  std::map<std::string, Figure> figures;
  for (const auto& [name, figure] : outcomes.figures) {
    const std::vector<double>& rows = figure.rows;
    figures[name] = {.value = MeanInterval(rows, RangeOf(figure.low, figure.high), items),
                     .rows = std::ranges::count_if(rows, [](double x) { return !std::isnan(x); }),
                     .items = ItemCount(rows, items)};
  }
  return figures;
}

TaskScore ScoreInPieces(LoadedTask& task, const Execution& plan, const EvalSetting& setting) {
  const at::NoGradGuard no_grad;
  const KeepGenerators keep(setting.device);
  const RowRange rows{
      .seed = EvalSeed(setting.seed, task.info().name), .count = setting.rows, .split = Split::kHeldOut};
  HeldOutLoss loss(task, setting.model, setting.device, setting.references);
  loss.CountText(setting.tokenizer);
  RowsDigest digest;
  ItemsOfRows items(task);
  PiecewiseEval context(
      {task, setting.model, setting.references, setting.device, setting.rows_at_once, setting.progress}, rows,
      [&](const Batch& batch) {
        loss.Add(batch);
        digest.Add(batch);
        items.Add(batch);
      });
  Outcomes outcomes = task.Evaluate(context, rows);
  KeepToRanges(task, rows, outcomes);
  context.Finish();
  TaskScore score;
  score.metric = task.info().score.name;
  score.higher_is_better = task.info().score.higher_is_better;
  score.chance = outcomes.chance ? outcomes.chance : task.Chance();
  const ScoreInfo& declared = task.info().score;
  score.range = RangeOf(declared.low, declared.high);
  if (!score.range) score.range = RangeOfScore(declared.higher_is_better, declared.chance);
  score.row_items = items.items();
  score.score = MeanInterval(outcomes.score, score.range, score.row_items);
  for (const auto& [name, values] : outcomes.trivial) score.trivial[name] = MeanOf(values);
  score.figures = Figures(outcomes, score.row_items);
  score.rows = setting.rows;
  score.unscored = std::ranges::count_if(outcomes.score, [](double one) { return std::isnan(one); });
  score.items = ItemCount(outcomes.score, score.row_items);
  score.rows_at_once = setting.rows_at_once;
  score.loss = loss.Value(plan);
  score.text = loss.Text();
  score.examples = Examples(outcomes);
  for (const auto& [name, column] : PicturesIn(outcomes)) score.pictures.push_back(name);
  score.row_scores = outcomes.score;
  score.rows_digest = digest.Value();
  return score;
}

[[noreturn]] void RefuseOneRow(const LoadedTask& task, const std::string& why, at::Device device) {
  throw Error(
      "not one row of task '" + task.info().name + "' fits in its evaluation: " + why + ". When it begins, " +
          FormatBytes(ReadMemory(device).now) +
          " are in use. Raise the budget, or train with eval.every 0 and score the run where there is "
          "more memory (medley eval)",
      ExitCode::kDoesNotFit);
}

}  // namespace

// From the first row again, not from the piece that failed: a task adds to lists of its own as it goes, and
// may have half of that piece in them.
TaskScore ScoreTask(LoadedTask& task, const Execution& plan, const EvalSetting& setting) {
  EvalSetting smaller = setting;
  for (;;) {
    std::string why;
    try {
      return ScoreInPieces(task, plan, smaller);
    } catch (const c10::OutOfMemoryError& error) {
      why = error.what_without_backtrace();
    }
    AbandonForward(setting.device);
    const std::int64_t rows_at_once = std::min(smaller.rows_at_once, setting.rows);
    if (rows_at_once <= 1) RefuseOneRow(task, why, setting.device);
    smaller.rows_at_once = (rows_at_once + 1) / 2;
  }
}

}  // namespace medley
