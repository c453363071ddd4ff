#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/cluster/announcement.h>
#include <medley/cluster/line.h>
#include <medley/cluster/rank_place.h>

namespace medley {

// Where a store says whose it is: rank 0's announcement.
inline constexpr const char* kRunKey = "medley/run";
std::string RunIn(c10d::Store& store);  // "" where nobody has said so far
std::optional<Announcement> AnnouncementIn(const std::string& text);
std::string StoreText(const std::vector<std::uint8_t>& bytes);

// Opens the store by which the processes of a run find each other: rank 0's, or that of who started them.
class StoreSearch {
 public:
  struct Setting {
    RankPlace place;
    std::chrono::milliseconds answer;  // of what listens where the store should be
    std::function<void()> heed;        // called every few milliseconds; may throw
    // Why there is no store so far, which changes; `at_once`: it is not likely to pass.
    std::function<void(const std::string& problem, bool at_once)> tell;
  };
  explicit StoreSearch(Setting setting) : setting_(std::move(setting)) {}

  // Tries until it is there. An InputError where that is not to be expected: something else listens, or the
  // host is another machine than rank 0's.
  c10::intrusive_ptr<c10d::Store> Open();

 private:
  c10::intrusive_ptr<c10d::Store> OpenAsFirst();
  c10::intrusive_ptr<c10d::Store> OpenAsOther();
  Call CallHost() const;
  c10::intrusive_ptr<c10d::Store> Try(const std::string& host, bool keeps);
  std::string WhoListens(const std::string& host);

  Setting setting_;
};

}  // namespace medley
