#include <medley/base/user_directories.h>

#include <cstdlib>

namespace medley {

namespace fs = std::filesystem;

std::optional<std::string> Environment(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

std::optional<fs::path> UserDirectory(UserFiles kind) {
  struct Place {
    const char* variable;
    const char* below_home;
  };
  constexpr Place kPlaces[] = {
      {"XDG_DATA_HOME", ".local/share"}, {"XDG_CACHE_HOME", ".cache"}, {"XDG_STATE_HOME", ".local/state"}};
  const Place& place = kPlaces[static_cast<int>(kind)];
  const auto absolute = [](const char* variable) -> std::optional<fs::path> {
    const std::optional<std::string> value = Environment(variable);
    return value && fs::path(*value).is_absolute() ? std::optional<fs::path>(*value) : std::nullopt;
  };
  if (const auto named = absolute(place.variable)) return *named / "medley";
  if (const auto home = absolute("HOME")) return *home / place.below_home / "medley";
  return std::nullopt;
}

}  // namespace medley
