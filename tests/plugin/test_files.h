#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include <medley/plugin/registry.h>

namespace medley::testing {

// A directory of the test's own, gone with it.
class TempDirectory {
 public:
  TempDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "medley_plugins_XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = pattern;
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::filesystem::path Fixture(const std::string& name) {
  return std::filesystem::path(MEDLEY_PLUGIN_FIXTURES) / name / (name + ".so");
}

inline std::string ReadBytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return std::string(std::istreambuf_iterator<char>(in), {});
}

inline void WriteBytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

// The bytes with the first `from` replaced; the same length, so that an ELF file stays whole.
inline std::string Patched(std::string bytes, std::string_view from, std::string_view to) {
  const std::size_t at = bytes.find(from);
  if (at == std::string::npos || from.size() != to.size()) throw std::runtime_error("cannot patch");
  return bytes.replace(at, from.size(), to);
}

// Only what is named: not the plugins of this build, not the user's.
inline Registry ScanOnly(std::vector<std::filesystem::path> paths) {
  return Registry::Scan(PluginSearch{std::move(paths), false, false, false});
}

}  // namespace medley::testing
