#include <medley/report/score.h>

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

Interval IntervalFrom(const json& json) {
  return {json.at("value").get<double>(), json.at("low").get<double>(), json.at("high").get<double>()};
}

}  // namespace

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
  return json;
}

ScoreRecord ScoreRecordFrom(const json& json) {
  ScoreRecord score{.metric = json.at("metric").get<std::string>(),
                    .higher_is_better = json.at("better") == DirectionName(true),
                    .score = IntervalFrom(json),
                    .chance = std::nullopt,
                    .trivial = json.at("trivial").get<std::map<std::string, double>>(),
                    .figures = {},
                    .rows = json.at("rows").get<std::int64_t>(),
                    .unscored = json.value("unscored", std::int64_t{0}),
                    .items = json.at("items").get<std::int64_t>(),
                    .loss = json.at("loss").get<double>()};
  if (!json.at("chance").is_null()) score.chance = json.at("chance").get<double>();
  for (const auto& [name, figure] : json.at("figures").items()) {
    score.figures[name] = {.value = IntervalFrom(figure),
                           .rows = figure.at("rows").get<std::int64_t>(),
                           .items = figure.at("items").get<std::int64_t>()};
  }
  return score;
}

}  // namespace medley
