#include <medley/train/run_sinks.h>

#include <utility>

#include <medley/report/metrics.h>

namespace medley {
RecordSinks MakeRunSinks(const std::filesystem::path& directory, const std::vector<std::string>& named_tasks,
                         const LogOffsets& offsets, std::unique_ptr<ReceiptBook> receipts, Progress& progress,
                         Console& console) {
  RecordSinks sinks;
  sinks.Add(std::make_unique<MetricsLog>(directory, offsets));
  sinks.Add(std::make_unique<TimingLog>(directory, offsets));
  sinks.Add(std::make_unique<LossesTable>(directory, named_tasks));
  sinks.Add(std::move(receipts));
  sinks.Add(std::make_unique<StatusLine>(progress, console));
  return sinks;
}

}  // namespace medley
