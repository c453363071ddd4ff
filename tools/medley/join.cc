#include "tools/medley/join.h"

#include <string>

#include <medley/base/error.h>
#include <medley/base/work_progress.h>

namespace medley {

std::shared_ptr<Cluster> JoinCluster() {
  const RankPlace place = FindRankPlace();
  auto cluster = std::make_shared<Cluster>(place);
  if (!cluster->alone() && cluster->is_first())
    std::fprintf(stderr, "%lld processes, started by %s\n", static_cast<long long>(place.size),
                 place.starter.c_str());
  return cluster;
}

std::FILE* OutputOf(const Cluster& cluster) {
  if (cluster.is_first()) return stdout;
  WorkProgress::Silence();
  std::FILE* nothing = std::fopen("/dev/null", "we");
  if (nothing == nullptr) throw Error("/dev/null cannot be opened");
  return nothing;
}

std::filesystem::path SharedPath(Cluster& cluster, const std::filesystem::path& path) {
  return cluster.alone()
             ? path
             : std::filesystem::path(Share(cluster.group(), std::filesystem::absolute(path).string()));
}

}  // namespace medley
