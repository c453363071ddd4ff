#include <medley/base/torch_folder.h>

#include <fstream>
#include <optional>
#include <string_view>

#include <medley/base/printable.h>
#include <medley/base/version.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

bool IsReleaseCharacter(char c) { return c == '.' || (c >= '0' && c <= '9'); }

// The digits and points that begin the text, behind a quote.
std::string LeadingRelease(std::string_view text) {
  if (!text.empty() && (text.front() == '\'' || text.front() == '"')) text.remove_prefix(1);
  std::size_t size = 0;
  while (size < text.size() && IsReleaseCharacter(text[size])) ++size;
  return std::string(text.substr(0, size));
}

// What stands behind `key` in the first line that begins with it.
std::optional<std::string> Behind(const fs::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return line.substr(key.size());
  }
  return std::nullopt;
}

std::string ReleaseOfHeader(const fs::path& header) {
  std::string release;
  for (const char* part : {"MAJOR", "MINOR", "PATCH"}) {
    const auto number = Behind(header, std::string("#define TORCH_VERSION_") + part + " ");
    if (!number) return "";
    release += (release.empty() ? "" : ".") + LeadingRelease(*number);
  }
  return release;
}

}  // namespace

fs::path SitePackagesOf(const fs::path& library_directory) {
  const fs::path package = library_directory.parent_path();
  std::error_code ignored;
  return fs::is_regular_file(package / "__init__.py", ignored) ? package.parent_path() : fs::path();
}

std::string TorchReleaseIn(const fs::path& root) {
  if (const auto version = Behind(root / "version.py", "__version__ = ")) return LeadingRelease(*version);
  for (const char* header : {"torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"}) {
    const std::string release = ReleaseOfHeader(root / "include" / header);
    if (!release.empty()) return release;
  }
  return "";
}

std::string WhyOtherTorch(const fs::path& root) {
  const std::string found = TorchReleaseIn(root);
  if (found.empty() || found == Torch().version) return "";
  const std::string wanted(Torch().version);
  const std::string remedy =
      SitePackagesOf(LibraryDirectory()).empty()
          ? "Name a libtorch " + wanted +
                ": MEDLEY_TORCH_ROOT=<folder with include/ and lib/>, or build medley again"
          : "Give medley a virtual environment of its own: python3 -m venv DIR, and there pip install "
            "medley, "
            "which brings torch " +
                wanted;
  return "this medley was built for libtorch " + wanted + ", and " + Printable(root) + " is " + found + ". " +
         remedy;
}

}  // namespace medley
