#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <medley/cluster/line.h>
#include <medley/cluster/rank_place.h>

namespace medley {

// What must be alike on all processes, by what a person calls each: {"config", "/path/run.json"}.
using Facts = std::vector<std::pair<std::string, std::string>>;

// What a process says of itself to those that it looks for.
struct Announcement {
  std::int64_t rank = 0, size = 1;
  std::string start;  // RankPlace's generation
  bool start_is_known = false;
  std::string host,
      machine;  // its name; and what no other machine, and no other network of this one, is called
  std::int64_t pid = 0;
  std::string since;
  std::string address;        // by which other machines reach it; "" where none can
  std::int64_t lifeline = 0;  // its port
  std::string key;            // of the run, drawn by rank 0: names all that its processes say to each other
  Facts build, run;

  bool operator==(const Announcement&) const = default;
  // "rank 1 (host node2, process 4711)"
  std::string Words() const;
  // With the first of what tells the run: "rank 1 of 3 (directory /runs/a, host node2, process 4711, since
  // ...)"
  std::string LongWords() const;
};

// Of this process. `run`: what is compared where its start has no name of its own.
Announcement Announce(const RankPlace& place, Facts run);
nlohmann::json ToJson(const Announcement& announcement);
// Throws nlohmann's exceptions where that is none.
Announcement AnnouncementFrom(const nlohmann::json& json);

// Why `one` does not belong to the run of `first`, which has rank 0: "" or words that name both.
std::string WhyAStranger(const Announcement& first, const Announcement& one);

// To its lifeline, from the process that announced itself as `own`.
Call CallTo(const Announcement& other, const Announcement& own, std::chrono::milliseconds limit);

}  // namespace medley
