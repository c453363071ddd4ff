#include <medley/plan/receipt_book.h>

#include <algorithm>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/step/accumulation.h>

namespace medley {
namespace {

std::string ModeWords(const ExecutionPlan& plan) {
  std::string words(ModeName(plan.mode));
  if (plan.recompute_every > 0) words += " + recompute " + std::to_string(plan.recompute_every);
  return words;
}

std::int64_t Find(const std::map<std::string, std::int64_t>& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? 0 : found->second;
}

}  // namespace

ReceiptBook::ReceiptBook(const Run& run, const OomRecovery& cuts, std::filesystem::path directory)
    : run_(run),
      cuts_(cuts),
      directory_(std::move(directory)),
      forwards_(run.executor->forwards()),
      tokens_(run.executor->tokens()) {}

DrawReceipt ReceiptBook::ReceiptOf(const Draw& draw, std::int64_t peak) const {
  const ExecutionPlan& plan = run_.plans.at(draw.task);
  DrawReceipt receipt{.task = draw.task,
                      .mode = ModeWords(plan),
                      .micro_rows = RowsAtOnce(plan.micro_rows, draw.rows),
                      .cut = cuts_.IsCut(draw.task),
                      .measured = peak,
                      .rows = draw.rows};
  if (run_.planned) Predict(receipt);
  return receipt;
}

// The plan speaks of the micro-batches that it chose; for others ask the lines that it was made from.
void ReceiptBook::Predict(DrawReceipt& receipt) const {
  if (!receipt.cut) {
    receipt.predicted = Find(run_.planned->peaks, receipt.task);
    receipt.margin = Find(run_.planned->margins, receipt.task);
  } else if (run_.predict_peak) {
    const PeakPrediction lines =
        run_.predict_peak(receipt.task, receipt.micro_rows).value_or(PeakPrediction());
    receipt.predicted = lines.peak;
    receipt.margin = lines.margin;
  }
}

// The first of a task's draws in the step takes what all of them ran.
void ReceiptBook::AddWhatRan(DrawReceipt& receipt) {
  const std::int64_t forwards = Find(run_.executor->forwards(), receipt.task);
  const std::int64_t tokens = Find(run_.executor->tokens(), receipt.task);
  receipt.passes = forwards - std::exchange(forwards_[receipt.task], forwards);
  receipt.tokens = tokens - std::exchange(tokens_[receipt.task], tokens);
}

void ReceiptBook::Record(const std::vector<Draw>& draws, const StepMemory& memory) {
  const std::size_t count = std::min(draws.size(), memory.draws.size());
  for (std::size_t i = 0; i < count; ++i) {
    DrawReceipt receipt = ReceiptOf(draws[i], memory.draws[i].peak);
    AddWhatRan(receipt);
    receipt_.Record(receipt);
  }
}

void ReceiptBook::RecordOverflow(const Draw& draw, std::int64_t reached, std::int64_t left) {
  DrawReceipt receipt = ReceiptOf(draw, reached);
  AddWhatRan(receipt);
  receipt_.RecordOverflow(receipt, left);
}

std::string ReceiptBook::Save() const {
  try {
    ReplaceFile(directory_ / kReceiptFile, receipt_.ToJson().dump(2) + "\n");
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace medley
