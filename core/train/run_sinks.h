#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <medley/checkpoint/checkpoint.h>
#include <medley/curriculum/weight_log.h>
#include <medley/plan/receipt_book.h>
#include <medley/report/console.h>
#include <medley/report/progress.h>
#include <medley/report/record_sink.h>

namespace medley {

// Everything that writes down what a training run leaves, in the order in which it is told. Cuts the logs
// back to where `from`, if any, was saved; what of them is not as it was then is set aside first. Keeps
// references to progress and console.
RecordSinks MakeRunSinks(const std::filesystem::path& directory, const std::vector<std::string>& named_tasks,
                         const std::optional<FoundCheckpoint>& from, bool tensorboard,
                         std::unique_ptr<ReceiptBook> receipts, Progress& progress, Console& console);

// Makes the log of the weights durable where the others are. Keeps the reference.
std::unique_ptr<RecordSink> MakeWeightLogSink(WeightLog& log);

}  // namespace medley
