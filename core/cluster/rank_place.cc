#include <medley/cluster/rank_place.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/user_directories.h>

namespace medley {
namespace {

constexpr std::int64_t kMostRanks = 1 << 16;
constexpr std::int64_t kFirstPort = 20000, kPorts = 10000;  // of jobs that name none

// What one starter's variables say.
class Variables {
 public:
  Variables(const EnvironmentLookup& environment, std::string starter)
      : environment_(environment), starter_(std::move(starter)) {}

  bool Has(const char* name) const { return environment_(name).has_value(); }
  std::string Text(const char* name) const {
    const auto text = environment_(name);
    if (!text)
      throw InputError(starter_ + " started this process as one of several, but " + name +
                       " is not set. Start medley by torchrun, srun, mpirun or medley launch, or unset what "
                       "they left in the environment");
    return *text;
  }
  std::int64_t Number(const char* name, std::int64_t low, std::int64_t high) const {
    const std::string text = Text(name);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < low || number > high)
      throw InputError(std::string(name) + " is '" + text + "'; expected a whole number from " +
                       std::to_string(low) + " to " + std::to_string(high) + ", as " + starter_ + " sets it");
    return number;
  }
  std::int64_t NumberOr(const char* name, std::int64_t low, std::int64_t high, std::int64_t other) const {
    return Has(name) ? Number(name, low, high) : other;
  }

  // The four numbers, by their names.
  RankPlace Place(const char* rank, const char* size, const char* local_rank, const char* local_size) const {
    RankPlace place;
    place.starter = starter_;
    place.size = Number(size, 1, kMostRanks);
    place.rank = Number(rank, 0, place.size - 1);
    place.local_size = NumberOr(local_size, 1, place.size, place.size);
    place.local_rank = NumberOr(local_rank, 0, place.local_size - 1, place.rank % place.local_size);
    return place;
  }

 private:
  const EnvironmentLookup& environment_;
  std::string starter_;
};

// "node[003-007,9]" and "a1,b2" begin with node003 and a1.
std::string FirstHost(const std::string& list) {
  const std::size_t end = list.find_first_of(",[");
  std::string host = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',') return host;
  const std::size_t number = end + 1;
  return host + list.substr(number, list.find_first_of(",-]", number) - number);
}

// Of the machine that this process is on: "2(x3),1" and the node's number say how many tasks it has.
std::int64_t TasksHere(const std::string& list, std::int64_t node) {
  std::size_t at = 0;
  while (at < list.size()) {
    std::int64_t tasks = 0, nodes = 1;
    const char* end = list.data() + list.size();
    const char* next = std::from_chars(list.data() + at, end, tasks).ptr;
    if (end - next > 2 && std::string_view(next, 2) == "(x") next = std::from_chars(next + 2, end, nodes).ptr;
    if (node < nodes) return std::max<std::int64_t>(1, tasks);
    node -= nodes;
    at = list.find(',', static_cast<std::size_t>(next - list.data()));
    if (at != std::string::npos) ++at;
  }
  return 1;
}

std::optional<RankPlace> OfTorchrun(const EnvironmentLookup& environment) {
  const Variables given(environment, environment("MEDLEY_LAUNCH") ? "medley launch" : "torchrun");
  if (!given.Has("RANK") && !given.Has("WORLD_SIZE")) return std::nullopt;
  RankPlace place = given.Place("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE");
  if (place.size == 1) return place;
  place.host = given.Text("MASTER_ADDR");
  place.port = given.Number("MASTER_PORT", 1, 65535);
  place.store_is_kept = environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  constexpr const char* kNoName = "none";  // torchrun's, where it was given none
  const std::string start =
      environment("MEDLEY_LAUNCH").value_or(environment("TORCHELASTIC_RUN_ID").value_or(kNoName));
  place.generation = start + "/" + environment("TORCHELASTIC_RESTART_COUNT").value_or("0");
  place.generation_is_own = start != kNoName;
  return place;
}

std::int64_t PortOf(const Variables& given, const std::string& job) {
  std::int64_t number = 0;
  std::from_chars(job.data(), job.data() + job.size(), number);
  return given.NumberOr("MASTER_PORT", 1, 65535, kFirstPort + number % kPorts);
}

std::optional<RankPlace> OfSlurm(const EnvironmentLookup& environment) {
  const Variables given(environment, "srun");
  if (!given.Has("SLURM_STEP_NUM_TASKS")) return std::nullopt;  // SLURM_NTASKS stands in sbatch's script too
  RankPlace place = given.Place("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "");
  if (place.size == 1) return place;
  place.local_size = TasksHere(environment("SLURM_STEP_TASKS_PER_NODE").value_or(""),
                               given.NumberOr("SLURM_NODEID", 0, kMostRanks, 0));
  place.local_rank = given.Number("SLURM_LOCALID", 0, place.local_size - 1);
  const std::string job = environment("SLURM_JOB_ID").value_or("0");
  place.host = environment("MASTER_ADDR").value_or(FirstHost(given.Text("SLURM_STEP_NODELIST")));
  place.port = PortOf(given, job);
  place.generation = job + "." + environment("SLURM_STEP_ID").value_or("0") + "/" +
                     environment("SLURM_RESTART_COUNT").value_or("0");
  place.generation_is_own = given.Has("SLURM_JOB_ID");
  return place;
}

std::optional<RankPlace> OfMpi(const EnvironmentLookup& environment) {
  const Variables given(environment, "mpirun");
  if (!given.Has("OMPI_COMM_WORLD_SIZE")) return std::nullopt;
  RankPlace place = given.Place("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                                "OMPI_COMM_WORLD_LOCAL_SIZE");
  if (place.size == 1) return place;
  if (place.local_size == place.size && !given.Has("MASTER_ADDR")) {
    place.host = "127.0.0.1";
  } else {
    place.host = given.Text("MASTER_ADDR");
  }
  const std::string job = environment("OMPI_MCA_ess_base_jobid").value_or("0");
  place.port = PortOf(given, job);
  place.generation = job;
  place.generation_is_own = given.Has("OMPI_MCA_ess_base_jobid");
  return place;
}

std::string Words(const RankPlace& place) {
  return place.starter + " says rank " + std::to_string(place.rank) + " of " + std::to_string(place.size);
}

}  // namespace

RankPlace FindRankPlace(const EnvironmentLookup& environment) {
  std::optional<RankPlace> first;
  for (const auto& place : {OfTorchrun(environment), OfSlurm(environment), OfMpi(environment)}) {
    if (!place) continue;
    // A launcher that is itself a scheduler's only task on a machine starts several.
    const bool within = first && first->size > 1 && place->size <= first->size / first->local_size;
    if (first && place->size > 1 && !within && (place->rank != first->rank || place->size != first->size))
      throw InputError(Words(*first) + ", but " + Words(*place) +
                       ". Start medley by one of them, or unset the variables of the other");
    if (!first || first->size == 1) first = place;
  }
  return first.value_or(RankPlace());
}

RankPlace FindRankPlace() {
  return FindRankPlace([](const char* name) { return Environment(name); });
}

}  // namespace medley
