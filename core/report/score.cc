#include <medley/report/score.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace medley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json FiguresJson(const std::map<std::string, Figure>& figures) {
  ordered_json json = ordered_json::object();
  for (const auto& [name, figure] : figures) {
    json[name] = {{"value", figure.value.value},
                  {"low", figure.value.low},
                  {"high", figure.value.high},
                  {"rows", figure.rows},
                  {"items", figure.items}};
  }
  return json;
}

ordered_json TextJson(const std::map<std::string, TextLoss>& text) {
  ordered_json json;
  for (const auto& [term, loss] : text) {
    const std::optional<double> bits = loss.bits_per_byte();
    json[term] = {{"loss", loss.loss},
                  {"perplexity", loss.perplexity()},
                  {"bits_per_byte", bits ? ordered_json(*bits) : ordered_json()},
                  {"tokens", loss.tokens},
                  {"bytes", loss.bytes ? ordered_json(*loss.bytes) : ordered_json()}};
  }
  return json;
}

double NumberFrom(const json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

Interval IntervalFrom(const json& json) {
  return {NumberFrom(json.at("value")), NumberFrom(json.at("low")), NumberFrom(json.at("high"))};
}

TextLoss TextFrom(const json& json) {
  TextLoss text{.loss = NumberFrom(json.at("loss")), .tokens = json.at("tokens").get<std::int64_t>()};
  if (!json.at("bytes").is_null()) text.bytes = json.at("bytes").get<std::int64_t>();
  return text;
}

}  // namespace

double TextLoss::perplexity() const { return std::exp(loss); }

std::optional<double> TextLoss::bits_per_byte() const {
  if (!bytes || *bytes <= 0) return std::nullopt;
  return loss * static_cast<double>(tokens) / std::numbers::ln2 / static_cast<double>(*bytes);
}

std::optional<Baseline> BestBaseline(const ScoreRecord& score) {
  std::optional<Baseline> best;
  const auto take = [&](const std::string& name, double value) {
    if (!std::isfinite(value)) return;
    if (!best || (score.higher_is_better ? value > best->value : value < best->value))
      best = {.name = name, .value = value};
  };
  if (score.chance) take("chance", *score.chance);
  for (const auto& [name, value] : score.trivial) take(name, value);
  return best;
}

std::optional<bool> IsClear(const ScoreRecord& score) {
  const std::optional<Baseline> baseline = BestBaseline(score);
  const double worst = score.higher_is_better ? score.score.low : score.score.high;
  if (!baseline || !std::isfinite(worst)) return std::nullopt;
  return score.higher_is_better ? worst > baseline->value : worst < baseline->value;
}

const char* DirectionName(bool higher_is_better) { return higher_is_better ? "higher" : "lower"; }

ordered_json ToJson(const ScoreRecord& score) {
  ordered_json json = {
      {"metric", score.metric},     {"better", DirectionName(score.higher_is_better)},
      {"value", score.score.value}, {"low", score.score.low},
      {"high", score.score.high},   {"chance", score.chance ? ordered_json(*score.chance) : ordered_json()},
      {"trivial", score.trivial},   {"rows", score.rows},
      {"items", score.items},       {"figures", FiguresJson(score.figures)},
      {"loss", score.loss}};
  if (score.unscored > 0) json["unscored"] = score.unscored;
  if (!score.text.empty()) json["text"] = TextJson(score.text);
  return json;
}

ScoreRecord ScoreRecordFrom(const json& json) {
  ScoreRecord score{.metric = json.at("metric").get<std::string>(),
                    .higher_is_better = json.at("better") == DirectionName(true),
                    .score = IntervalFrom(json),
                    .chance = std::nullopt,
                    .trivial = {},
                    .figures = {},
                    .rows = json.at("rows").get<std::int64_t>(),
                    .unscored = json.value("unscored", std::int64_t{0}),
                    .items = json.value("items", json.at("rows").get<std::int64_t>()),
                    .loss = NumberFrom(json.at("loss"))};
  for (const auto& [name, value] : json.at("trivial").items()) score.trivial[name] = NumberFrom(value);
  if (!json.at("chance").is_null()) score.chance = json.at("chance").get<double>();
  if (json.contains("text"))
    for (const auto& [term, loss] : json.at("text").items()) score.text[term] = TextFrom(loss);
  if (!json.contains("figures")) return score;
  for (const auto& [name, figure] : json.at("figures").items()) {
    score.figures[name] = {.value = IntervalFrom(figure),
                           .rows = figure.at("rows").get<std::int64_t>(),
                           .items = figure.at("items").get<std::int64_t>()};
  }
  return score;
}

}  // namespace medley
