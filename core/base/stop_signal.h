#pragma once

namespace medley {

// What signals mean while it lives, to a command that has something to save:
// - SIGTERM or SIGINT asks for an interrupt (base/interrupt.h): what is under way is given up; one that comes
//   when that was asked for leaves at once, unsaved, with exit code 1 (what is committed stays good);
// - SIGHUP and SIGUSR2 ask for an interrupt too, however often they come: of a terminal that is closed the
//   kernel and the shell may each say so, and a job's scheduler may repeat its warning before it kills;
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

// What they mean to a command that has nothing to save, from here on: SIGTERM, SIGINT or SIGHUP ends it at
// once, with a line and exit code 130, whatever it does; PassingFiles are removed, so that what it wrote is
// whole or not there. SIGINT and SIGHUP stay ignored where they were.
void LeaveAtSignals();

}  // namespace medley
