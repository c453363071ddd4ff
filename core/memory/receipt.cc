#include <medley/memory/receipt.h>

#include <algorithm>

#include <medley/base/bytes.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::size_t kMostSamples = 512;

ordered_json EpochJson(const PlanEpoch& epoch) {
  return {
      {"mode", epoch.mode},
      {"micro_rows", epoch.micro_rows},
      {"predicted_peak", epoch.predicted},
      {"margin", epoch.margin},
      {"draws", epoch.draws},
      {"rows", epoch.rows},
      {"tokens", epoch.tokens},
      {"passes", epoch.passes},
      {"measured_peak",
       {{"smallest", epoch.smallest}, {"median", epoch.median()}, {"largest", epoch.largest}}},
      {"grades",
       {{"under", epoch.under}, {"short", epoch.narrow}, {"covered", epoch.covered}, {"loose", epoch.loose}}},
      {"sample_every", epoch.sample_every},
      {"samples", epoch.samples}};
}

PlanEpoch EpochOf(const ordered_json& json) {
  const ordered_json &peak = json.at("measured_peak"), &grades = json.at("grades");
  PlanEpoch epoch{.mode = json.at("mode").get<std::string>(),
                  .micro_rows = json.at("micro_rows").get<std::int64_t>(),
                  .predicted = json.at("predicted_peak").get<std::int64_t>(),
                  .margin = json.at("margin").get<std::int64_t>(),
                  .draws = json.at("draws").get<std::int64_t>(),
                  .rows = json.at("rows").get<std::int64_t>(),
                  .tokens = json.at("tokens").get<std::int64_t>(),
                  .passes = json.at("passes").get<std::int64_t>(),
                  .smallest = peak.at("smallest").get<std::int64_t>(),
                  .largest = peak.at("largest").get<std::int64_t>(),
                  .under = grades.at("under").get<std::int64_t>(),
                  .narrow = grades.at("short").get<std::int64_t>(),
                  .covered = grades.at("covered").get<std::int64_t>(),
                  .loose = grades.at("loose").get<std::int64_t>(),
                  .samples = json.at("samples").get<std::vector<std::int64_t>>(),
                  .sample_every = json.at("sample_every").get<std::int64_t>()};
  if (epoch.sample_every < 1) throw std::out_of_range("sample_every is below 1");
  return epoch;
}

std::string ErrorOf(const PlanEpoch& epoch, std::int64_t measured) {
  if (epoch.predicted == 0) return "-";
  return FormatShare(static_cast<double>(epoch.predicted - measured) /
                     static_cast<double>(std::max<std::int64_t>(1, measured)));
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
  return mode == draw.mode && micro_rows == draw.micro_rows && predicted == draw.predicted &&
         margin == draw.margin;
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
  tokens += draw.tokens;
  passes += draw.passes;
  if (predicted == 0) return;
  switch (GradeOf(predicted, margin, draw.measured)) {
    case Grade::kUnder:
      ++under;
      break;
    case Grade::kShort:
      ++narrow;
      break;
    case Grade::kCovered:
      ++covered;
      break;
    case Grade::kLoose:
      ++loose;
      break;
  }
}

void Receipt::Record(const DrawReceipt& draw) {
  std::vector<PlanEpoch>& epochs = tasks_[draw.task];
  if (epochs.empty() || !epochs.back().IsSame(draw)) {
    epochs.push_back({.mode = draw.mode,
                      .micro_rows = draw.micro_rows,
                      .predicted = draw.predicted,
                      .margin = draw.margin});
  }
  epochs.back().Add(draw);
}

std::int64_t Receipt::under() const {
  std::int64_t count = 0;
  for (const auto& [task, epochs] : tasks_) {
    for (const PlanEpoch& epoch : epochs) count += epoch.under;
  }
  return count;
}

ordered_json Receipt::ToJson() const {
  ordered_json tasks = ordered_json::object();
  for (const auto& [task, epochs] : tasks_) {
    ordered_json list = ordered_json::array();
    for (const PlanEpoch& epoch : epochs) list.push_back(EpochJson(epoch));
    tasks[task] = list;
  }
  return {{"format", kFormat}, {"under_estimates", under()}, {"tasks", tasks}};
}

Receipt Receipt::FromJson(const ordered_json& json) {
  try {
    if (json.at("format") != kFormat) throw std::out_of_range("format is " + json.at("format").dump());
    Receipt receipt;
    for (const auto& [task, epochs] : json.at("tasks").items()) {
      for (const ordered_json& epoch : epochs) receipt.tasks_[task].push_back(EpochOf(epoch));
    }
    return receipt;
  } catch (const std::exception& error) {
    throw medley::Error(std::string("this is no receipt of medley's: ") + error.what());
  }
}

std::string ReceiptTable(const Receipt& receipt) {
  Table table({"task", "mode", "micro rows", "predicted", "measured, most", "median", "error", "at most",
               "under", "draws", "rows", "tokens", "passes"});
  std::int64_t draws = 0, narrow = 0, covered = 0, loose = 0;
  for (const auto& [task, epochs] : receipt.tasks()) {
    for (const PlanEpoch& epoch : epochs) {
      table.Add({task, epoch.mode, std::to_string(epoch.micro_rows),
                 epoch.predicted > 0 ? FormatBytes(epoch.predicted) : "-", FormatBytes(epoch.largest),
                 FormatBytes(epoch.median()), ErrorOf(epoch, epoch.largest), ErrorOf(epoch, epoch.smallest),
                 std::to_string(epoch.under), std::to_string(epoch.draws), std::to_string(epoch.rows),
                 std::to_string(epoch.tokens), std::to_string(epoch.passes)});
      draws += epoch.draws;
      narrow += epoch.narrow;
      covered += epoch.covered;
      loose += epoch.loose;
    }
  }
  std::string text = table.ToText();
  text += "\n" + std::to_string(draws) + " draws: " + std::to_string(receipt.under()) +
          " above the prediction and its margin, " + std::to_string(narrow) + " within the margin, " +
          std::to_string(covered) + " at most a tenth below, " + std::to_string(loose) +
          " further below (their rows were shorter than the longest)\n";
  for (const auto& [task, epochs] : receipt.tasks()) {
    for (const PlanEpoch& epoch : epochs) {
      if (epoch.under == 0) continue;
      text += "UNDER-ESTIMATED: task " + task + " took " + FormatBytes(epoch.largest) + ", " +
              FormatBytes(epoch.largest - epoch.predicted - epoch.margin) + " more than was planned (" +
              epoch.mode + ", micro rows " + std::to_string(epoch.micro_rows) + ")\n";
    }
  }
  return text;
}

}  // namespace medley
