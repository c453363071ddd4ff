#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <medley/cluster/group.h>
#include <medley/cluster/rank_place.h>

namespace medley {

// The store by which the processes of a run find each other: kept by rank 0, or by who started them. Waits
// for them. A PeerError where they do not come in time, an InputError where the host is none.
c10::intrusive_ptr<c10d::Store> OpenStore(const RankPlace& place, std::chrono::milliseconds timeout);

// Processes that find each other by the store and exchange what lies on the CPU (c10d's Gloo). `host`: an
// address of this machine that the others reach. A PeerError where they do not come in time.
std::unique_ptr<Group> JoinGloo(const c10::intrusive_ptr<c10d::Store>& store, std::int64_t rank,
                                std::int64_t size, const std::string& host,
                                std::chrono::milliseconds timeout);

}  // namespace medley
