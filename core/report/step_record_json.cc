#include <medley/report/step_record_json.h>

#include <set>
#include <string>

#include <medley/base/json_count.h>

namespace medley {

// What nlohmann looks for, in the namespace of the types.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Draw, task, begin, rows)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TermLoss, sum, count, weight)
static void to_json(nlohmann::json& json, const DrawReceipt& draw) {
  json = {{"task", draw.form.text()},      {"mode", draw.mode},
          {"micro_rows", draw.micro_rows}, {"cut", draw.cut},
          {"predicted", draw.predicted},   {"margin", draw.margin},
          {"measured", draw.measured},     {"rows", draw.rows},
          {"tokens_run", draw.tokens_run}, {"forwards", draw.forwards},
          {"operations", draw.operations}, {"seconds", draw.seconds}};
}
static void from_json(const nlohmann::json& json, DrawReceipt& draw) {
  draw.form = FormId(json.at("task").get<std::string>());
  json.at("mode").get_to(draw.mode);
  json.at("micro_rows").get_to(draw.micro_rows);
  json.at("cut").get_to(draw.cut);
  json.at("predicted").get_to(draw.predicted);
  json.at("margin").get_to(draw.margin);
  json.at("measured").get_to(draw.measured);
  json.at("rows").get_to(draw.rows);
  json.at("tokens_run").get_to(draw.tokens_run);
  json.at("forwards").get_to(draw.forwards);
  if (!json.contains("operations")) return;  // older medleys counted none
  draw.operations = CountOf(json, "operations", 0, kMostOperations);
  json.at("seconds").get_to(draw.seconds);
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StageRecord::Share, asked, delivered, charged)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StageRecord, number, name, unit, shares)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepRecord, step, draws, delivered, stage, losses, gradient_norm,
                                   learning_rate, seconds, data_wait_ms, memory_now, memory_peak,
                                   constant_bytes, receipts)

namespace {

// So that no sum overflows: a section has fewer than 2^21 draws. No machine has 4 TiB for a step.
constexpr std::int64_t kMostOfACount = std::int64_t{1} << 42;

// The rest are measures, and words.
bool IsCount(const std::string& key) {
  static const std::set<std::string> kCounts = {
      "step",   "begin",   "number",   "rows",       "count",    "micro_rows", "predicted",
      "margin", "charged", "measured", "tokens_run", "forwards", "memory_now", "memory_peak"};
  return kCounts.count(key) > 0;
}

// get<std::int64_t>() would take what no count can be: see CheckedCount.
void CheckCounts(const nlohmann::json& json, const std::string& key = "", bool are_counts = false) {
  if (json.is_structured()) {
    for (const auto& item : json.items())
      CheckCounts(item.value(), item.key(), key == "constant_bytes" || key == "items");
  } else if (are_counts || IsCount(key)) {
    CheckedCount(json, key, 0, kMostOfACount);
  }
}

void Rename(nlohmann::json& object, const char* from, const char* to) {
  if (!object.is_object() || !object.contains(from) || object.contains(to)) return;
  object[to] = object[from];
  object.erase(from);
}

// What older medleys called otherwise, or did not have.
void TakeOlder(nlohmann::json& record) {
  if (!record.contains("stage")) record["stage"] = StageRecord();
  nlohmann::json& stage = record["stage"];
  if (stage.is_object() && !stage.contains("unit")) {
    stage["unit"] = "";
    for (nlohmann::json& share : stage.at("shares")) share["charged"] = 0;
  }
  if (!record.contains("receipts")) return;
  for (nlohmann::json& receipt : record["receipts"]) {
    Rename(receipt, "tokens", "tokens_run");
    Rename(receipt, "passes", "forwards");
  }
}

}  // namespace

nlohmann::json ToJson(const StepRecord& record) {
  nlohmann::json json;
  to_json(json, record);
  if (record.own) json["own"] = *record.own;
  if (!record.phase.empty()) json["phase"] = record.phase;
  if (!record.items.empty()) json["items"] = record.items;
  if (record.loss_scale > 0) json["loss_scale"] = {record.loss_scale, record.loss_repeats};
  return json;
}

StepRecord StepRecordFromJson(const nlohmann::json& json) {
  nlohmann::json whole = json;
  TakeOlder(whole);
  CheckCounts(whole);
  StepRecord record;
  from_json(whole, record);
  if (const auto phase = whole.find("phase"); phase != whole.end()) phase->get_to(record.phase);
  if (const auto own = whole.find("own"); own != whole.end()) record.own = own->get<std::vector<Draw>>();
  if (const auto scale = whole.find("loss_scale"); scale != whole.end()) {
    scale->at(0).get_to(record.loss_scale);
    scale->at(1).get_to(record.loss_repeats);
  }
  if (const auto items = whole.find("items"); items != whole.end()) items->get_to(record.items);
  return record;
}

}  // namespace medley
