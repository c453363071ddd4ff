#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <medley/base/append_file.h>
#include <medley/report/console.h>
#include <medley/report/log_watch.h>
#include <medley/report/picture.h>
#include <medley/report/record_sink.h>

namespace medley {

// A file that TensorBoard reads: curves and pictures by tag and step, each with the wall time of its writing.
//
// It is for people alone, so a run goes on without it. A file that is not as the checkpoint left it is set
// aside, and a new one begins; a full disk is AppendFile's matter. An Error is left for a place where no file
// can be made at all.
class EventFile {
 public:
  // Opens or creates, with the directory; bytes beyond `keep_bytes`, once an offset(), are cut off. The file
  // is set aside where those that stay are no whole records with the right checksums. TensorBoard reads every
  // file that has "tfevents" in its name: `path` is to have it, a name set aside never has.
  EventFile(std::filesystem::path path, std::int64_t keep_bytes);

  // What was not as it was left and where it is now, for the console; "" where nothing was.
  const std::string& trouble() const { return trouble_; }

  // TensorBoard holds 32 bits of the value; NaN and infinity are values too. Tags are UTF-8.
  void Scalar(std::string_view tag, std::int64_t step, double value);
  void Image(std::string_view tag, std::int64_t step, const Picture& picture);

  // As AppendFile's.
  void Sync() { file_.Sync(); }
  std::int64_t offset() const { return file_.offset(); }
  const AppendFile& log() const { return file_; }

 private:
  void Append(std::string_view event);

  std::string trouble_;  // found before file_ is opened
  AppendFile file_;
};

inline constexpr const char* kTensorBoardLog = "tensorboard/events.out.tfevents.medley";  // for people alone

// What a run leaves as TensorBoard shows it, by step:
//   loss/TASK, loss/TASK/TERM             weighted and in all; the mean over items
//   share/TASK                            of what was delivered since the stage began
//   memory/{now,peak,planned}             MiB; the step's, of planned the largest of its draws
//   speed/rows_per_second, optimizer/{learning_rate,gradient_norm}
//   rows_at_once/TASK                     where the plan in force changes
//   score/TASK, score/TASK/FIGURE, sheet/TASK   with evaluations
//   phase/memory_{before,after,peak,held}, phase/weight_copies   at changes of phase; MiB
//   jump/{gain,taken,row_forwards}        at predictions
// Nothing that goes wrong with it stops a run or a save: it is said, once.
class TensorBoard final : public RecordSink {
 public:
  // Cut back to its offset; what cannot be is set aside, and said. An Error where no file can be made at all.
  TensorBoard(const std::filesystem::path& directory, const LogMarks& marks, Console& console);

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
