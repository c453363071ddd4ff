#include <medley/checkpoint/run_around.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <system_error>

#include <medley/checkpoint/run_directory.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

bool HasRecord(const fs::path& directory) try {
  const nlohmann::ordered_json record = ReadRunRecord(directory);
  return record.is_object() && record.contains("starts");
} catch (const std::exception&) {
  return false;  // no run that anybody could go on with
}

}  // namespace

std::optional<fs::path> RunAround(const fs::path& place) {
  std::error_code error;
  // Through links: the folders that are there, and what is below them.
  fs::path at = fs::weakly_canonical(place, error);
  if (error) at = place.lexically_normal();
  while (true) {
    if (fs::exists(at / "config.resolved.json", error) || HasRecord(at)) return at;
    if (at == at.parent_path()) return std::nullopt;
    at = at.parent_path();
  }
}

}  // namespace medley
