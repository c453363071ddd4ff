#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace medley {

// SHA-256 of a file's bytes, 64 hex digits: where a forgery must be seen, which FileDigest's sums cannot.
// FileError where it cannot be read, Error where it is no plain file.
std::string Sha256OfFile(const std::filesystem::path& path);
std::string Sha256Of(std::string_view bytes);

}  // namespace medley
