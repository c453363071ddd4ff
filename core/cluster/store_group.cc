#include <medley/cluster/store_group.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <medley/cluster/backend_group.h>
#include <medley/cluster/gloo_backend.h>

namespace medley {
namespace {

c10::intrusive_ptr<c10d::Store> OpenTcp(const RankPlace& place, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(place.port);
  options.isServer = place.rank == 0 && !place.store_is_kept;
  options.numWorkers = static_cast<std::size_t>(place.size);
  options.waitWorkers = !place.store_is_kept;
  options.timeout = timeout;
  try {
    return c10::make_intrusive<c10d::TCPStore>(place.host, options);
  } catch (const std::exception& error) {
    if (C10dWords(error).find("libuv") == std::string::npos) throw;
    options.useLibUV = false;  // this libtorch was built without it
    return c10::make_intrusive<c10d::TCPStore>(place.host, options);
  }
}

}  // namespace

c10::intrusive_ptr<c10d::Store> OpenStore(const RankPlace& place, std::chrono::milliseconds timeout) {
  try {
    return c10::make_intrusive<c10d::PrefixStore>("medley/" + place.generation, OpenTcp(place, timeout));
  } catch (const std::exception& error) {
    throw PeerError(
        "rank " + std::to_string(place.rank) + " of " + std::to_string(place.size) +
        " does not find the others at " + place.host + ", port " + std::to_string(place.port) + " (" +
        C10dWords(error) + "). " + place.starter +
        " named both; is the host reached from here, the port free, and did all processes start?");
  }
}

std::unique_ptr<Group> JoinGloo(const c10::intrusive_ptr<c10d::Store>& store, std::int64_t rank,
                                std::int64_t size, const std::string& host,
                                std::chrono::milliseconds timeout) {
  try {
    return std::make_unique<BackendGroup>(
        MakeGlooBackend(store, static_cast<int>(rank), static_cast<int>(size), host, timeout), at::kCPU,
        timeout);
  } catch (const std::exception& error) {
    throw PeerError("rank " + std::to_string(rank) + " of " + std::to_string(size) +
                    " does not reach the others from " + host + " (" + C10dWords(error) +
                    "). Do they reach each other on this network?");
  }
}

}  // namespace medley
