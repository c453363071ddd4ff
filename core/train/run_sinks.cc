#include <medley/train/run_sinks.h>

#include <utility>

#include <medley/base/error.h>
#include <medley/report/metrics.h>
#include <medley/report/tensorboard.h>

namespace medley {
namespace {

// It is for people alone: a run starts and goes on without it.
void AddTensorBoard(RecordSinks& sinks, const std::filesystem::path& directory, const LogOffsets& offsets,
                    Console& console) {
  try {
    sinks.Add(std::make_unique<TensorBoard>(directory, offsets, console));
  } catch (const Error& error) {
    console.Warn(std::string(error.what()) + "; this run writes nothing for TensorBoard");
  }
}

}  // namespace

RecordSinks MakeRunSinks(const std::filesystem::path& directory, const std::vector<std::string>& named_tasks,
                         const LogOffsets& offsets, bool tensorboard, std::unique_ptr<ReceiptBook> receipts,
                         Progress& progress, Console& console) {
  RecordSinks sinks;
  sinks.Add(std::make_unique<MetricsLog>(directory, offsets));
  sinks.Add(std::make_unique<TimingLog>(directory, offsets));
  sinks.Add(std::make_unique<LossesTable>(directory, named_tasks));
  sinks.Add(std::move(receipts));
  if (tensorboard) AddTensorBoard(sinks, directory, offsets, console);
  sinks.Add(std::make_unique<StatusLine>(progress, console));
  return sinks;
}

}  // namespace medley
