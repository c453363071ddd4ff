#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include <medley/cluster/group.h>
#include <medley/cluster/peers.h>

namespace medley {

// What c10d says, in one line.
std::string C10dWords(const std::exception& error);

// A group of c10d's, of what lies on `device`. `peers`: who says which of the others is lost; null: nobody.
class BackendGroup : public ProcessGroup {
 public:
  BackendGroup(c10::intrusive_ptr<c10d::Backend> backend, at::Device device,
               std::chrono::milliseconds timeout, std::shared_ptr<Peers> peers = {});
  ~BackendGroup() override;

  std::int64_t rank() const override { return backend_->getRank(); }
  std::int64_t size() const override { return backend_->getSize(); }
  at::Device device() const override { return device_; }

  void AllReduce(at::Tensor& values) override;
  void Broadcast(at::Tensor& values, std::int64_t from) override;
  void AllGather(at::Tensor& all, const at::Tensor& own) override;
  void ReduceScatter(at::Tensor& own, const at::Tensor& all) override;
  void Settle() override {}
  void SetTimeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }

 protected:
  c10d::Backend& backend() const { return *backend_; }
  std::chrono::milliseconds timeout() const { return timeout_; }

  // What was asked for is done, or at least before all that the device is asked for afterwards.
  virtual void Await(const c10::intrusive_ptr<c10d::Work>& work);
  // What c10d throws about the others becomes a PeerError.
  void TellOfPeers(const std::function<void()>& call) const;

 private:
  c10::intrusive_ptr<c10d::Backend> backend_;
  at::Device device_;
  std::chrono::milliseconds timeout_;
  std::shared_ptr<Peers> peers_;
};

}  // namespace medley
