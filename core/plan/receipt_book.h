#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include <medley/base/newer.h>
#include <medley/plan/receipt.h>
#include <medley/report/console.h>
#include <medley/report/record_sink.h>

namespace medley {

// Keeps a training run's receipt: every draw's peak against its plan, and what really ran. A resumed run goes
// on with that of its checkpoint; receipt.json is the same for people, written with every save.
class ReceiptBook final : public RecordSink {
 public:
  // Keeps the reference. Writes nothing yet.
  ReceiptBook(std::filesystem::path directory, Console& console)
      : directory_(std::move(directory)), console_(console) {}

  using RecordSink::Take;
  void Take(const StepRecord& record) override;
  void Take(const PlanRecord& record) override;
  void Sync(LogMarks&) override { Save(); }

  // A checkpoint's section.
  nlohmann::json ToJson() const { return receipt_.ToJson(); }
  // Throws an Error where it is no receipt, and then keeps what it had.
  void Load(const nlohmann::json& state) { receipt_ = Receipt::FromJson(state, kEarlierCheckpoint); }
  // receipt.json. What it loses is no reason not to train: why it could not be written is a warning.
  void Save() const;

  const Receipt& receipt() const { return receipt_; }

 private:
  std::filesystem::path directory_;
  Console& console_;
  Receipt receipt_;
};

}  // namespace medley
