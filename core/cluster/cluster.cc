#include <medley/cluster/cluster.h>

#include <medley/cluster/backend_group.h>
#include <medley/cluster/local_address.h>
#include <medley/cluster/nccl_group.h>
#include <medley/cluster/store_group.h>
#include <medley/memory/cpu_allocator.h>

namespace medley {
namespace {

// That of the lowest rank that has one; "" where nobody has.
std::string ProblemOfAny(Group& group, const std::string& own) {
  const std::vector<std::string> all = Gather(group, own);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].empty()) return "rank " + std::to_string(rank) + ": " + all[rank];
  }
  return "";
}

}  // namespace

Cluster::Cluster() : group_(GroupOfOne()) {}

Cluster::Cluster(const RankPlace& place) : place_(place) {
  if (alone()) {
    group_ = GroupOfOne();
    return;
  }
  InstallCpuAllocator();  // before the first tensor, and that is one of what is exchanged
  store_ = OpenStore(place_, kStartTimeout);
  const std::string address =
      place_.local_size == place_.size ? "127.0.0.1" : LocalAddress(place_.host, place_.port);
  group_ = JoinGloo(store_, place_.rank, place_.size, address, kStartTimeout);
}

Cluster::~Cluster() = default;

// All or none, for they exchange with each other. What is there from an earlier start stays: c10d would find
// the first one's keys again.
void Cluster::JoinDevice(at::Device device) {
  if (alone()) return;
  group_->SetTimeout(kStartTimeout);
  if (device_group_) return device_group_->SetTimeout(kStartTimeout);
  std::string problem = ProblemOfAny(*group_, device.is_cpu() ? "its device is the CPU" : NcclProblem());
  if (device.is_cpu()) return;
  if (problem.empty()) {
    std::string own;
    try {
      device_group_ = JoinNccl(store_, place_.rank, place_.size, device, kStartTimeout);
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
  if (alone()) return;
  Barrier(*group_);
  if (!is_first()) work();
}

}  // namespace medley
