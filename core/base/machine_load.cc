#include <medley/base/machine_load.h>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include <medley/base/clock.h>

namespace medley {
namespace {

// Of "cpu3 user nice system idle iowait irq softirq steal guest guest_nice", in ticks; user has the guests'.
void AddCore(std::istringstream& line, double tick, MachineLoad& load) {
  std::array<double, 8> ticks{};
  for (double& one : ticks) line >> one;
  const auto& [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
  load.busy += (user + nice + system + irq + softirq) * tick;
  load.stolen += steal * tick;
}

void ReadCores(MachineLoad& load) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool all = ::sched_getaffinity(0, sizeof allowed, &allowed) != 0;  // more cores than the set has
  const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::ifstream file("/proc/stat");
  std::int64_t cores = 0;
  for (std::string text; std::getline(file, text) && text.starts_with("cpu");) {
    std::istringstream line(text);
    std::string name;
    line >> name;
    if (name == "cpu") continue;  // the sum of all
    const std::size_t core = std::stoul("0" + name.substr(3));
    if (!all && (core >= CPU_SETSIZE || !CPU_ISSET(core, &allowed))) continue;
    AddCore(line, tick, load);
    ++cores;
  }
  if (cores > 0) load.cores = cores;
}

// Of the container as it sees itself, or of this process's group.
double ThrottledSeconds() {
  std::string group;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  const std::string root = "/sys/fs/cgroup";
  for (const std::string& folder : {root + group, root, root + "/cpu"}) {
    std::ifstream file(folder + "/cpu.stat");
    double value = 0;
    for (std::string key; file >> key >> value;) {
      if (key == "throttled_usec") return value * 1e-6;
      if (key == "throttled_time") return value * 1e-9;  // of the older kind of groups
    }
  }
  return 0;
}

}  // namespace

MachineLoad MachineLoad::operator-(const MachineLoad& before) const {
  return {.time = time - before.time,
          .busy = busy - before.busy,
          .own = own - before.own,
          .stolen = stolen - before.stolen,
          .throttled = throttled - before.throttled,
          .pages = pages - before.pages,
          .cores = cores};
}

MachineLoad ReadMachineLoad() {
  MachineLoad load;
  load.time = SteadySeconds();
  timespec used{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
    load.own = static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
  struct rusage usage {};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) load.pages = usage.ru_majflt;
  ReadCores(load);
  load.throttled = ThrottledSeconds();
  return load;
}

}  // namespace medley
