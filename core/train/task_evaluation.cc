#include <medley/train/task_evaluation.h>

#include <nlohmann/json.hpp>

namespace medley {
namespace {

using nlohmann::json;

json EvaluationJson(const TaskEvaluation& evaluation) {
  json one = {{"task", evaluation.task}, {"warnings", evaluation.warnings}};
  if (evaluation.failure) {
    one["failure"] = ToWire(*evaluation.failure);
    return one;
  }
  one["score"] = json(ToJson(evaluation.score));
  one["rows_at_once"] = evaluation.rows_at_once;
  if (evaluation.sheet) {
    const std::string png = EncodePng(*evaluation.sheet);
    one["sheet"] = json::binary({png.begin(), png.end()});
  }
  return one;
}

TaskEvaluation EvaluationFrom(const json& one) {
  TaskEvaluation evaluation{.task = one.at("task").get<std::string>(),
                            .failure = std::nullopt,
                            .score = {},
                            .sheet = std::nullopt,
                            .warnings = one.at("warnings").get<std::vector<std::string>>()};
  if (one.contains("failure")) {
    evaluation.failure = FromWire<Failure>(one.at("failure"));
    return evaluation;
  }
  evaluation.score = ScoreRecordFrom(one.at("score"));
  evaluation.rows_at_once = one.at("rows_at_once").get<std::int64_t>();
  if (one.contains("sheet")) {
    const json::binary_t& png = one.at("sheet").get_binary();
    evaluation.sheet = DecodePng({png.begin(), png.end()}, "the sheet of " + evaluation.task);
  }
  return evaluation;
}

}  // namespace

std::string ToBytes(const std::vector<TaskEvaluation>& evaluations) {
  json list = json::array();
  for (const TaskEvaluation& evaluation : evaluations) list.push_back(EvaluationJson(evaluation));
  std::string bytes;
  json::to_cbor(list, bytes);
  return bytes;
}

std::vector<TaskEvaluation> TaskEvaluationsOf(const std::string& bytes) {
  std::vector<TaskEvaluation> evaluations;
  for (const json& one : json::from_cbor(bytes)) evaluations.push_back(EvaluationFrom(one));
  return evaluations;
}

}  // namespace medley
