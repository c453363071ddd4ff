// NIfTI-1 files of bytes that are made here; volumes.nibabel holds the same reader against nibabel.
#include "data/nifti.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include <medley/base/error.h>

#include "tests/nifti_bytes.h"

namespace medley_volumes {
namespace {

namespace fs = std::filesystem;

class Nifti : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "nifti_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<float> Values(const std::string& bytes, std::int64_t most = NiftiFile::kMostValues) const {
    NiftiFile file(Write(folder_ / "scan.nii", bytes), most);
    std::vector<float> values(static_cast<std::size_t>(file.header().values()));
    file.Read(values);
    return values;
  }
  // What reading it, values and all, says.
  std::string Refusal(const std::string& bytes, std::int64_t most = NiftiFile::kMostValues) const {
    try {
      Values(bytes, most);
      return "it was read";
    } catch (const medley::InputError& error) {
      return error.what();
    }
  }
  void ExpectRefused(const NiftiBytes& file, const std::string& what) const {
    EXPECT_NE(Refusal(file.bytes()).find("scan.nii: " + what), std::string::npos)
        << Refusal(file.bytes()) << "\nexpected: " << what;
  }

  fs::path folder_;
};

template <typename Number>
class EachType : public Nifti {};
using Types = ::testing::Types<std::uint8_t, std::int8_t, std::int16_t, std::uint16_t, std::int32_t,
                               std::uint32_t, float, double>;
TYPED_TEST_SUITE(EachType, Types);

TYPED_TEST(EachType, IsReadInBothByteOrdersScaledAndPacked) {
  using Limits = std::numeric_limits<TypeParam>;
  const std::vector<TypeParam> stored = {Limits::lowest(), 0, 1, 3, 100, Limits::max()};
  for (const bool is_swapped : {false, true}) {
    NiftiBytes file({3, 2, 1}, is_swapped);
    file.Add(stored);
    for (const float slope : {0.0F, 0.07540697F}) {
      file.Set(112, slope).Set(116, 3100.76F);
      std::vector<float> expected;
      for (const TypeParam value : stored) {
        const auto whole = static_cast<double>(value);
        expected.push_back(static_cast<float>(
            slope == 0 ? whole : whole * static_cast<double>(slope) + static_cast<double>(3100.76F)));
      }
      EXPECT_EQ(this->Values(file.bytes()), expected);
      EXPECT_EQ(this->Values(Packed(file.bytes())), expected);
    }
  }
}

TEST_F(Nifti, ASlopeThatIsNoNumberLeavesValuesAsTheyAreAndAnInterThatIsNoneIsRefused) {
  NiftiBytes file({2, 1, 1});
  file.Add<std::int16_t>({5, -7}).Set(112, NAN).Set(116, NAN);
  EXPECT_EQ(Values(file.bytes()), (std::vector<float>{5, -7}));
  file.Set(112, 2.0F);
  ExpectRefused(file, "bytes 116 to 119 (scl_inter): found nan, expected a finite number");
}

TEST_F(Nifti, ValuesBeginWhereTheHeaderSaysAndWhatStandsBehindThemIsNobodys) {
  NiftiBytes file({2, 1, 1});
  file.Set(108, 416.0F).bytes().append(64, 'x');
  file.Add<std::uint8_t>({8, 9}).bytes() += "behind";
  EXPECT_EQ(Values(file.bytes()), (std::vector<float>{8, 9}));
  EXPECT_EQ(Values(Packed(file.bytes())), (std::vector<float>{8, 9}));
}

TEST_F(Nifti, SaysWhichBytesAreWrong) {
  const auto with = [](std::size_t at, auto number) {
    return NiftiBytes({2, 2, 2}).Add(std::vector<std::int16_t>(8)).Set(at, number);
  };
  const auto half = [](int number) { return static_cast<std::int16_t>(number); };
  ExpectRefused(with(0, 349), "bytes 0 to 3 (sizeof_hdr): found 349, expected 348");
  ExpectRefused(with(0, 540), "a NIfTI-2 file");
  ExpectRefused(with(344, 0x0031696e), "the header of a pair");
  ExpectRefused(with(344, 0x0032696e), "bytes 344 to 347 (magic): found \"ni2\", expected \"n+1\"");
  ExpectRefused(with(40, half(0)), "bytes 40 to 41 (dim[0]): found 0, expected 1 to 7");
  ExpectRefused(with(40, half(8)), "bytes 40 to 41 (dim[0]): found 8, expected 1 to 7");
  ExpectRefused(with(44, half(-2)), "bytes 44 to 45 (dim[2]): found -2, expected 1 to 32767");
  ExpectRefused(with(70, half(128)), "bytes 70 to 71 (datatype): found 128, RGB, expected 2, 4");
  ExpectRefused(with(70, half(3)), "bytes 70 to 71 (datatype): found 3, expected");
  for (const float offset : {0.0F, 351.0F, 352.5F, -1.0F, 1e30F, NAN, INFINITY})
    ExpectRefused(with(108, offset), "bytes 108 to 111 (vox_offset): found ");
  NiftiBytes turned = with(252, half(1));
  ExpectRefused(turned.Set(256, 0.9F).Set(260, 0.9F),
                "bytes 256 to 267 (quatern_b, _c, _d): found 0.9, 0.9, 0");
}

TEST_F(Nifti, AFileThatEndsIsRefusedWhereverItEnds) {
  NiftiBytes file({16, 16, 4});
  std::mt19937 random(1);
  std::vector<std::int16_t> values(1024);
  for (std::int16_t& value : values) value = static_cast<std::int16_t>(random());
  file.Add(values);
  for (const std::string& whole : {file.bytes(), Packed(file.bytes())}) {
    for (std::size_t length = 0; length < whole.size(); length += 64)
      EXPECT_NE(Refusal(whole.substr(0, length)).find("scan.nii: "), std::string::npos) << length;
    EXPECT_NE(Refusal(whole.substr(0, whole.size() - 1)), "it was read");
  }
  EXPECT_NE(Refusal(file.bytes().substr(0, 100)).find("it ends at byte 100, in its header"),
            std::string::npos);
}

// Whatever a byte of the header becomes, the file is read or refused by its name.
TEST_F(Nifti, EveryByteOfTheHeaderMayBeAnother) {
  const std::string good =
      NiftiBytes({3, 2, 2}).Set(254, std::int16_t{1}).Add(std::vector<float>(12, 1)).bytes();
  for (std::size_t at = 0; at < 352; ++at) {
    for (const int flipped : {0x01, 0x80, 0xff}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ flipped);
      const std::string refusal = Refusal(bytes);
      EXPECT_TRUE(refusal == "it was read" || refusal.find("scan.nii: ") != std::string::npos)
          << at << refusal;
    }
  }
}

// zlib unpacks a small one as a whole when its header is read, and compares then.
TEST_F(Nifti, ADamagedPackedFileIsRefusedByItsCheckSum) {
  for (const std::int16_t side : {1, 256}) {
    std::vector<std::int16_t> values(static_cast<std::size_t>(64) * static_cast<std::size_t>(side), 5);
    std::string packed = Packed(NiftiBytes({64, side, 1}).Add(values).bytes());
    packed[packed.size() - 6] ^= 1;
    EXPECT_NE(Refusal(packed).find("incorrect data check at byte "), std::string::npos) << Refusal(packed);
  }
}

// Nothing is allocated for a promise: these would end the process.
TEST_F(Nifti, SizesThatNoFileCanHoldAreRefusedAtTheHeader) {
  NiftiBytes file(std::vector<std::int16_t>(7, 32767));
  file.Set(70, std::int16_t{64});
  ExpectRefused(file, "its header (dim, from byte 40 on) promises more than 10^18 values");
  NiftiBytes large({1024, 1024, 1024});
  large.Set(70, std::int16_t{16});
  ExpectRefused(large, "it has 352 bytes, expected 4294967648");
  EXPECT_NE(Refusal(Packed(large.bytes())).find("expected more: its header promises 4294967648 unpacked"),
            std::string::npos);
  NiftiBytes small({2, 2, 2});
  small.Add(std::vector<std::uint8_t>(8));
  EXPECT_NE(Refusal(small.bytes(), 7).find("promises 8 values, expected at most 7"), std::string::npos);
}

TEST_F(Nifti, OfAPackedFileNoMoreIsUnpackedThanItsHeaderPromises) {
  NiftiBytes file({2, 1, 1});
  file.Add<std::uint8_t>({8, 9}).bytes().append(64 << 20, '\0');
  std::string packed = Packed(file.bytes());
  packed.resize(packed.size() / 2);  // what stands there is not looked at
  EXPECT_EQ(Values(packed), (std::vector<float>{8, 9}));
}

TEST_F(Nifti, TheAffineIsTheSformsElseTheQformsElseOfTheVoxelSizes) {
  NiftiBytes file({5, 3, 2});
  file.Add(std::vector<std::uint8_t>(30)).Set(80, 2.0F).Set(84, 3.0F).Set(88, 4.0F);
  const auto affine = [&] { return NiftiFile(Write(folder_ / "scan.nii", file.bytes())).header().affine; };
  EXPECT_EQ(affine(), (Affine{{{-2, 0, 0, 4}, {0, 3, 0, -3}, {0, 0, 4, -2}}}));
  EXPECT_EQ(AxisCodes(NearestAxesOf(affine())), "LAS");
  // Half a turn about the axis to the front, and the third axis against it.
  file.Set(252, std::int16_t{1}).Set(260, 1.0F).Set(76, -1.0F).Set(268, 10.0F);
  EXPECT_EQ(affine(), (Affine{{{-2, 0, 0, 10}, {0, 3, 0, 0}, {0, 0, 4, 0}}}));
  file.Set(254, std::int16_t{2}).Set(284, 2.0F).Set(300, 3.0F).Set(320, -4.0F);
  EXPECT_EQ(affine(), (Affine{{{0, 2, 0, 0}, {0, 3, 0, 0}, {0, 0, -4, 0}}}));
  EXPECT_EQ(AxisCodes(NearestAxesOf(affine())), "???");
}

// Every way that a scan can lie, each a little oblique: each axis is the subject's that it is nearest to.
TEST(Axes, EachIsTheNearestOfTheSubject) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> tilt(-0.3, 0.3);
  std::set<std::string> seen;
  std::array<int, 3> order = {0, 1, 2};
  do {
    for (int signs = 0; signs < 8; ++signs) {
      Affine affine{};
      std::string codes;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto to = static_cast<std::size_t>(order[axis]);
        const bool is_turned = (signs >> axis & 1) != 0;
        for (std::size_t row = 0; row < 3; ++row)
          affine[row][axis] =
              (row == to ? (is_turned ? -1 : 1) : tilt(random)) * static_cast<double>(axis + 1);
        codes += std::array{"RL", "AP", "SI"}[to][is_turned ? 1 : 0];
      }
      EXPECT_EQ(AxisCodes(NearestAxesOf(affine)), codes);
      seen.insert(codes);
    }
  } while (std::ranges::next_permutation(order).found);
  EXPECT_EQ(seen.size(), 48U);
  EXPECT_EQ(NearestAxesOf({{{1, 0, 0, 0}, {0, NAN, 0, 0}, {0, 0, 1, 0}}}), std::nullopt);
}

}  // namespace
}  // namespace medley_volumes
