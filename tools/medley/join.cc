#include "tools/medley/join.h"

#include <chrono>
#include <optional>
#include <system_error>

#include <medley/base/error.h>
#include <medley/base/next_command.h>
#include <medley/base/suggest.h>
#include <medley/base/work_progress.h>
#include <medley/config/run_config.h>
#include <medley/plugin/python_host.h>
#include <medley/run/run.h>

namespace medley {

namespace {

// What is wrong with the config is told once all are there, and then to all.
std::chrono::seconds StartTimeout(const JoinRequest& request) {
  try {
    return std::chrono::seconds(ReadRunConfig(request.config, request.overrides).start_timeout);
  } catch (const Error&) {
    return std::chrono::seconds(RunConfig().start_timeout);
  }
}

// What is wrong is told when the run is begun.
void PrepareHostsOf(const JoinRequest& request) {
  try {
    const RunInputs inputs = request.begins ? CheckInputs(request.config, request.overrides, request.plugins)
                                            : CheckInputsOf(request.directory, request.overrides,
                                                            std::nullopt, {}, request.plugins);
    PrepareHosts(inputs.registry, inputs.checked.curriculum.Named());
  } catch (const Error&) {
  }
}

std::string PathOnAll(const std::filesystem::path& path) {
  std::error_code error;
  return path.empty()
             ? ""
             : std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error).string();
}

}  // namespace

std::shared_ptr<Cluster> JoinCluster(const JoinRequest& request) {
  const RankPlace place = FindRankPlace();
  if (place.size == 1) return std::make_shared<Cluster>();
  PrepareHostsOf(request);
  if (place.rank > 0) LeaveNextCommandToTheFirst();
  MeetingTerms terms;
  terms.limit = StartTimeout(request);
  terms.say = [](const std::string& words) { std::fprintf(stderr, "medley: %s\n", words.c_str()); };
  terms.run = {{"directory", PathOnAll(request.directory)},
               {"config", PathOnAll(request.config)},
               {"settings", JoinNames(request.overrides, " ")}};
  auto cluster = std::make_shared<Cluster>(place, terms);
  if (cluster->is_first())
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
             : std::filesystem::path(Broadcast(cluster.group(), std::filesystem::absolute(path).string()));
}

}  // namespace medley
