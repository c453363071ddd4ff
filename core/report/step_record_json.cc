#include <medley/report/step_record_json.h>

namespace medley {

// What nlohmann looks for, in the namespace of the types.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Draw, task, begin, rows)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TermLoss, sum, count, weight)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DrawReceipt, task, mode, micro_rows, cut, predicted, margin, measured,
                                   rows, tokens, passes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepRecord, step, draws, delivered, losses, gradient_norm, learning_rate,
                                   seconds, data_wait_ms, memory_now, memory_peak, constant_bytes, receipts)

nlohmann::json ToJson(const StepRecord& record) {
  nlohmann::json json;
  to_json(json, record);
  return json;
}

StepRecord StepRecordFromJson(const nlohmann::json& json) {
  StepRecord record;
  from_json(json, record);
  return record;
}

}  // namespace medley
