#include <medley/runs/group_report.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/eval/score_report.h>
#include <medley/report/screen.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

// The header's cell first.
using Column = std::vector<std::string>;

std::size_t WidthOf(const Column& column) {
  std::size_t width = 0;
  for (const std::string& cell : column) width = std::max(width, TextWidth(Printable(cell)));
  return width;
}

std::string TableOf(const std::vector<Column>& columns, std::size_t words) {
  Table table(
      [&] {
        Column header;
        for (const Column& column : columns) header.push_back(column[0]);
        return header;
      }(),
      words);
  for (std::size_t row = 1; row < columns[0].size(); ++row) {
    Column cells;
    for (const Column& column : columns) cells.push_back(column[row]);
    table.Add(std::move(cells));
  }
  return table.ToText();
}

// As many tables below each other as the columns need, each with the first ones.
std::string InBlocks(const std::vector<Column>& first, const std::vector<Column>& others) {
  constexpr std::size_t kGap = 2;
  const std::size_t screen = ScreenColumns();
  std::string text;
  for (std::size_t next = 0; next < others.size();) {
    std::vector<Column> block = first;
    std::size_t width = 0;
    for (const Column& column : first) width += WidthOf(column) + kGap;
    while (next < others.size() &&
           (block.size() == first.size() || width + WidthOf(others[next]) <= screen)) {
      width += WidthOf(others[next]) + kGap;
      block.push_back(others[next++]);
    }
    text += (text.empty() ? "" : "\n") + TableOf(block, first.size());
  }
  return text;
}

// "0.920 ± 0.025": both to the second digit of what is not known.
std::string FormatAround(const Interval& interval) {
  constexpr double kMostDecimals = 8;
  const double half = (interval.high - interval.low) / 2;
  if (!std::isfinite(half)) return FormatScore(interval.value);
  const int decimals = static_cast<int>(std::clamp(1 - std::floor(std::log10(half)), 0.0, kMostDecimals));
  std::array<char, 128> digits{};
  std::snprintf(digits.data(), digits.size(), "%.*f ± %.*f", decimals, interval.value, decimals, half);
  return digits.data();
}

std::string DifferenceText(const GroupCell& cell) {
  if (!cell.difference) return "-";
  const Interval& found = cell.difference->difference;
  return (found.value > 0 ? "+" : "") + FormatAround(found);
}

// With the verdict behind it where the difference is clear of noise, in a column of its own.
std::string JudgedText(const GroupCell& cell) {
  constexpr std::size_t kWidest = 6;  // "better"
  std::string verdict;
  if (cell.difference && cell.difference->verdict && *cell.difference->verdict != ScoreVerdict::kNoDifference)
    verdict = EnumName(*cell.difference->verdict);
  verdict.resize(kWidest, ' ');
  return DifferenceText(cell) + " " + verdict;
}

std::vector<const GroupRow*> RowsOf(const GroupComparison& comparison) {
  std::vector<const GroupRow*> rows;
  for (const GroupRow& row : comparison.tasks) rows.push_back(&row);
  rows.push_back(&comparison.mean_loss);
  return rows;
}

std::string ScoresWords(const GroupComparison& comparison) {
  Column names = {"task"}, metrics = {"score"};
  std::vector<Column> columns;
  for (const GroupRow* row : RowsOf(comparison)) {
    names.push_back(row->name);
    metrics.push_back(row->metric);
  }
  for (std::size_t i = 0; i < comparison.groups.size(); ++i) {
    Column& column = columns.emplace_back(Column{comparison.groups[i].label});
    for (const GroupRow* row : RowsOf(comparison)) column.push_back(FormatAround(row->cells[i].mean));
  }
  return "\nscores: mean over the seeds, and its 95 % interval\n" + InBlocks({names, metrics}, columns);
}

std::string DifferencesWords(const GroupComparison& comparison) {
  if (comparison.groups.size() < 2) return "";
  Column names = {"task"};
  std::vector<Column> columns;
  for (const GroupRow* row : RowsOf(comparison)) names.push_back(row->name);
  for (std::size_t i = 1; i < comparison.groups.size(); ++i) {
    Column& column = columns.emplace_back(Column{comparison.groups[i].label + " - A"});
    for (const GroupRow* row : RowsOf(comparison)) column.push_back(JudgedText(row->cells[i]));
  }
  return "\ndifferences; better or worse: beyond noise\n" + InBlocks({names}, columns);
}

// By the mean loss, and how many tasks differ; of the first group nothing does.
Column VerdictCells(const ComparedGroup& group, const GroupCell& mean_loss, bool is_first) {
  if (is_first) return Column(4);
  Column cells = {JudgedText(mean_loss)};
  const bool is_judged = group.better + group.worse + group.alike > 0;
  for (const std::size_t tasks : {group.better, group.worse, group.alike})
    cells.push_back(is_judged ? std::to_string(tasks) : "-");
  return cells;
}

std::string GroupsTable(const GroupComparison& comparison) {
  const bool is_one = comparison.groups.size() < 2;
  Column header = {"", "seeds", "mean loss"};
  if (!is_one) header.insert(header.end(), {"less A's", "tasks better", "worse", "no difference"});
  Table table(header);
  for (std::size_t i = 0; i < comparison.groups.size(); ++i) {
    const ComparedGroup& group = comparison.groups[i];
    const GroupCell& mean_loss = comparison.mean_loss.cells[i];
    Column cells = {group.label, std::to_string(group.seeds.size()), FormatAround(mean_loss.mean)};
    if (!is_one) {
      for (std::string& cell : VerdictCells(group, mean_loss, i == 0)) cells.push_back(std::move(cell));
    }
    table.Add(std::move(cells));
  }
  return table.ToText();
}

std::string LegendWords(const GroupComparison& comparison) {
  std::string text;
  for (const ComparedGroup& group : comparison.groups) {
    const bool is_first = &group == &comparison.groups.front();
    text += group.label + "  " + group.name;
    if (is_first && comparison.groups.size() > 1) text += " (the others are compared with it)";
    if (!group.differs.empty()) text += ": " + JoinFew(group.differs);
    text += "\n";
  }
  return text + "\n";
}

ordered_json JsonOf(const GroupCell& cell) {
  ordered_json values = ordered_json::object(), difference;
  for (const auto& [seed, value] : cell.values) values[std::to_string(seed)] = value;
  if (cell.difference) {
    const GroupDifference& found = *cell.difference;
    difference = {
        {"value", found.difference.value}, {"low", found.difference.low}, {"high", found.difference.high},
        {"paired", found.is_paired},       {"pairs", found.pairs},        {"verdict", nullptr}};
    if (found.verdict) difference["verdict"] = EnumName(*found.verdict);
  }
  return {{"values", values},
          {"mean", cell.mean.value},
          {"low", cell.mean.low},
          {"high", cell.mean.high},
          {"difference", difference}};
}

ordered_json JsonOf(const GroupRow& row) {
  ordered_json json = {{"metric", row.metric}, {"better", DirectionName(row.higher_is_better)}};
  ordered_json& cells = json["cells"] = ordered_json::array();
  for (const GroupCell& cell : row.cells) cells.push_back(JsonOf(cell));
  return json;
}

}  // namespace

std::string GroupsWords(const GroupComparison& comparison) {
  std::string text;
  for (const std::string& words : comparison.before) text += Prose(words) + "\n";
  if (!text.empty()) text += "\n";
  text += Prose(LegendWords(comparison)) + GroupsTable(comparison) + ScoresWords(comparison) +
          DifferencesWords(comparison);
  if (!comparison.after.empty()) text += "\n";
  for (const std::string& words : comparison.after) text += Prose(words) + "\n";
  return text;
}

ordered_json GroupsJson(const GroupComparison& comparison) {
  ordered_json groups = ordered_json::array(), tasks = ordered_json::object();
  for (const ComparedGroup& group : comparison.groups) {
    groups.push_back({{"label", group.label},
                      {"name", group.name},
                      {"seeds", group.seeds},
                      {"differs", group.differs},
                      {"better", group.better},
                      {"worse", group.worse},
                      {"alike", group.alike}});
  }
  for (const GroupRow& row : comparison.tasks) tasks[row.name] = JsonOf(row);
  return {{"groups", groups},
          {"tasks", tasks},
          {"mean_loss", JsonOf(comparison.mean_loss)},
          {"confidence", comparison.confidence},
          {"before", comparison.before},
          {"after", comparison.after}};
}

}  // namespace medley
