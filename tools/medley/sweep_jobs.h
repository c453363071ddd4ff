#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include <medley/base/descriptor.h>

#include "tools/medley/processes.h"

namespace medley {

// A process of a sweep: what trains or scores one of its runs. Its lines go to the run's own log; what it
// says on stderr is kept here, the end of it.
class SweepJob {
 public:
  // `item`: of whose run. An Error where no process can be started.
  SweepJob(std::size_t item, const std::vector<std::string>& command, const HeldSignals& signals);

  std::size_t item() const { return item_; }
  bool trains() const { return trains_; }
  // Asks it to end, or to save, as far as it knows the signal: what scores has nothing to save.
  void Signal(int signal) const;
  // Takes what it said; true once: it has ended.
  bool HasEnded();
  // When it has something to say.
  pollfd watched() const { return {.fd = said_by_.get(), .events = POLLIN, .revents = 0}; }
  // How it ended; -1: by a signal.
  int code() const;
  // What it said of that: its own last message, or the signal that ended it.
  std::string Words() const;

 private:
  void Read();

  std::size_t item_;
  bool trains_;
  Descriptor said_by_;
  std::string said_;
  StartedProcess process_;
};

}  // namespace medley
