#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include <medley/report/statistics.h>

namespace medley {

// A figure that is shown beside a score.
struct Figure {
  Interval value;          // see MeanInterval
  std::int64_t rows = 0;   // that count in it
  std::int64_t items = 0;  // that these rows show, see ScoreRecord
};

// The held-out loss of one of a task's terms that is over tokens of text, without its weight.
struct TextLoss {
  double loss = 0;  // nats, mean over the tokens
  std::int64_t tokens = 0;
  // That the tokens spell; special tokens none. Nothing where the vocabulary does not tell.
  std::optional<std::int64_t> bytes{};

  double perplexity() const;
  std::optional<double> bits_per_byte() const;
};

// How well a task is done on rows that are never trained.
struct ScoreRecord {
  std::string metric;
  bool higher_is_better = true;
  Interval score;  // mean over the rows and its 95 % interval, see MeanInterval
  std::optional<double> chance;
  std::map<std::string, double> trivial;  // mean of answers that need no learning
  std::map<std::string, Figure> figures;
  std::int64_t rows = 0;
  std::int64_t unscored = 0;  // of the rows: their score is NaN
  // That the other rows show, and the interval is of: fewer where rows show an item again, else as many.
  std::int64_t items = 0;
  double loss = 0;                         // weighted terms, as in training
  std::map<std::string, TextLoss> text{};  // by term, of those that are over tokens
};

// What is had without learning, by its name.
struct Baseline {
  std::string name;  // "chance", or of an answer
  double value = 0;
};
// The best of chance and of the answers that need no learning; nothing where there is none.
std::optional<Baseline> BestBaseline(const ScoreRecord& score);
// Whether the whole interval is better than that; nothing where there is none, or no interval.
std::optional<bool> IsClear(const ScoreRecord& score);

// A score that came some time during a run.
struct LastScore {
  ScoreRecord score;
  std::int64_t step = 0;                // after which it came
  std::optional<ScoreRecord> before{};  // of the evaluation before the first step, where that is another
};

// Which scores are better: "higher" or "lower".
const char* DirectionName(bool higher_is_better);

// {metric, better, value, low, high, chance, trivial, rows, items, figures: {name: {value, low, high, rows,
// items}}, loss, unscored where there are any, text: {term: {loss, perplexity, bits_per_byte, tokens, bytes}}
// where there are terms of text}.
// JSON has no NaN: a figure in which no row counts is null.
nlohmann::ordered_json ToJson(const ScoreRecord& score);
// What that wrote, a null as NaN; figures may be missing, and items where each row shows its own. Throws what
// JSON throws.
ScoreRecord ScoreRecordFrom(const nlohmann::json& json);

}  // namespace medley
