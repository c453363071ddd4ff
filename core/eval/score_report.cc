#include <medley/eval/score_report.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include <medley/base/json_text.h>
#include <medley/base/suggest.h>
#include <medley/report/screen.h>
#include <medley/report/sheet.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

std::string Joined(std::string words) {
  for (std::size_t at; (at = words.find(' ')) != std::string::npos;) words.replace(at, 1, kNoBreak);
  return words;
}

// "mean target 0.0845", whose number never stands alone in a line.
std::string BaselineText(const Baseline& baseline) {
  return baseline.name + kNoBreak + FormatScore(baseline.value);
}

// All that is had without learning.
std::string BaselinesText(const ScoreRecord& score) {
  std::string text = score.chance ? Joined(BaselineText({"chance", *score.chance})) : "";
  for (const auto& [name, value] : score.trivial)
    text += (text.empty() ? "" : ", ") + Joined(BaselineText({name, value}));
  return text.empty() ? "-" : text;
}

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

std::string FormatScore(double value) {
  if (!std::isfinite(value)) return "-";
  std::array<char, 64> digits{};
  std::snprintf(digits.data(), digits.size(), std::abs(value) >= 99.95 ? "%.0f" : "%#.3g", value);
  return digits.data();
}

std::string FormatInterval(const Interval& interval) {
  if (!std::isfinite(interval.low) || !std::isfinite(interval.high)) return "-";
  return FormatScore(interval.low) + ".." + FormatScore(interval.high);
}

std::string ClearWord(const ScoreRecord& score) {
  const std::optional<bool> clear = IsClear(score);
  return !clear ? "-" : *clear ? "yes" : "no";
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

bool HasBefore(const LastScores& scores) {
  return std::ranges::any_of(scores, [](const auto& score) { return score.second.before.has_value(); });
}

std::int64_t NewestStep(const LastScores& scores) {
  std::int64_t newest = 0;
  for (const auto& [task, score] : scores) newest = std::max(newest, score.step);
  return newest;
}

std::string ScoresTable(const LastScores& scores, ScoreColumns columns) {
  const bool has_all = columns == ScoreColumns::kAll, has_before = HasBefore(scores);
  std::vector<std::string> header = {"task", "score", "value", "95 % interval", "best without learning",
                                     "clear"};
  if (has_before) header.insert(header.begin() + 2, "before");
  std::vector<std::string> spares;
  if (has_all) header.insert(header.end(), {"better", "rows", "loss", "all without learning"});
  if (has_all) spares = {"all without learning", "loss", "rows", "better"};
  Table table(std::move(header), 2);
  table.Spares(spares).BreaksLast("best without learning");
  for (const auto& [name, last] : scores) {
    const ScoreRecord& score = last.score;
    const std::optional<Baseline> baseline = BestBaseline(score);
    std::vector<std::string> row = {name,
                                    score.metric,
                                    FormatScore(score.score.value),
                                    FormatInterval(score.score),
                                    baseline ? BaselineText(*baseline) : "-",
                                    ClearWord(score)};
    if (has_before) row.insert(row.begin() + 2, last.before ? FormatScore(last.before->score.value) : "-");
    if (has_all)
      row.insert(row.end(),
                 {DirectionName(score.higher_is_better), FormatRows(score.rows - score.unscored, score.items),
                  FormatNumber(score.loss), BaselinesText(score)});
    table.Add(std::move(row));
  }
  std::string earlier;
  const std::int64_t newest = NewestStep(scores);
  for (const auto& [name, last] : scores) {
    if (last.step < newest)
      earlier += (earlier.empty() ? "" : ", ") + name + " after step " + std::to_string(last.step);
  }
  return table.ToText() + (earlier.empty() ? "" : Prose("(scored earlier: " + earlier + ")") + "\n");
}

std::string TextLossesTable(const LastScores& scores) {
  const bool has_before = HasBefore(scores);
  std::vector<std::string> header = {"task", "text", "loss", "perplexity", "bits a byte", "tokens"};
  if (has_before) header.insert(header.begin() + 3, {"before", "perplexity before"});
  Table table(std::move(header), 2);
  table.Spares({"tokens"});
  std::string no_bytes;
  bool any = false;
  for (const auto& [name, last] : scores) {
    std::string task = name;
    for (const auto& [term, text] : last.score.text) {
      any = true;
      const std::optional<double> bits = text.bits_per_byte();
      if (!bits) no_bytes += (no_bytes.empty() ? "" : ", ") + name + " " + term;
      std::vector<std::string> row = {std::exchange(task, ""),         term,
                                      FormatNumber(text.loss),         FormatScore(text.perplexity()),
                                      bits ? FormatScore(*bits) : "-", std::to_string(text.tokens)};
      if (has_before) {
        const auto before = last.before ? last.before->text.find(term) : last.score.text.end();
        const bool is_known = last.before && before != last.before->text.end();
        row.insert(row.begin() + 3, {is_known ? FormatNumber(before->second.loss) : "-",
                                     is_known ? FormatScore(before->second.perplexity()) : "-"});
      }
      table.Add(std::move(row));
    }
  }
  if (!any) return "";
  return table.ToText() + (no_bytes.empty()
                               ? ""
                               : Prose("(no bits a byte of " + no_bytes +
                                       ": its vocabulary does not tell the bytes of these tokens)") +
                                     "\n");
}

// Of a table of their own, also where a wide one would take them as rows: six tasks have some thirty, between
// which nobody would find the scores.
std::string FiguresTable(const LastScores& scores) {
  Table table({"task", "figure", "value", "95 % interval", "rows"}, 2);
  bool any = false;
  std::string empty;
  for (const auto& [name, last] : scores) {
    std::string task = name;
    std::vector<std::string> without;
    for (const auto& [figure, of] : last.score.figures) {
      if (of.rows == 0) {
        without.push_back(figure);
        continue;
      }
      any = true;
      table.Add({std::exchange(task, ""), figure, FormatScore(of.value.value), FormatInterval(of.value),
                 FormatRows(of.rows, of.items)});
    }
    if (!without.empty()) empty += (empty.empty() ? "" : "; ") + name + ": " + JoinNames(without);
  }
  return (any ? table.ToText() : "") +
         (empty.empty() ? "" : Prose("(no row counts for " + empty + ")") + "\n");
}

std::string VerdictWords(const LastScores& scores) {
  std::vector<std::string> others;
  std::size_t judged = 0;
  bool is_of_chance = false;
  for (const auto& [name, last] : scores) {
    const std::optional<bool> is_clear = IsClear(last.score);
    if (!is_clear) continue;
    ++judged;
    is_of_chance = is_of_chance || last.score.chance;
    if (!*is_clear) others.push_back(name);
  }
  const auto tasks = [](std::size_t count) {
    return std::to_string(count) + (count == 1 ? " task " : " tasks ");
  };
  if (scores.empty()) return "";
  if (judged == 0)
    return tasks(scores.size()) + (scores.size() == 1 ? "was" : "were") + " scored; nothing is known of " +
           (scores.size() == 1 ? "it" : "them") + " that needs no learning";
  std::string words = std::to_string(judged - others.size()) + " of " + tasks(judged) +
                      (judged == 1 ? "is" : "are") + " clear of " + (is_of_chance ? "chance and of " : "") +
                      "all that needs no learning";
  if (!others.empty() && others.size() < judged) words += " (not: " + JoinFew(others) + ")";
  return words;
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

std::map<std::string, std::string> SheetFiles(const Scores& scores) {
  std::map<std::string, std::string> files;
  for (const auto& [name, score] : scores) {
    if (const auto sheet = SheetOf(score)) files["sheet-" + name + ".png"] = EncodePng(*sheet);
    const std::string answers = AnswersText(score.examples);
    if (!answers.empty()) files["sheet-" + name + ".txt"] = answers;
  }
  return files;
}

}  // namespace medley
