#include <medley/cluster/cluster.h>

#include <utility>

#include <medley/cluster/backend_group.h>
#include <medley/cluster/nccl_group.h>
#include <medley/memory/cpu_allocator.h>

namespace medley {
namespace {

// That of the lowest rank that has one; "" where nobody has.
std::string ProblemOfAny(ProcessGroup& group, const std::string& own) {
  const std::vector<std::string> all = Gather(group, own);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].empty()) return "rank " + std::to_string(rank) + ": " + all[rank];
  }
  return "";
}

}  // namespace

Cluster::Cluster() : group_(GroupOfOne()) {}

Cluster::Cluster(const RankPlace& place, const MeetingTerms& terms) : place_(place) {
  group_ = GroupOfOne();
  if (place_.size == 1) return;
  InstallCpuAllocator();  // before the first tensor, and that is one of what is exchanged
  Meeting meeting = Meet(place_, terms);
  store_ = std::move(meeting.store);
  peers_ = std::move(meeting.peers);
  group_ = std::move(meeting.group);
  group_->SetTimeout(kPlanTimeout);
}

Cluster::~Cluster() = default;

// All or none, for they exchange with each other. What is there from an earlier start stays: c10d would find
// the first one's keys again.
void Cluster::JoinDevice(at::Device device) {
  if (!peers_) return;
  group_->SetTimeout(kPlanTimeout);
  if (device_group_) return device_group_->SetTimeout(kPlanTimeout);
  std::string problem = ProblemOfAny(*group_, device.is_cpu() ? "its device is the CPU" : NcclProblem());
  if (device.is_cpu()) return;
  if (problem.empty()) {
    std::string own;
    try {
      device_group_ = JoinNccl(store_, place_.rank, place_.size, device, kPlanTimeout, peers_);
    } catch (const std::exception& error) {
      own = "NCCL does not come up (" + C10dWords(error) + ")";
    }
    problem = ProblemOfAny(*group_, own);
  }
  device_words_ = "gradients are added up on the GPUs, by NCCL";
  if (problem.empty()) return;
  device_group_.reset();
  device_words_ = "gradients go through the CPU, as not all have NCCL: " + problem;
}

std::string Cluster::Words() const {
  return "rank " + std::to_string(place_.rank) + " of " + std::to_string(place_.size);
}

void Cluster::FirstAlone(const std::function<void()>& work) {
  if (is_first()) work();
  Barrier(*group_);
  if (!is_first()) work();
}

}  // namespace medley
