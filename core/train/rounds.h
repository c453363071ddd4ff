#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/interrupt.h>
#include <medley/cluster/cluster.h>
#include <medley/train/failure.h>

namespace medley {

// Does work that exchanges with the other processes of the run. What goes wrong in it may have happened to
// some of them only, so nothing can be exchanged afterwards: it is an ExchangeError. Peers that are gone
// (PeerError), and an interrupt, pass.
template <typename Work>
void Exchanging(const Work& work) {
  try {
    work();
  } catch (const PeerError&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    const Failure failure = Failure::Of(error);
    throw ExchangeError(failure.reason, failure.code);
  }
}

// What the processes of a run tell each other between two steps: all of them call these at the same places,
// or none does. A process alone hears itself. On the trainer's thread.
class Rounds {
 public:
  explicit Rounds(Cluster& cluster) : cluster_(cluster) {}

  // Whether any of them says so.
  bool Any(bool own);
  // What each of them says, in the order of ranks.
  std::vector<std::string> Everyones(const std::string& own);
  // What the first process says; the others' function is not called.
  template <typename Words>
  auto Firsts(const Words& words) {
    return Gather(cluster_.group(), cluster_.is_first() ? words() : decltype(words())()).front();
  }
  // Does it. Where it fails in some, all throw for what the first of those says: that one what it threw, the
  // others an Error with its words, of files a FileError.
  void AllOrNone(const std::function<void()>& work);
  // Seconds that AllOrNone's work took since this was last called: the first process's, on all.
  double TakeSecondsTogether() { return std::exchange(seconds_together_, 0); }
  // The failure of the lowest rank that has one, on all: some of them have one.
  Failure FirstOf(const std::optional<Failure>& own);
  // Until all are here: whoever ends before the run is saved would take the others with it.
  void WaitForAll();

 private:
  Cluster& cluster_;
  double seconds_together_ = 0;
};

}  // namespace medley
