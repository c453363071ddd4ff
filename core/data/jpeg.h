#pragma once

#include <string>

#include <medley/report/picture.h>

namespace medley {

// A JPEG file's picture, of bytes that come from `name`, as ReadPicture (data/picture_file.h) promises it.
Picture DecodeJpeg(const std::string& bytes, const std::string& name);

}  // namespace medley
