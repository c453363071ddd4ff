#include "data/scan_cache.h"

namespace medley_volumes {
namespace {

std::int64_t BytesOf(const at::Tensor& voxels) {
  return static_cast<std::int64_t>(voxels.storage().nbytes());
}

}  // namespace

// Undefined where it has none.
at::Tensor ScanCache::Find(const std::string& name) {
  const auto place = places_.find(name);
  if (place == places_.end()) return {};
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->voxels;
}

at::Tensor ScanCache::Get(const std::string& name, const std::function<at::Tensor()>& read) {
  {
    const std::scoped_lock lock(mutex_);
    if (at::Tensor known = Find(name); known.defined()) return known;
  }
  // Others go on meanwhile. That two read one scan at once is rare, and costs less than to wait for each
  // other.
  at::Tensor voxels = read();
  const std::int64_t bytes = BytesOf(voxels);
  if (bytes > most_bytes_) return voxels;
  std::list<Entry> dropped;  // freed behind the lock
  const std::scoped_lock lock(mutex_);
  if (at::Tensor known = Find(name); known.defined()) return known;
  for (; bytes_ + bytes > most_bytes_; bytes_ -= BytesOf(dropped.front().voxels)) {
    places_.erase(entries_.back().name);
    dropped.splice(dropped.begin(), entries_, std::prev(entries_.end()));
  }
  entries_.push_front({name, voxels});
  places_.emplace(name, entries_.begin());
  bytes_ += bytes;
  return voxels;
}

std::int64_t ScanCache::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

}  // namespace medley_volumes
