#include <medley/train/run_sinks.h>

#include <memory>
#include <utility>

#include <medley/base/error.h>
#include <medley/report/log_repair.h>
#include <medley/report/metrics.h>
#include <medley/report/tensorboard.h>

namespace medley {
namespace {

// It is for people alone: a run starts and goes on without it.
void AddTensorBoard(RecordSinks& sinks, const std::filesystem::path& directory, const LogMarks& marks,
                    Console& console) {
  try {
    sinks.Add(std::make_unique<TensorBoard>(directory, marks, console));
  } catch (const Error& error) {
    console.Warn(std::string(error.what()) + "; this run writes nothing for TensorBoard");
  }
}

// It writes itself down; a checkpoint points into it.
class WeightLogSink final : public RecordSink {
 public:
  explicit WeightLogSink(WeightLog& log) : log_(log) {}
  void Sync(LogMarks& marks) override {
    log_.Sync();
    marks[kWeightLog] = log_.mark();
  }

 private:
  WeightLog& log_;
};

}  // namespace

RecordSinks MakeRunSinks(const std::filesystem::path& directory, const std::vector<std::string>& named_tasks,
                         const std::optional<FoundCheckpoint>& from, bool tensorboard, ReceiptBook& receipts,
                         WeightLog& weights, Progress& progress, SlowdownSetting slowdown, Console& console) {
  const CheckpointFacts saved = from ? from->facts : CheckpointFacts();
  const LogMarks marks = RepairLogs(directory, {kMetricsLog, kTimingLog}, saved.logs, saved.step, console);
  MakeWayForLog(directory / kLossesTable, console);
  RecordSinks sinks;
  sinks.Add(std::make_unique<MetricsLog>(directory, marks, console));
  sinks.Add(std::make_unique<TimingLog>(directory, marks, console));
  sinks.Add(std::make_unique<LossesTable>(directory, named_tasks, console));
  sinks.Add(receipts);
  if (tensorboard) AddTensorBoard(sinks, directory, marks, console);
  auto status = std::make_unique<StatusLine>(progress, console);
  status->AddTasks(named_tasks);
  sinks.Add(std::move(status));
  sinks.Add(std::make_unique<Slowdown>(std::move(slowdown), console));
  sinks.Add(std::make_unique<WeightLogSink>(weights));
  return sinks;
}

}  // namespace medley
