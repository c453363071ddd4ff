#include <medley/cluster/store_group.h>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <utility>

#include <medley/cluster/gloo_backend.h>

namespace medley {
namespace {

std::string Words(const std::exception& error) {
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  std::string words = torch == nullptr ? error.what() : torch->what_without_backtrace();
  return words.substr(0, words.find('\n'));
}

// A group of c10d's.
class BackendGroup final : public Group {
 public:
  BackendGroup(c10::intrusive_ptr<c10d::Backend> backend, std::chrono::milliseconds timeout)
      : backend_(std::move(backend)), timeout_(timeout) {}

  std::int64_t rank() const override { return backend_->getRank(); }
  std::int64_t size() const override { return backend_->getSize(); }

  void AllReduce(at::Tensor& values) override {
    std::vector<at::Tensor> list = {values};
    c10d::AllreduceOptions options;
    options.timeout = timeout_;
    Wait([&] { return backend_->allreduce(list, options); });
  }

  void Broadcast(at::Tensor& values, std::int64_t from) override {
    std::vector<at::Tensor> list = {values};
    c10d::BroadcastOptions options;
    options.rootRank = from;
    options.timeout = timeout_;
    Wait([&] { return backend_->broadcast(list, options); });
  }

  void AllGather(at::Tensor& all, const at::Tensor& own) override {
    at::Tensor from = own;
    c10d::AllgatherOptions options;
    options.timeout = timeout_;
    Wait([&] { return backend_->_allgather_base(all, from, options); });
  }

  void ReduceScatter(at::Tensor& own, const at::Tensor& all) override {
    at::Tensor from = all;
    c10d::ReduceScatterOptions options;
    options.timeout = timeout_;
    Wait([&] { return backend_->_reduce_scatter_base(own, from, options); });
  }

  void SetTimeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }

 private:
  template <typename Call>
  void Wait(const Call& call) {
    try {
      call()->wait();
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const std::exception& error) {
      throw PeerError("rank " + std::to_string(rank()) + " of " + std::to_string(size()) +
                      " cannot go on: another process of the run ended, or did not answer within " +
                      std::to_string(timeout_.count() / 1000) + " s (" + Words(error) +
                      "). Its own words say why");
    }
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
  std::chrono::milliseconds timeout_;
};

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
    if (Words(error).find("libuv") == std::string::npos) throw;
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
        Words(error) + "). " + place.starter +
        " named both; is the host reached from here, the port free, and did all processes start?");
  }
}

std::unique_ptr<Group> JoinGloo(const c10::intrusive_ptr<c10d::Store>& store, std::int64_t rank,
                                std::int64_t size, const std::string& host,
                                std::chrono::milliseconds timeout) {
  try {
    return std::make_unique<BackendGroup>(
        MakeGlooBackend(store, static_cast<int>(rank), static_cast<int>(size), host, timeout), timeout);
  } catch (const std::exception& error) {
    throw PeerError("rank " + std::to_string(rank) + " of " + std::to_string(size) +
                    " does not reach the others from " + host + " (" + Words(error) +
                    "). Do they reach each other on this network?");
  }
}

}  // namespace medley
