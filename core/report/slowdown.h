#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <medley/base/machine_load.h>
#include <medley/report/console.h>
#include <medley/report/rank_work.h>
#include <medley/report/record_sink.h>
#include <medley/report/usual_speed.h>

namespace medley {

// What is known of the machine and the run while its rows took long.
struct SlowTime {
  double seconds = 0;                    // of steps
  std::map<std::string, double> data{};  // of these, waiting for data, by task
  double peers = 0;                      // waiting for other processes of the run
  RankWork ranks{};                      // ms
  double cut = 0;                        // in draws that are cut after memory ran out
  MachineLoad load{};
};

struct SlowdownSetting {
  std::int64_t threads = 1, data_threads = 0;
  bool on_cpu = true, alone = true;  // alone: the only process of the run
  std::string resume{};              // the command that goes on with the run
  std::function<MachineLoad()> load = ReadMachineLoad;
};

// The likely cause, and what to do, in a sentence that another one began.
std::string CauseOf(const SlowTime& slow, const SlowdownSetting& setting);

// Warns once where, for a minute, rows take four times as long as rows of the same tasks did before, with the
// likely cause; again only after the speed came back. Evaluations and saves are no part of a step, and a
// single long wait is no minute.
class Slowdown final : public RecordSink {
 public:
  // Keeps a reference.
  Slowdown(SlowdownSetting setting, Console& console);

  using RecordSink::Take;
  void Take(const StepRecord& record) override;

 private:
  void Add(const StepRecord& record, const StepWork& work, double expected);
  void Judge(std::int64_t step);
  void BeginPart();

  SlowdownSetting setting_;
  Console& console_;
  UsualSpeed usual_;
  // The part of the time that is under way, and what was slow before it:
  StepWork work_;
  SlowTime part_, slow_;
  double expected_ = 0, slow_expected_ = 0;
  MachineLoad part_began_, slow_began_;
  int slow_parts_ = 0;
  bool said_ = false;
};

}  // namespace medley
