#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>

namespace medley_volumes {

// Voxels of scans as they are handed out, within a limit of bytes: those that were asked for last. Of any
// thread. What it lets go of lives on with who holds it.
class ScanCache {
 public:
  // 0: it keeps none.
  explicit ScanCache(std::int64_t most_bytes) : most_bytes_(most_bytes) {}

  // Those of that name; where it has none it keeps what `read` gives, unless that alone is above the limit.
  // Threads that ask for one scan at once may all read it, and get the same voxels.
  at::Tensor Get(const std::string& name, const std::function<at::Tensor()>& read);

  std::int64_t bytes() const;  // that it has now
  std::int64_t most_bytes() const { return most_bytes_; }

 private:
  struct Entry {
    std::string name;
    at::Tensor voxels;
  };

  at::Tensor Find(const std::string& name);

  const std::int64_t most_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the one that was asked for last in front
  std::map<std::string, std::list<Entry>::iterator, std::less<>> places_;
  std::int64_t bytes_ = 0;
};

}  // namespace medley_volumes
