#pragma once

#include <filesystem>
#include <string>

#include <medley/report/picture.h>

namespace medley {

// A picture as people have it, PNG or JPEG by its first bytes, whatever its name: 8-bit RGB, and upright
// where its EXIF data say how it lies. InputErrors name the file: it is neither, larger than
// kLargestPictureSide, damaged, or ends early, for which nothing is made up; or it is a JPEG of CMYK, of 12
// bits or without loss.
Picture ReadPicture(const std::filesystem::path& file);
// The same of a file's bytes, which come from `name`.
Picture DecodePicture(const std::string& bytes, const std::string& name);

}  // namespace medley
