#include <medley/eval/score_report.h>

#include <medley/base/durable_file.h>
#include <medley/base/json_text.h>
#include <medley/report/sheet.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

std::string Joined(std::string words) {
  for (std::size_t at; (at = words.find(' ')) != std::string::npos;) words.replace(at, 1, kNoBreak);
  return words;
}

std::string TrivialText(const std::map<std::string, double>& trivial) {
  std::string text;
  for (const auto& [name, value] : trivial)
    text += (text.empty() ? "" : ", ") + Joined(name) + kNoBreak + FormatNumber(value);
  return text.empty() ? "-" : text;
}

std::string ChanceText(const ScoreRecord& score) { return score.chance ? FormatNumber(*score.chance) : "-"; }

// [rows][pictures]; empty where no row has one.
std::vector<std::vector<Picture>> SheetCells(const std::vector<Example>& examples) {
  std::vector<std::vector<Picture>> rows;
  bool has_picture = false;
  for (const Example& example : examples) {
    rows.push_back(example.pictures);
    has_picture = has_picture || !example.pictures.empty();
  }
  return has_picture ? rows : std::vector<std::vector<Picture>>();
}

// A model may say anything: control characters, half of a UTF-8 sequence.
std::string Quoted(const std::string& text) { return JsonText(ordered_json(text)); }

// "" where nothing was asked.
std::string AnswersText(const std::vector<Example>& examples) {
  std::string text;
  for (std::size_t row = 0; row < examples.size(); ++row) {
    if (examples[row].answers.empty()) continue;
    text += (text.empty() ? "row " : "\nrow ") + std::to_string(row + 1) + "\n";
    for (const Answer& answer : examples[row].answers) {
      text += "  question  " + Quoted(answer.question) + "\n";
      const std::string verdict = answer.is_measured ? "" : answer.is_right ? "  (right)" : "  (wrong)";
      text += "  model     " + Quoted(answer.reply) + verdict + "\n";
      text += "  right     " + Quoted(answer.right) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string FormatInterval(const Interval& interval) {
  return FormatNumber(interval.low) + " .. " + FormatNumber(interval.high);
}

std::string FormatRows(std::int64_t rows, std::int64_t items) {
  if (rows == items) return std::to_string(rows);
  return std::to_string(rows) + " of " + std::to_string(items) + (items == 1 ? " item" : " items");
}

std::string NoScoreWords(const std::string& task, const ScoreRecord& score) {
  return task + " has no score: its Evaluate answered NaN for each of the " + std::to_string(score.rows) +
         " rows";
}

ordered_json ScoresJson(const Scores& scores) {
  ordered_json tasks = ordered_json::object();
  for (const auto& [name, score] : scores) tasks[name] = ToJson(score);
  return {{"tasks", tasks}};
}

std::string ScoresTable(const Scores& scores) {
  Table table(
      {"task", "score", "better", "value", "95 % interval", "chance", "loss", "rows", "trivial answers"});
  table.Spares({"loss", "rows", "better", "chance", "score"}).Breaks("trivial answers");
  for (const auto& [name, score] : scores) {
    table.Add({name, score.metric, DirectionName(score.higher_is_better), FormatNumber(score.score.value),
               FormatInterval(score.score), ChanceText(score), FormatNumber(score.loss),
               FormatRows(score.rows - score.unscored, score.items), TrivialText(score.trivial)});
    for (const auto& [figure_name, figure] : score.figures) {
      table.Add({"", figure_name, "", FormatNumber(figure.value.value), FormatInterval(figure.value), "", "",
                 FormatRows(figure.rows, figure.items), ""});
    }
  }
  return table.ToText();
}

std::string LastScoresTable(const std::map<std::string, LastScore>& scores) {
  Table table(
      {"task", "metric", "score", "95 % interval", "best without learning", "clear", "after step", "rows"});
  table.Spares({"rows", "metric", "after step", "95 % interval"}).Breaks("best without learning");
  for (const auto& [name, last] : scores) {
    const ScoreRecord& score = last.score;
    const std::optional<Baseline> baseline = BestBaseline(score);
    const std::optional<bool> clear = IsClear(score);
    table.Add({name, score.metric, FormatNumber(score.score.value), FormatInterval(score.score),
               baseline ? baseline->name + " " + FormatNumber(baseline->value) : "-",
               clear ? (*clear ? "yes" : "no") : "-", std::to_string(last.step),
               FormatRows(score.rows - score.unscored, score.items)});
  }
  return table.ToText();
}

std::string LiveScoresTable(const std::map<std::string, ScoreRecord>& scores) {
  Table table({"task", "score", "value", "better", "chance"});
  table.Spares({"better", "score"});
  for (const auto& [name, score] : scores) {
    table.Add({name, score.metric, FormatNumber(score.score.value), DirectionName(score.higher_is_better),
               ChanceText(score)});
  }
  std::string text = table.ToText();
  text.pop_back();  // the console ends its line
  return text;
}

double MeanLoss(const std::map<std::string, ScoreRecord>& scores) {
  double sum = 0;
  for (const auto& [name, score] : scores) sum += score.loss;
  return sum / static_cast<double>(scores.size());
}

std::optional<Picture> SheetOf(const TaskScore& score) {
  const auto cells = SheetCells(score.examples);
  return cells.empty() ? std::nullopt : std::optional(MakeSheet(cells, score.pictures));
}

std::vector<std::filesystem::path> WriteSheets(const Scores& scores, const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& [name, score] : scores) {
    if (const auto sheet = SheetOf(score)) {
      files.push_back(directory / ("sheet-" + name + ".png"));
      WritePng(*sheet, files.back());
    }
    const std::string answers = AnswersText(score.examples);
    if (!answers.empty()) {
      files.push_back(directory / ("sheet-" + name + ".txt"));
      ReplaceFile(files.back(), answers);
    }
  }
  return files;
}

}  // namespace medley
