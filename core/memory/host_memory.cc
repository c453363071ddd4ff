#include <medley/memory/host_memory.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include <medley/base/error.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> ToNumber(const std::string& word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// The number of a file with one word; nothing where the file is missing or says "max".
std::optional<std::int64_t> NumberIn(const fs::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  return ToNumber(word);
}

// The number behind a name, in lines such as "MemTotal:  123 kB" or "inactive_file 456".
std::optional<std::int64_t> NumberOf(const fs::path& file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key, value;
    words >> key >> value;
    if (key == name) return ToNumber(value);
  }
  return std::nullopt;
}

// How the two versions call the same things.
struct GroupFiles {
  fs::path mount;
  const char* limit;
  const char* used;
  const char* idle_cache;  // in memory.stat: pages of files that nobody looked at lately
};

void LimitTo(HostMemory& memory, std::int64_t total, std::int64_t available) {
  memory.total = std::min(memory.total, total);
  memory.available = std::min(memory.available, available);
}

// What one directory of a control group allows.
void LimitToGroup(HostMemory& memory, const fs::path& group, const GroupFiles& files) {
  const auto limit = NumberIn(group / files.limit);
  const auto used = NumberIn(group / files.used);
  if (!limit || !used || *limit >= memory.total) return;  // version 1 says "no limit" with a huge number
  const std::int64_t cache = NumberOf(group / "memory.stat", files.idle_cache).value_or(0);
  LimitTo(memory, *limit, std::max<std::int64_t>(0, *limit - (*used - cache)));
}

// A group's parents bind it too. In a container the path may be that of the host: the mount is looked at
// then.
void LimitToGroups(HostMemory& memory, const std::string& path, const GroupFiles& files) {
  fs::path group = files.mount / fs::path(path).relative_path();
  for (; group != files.mount && group.has_relative_path(); group = group.parent_path())
    LimitToGroup(memory, group, files);
  LimitToGroup(memory, files.mount, files);
}

// "Max address space  4294967296  unlimited  bytes": what is mapped counts, used or not.
void LimitToAddressSpace(HostMemory& memory, const fs::path& process) {
  constexpr std::string_view kName = "Max address space";
  std::ifstream limits(process / "limits");
  for (std::string line; std::getline(limits, line);) {
    if (!line.starts_with(kName)) continue;
    std::istringstream words(line.substr(kName.size()));
    std::string soft;
    words >> soft;
    const auto limit = ToNumber(soft), mapped = NumberOf(process / "status", "VmSize:");
    if (limit && mapped) LimitTo(memory, *limit, std::max<std::int64_t>(0, *limit - *mapped * 1024));
  }
}

}  // namespace

HostMemory ReadHostMemory(const fs::path& root) {
  const fs::path meminfo = root / "proc/meminfo";
  const auto total = NumberOf(meminfo, "MemTotal:"), available = NumberOf(meminfo, "MemAvailable:");
  if (!total || !available)
    throw Error(meminfo.string() + " does not say how much memory there is; give a budget in bytes");
  HostMemory memory{.total = *total * 1024, .available = *available * 1024};
  LimitToAddressSpace(memory, root / "proc/self");
  const fs::path mount = root / "sys/fs/cgroup";
  const bool both = fs::exists(mount / "unified");  // version 2 beside version 1
  const GroupFiles second{both ? mount / "unified" : mount, "memory.max", "memory.current", "inactive_file"};
  const GroupFiles first{mount / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                         "total_inactive_file"};
  std::ifstream groups(root / "proc/self/cgroup");  // lines "number:controllers:path"
  for (std::string line; std::getline(groups, line);) {
    const std::size_t colon = line.find(':'), next = line.find(':', colon + 1);
    if (colon == std::string::npos || next == std::string::npos) continue;
    const std::string controllers = "," + line.substr(colon + 1, next - colon - 1) + ",";
    if (controllers == ",,") LimitToGroups(memory, line.substr(next + 1), second);
    if (controllers.find(",memory,") != std::string::npos)
      LimitToGroups(memory, line.substr(next + 1), first);
  }
  return memory;
}

std::int64_t KeptBackOnHost(std::int64_t free, std::int64_t total) {
  constexpr std::int64_t kLeast = std::int64_t{1} << 30;
  return std::min(free / 8, std::max(kLeast, total / 16));
}

}  // namespace medley
