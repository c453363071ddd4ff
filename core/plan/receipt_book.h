#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/curriculum/mixer.h>
#include <medley/memory/reading.h>
#include <medley/plan/oom_recovery.h>
#include <medley/plan/receipt.h>
#include <medley/run/run.h>

namespace medley {

// Keeps a training run's receipt: every draw's peak against its plan, and what really ran. A resumed run goes
// on with that of its checkpoint; receipt.json is the same for people, of the newest save.
class ReceiptBook {
 public:
  // Keeps the references.
  ReceiptBook(const Run& run, const OomRecovery& cuts, std::filesystem::path directory);

  // A whole step, before its tasks grow back.
  void Record(const std::vector<Draw>& draws, const StepMemory& memory);
  // A draw that ran out of memory, before its task is cut: with `reached` bytes in use in all, of which
  // `left` stayed when it was over.
  void RecordOverflow(const Draw& draw, std::int64_t reached, std::int64_t left);

  // A checkpoint's section.
  nlohmann::json ToJson() const { return receipt_.ToJson(); }
  void Load(const nlohmann::json& state) { receipt_ = Receipt::FromJson(state); }
  // What a receipt loses is no reason not to train: words about why it could not be written, else "".
  std::string Save() const;

  const Receipt& receipt() const { return receipt_; }

 private:
  DrawReceipt ReceiptOf(const Draw& draw, std::int64_t peak) const;
  void Predict(DrawReceipt& receipt) const;
  void AddWhatRan(DrawReceipt& receipt);

  const Run& run_;
  const OomRecovery& cuts_;
  std::filesystem::path directory_;
  Receipt receipt_;
  std::map<std::string, std::int64_t> forwards_, tokens_;  // counted so far, by task
};

}  // namespace medley
