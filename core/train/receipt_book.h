#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <medley/curriculum/mixer.h>
#include <medley/memory/reading.h>
#include <medley/memory/receipt.h>
#include <medley/train/run.h>

namespace medley {

// Keeps a training run's receipt: every draw's peak against its plan, and what really ran.
class ReceiptBook {
 public:
  // A resumed run goes on with the receipt in its directory. Keeps the reference.
  ReceiptBook(const Run& run, std::filesystem::path directory, bool resumed);

  // A whole step.
  void Record(const std::vector<Draw>& draws, const StepMemory& memory);
  // What a receipt loses is no reason not to train: words about why it could not be written, else "".
  std::string Save() const;

  const Receipt& receipt() const { return receipt_; }

 private:
  DrawReceipt ReceiptOf(const Draw& draw, std::int64_t peak) const;

  const Run& run_;
  std::filesystem::path directory_;
  Receipt receipt_;
  std::map<std::string, std::int64_t> forwards_, tokens_;  // counted so far, by task
};

}  // namespace medley
