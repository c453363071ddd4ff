#pragma once

namespace medley {

// While it lives, the first SIGTERM, SIGINT or SIGHUP (these two unless they were ignored: a script's `&`,
// nohup) asks for an interrupt (base/interrupt.h): what is under way is given up; the second leaves at once,
// unsaved, with exit code 1 (what is committed stays good). A file size limit becomes an error of the write,
// and a closed pipe costs its lines; neither is the end of the process. They may nest, on one thread; the
// outermost begins and ends without an interrupt that was asked for.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
};

}  // namespace medley
