#include <medley/plan/receipt.h>

#include <algorithm>
#include <stdexcept>

#include <medley/base/error.h>
#include <medley/base/json_count.h>
#include <medley/base/newer.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

constexpr int kReceiptFormat = 1;
constexpr std::size_t kMostSamples = 512;

ordered_json EpochJson(const PlanEpoch& epoch) {
  return {
      {"mode", epoch.mode},
      {"micro_rows", epoch.micro_rows},
      {"cut", epoch.cut},
      {"predicted_peak", epoch.predicted},
      {"margin", epoch.margin},
      {"draws", epoch.draws},
      {"rows", epoch.rows},
      {"tokens_run", epoch.tokens_run},
      {"forwards", epoch.forwards},
      {"measured_peak",
       {{"smallest", epoch.smallest}, {"median", epoch.median()}, {"largest", epoch.largest}}},
      {"grades",
       {{"under", epoch.under}, {"short", epoch.narrow}, {"covered", epoch.covered}, {"loose", epoch.loose}}},
      {"overflows", {{"count", epoch.overflows}, {"reached", epoch.reached}, {"left", epoch.left}}},
      {"sample_every", epoch.sample_every},
      {"samples", epoch.samples}};
}

// Draws, rows and the like: sums of them stay far from overflowing.
std::int64_t Number(const ordered_json& json, const char* name) {
  constexpr std::int64_t kMost = std::int64_t{1} << 44;
  return CountOf(json, name, 0, kMost);
}

// The first receipts had another name for it.
const char* Older(const ordered_json& json, const char* name, const char* before) {
  return json.contains(before) ? before : name;
}

PlanEpoch EpochOf(const ordered_json& json) {
  const ordered_json &peak = json.at("measured_peak"), &grades = json.at("grades");
  PlanEpoch epoch{.mode = json.at("mode").get<std::string>(),
                  .micro_rows = Number(json, "micro_rows"),
                  .cut = json.value("cut", false),
                  .predicted = CountOf(json, "predicted_peak"),
                  .margin = CountOf(json, "margin"),
                  .draws = Number(json, "draws"),
                  .rows = Number(json, "rows"),
                  .tokens_run = Number(json, Older(json, "tokens_run", "tokens")),
                  .forwards = Number(json, Older(json, "forwards", "passes")),
                  .smallest = CountOf(peak, "smallest"),
                  .largest = CountOf(peak, "largest"),
                  .under = Number(grades, "under"),
                  .narrow = Number(grades, "short"),
                  .covered = Number(grades, "covered"),
                  .loose = Number(grades, "loose"),
                  .sample_every = CountOf(json, "sample_every", 1)};
  for (const ordered_json& sample : json.at("samples"))
    epoch.samples.push_back(CheckedCount(sample, "a sample"));
  if (json.contains("overflows")) {  // the first receipts had none
    const ordered_json& overflows = json.at("overflows");
    epoch.overflows = Number(overflows, "count");
    epoch.reached = CountOf(overflows, "reached");
    epoch.left = CountOf(overflows, "left");
  }
  return epoch;
}

}  // namespace

Grade GradeOf(std::int64_t predicted, std::int64_t margin, std::int64_t measured) {
  if (measured > predicted + margin) return Grade::kUnder;
  if (measured > predicted) return Grade::kShort;
  return measured >= predicted - predicted / 10 ? Grade::kCovered : Grade::kLoose;
}

std::int64_t PlanEpoch::median() const {
  if (samples.empty()) return 0;
  std::vector<std::int64_t> sorted = samples;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

bool PlanEpoch::IsSame(const DrawReceipt& draw) const {
  return mode == draw.mode && micro_rows == draw.micro_rows && cut == draw.cut &&
         predicted == draw.predicted && margin == draw.margin;
}

void PlanEpoch::Add(const DrawReceipt& draw) {
  smallest = draws == 0 ? draw.measured : std::min(smallest, draw.measured);
  largest = std::max(largest, draw.measured);
  if (draws % sample_every == 0) samples.push_back(draw.measured);
  if (samples.size() > kMostSamples) {  // keep every other one
    for (std::size_t i = 0; 2 * i < samples.size(); ++i) samples[i] = samples[2 * i];
    samples.resize((samples.size() + 1) / 2);
    sample_every *= 2;
  }
  ++draws;
  rows += draw.rows;
  tokens_run += draw.tokens_run;
  forwards += draw.forwards;
  if (predicted == 0) return;
  const Grade grade = GradeOf(predicted, margin, draw.measured);
  under += grade == Grade::kUnder ? 1 : 0;
  narrow += grade == Grade::kShort ? 1 : 0;
  covered += grade == Grade::kCovered ? 1 : 0;
  loose += grade == Grade::kLoose ? 1 : 0;
}

void PlanEpoch::AddOverflow(const DrawReceipt& draw, std::int64_t left_bytes) {
  ++overflows;
  reached = std::max(reached, draw.measured);
  left = std::max(left, left_bytes);
  tokens_run += draw.tokens_run;
  forwards += draw.forwards;
  if (predicted > 0) ++under;
}

PlanEpoch& Receipt::EpochFor(const DrawReceipt& draw) {
  std::vector<PlanEpoch>& epochs = forms_[draw.form];
  if (epochs.empty() || !epochs.back().IsSame(draw)) {
    epochs.push_back({.mode = draw.mode,
                      .micro_rows = draw.micro_rows,
                      .cut = draw.cut,
                      .predicted = draw.predicted,
                      .margin = draw.margin});
  }
  return epochs.back();
}

void Receipt::Record(const DrawReceipt& draw) { EpochFor(draw).Add(draw); }

void Receipt::RecordOverflow(const DrawReceipt& draw, std::int64_t left) {
  EpochFor(draw).AddOverflow(draw, left);
}

std::int64_t Receipt::under() const {
  std::int64_t count = 0;
  for (const auto& [form, epochs] : forms_) {
    for (const PlanEpoch& epoch : epochs) count += epoch.under;
  }
  return count;
}

std::int64_t Receipt::overflows() const {
  std::int64_t count = 0;
  for (const auto& [form, epochs] : forms_) {
    for (const PlanEpoch& epoch : epochs) count += epoch.overflows;
  }
  return count;
}

ordered_json Receipt::ToJson() const {
  ordered_json tasks = ordered_json::object();
  for (const auto& [form, epochs] : forms_) {
    ordered_json list = ordered_json::array();
    for (const PlanEpoch& epoch : epochs) list.push_back(EpochJson(epoch));
    tasks[form.text()] = list;
  }
  return {{"format", kReceiptFormat},
          {"under_estimates", under()},
          {"overflows", overflows()},
          {"tasks", tasks},
          {"stages", stages_.ToJson()}};
}

Receipt Receipt::FromJson(const ordered_json& json, const std::string& otherwise) {
  RefuseNewer(json, "format", kReceiptFormat, "this receipt", otherwise);
  try {
    if (json.at("format") != kReceiptFormat) throw std::out_of_range("format is " + json.at("format").dump());
    Receipt receipt;
    for (const auto& [form, epochs] : json.at("tasks").items()) {
      for (const ordered_json& epoch : epochs) receipt.forms_[FormId(form)].push_back(EpochOf(epoch));
    }
    receipt.stages_ = StageAccounts::FromJson(json.value("stages", ordered_json::array()));
    return receipt;
  } catch (const std::exception& error) {
    throw medley::Error(std::string("this is no receipt of medley's: ") + error.what());
  }
}

}  // namespace medley
