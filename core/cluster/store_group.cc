#include <medley/cluster/store_group.h>

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <utility>

#include <medley/cluster/backend_group.h>
#include <medley/cluster/gloo_backend.h>

namespace medley {

c10::intrusive_ptr<c10d::Store> OpenTcpStore(const RankPlace& place, bool keeps,
                                             std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(place.port);
  options.isServer = keeps;
  options.waitWorkers = false;
  options.timeout = timeout;
  try {
    return c10::make_intrusive<c10d::TCPStore>(place.host, options);
  } catch (const std::exception& error) {
    if (C10dWords(error).find("libuv") == std::string::npos) throw;
    options.useLibUV = false;  // this libtorch was built without it
    return c10::make_intrusive<c10d::TCPStore>(place.host, options);
  }
}

std::unique_ptr<ProcessGroup> JoinGloo(const c10::intrusive_ptr<c10d::Store>& store, std::int64_t rank,
                                       std::int64_t size, const std::string& host,
                                       std::chrono::milliseconds timeout, std::shared_ptr<Peers> peers) {
  try {
    return std::make_unique<BackendGroup>(
        MakeGlooBackend(store, static_cast<int>(rank), static_cast<int>(size), host, timeout), at::kCPU,
        timeout, std::move(peers));
  } catch (const std::exception& error) {
    throw PeerError("rank " + std::to_string(rank) + " of " + std::to_string(size) +
                    " does not reach the others from " + host + " (" + C10dWords(error) +
                    "). Do they reach each other on this network?");
  }
}

}  // namespace medley
