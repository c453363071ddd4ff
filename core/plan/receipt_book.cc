#include <medley/plan/receipt_book.h>

#include <exception>

#include <medley/base/durable_file.h>
#include <medley/base/json_text.h>

namespace medley {

void ReceiptBook::Take(const StepRecord& record) {
  receipt_.RecordStep(record);
  for (const DrawReceipt& draw : record.receipts) receipt_.Record(draw);
}

void ReceiptBook::Take(const PlanRecord& record) {
  if (record.overflowed) receipt_.RecordOverflow(*record.overflowed, record.left_bytes);
}

void ReceiptBook::Save() const {
  try {
    ReplaceFile(directory_ / kReceiptFile, JsonText(receipt_.ToJson(), 2) + "\n");
  } catch (const std::exception& error) {
    console_.Warn(error.what());
  }
}

}  // namespace medley
