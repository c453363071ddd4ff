#pragma once

namespace medley {

// While it lives, the first SIGINT, SIGTERM or SIGHUP (unless it was ignored: nohup) asks for an interrupt
// (base/interrupt.h): what is under way is given up; the second leaves at once, unsaved, with exit code 1
// (what is committed stays good). A file size limit becomes an error of the write, and a closed pipe costs
// its lines; neither is the end of the process. They may nest.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
};

}  // namespace medley
