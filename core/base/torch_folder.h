#pragma once

#include <filesystem>
#include <string>

namespace medley {

// The folder of Python packages that a medley which lies in `library_directory` was installed to by pip; ""
// where it was not. Its torch is then the one beside it, wherever it was built.
std::filesystem::path SitePackagesOf(const std::filesystem::path& library_directory);

// The release of the libtorch in a folder with include/ and lib/, "2.11.0": by version.py of a Python
// package, else by its headers. "" where neither says it.
std::string TorchReleaseIn(const std::filesystem::path& root);

// Why this medley cannot be run with the libtorch in such a folder, in words; "" where nothing speaks against
// it. Another release would end in an undefined symbol, so its version is read first, which opens nothing.
std::string WhyOtherTorch(const std::filesystem::path& root);

}  // namespace medley
