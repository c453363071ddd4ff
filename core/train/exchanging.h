#pragma once

#include <exception>

#include <medley/base/interrupt.h>
#include <medley/cluster/group.h>
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

}  // namespace medley
