#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <medley/base/error.h>
#include <medley/base/random.h>
#include <medley/base/sha256.h>
#include <medley/data/resize_picture.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace medley {
namespace {

namespace fs = std::filesystem;

// As resize_cases/make.py makes it.
std::uint8_t PatternAt(std::uint64_t x, std::uint64_t y, std::uint64_t colour) {
  std::uint64_t mixed =
      (x * 2654435761 + y * 2246822519 + colour * 3266489917 + 374761393) & std::uint64_t{0xFFFFFFFF};
  mixed = ((mixed ^ (mixed >> 15)) * 2246822519) & std::uint64_t{0xFFFFFFFF};
  const bool noisy = (x / 8 + y / 8) % 2 == 0;
  return static_cast<std::uint8_t>(noisy ? mixed >> 13 : x * 5 + y * 3 + colour * 70);
}

Picture Pattern(std::int64_t width, std::int64_t height) {
  Picture picture(width, height);
  std::size_t i = 0;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::uint64_t colour = 0; colour < 3; ++colour)
        picture.pixels[i++] = PatternAt(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y), colour);
    }
  }
  return picture;
}

std::string DigestOf(const Picture& picture) {
  const fs::path file = fs::temp_directory_path() / ("medley-resized-" + std::to_string(::getpid()));
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(picture.pixels.data()), std::ssize(picture.pixels));
  const std::string digest = Sha256OfFile(file);
  fs::remove(file);
  return digest;
}

PictureRule Rule(const std::string& resampling, std::int64_t shortest_edge) {
  return {.resizes = true,
          .resampling = resampling == "bicubic" ? PictureRule::Resampling::kBicubic
                                                : PictureRule::Resampling::kBilinear,
          .shortest_edge = shortest_edge};
}

TEST(ResizePicture, BytesAreTorchvisions) {
  std::ifstream file(fs::path(MEDLEY_SOURCE_DIR) / "tests/data/resize_cases/cases.json");
  const nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_GT(cases.size(), 40U);
  for (const nlohmann::json& c : cases) {
    const Picture resized =
        ResizePicture(Pattern(c["width"], c["height"]), c["size"], Rule(c["resampling"], c["shortest_edge"]));
    EXPECT_EQ(DigestOf(resized), c["sha256"]) << c;
  }
}

// Of libtorch's own kernel, whose bytes say where it differs.
TEST(ResizePicture, BytesAreLibtorchsOfAnySize) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RowRandom random(CombineSeeds(11, seed));
    const std::int64_t width = 1 + random.Below(90), height = 1 + random.Below(90),
                       size = 2 + random.Below(69);  // to one pixel its kernel for AVX2 ends by an assertion
    const bool cubic = random.Below(2) == 0;
    Picture picture(width, height);
    for (std::uint8_t& byte : picture.pixels) byte = static_cast<std::uint8_t>(random.Below(256));
    const Picture resized = ResizePicture(picture, size, Rule(cubic ? "bicubic" : "bilinear", 0));
    const std::vector<std::uint8_t> planes = picture.ToPlanes(), found = resized.ToPlanes();
    const at::Tensor x =
        at::tensor(at::ArrayRef<std::uint8_t>(planes), at::kByte).view({1, 3, height, width});
    const at::Tensor expected = cubic ? at::_upsample_bicubic2d_aa(x, {size, size}, false)
                                      : at::_upsample_bilinear2d_aa(x, {size, size}, false);
    const at::Tensor ours = at::tensor(at::ArrayRef<std::uint8_t>(found), at::kByte).view({1, 3, size, size});
    EXPECT_EQ(ours.ne(expected).sum().item<std::int64_t>(), 0)
        << width << " x " << height << " to " << size << (cubic ? ", bicubic" : ", bilinear");
  }
}

TEST(ResizePicture, WithoutARuleAnotherSizeIsRefused) {
  EXPECT_EQ(ResizePicture(Pattern(8, 8), 8, {}).pixels, Pattern(8, 8).pixels);
  try {
    ResizePicture(Pattern(8, 9), 8, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("8 x 9 pixels, expected 8 a side"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(ResizePicture(Picture(), 8, Rule("bicubic", 0)), Error);
}

}  // namespace
}  // namespace medley
