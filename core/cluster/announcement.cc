#include <medley/cluster/announcement.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <medley/base/clock.h>
#include <medley/base/machine.h>
#include <medley/base/version.h>

namespace medley {
namespace {

using nlohmann::json;

// Two networks of one machine do not see each other.
std::string Machine() {
  std::error_code ignored;
  return BootId() + " " + std::filesystem::read_symlink("/proc/self/ns/net", ignored).string();
}

std::string Where(const Announcement& one) {
  return "host " + one.host + ", process " + std::to_string(one.pid);
}

std::string Rank(const Announcement& one) { return "rank " + std::to_string(one.rank); }

std::string FirstDifference(const Facts& first, const Facts& other) {
  for (std::size_t i = 0; i < first.size() && i < other.size(); ++i) {
    if (first[i] != other[i])
      return "its " + other[i].first + ": " + (other[i].second.empty() ? "none" : other[i].second) +
             ", not " + (first[i].second.empty() ? "none" : first[i].second);
  }
  return "";
}

}  // namespace

std::string Announcement::Words() const { return Rank(*this) + " (" + Where(*this) + ")"; }

std::string Announcement::LongWords() const {
  const auto named = std::ranges::find_if(run, [](const auto& fact) { return !fact.second.empty(); });
  return Rank(*this) + " of " + std::to_string(size) + " (" +
         (named == run.end() ? "" : named->first + " " + named->second + ", ") + Where(*this) + ", since " +
         since + ")";
}

Announcement Announce(const RankPlace& place, Facts run) {
  return {.rank = place.rank,
          .size = place.size,
          .start = place.generation,
          .start_is_known = place.generation_is_own,
          .host = HostName(),
          .machine = Machine(),
          .pid = ::getpid(),
          .since = TimeStamp(),
          .address = {},
          .lifeline = 0,
          .key = {},
          .build = {{"medley", std::string(Version())},
                    {"revision", std::string(GitRevision())},
                    {"libtorch", std::string(Torch().build)}},
          .run = std::move(run)};
}

json ToJson(const Announcement& one) {
  return {{"rank", one.rank},       {"size", one.size},
          {"start", one.start},     {"known", one.start_is_known},
          {"host", one.host},       {"machine", one.machine},
          {"pid", one.pid},         {"since", one.since},
          {"address", one.address}, {"lifeline", one.lifeline},
          {"key", one.key},         {"build", one.build},
          {"run", one.run}};
}

Announcement AnnouncementFrom(const json& json) {
  Announcement one;
  json.at("rank").get_to(one.rank);
  json.at("size").get_to(one.size);
  json.at("start").get_to(one.start);
  json.at("known").get_to(one.start_is_known);
  json.at("host").get_to(one.host);
  json.at("machine").get_to(one.machine);
  json.at("pid").get_to(one.pid);
  json.at("since").get_to(one.since);
  json.at("address").get_to(one.address);
  json.at("lifeline").get_to(one.lifeline);
  json.at("key").get_to(one.key);
  json.at("build").get_to(one.build);
  json.at("run").get_to(one.run);
  return one;
}

std::string WhyAStranger(const Announcement& first, const Announcement& one) {
  if (one.size != first.size)
    return "it was started as one of " + std::to_string(one.size) + " processes, not of " +
           std::to_string(first.size);
  if (std::string words = FirstDifference(first.build, one.build); !words.empty()) return words;
  if (one.start != first.start)
    return "it was started by another launch ('" + one.start + "', not '" + first.start + "')";
  // What one launch started is of one run; what differs there is told more closely later, to all.
  return one.start_is_known ? "" : FirstDifference(first.run, one.run);
}

Call CallTo(const Announcement& other, const Announcement& own, std::chrono::milliseconds limit) {
  return CallTo(other.machine == own.machine ? "127.0.0.1" : other.address, other.lifeline, limit);
}

}  // namespace medley
