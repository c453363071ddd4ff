#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/memory/plan.h>

namespace medley {

inline constexpr const char* kReceiptFile = "receipt.json";

// A draw as it was planned and as it went. Bytes in all, floor included.
struct DrawReceipt {
  std::string task;
  std::string mode;  // in words: "sequential", "joint + recompute 1"
  std::int64_t micro_rows = 0;
  std::int64_t predicted = 0;  // peak; 0: nothing was planned
  std::int64_t margin = 0;     // that the plan kept free beside it
  std::int64_t measured = 0;   // peak
  // What really ran:
  std::int64_t rows = 0;
  std::int64_t tokens = 0;
  std::int64_t passes = 0;  // forwards
};

// How a prediction did. Thresholds are fixed: see GradeOf.
enum class Grade {
  kUnder,    // the peak was above prediction and margin: an under-estimate
  kShort,    // above the prediction: the margin saved it
  kCovered,  // at most a tenth below
  kLoose,    // further below
};
Grade GradeOf(std::int64_t predicted, std::int64_t margin, std::int64_t measured);

// Draws of one task under one plan. The median is that of at most 512 draws, evenly spread.
struct PlanEpoch {
  std::string mode;
  std::int64_t micro_rows = 0;
  std::int64_t predicted = 0;
  std::int64_t margin = 0;
  std::int64_t draws = 0;
  std::int64_t rows = 0, tokens = 0, passes = 0;
  std::int64_t smallest = 0, largest = 0;                      // measured peaks
  std::int64_t under = 0, narrow = 0, covered = 0, loose = 0;  // draws by grade; narrow: kShort
  std::vector<std::int64_t> samples{};
  std::int64_t sample_every = 1;

  std::int64_t median() const;
  bool IsSame(const DrawReceipt& draw) const;
  void Add(const DrawReceipt& draw);
};

// Predicted against measured, of a whole run, its resumes included.
class Receipt {
 public:
  void Record(const DrawReceipt& draw);
  const std::map<std::string, std::vector<PlanEpoch>>& tasks() const { return tasks_; }
  std::int64_t under() const;

  // receipt.json, and a checkpoint's section.
  nlohmann::ordered_json ToJson() const;
  // Throws an Error where it is no receipt.
  static Receipt FromJson(const nlohmann::ordered_json& json);

 private:
  std::map<std::string, std::vector<PlanEpoch>> tasks_;
};

// For people: a table, the grades, and words about every under-estimate.
std::string ReceiptTable(const Receipt& receipt);

}  // namespace medley
