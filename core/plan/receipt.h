#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/plan/stage_accounts.h>
#include <medley/report/records.h>

namespace medley {

inline constexpr const char* kReceiptFile = "receipt.json";

// How a prediction did. Thresholds are fixed: see GradeOf.
enum class Grade {
  kUnder,    // the peak was above prediction and margin: an under-estimate
  kShort,    // above the prediction: the margin saved it
  kCovered,  // at most a tenth below
  kLoose,    // further below
};
// In bytes in use in all.
Grade GradeOf(std::int64_t predicted, std::int64_t margin, std::int64_t measured);

// Draws of one form of a task under one plan. The median is that of at most 512 draws, evenly spread. Peaks
// are bytes in use in all. Where nothing was predicted (0) no draw has a grade.
struct PlanEpoch {
  std::string mode;
  std::int64_t micro_rows = 0;
  bool cut = false;
  std::int64_t predicted = 0;
  std::int64_t margin = 0;
  std::int64_t draws = 0;
  std::int64_t rows = 0, tokens_run = 0, forwards = 0;         // see DrawReceipt
  std::int64_t smallest = 0, largest = 0;                      // measured peaks
  std::int64_t under = 0, narrow = 0, covered = 0, loose = 0;  // draws by grade; narrow: kShort
  std::vector<std::int64_t> samples{};
  std::int64_t sample_every = 1;
  // Draws that ran out of memory: how often, the most bytes that were in use then, and the most that stayed.
  // They are no draws of this epoch, only their tokens and forwards count; who had a prediction is under.
  std::int64_t overflows = 0, reached = 0, left = 0;

  std::int64_t median() const;
  std::int64_t under_in_draws() const { return predicted > 0 ? under - overflows : 0; }
  bool IsSame(const DrawReceipt& draw) const;
  void Add(const DrawReceipt& draw);
  void AddOverflow(const DrawReceipt& draw, std::int64_t left_bytes);
};

// Predicted against measured, of a whole run, its resumes included. Draws come in the order in which they
// ran: whenever the plan of a form's differs from the last one's, a new epoch begins.
class Receipt {
 public:
  void Record(const DrawReceipt& draw);
  // `draw` as it was planned when it ran out of memory; measured: what was in use then, a lower bound of its
  // peak. `left`: bytes that stayed.
  void RecordOverflow(const DrawReceipt& draw, std::int64_t left);
  // What its stage's tasks got by it.
  void RecordStep(const StepRecord& record) { stages_.Add(record); }
  const std::map<FormId, std::vector<PlanEpoch>>& forms() const { return forms_; }
  const StageAccounts& stages() const { return stages_; }
  std::int64_t under() const;  // of draws and overflows
  std::int64_t overflows() const;

  // receipt.json, and the section of a checkpoint.
  nlohmann::ordered_json ToJson() const;
  // Throws an Error where it is no receipt. `otherwise`: what else there is to do than to use a newer medley.
  static Receipt FromJson(const nlohmann::ordered_json& json, const std::string& otherwise = "");

 private:
  PlanEpoch& EpochFor(const DrawReceipt& draw);

  std::map<FormId, std::vector<PlanEpoch>> forms_;
  StageAccounts stages_;
};

// What people read of it: a table, the grades, and words about every under-estimate and overflow.
std::string ReceiptTable(const Receipt& receipt);

}  // namespace medley
