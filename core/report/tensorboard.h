#pragma once

#include <cstdint>
#include <filesystem>

#include <medley/report/console.h>
#include <medley/report/event_file.h>
#include <medley/report/log_watch.h>
#include <medley/report/record_sink.h>

namespace medley {

inline constexpr const char* kTensorBoardLog = "tensorboard/events.out.tfevents.medley";  // for people alone

// What a run leaves as TensorBoard shows it, by step:
//   loss/TASK, loss/TASK/TERM             weighted and in all; the mean over items
//   share/TASK                            of what was delivered since the stage began
//   memory/{now,peak,planned}             MiB; the step's, of planned the largest of its draws
//   speed/rows_per_second, speed/operations_per_second/TASK, optimizer/{learning_rate,gradient_norm}
//   rows_at_once/TASK                     where the plan in force changes
//   score/TASK, score/TASK/FIGURE, sheet/TASK   with evaluations
//   phase/memory_{before,after,peak,held}, phase/weight_copies   at changes of phase; MiB
//   jump/{gain,taken,row_forwards}        at predictions
// Nothing that goes wrong with it stops a run or a save: it is said, once.
class TensorBoard final : public RecordSink {
 public:
  // Cut back to its offset; what cannot be is set aside, and said. An Error where no file can be made at all.
  TensorBoard(const std::filesystem::path& directory, const LogMarks& marks, Console& console);

  void Take(const EvaluationRecord& at_start) override;
  void Take(const StepRecord& record) override;
  void Take(const PlanRecord& record) override;
  void Take(const PhaseRecord& record) override;
  void Sync(LogMarks& marks) override;

 private:
  void Add(const EvaluationRecord& evaluation, std::int64_t step);

  EventFile file_;
  LogWatch watch_;
  LogMark durable_;
};

}  // namespace medley
