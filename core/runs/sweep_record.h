#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/runs/sweep_grid.h>

namespace medley {

inline constexpr const char* kSweepFile = "sweep.json";
inline constexpr const char* kSweepPage = "sweep.html";

// What a sweep trains, as its directory keeps it.
struct SweepRecord {
  std::string command = {};  // that asked for it last
  std::filesystem::path config = {};
  // Sums of the files that runs are made from, by what they are: "config", "weights PATH".
  std::map<std::string, std::string> files = {};
  std::vector<SweptKey> keys = {};
  std::vector<std::string> fixed = {};  // overrides of every run
  std::vector<std::int64_t> seeds = {};
  std::vector<SweepGroup> groups = {};
  std::int64_t jobs = 1;                // runs at a time
  std::vector<std::string> share = {};  // overrides: what each of several has of budget and threads
};

// A run of it.
struct SweepRun {
  std::size_t group = 0;
  std::int64_t seed = 0;
  std::string name = {};  // its folder below the sweep's
};
// The first seed of all groups first: so that a sweep that was stopped tells most.
std::vector<SweepRun> RunsOf(const SweepRecord& record);

nlohmann::ordered_json ToJson(const SweepRecord& record);
// The record of a sweep's directory; nothing of one that is new, or empty. An InputError for any other: one
// that holds a run, lies in one, or holds other things; and where the record is damaged, or a newer medley's.
std::optional<SweepRecord> ReadSweep(const std::filesystem::path& directory);
// Replaces it, whole.
void WriteSweep(const std::filesystem::path& directory, const SweepRecord& record);
// The page of what came out. Returns the file.
std::filesystem::path WriteSweepPage(const std::filesystem::path& directory, const std::string& page);

// Throws an InputError with all in which another command asks for another sweep than was begun: it may add
// values of the same keys, and seeds.
void RequireSameSweep(const SweepRecord& begun, const SweepRecord& asked,
                      const std::filesystem::path& directory);

}  // namespace medley
