#include <medley/train/receipt_book.h>

#include <algorithm>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/report/durable_file.h>

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

Receipt ReadReceipt(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  try {
    return Receipt::FromJson(nlohmann::ordered_json::parse(ReadFile(file)));
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace

ReceiptBook::ReceiptBook(const Run& run, std::filesystem::path directory, bool resumed)
    : run_(run),
      directory_(std::move(directory)),
      forwards_(run.executor->forwards()),
      tokens_(run.executor->tokens()) {
  if (resumed) receipt_ = ReadReceipt(directory_ / kReceiptFile);
}

DrawReceipt ReceiptBook::ReceiptOf(const Draw& draw, std::int64_t peak) const {
  const ExecutionPlan& plan = run_.plans.at(draw.task);
  DrawReceipt receipt{.task = draw.task,
                      .mode = ModeWords(plan),
                      .micro_rows = plan.micro_rows > 0 ? std::min(plan.micro_rows, draw.rows) : draw.rows,
                      .measured = peak,
                      .rows = draw.rows};
  if (run_.planned) {
    receipt.predicted = Find(run_.planned->peaks, draw.task);
    receipt.margin = Find(run_.planned->margins, draw.task);
  }
  return receipt;
}

void ReceiptBook::Record(const std::vector<Draw>& draws, const StepMemory& memory) {
  const std::size_t count = std::min(draws.size(), memory.draws.size());
  for (std::size_t i = 0; i < count; ++i) {
    DrawReceipt receipt = ReceiptOf(draws[i], memory.draws[i].peak);
    const std::string& task = receipt.task;
    // The first of a task's draws in the step takes what all of them ran.
    const std::int64_t forwards = Find(run_.executor->forwards(), task);
    const std::int64_t tokens = Find(run_.executor->tokens(), task);
    receipt.passes = forwards - std::exchange(forwards_[task], forwards);
    receipt.tokens = tokens - std::exchange(tokens_[task], tokens);
    receipt_.Record(receipt);
  }
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
