#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <medley/cluster/announcement.h>
#include <medley/cluster/group.h>
#include <medley/cluster/peers.h>
#include <medley/cluster/rank_place.h>

namespace medley {

// How a process looks for the others of its run.
struct MeetingTerms {
  std::chrono::milliseconds limit = std::chrono::minutes(10);  // start_timeout
  // Whoever still waits is told who is here and who is not: first, and then again each time.
  std::chrono::milliseconds first_words = std::chrono::seconds(10), later_words = std::chrono::seconds(30);
  std::chrono::milliseconds answer = std::chrono::seconds(3);  // of what listens where the store should be
  std::function<void(const std::string& words)> say = [](const std::string&) {};
  // What tells this run from others that somebody starts by hand with the same host and port.
  Facts run = {};
};

// Processes that have found each other.
struct Meeting {
  c10::intrusive_ptr<c10d::Store> store;  // this run's own part of it
  std::unique_ptr<ProcessGroup> group;    // of what lies on the CPU
  std::shared_ptr<Peers> peers;
};

// Finds the others by the store at the place's host and port, which rank 0 keeps, or who started them, and
// connects to them. In the store `medley/run` says whose it is; all else lies below the key of that run.
//
// An InputError where this process does not belong there: what is there is another run, has another number
// of processes or another build, or has this rank already, or is no store. It says whose it is, and leaves
// them in peace; only where one launch started both do those end as well. A PeerError where not all come
// within the limit, or one of them ends before all have connected, which the others see at once. An Error
// with ExitCode::kInterrupted where this one or another is asked to stop, heeded at any time.
Meeting Meet(const RankPlace& place, const MeetingTerms& terms);

}  // namespace medley
