#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <medley/cluster/group.h>
#include <medley/cluster/peers.h>
#include <medley/cluster/rank_place.h>

namespace medley {

// c10d's store at the place's host and port, kept by this process or by another one, which has to be there.
// Throws what c10d throws; where something else than a store listens it may wait without an end.
c10::intrusive_ptr<c10d::Store> OpenTcpStore(const RankPlace& place, bool keeps,
                                             std::chrono::milliseconds timeout);

// Processes that find each other by the store and exchange what lies on the CPU (c10d's Gloo). `host`: an
// address of this machine that the others reach. A PeerError where they do not come in time. `peers`: who
// says later which of them is lost; null: nobody.
std::unique_ptr<ProcessGroup> JoinGloo(const c10::intrusive_ptr<c10d::Store>& store, std::int64_t rank,
                                       std::int64_t size, const std::string& host,
                                       std::chrono::milliseconds timeout, std::shared_ptr<Peers> peers = {});

}  // namespace medley
