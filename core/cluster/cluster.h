#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <medley/cluster/group.h>
#include <medley/cluster/meeting.h>
#include <medley/cluster/rank_place.h>

namespace medley {

// The processes that train one run together, as one of them sees them. On the trainer's thread.
class Cluster {
 public:
  // How long others that have been found are waited for until training begins: one may have to plan
  // meanwhile. One that ends is noticed at once.
  static constexpr std::chrono::minutes kPlanTimeout{30};

  // A process alone.
  Cluster();
  // Finds the others; waits for them. Errors as those of Meet.
  explicit Cluster(const RankPlace& place, const MeetingTerms& terms = {});
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  bool alone() const { return peers_ == nullptr; }
  bool is_first() const { return place_.rank == 0; }
  const RankPlace& place() const { return place_; }
  // "rank 1 of 4"
  std::string Words() const;
  // What lies on the CPU.
  ProcessGroup& group() { return *group_; }
  // Called by all at each start of a run, before the device has a budget: where each has a GPU of its own,
  // and NCCL, gradients are added up there from here on. Others are waited for as long as a start may take.
  void JoinDevice(at::Device device);
  // In which gradients are added up: on the device, or what they go through.
  ProcessGroup& gradients() { return device_group_ ? *device_group_ : *group_; }
  // About that, a sentence for people; "" on the CPU.
  const std::string& device_words() const { return device_words_; }

  // Before the first step: this process was asked to stop, and so the others are, where they miss it.
  void TellThatItStops() {
    if (peers_) peers_->TellThatItStops();
  }

  // Calls it on the first, and then on the others.
  void FirstAlone(const std::function<void()>& work);

 private:
  RankPlace place_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::shared_ptr<Peers> peers_;  // null: a process alone
  std::unique_ptr<ProcessGroup> group_, device_group_;
  std::string device_words_;
};

}  // namespace medley
