#include <medley/cluster/cluster.h>

#include <medley/cluster/local_address.h>
#include <medley/cluster/store_group.h>
#include <medley/memory/cpu_allocator.h>

namespace medley {

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
