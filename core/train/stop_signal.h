#pragma once

namespace medley {

// What signals mean while it lives:
// - the first SIGTERM, SIGINT or SIGHUP asks for an interrupt (base/interrupt.h): what is under way is given
// up;
//   the second leaves at once, unsaved, with exit code 1 (what is committed stays good);
// - SIGUSR2 asks for an interrupt too, however often it comes: a job's scheduler warns so before it kills;
// - SIGUSR1 asks for a checkpoint after the step that is under way, and the run goes on;
// - a file size limit becomes an error of the write, and a closed pipe costs its lines; neither is the end of
//   the process.
// All but SIGTERM stay ignored where they were (a script's `&`, nohup). They may nest, on one thread; the
// outermost begins and ends without anything that was asked for.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
};

}  // namespace medley
