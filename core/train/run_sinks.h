#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <medley/checkpoint/checkpoint_facts.h>
#include <medley/curriculum/weight_log.h>
#include <medley/plan/receipt_book.h>
#include <medley/report/console.h>
#include <medley/report/progress.h>
#include <medley/report/record_sink.h>
#include <medley/report/slowdown.h>

namespace medley {

// Everything that writes down what a training run leaves, in the order in which it is told. Cuts the logs
// back to where `from`, if any, was saved; what of them is not as it was then is set aside first. The log of
// the weights is made durable where the others are. Keeps references to the receipts, the weights, the
// progress and the console. Throws where a log cannot be mended or opened; without TensorBoard's the run goes
// on, with a warning.
RecordSinks MakeRunSinks(const std::filesystem::path& directory, const std::vector<std::string>& named_tasks,
                         const std::optional<FoundCheckpoint>& from, bool tensorboard, ReceiptBook& receipts,
                         WeightLog& weights, Progress& progress, SlowdownSetting slowdown, Console& console);

}  // namespace medley
