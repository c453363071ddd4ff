#include <medley/report/score.h>

namespace medley {
namespace {

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

}  // namespace medley
