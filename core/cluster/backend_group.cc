#include <medley/cluster/backend_group.h>

#include <c10/util/Exception.h>

#include <utility>
#include <vector>

#include <medley/base/interrupt.h>

namespace medley {

std::string C10dWords(const std::exception& error) {
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  std::string words = torch == nullptr ? error.what() : torch->what_without_backtrace();
  return words.substr(0, words.find('\n'));
}

BackendGroup::BackendGroup(c10::intrusive_ptr<c10d::Backend> backend, at::Device device,
                           std::chrono::milliseconds timeout, std::shared_ptr<Peers> peers)
    : backend_(std::move(backend)), device_(device), timeout_(timeout), peers_(std::move(peers)) {}

BackendGroup::~BackendGroup() = default;

void BackendGroup::AllReduce(at::Tensor& values) {
  std::vector<at::Tensor> list = {values};
  c10d::AllreduceOptions options;
  options.timeout = timeout_;
  TellOfPeers([&] { Await(backend_->allreduce(list, options)); });
}

void BackendGroup::Broadcast(at::Tensor& values, std::int64_t from) {
  std::vector<at::Tensor> list = {values};
  c10d::BroadcastOptions options;
  options.rootRank = from;
  options.timeout = timeout_;
  TellOfPeers([&] { Await(backend_->broadcast(list, options)); });
}

void BackendGroup::AllGather(at::Tensor& all, const at::Tensor& own) {
  at::Tensor from = own;
  c10d::AllgatherOptions options;
  options.timeout = timeout_;
  TellOfPeers([&] { Await(backend_->_allgather_base(all, from, options)); });
}

void BackendGroup::ReduceScatter(at::Tensor& own, const at::Tensor& all) {
  at::Tensor from = all;
  c10d::ReduceScatterOptions options;
  options.timeout = timeout_;
  TellOfPeers([&] { Await(backend_->_reduce_scatter_base(own, from, options)); });
}

void BackendGroup::Await(const c10::intrusive_ptr<c10d::Work>& work) { work->wait(); }

void BackendGroup::TellOfPeers(const std::function<void()>& call) const {
  const auto begin = std::chrono::steady_clock::now();
  try {
    call();
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::AcceleratorError&) {  // this process's own
    throw;
  } catch (const std::exception& error) {
    const bool in_vain = std::chrono::steady_clock::now() - begin >= timeout_;
    const std::string within = " within " + std::to_string(timeout_.count() / 1000) + " s";
    std::string who = !peers_ ? "" : in_vain ? peers_->WhoHangs() : peers_->WhoEnded();
    if (peers_ && peers_->AreToStop()) throw Interrupted();
    if (!who.empty() && in_vain) who += within;
    if (who.empty()) who = "another process of the run ended, or did not answer" + within;
    throw PeerError("rank " + std::to_string(rank()) + " of " + std::to_string(size()) + " cannot go on: " +
                    who + " (" + C10dWords(error) + "). Its own words, or who started it, say why");
  }
}

}  // namespace medley
